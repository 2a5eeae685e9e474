# SPDX-License-Identifier: Apache-2.0
"""Rows of convolutions, pools and resizes."""
import numpy

from shapes import (CONV1, CONV3, DEPTHWISE, DILATED, FEW_CHANNELS, GROUPED, PLANES, POOLS,
                    STRIDED)


def conv(inputs, outputs, size, window, stride=1, padding=None, dilation=1, groups=1, relu=True,
         batch=1):
    """A convolution of a square image, its bias, and a relu."""
    padding = (window - 1) * dilation // 2 if padding is None else padding

    def build(m):
        x = m.op("Conv", m.input(batch, inputs, size, size),
                 m.weight(outputs, inputs // groups, window, window), m.weight(outputs),
                 kernel_shape=[window] * 2, strides=[stride] * 2, pads=[padding] * 4,
                 dilations=[dilation] * 2, group=groups)
        return m.op("Relu", x) if relu else x
    return build


def conv3x3(draw):
    for name, inputs, outputs, size in draw.take(CONV3, 7):
        size = draw.near(size, .9, 1.15)
        yield f"{name} {inputs}-{outputs} {size}²", conv(inputs, outputs, size, 3)


def conv1x1(draw):
    for name, inputs, outputs, size in draw.take(CONV1, 7):
        size = size if size == 1 else draw.near(size, .9, 1.15)
        yield f"{name} {inputs}-{outputs} {size}²", conv(inputs, outputs, size, 1)


def conv_strided(draw):
    for name, inputs, outputs, size, window, stride, padding in draw.take(STRIDED, 6):
        size = draw.near(size, .9, 1.15)
        yield (f"{name} {inputs}-{outputs} {size}² {window}x{window}/{stride}",
               conv(inputs, outputs, size, window, stride, padding))


def conv_few_channels(draw):
    for name, inputs, outputs, size, window, stride, padding in draw.take(FEW_CHANNELS, 6):
        size = max(window, draw.near(size, .7, 1.1))
        yield (f"{name} {inputs}-{outputs} {size}² {window}x{window}/{stride}",
               conv(inputs, outputs, size, window, stride, padding))


def conv_dilated(draw):
    for name, inputs, outputs, size, window, dilation in draw.take(DILATED, 4):
        yield (f"{name} {inputs}-{outputs} {size}²",
               conv(inputs, outputs, size, window, dilation=dilation))


def conv_grouped(draw):
    for name, inputs, outputs, size, window, groups in draw.take(GROUPED, 4):
        yield (f"{name} {inputs}-{outputs} {size}² of {groups}",
               conv(inputs, outputs, size, window, groups=groups))


def conv_other(draw):
    """Windows that are no square, one and three axes, transposed ones."""
    c, size = draw.one([128, 160, 192]), draw.near(17)
    for shape in ([1, 7], [7, 1]):
        pads = [shape[0] // 2, shape[1] // 2] * 2
        yield f"inception {c} {size}² {shape[0]}x{shape[1]}", lambda m, s=shape, p=pads: m.op(
            "Conv", m.input(1, c, size, size), m.weight(c, c, *s), kernel_shape=s, pads=p)
    mels, width, tokens = draw.one([(80, 384, 1000), (80, 512, 600), (64, 128, 800)])
    yield f"whisper 1-d {mels}-{width} {tokens}", lambda m: m.op(
        "Conv", m.input(1, mels, tokens), m.weight(width, mels, 3), pads=[1, 1])
    c, tokens, dilation = draw.one([(64, 1600, 8), (128, 800, 4), (32, 4000, 16)])
    yield f"wavenet 1-d {c} {tokens} dilated {dilation}", lambda m: m.op(
        "Conv", m.input(1, c, tokens), m.weight(c, c, 3), pads=[dilation] * 2, dilations=[dilation])
    c, frames, size = draw.one([(16, 8, 28), (32, 4, 28), (64, 4, 14)])
    yield f"video 3-d {c} {frames}x{size}²", lambda m: m.op(
        "Conv", m.input(1, c, frames, size, size), m.weight(c, c, 3, 3, 3), pads=[1] * 6)
    inputs, outputs, side = draw.one([(128, 64, 32), (256, 128, 16), (64, 32, 64)])
    for window, padding in ((2, 0), (4, 1)):
        yield f"transposed {inputs}-{outputs} {side}² {window}/2", lambda m, k=window, p=padding: m.op(
            "ConvTranspose", m.input(1, inputs, side, side), m.weight(inputs, outputs, k, k),
            strides=[2, 2], pads=[p] * 4)


def depthwise(draw):
    for name, channels, size, window, stride in draw.take(DEPTHWISE, 8):
        size = draw.near(size, .9, 1.15)
        yield (f"{name} {channels} {size}² {window}x{window}/{stride}",
               conv(channels, channels, size, window, stride, groups=channels))
    channels, tokens, window = draw.one([(512, 200, 31), (256, 400, 15), (1536, 128, 4)])
    yield f"conformer 1-d {channels} {tokens} of {window}", lambda m: m.op(
        "Conv", m.input(1, channels, tokens), m.weight(channels, 1, window), group=channels,
        pads=[window // 2] * 2)


def pooling(draw):
    for name, channels, size, window, stride, padding in draw.take(POOLS, 7):
        kind = "MaxPool" if "max" in name or "spp" in name else draw.one(["MaxPool", "AveragePool"])
        yield (f"{name} {kind} {channels} {size}² {window}/{stride}",
               lambda m, k=kind, c=channels, s=size, a=(window, stride, padding): m.op(
                   k, m.input(1, c, s, s), kernel_shape=[a[0]] * 2, strides=[a[1]] * 2,
                   pads=[a[2]] * 4))
    c, h, w = draw.one(PLANES)
    yield f"global {c}x{h}x{w}", lambda m: m.op("GlobalAveragePool", m.input(1, c, h, w))


def resize(draw):
    def build(plane, scale, mode, transform):
        def made(m):
            more = {"nearest_mode": "floor"} if mode == "nearest" else {}
            if transform == "align_corners":  # exporters give sizes
                target = [1, plane[0], *(int(size * scale) for size in plane[1:])]
                by = ["", "", m.constant(numpy.array(target, "int64"))]
            else:
                by = ["", m.constant(numpy.array([1, 1, scale, scale], "float32"))]
            return m.op("Resize", m.input(1, *plane), *by, mode=mode,
                        coordinate_transformation_mode=transform, **more)
        return made
    small = [p for p in PLANES if p[1] <= 65]
    for mode, transform in (("nearest", "asymmetric"), ("nearest", "half_pixel"),
                            ("linear", "half_pixel"), ("linear", "align_corners"),
                            ("cubic", "half_pixel")):
        plane, scale = draw.one(small), draw.one([2.0, 2.0, 1.5, 4.0])
        yield (f"{mode} {transform} {'x'.join(map(str, plane))} by {scale}",
               build(plane, scale, mode, transform))
    plane = draw.one([p for p in PLANES if p[1] > 100])
    yield f"linear {'x'.join(map(str, plane))} by 0.5", build(plane, .5, "linear", "half_pixel")


CLASSES = {"conv-3x3": conv3x3, "conv-1x1": conv1x1, "conv-strided": conv_strided,
           "conv-few-channels": conv_few_channels, "conv-dilated": conv_dilated,
           "conv-grouped": conv_grouped, "conv-other": conv_other, "depthwise": depthwise,
           "pooling": pooling, "resize": resize}
