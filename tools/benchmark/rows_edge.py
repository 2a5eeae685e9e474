# SPDX-License-Identifier: Apache-2.0
"""Rows of shapes and forms that exporters leave behind: windows that strides do not
divide, images of few pixels, 1-D layers in 2-D, short rows, quantised convolutions."""
import numpy

# Channels in, out, size, window, stride, padding.
TRANSPOSED = [
    ("segmentation", 64, 32, 28, 3, 2, 1), ("dcgan", 256, 128, 8, 4, 2, 1),
    ("super resolution", 32, 16, 40, 9, 3, 4), ("unet up", 128, 64, 28, 2, 2, 0),
    ("autoencoder", 64, 32, 14, 5, 2, 2), ("refine", 48, 48, 28, 3, 1, 1),
    ("pyramid", 64, 64, 16, 5, 3, 0), ("fcn 8", 21, 21, 20, 16, 8, 4)]
# The same of one axis.
VOCODER = [("hifi-gan 1", 256, 128, 32, 16, 8, 4), ("hifi-gan 3", 64, 32, 256, 4, 2, 1),
           ("wavegan", 128, 64, 64, 25, 4, 11), ("demucs", 96, 48, 100, 8, 4, 0)]
# Channels in, out, size, window, padding, dilation.
SMALL_IMAGES = [
    ("fcn fc6", 256, 1024, 7, 7, 0, 1), ("lenet 3", 16, 120, 5, 5, 0, 1), ("dcgan last", 512, 1, 4, 4, 0, 1),
    ("ssd last", 128, 256, 1, 3, 1, 1), ("ssd 3x3", 128, 256, 3, 3, 0, 1), ("p7", 256, 256, 2, 3, 1, 1),
    ("aspp 18", 256, 64, 9, 3, 18, 18), ("excite", 256, 64, 1, 1, 0, 1)]
# Channels in, out, size, window, stride.
BYTES = [("resnet-50 3", 128, 128, 28, 3, 1), ("resnet-50 expand", 64, 256, 56, 1, 1),
         ("resnet-50 1", 3, 64, 112, 7, 2), ("mobilenet-v2 project", 144, 24, 56, 1, 1),
         ("yolov8n 4", 64, 128, 40, 3, 2), ("resnet-50 5", 512, 512, 7, 3, 1)]


def conv_transposed(draw):
    for name, inputs, outputs, size, window, stride, padding in draw.take(TRANSPOSED, 5):
        yield f"{name} {inputs}-{outputs} {size}² {window}/{stride}", lambda m, a=(
            inputs, outputs, size, window, stride, padding): m.op(
                "ConvTranspose", m.input(1, a[0], a[2], a[2]), m.weight(a[0], a[1], a[3], a[3]),
                strides=[a[4]] * 2, pads=[a[5]] * 4)
    for name, inputs, outputs, size, window, stride, padding in draw.take(VOCODER, 2):
        yield f"{name} 1-d {inputs}-{outputs} {size} {window}/{stride}", lambda m, a=(
            inputs, outputs, size, window, stride, padding): m.op(
                "ConvTranspose", m.input(1, a[0], a[2]), m.weight(a[0], a[1], a[3]),
                strides=[a[4]], pads=[a[5]] * 2)


def conv_small_image(draw):
    for name, inputs, outputs, size, window, padding, dilation in draw.take(SMALL_IMAGES, 6):
        yield f"{name} {inputs}-{outputs} {size}² {window}x{window}", lambda m, a=(
            inputs, outputs, size, window, padding, dilation): m.op(
                "Conv", m.input(1, a[0], a[2], a[2]), m.weight(a[1], a[0], a[3], a[3]),
                pads=[a[4]] * 4, dilations=[a[5]] * 2)


def flat(draw):
    """1-D layers in 2-D, whose last axis has one element."""
    c, n = draw.one([64, 96, 128]), draw.one([256, 400, 512])
    shape = (1, c, n, 1)
    yield f"conv {c} {n} of 5", lambda m: m.op("Conv", m.input(*shape), m.weight(c, c, 5, 1),
                                               pads=[2, 0, 2, 0])
    yield f"depthwise {c} {n} of 7", lambda m: m.op(
        "Conv", m.input(*shape), m.weight(c, 1, 7, 1), group=c, pads=[3, 0, 3, 0])
    yield f"pool {c} {n}", lambda m: m.op("MaxPool", m.input(*shape), kernel_shape=[3, 1],
                                          strides=[2, 1])
    yield f"transpose and conv {n}x{c}", lambda m: m.op(
        "Conv", m.op("Transpose", m.input(1, n, c, 1), perm=[0, 2, 1, 3]), m.weight(c, c, 5, 1))
    yield f"transpose {n}x{c}", lambda m: m.op("Transpose", m.input(1, n, c, 1), perm=[0, 2, 1, 3])
    yield f"slice {c} {n}", lambda m: m.op("Slice", m.input(*shape), m.integers(3),
                                           m.integers(n - 5), m.integers(2))
    yield f"softmax {c} {n}", lambda m: m.op("Softmax", m.input(*shape), axis=2)
    yield f"mean {c} {n}", lambda m: m.op("ReduceMean", m.input(*shape), m.integers(1), keepdims=0)


def short_rows(draw):
    """Boxes, points, colours: a last axis of a few elements."""
    rows = draw.one([5000, 8400, 16384])
    for width in draw.take([2, 3, 4, 5, 6, 7, 12], 2):
        shape = (1, rows, width)
        yield f"max {rows}x{width}", lambda m, s=shape: m.op(
            "ReduceMax", m.input(*s), m.integers(2), keepdims=0)
        yield f"sum {rows}x{width}", lambda m, s=shape: m.op(
            "ReduceSum", m.input(*s), m.integers(2), keepdims=0)
        yield f"softmax {rows}x{width}", lambda m, s=shape: m.op("Softmax", m.input(*s), axis=-1)
        yield f"transpose {rows}x{width}", lambda m, s=shape: m.op(
            "Transpose", m.input(*s), perm=[0, 2, 1])


def quantized_conv(draw):
    """As QDQ models have them: bytes in, bytes out."""
    def quantised(m, x, scale, zero):
        return m.op("QuantizeLinear", x, m.constant(numpy.float32(scale)), m.constant(zero, "u1"))

    def widened(m, x, scale, zero):
        return m.op("DequantizeLinear", x, m.constant(numpy.float32(scale)), m.constant(zero, "u1"))

    def build(m, inputs, outputs, size, window, stride, zero):
        w = m.constant(m.random.integers(-127, 128, (outputs, inputs, window, window)), "i1")
        scales = m.constant(m.random.uniform(.001, .01, outputs).astype("float32"))
        w = m.op("DequantizeLinear", w, scales, m.constant(numpy.zeros(outputs), "i1"), axis=0)
        x = widened(m, m.input(1, inputs, size, size, dtype="u1"), .02, zero)
        y = m.op("Conv", x, w, m.weight(outputs), pads=[window // 2] * 4, strides=[stride] * 2)
        return quantised(m, y, .5, zero)
    for name, inputs, outputs, size, window, stride in draw.take(BYTES, 4):
        zero = draw.one([0, 3, 128])
        yield (f"{name} {inputs}-{outputs} {size}² {window}x{window}/{stride} zero {zero}",
               lambda m, a=(inputs, outputs, size, window, stride, zero): build(m, *a))

    def product(m, rows, inner, columns):
        w = m.constant(m.random.integers(-127, 128, (inner, columns)), "i1")
        w = m.op("DequantizeLinear", w, m.constant(numpy.float32(.01)), m.constant(0, "i1"))
        x = widened(m, m.input(rows, inner, dtype="u1"), .02, 3)
        return quantised(m, m.op("MatMul", x, w), .5, 3)
    rows = draw.one([16, 64, 128])
    yield f"product {rows}x768x768", lambda m: product(m, rows, 768, 768)


CLASSES = {"conv-transposed": conv_transposed, "conv-small-image": conv_small_image, "flat": flat,
           "short-rows": short_rows, "quantized-conv": quantized_conv}
