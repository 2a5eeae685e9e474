# SPDX-License-Identifier: Apache-2.0
"""Templates of random models: each adds nodes to a builder and returns its outputs."""
import numpy

from model_builder import FLOATS, INTEGERS, TYPES

UNARY = ["Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Sqrt", "Reciprocal",
         "Exp", "Log", "Sin", "Cos", "Tan", "Atan", "Tanh", "Erf", "Relu",
         "Sigmoid", "Softplus", "Elu", "LeakyRelu", "HardSigmoid", "HardSwish",
         "Gelu", "Identity"]
BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu"]
INTEGER_BINARY = ["Add", "Sub", "Mul", "Min", "Max", "Mod"]
COMPARE = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
REDUCE = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
          "ReduceL2", "ReduceSumSquare"]


def unary_chain(b):
    dtype, shape = b.pick(list(FLOATS)), b.shape()
    value = b.input(dtype, shape, b.some_axes(len(shape)), 0.1, 3)
    for _ in range(int(b.random.integers(1, 5))):
        value = b.node(b.pick(UNARY), [value])
        value = b.node("Clip", [value, b.constant(numpy.array(0.05, dtype)),
                                b.constant(numpy.array(4, dtype))])
    return [value]


def broadcast_shapes(b):
    shape = b.shape(int(b.random.integers(1, 5)))
    other = [1 if b.random.random() < 0.3 else size for size in shape]
    return shape, other[int(b.random.integers(0, len(shape))):]


def binary(b):
    floats = b.random.random() < 0.6
    dtype = b.pick(list(FLOATS if floats else INTEGERS))
    shape, other = broadcast_shapes(b)
    left = b.input(dtype, shape, b.some_axes(len(shape)), 0.1, 3)
    right = (b.input if b.random.random() < 0.5 else b.weight)(dtype, other,
                                                               low=0.2, high=3)
    if not floats:  # no division by zero
        if dtype[0] != "u":
            right = b.node("Abs", [right])
        right = b.node("Max", [right, b.constant(numpy.array(1, dtype))])
    op = b.pick(BINARY[:-1] if floats else INTEGER_BINARY)
    return [b.node(op, [left, right])]


def compare_where(b):
    dtype = b.pick(["float32", "float16", "int64", "uint8"])
    shape, other = broadcast_shapes(b)
    left, right = b.input(dtype, shape), b.input(dtype, other)
    mask = b.node(b.pick(COMPARE), [left, right])
    return [mask, b.node("Where", [mask, left, right])]


def reduce(b):
    shape = b.shape(int(b.random.integers(1, 5)))
    dtype = b.pick(["float32", "float16", "float64", "int32"])
    value = b.input(dtype, shape, b.some_axes(len(shape)), 0.5, 1.5)
    axes = [axis for axis in range(len(shape)) if b.random.random() < 0.5] or [-1]
    op = b.pick(REDUCE if dtype != "int32" else ["ReduceSum", "ReduceMax", "ReduceMin"])
    count = int(numpy.prod([shape[axis] for axis in axes]))
    if count == 0 or op == "ReduceProd" and count > 30:
        op = "ReduceSum"
    b.terms = max(1, count)
    keep = int(b.random.integers(2))
    return [b.node(op, [value, b.constant(numpy.array(axes, numpy.int64))], keepdims=keep)]


def arg_reduce(b):
    shape = [size + 1 for size in b.shape(int(b.random.integers(1, 4)))]
    value = b.input(b.pick(["float32", "int32", "uint8"]), shape)
    return [b.node(b.pick(["ArgMax", "ArgMin"]), [value], keepdims=int(b.random.integers(2)),
                   axis=int(b.random.integers(len(shape))),
                   select_last_index=int(b.random.integers(2)))]


def normalise(b):
    shape = b.shape(int(b.random.integers(2, 4)))
    dtype = b.pick(["float32", "float16"])
    value = b.input(dtype, shape, b.some_axes(len(shape) - 1))
    b.terms = max(1, shape[-1])
    kind = b.pick(["Softmax", "LogSoftmax", "LayerNormalization"])
    if kind == "LayerNormalization":
        parts = [b.weight(dtype, shape[-1:]), b.weight(dtype, shape[-1:])]
        return [b.node(kind, [value, *parts], axis=-1)]
    return [b.node(kind, [value], axis=int(b.random.integers(len(shape))))]


def epilogue(b, dtype, value, channels, axis, rank):
    """What models put after a contraction."""
    shape = [1] * rank
    shape[axis] = channels
    if b.random.random() < 0.6:
        value = b.node("Add", [value, b.weight(dtype, shape)])
    if b.random.random() < 0.6:
        value = b.node(b.pick(["Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu"]), [value])
    return value


def matmul(b):
    dtype = b.pick(["float32", "float32", "float32", "float16", "float64", "int32"])
    m, n, k = b.size(140), b.size(140), b.size(140)
    batch = b.shape(int(b.random.integers(0, 3)), 4)
    left = b.input(dtype, [*batch, m, k], b.some_axes(len(batch) + 1), -1, 1)
    shared = b.random.random() < 0.6
    shape = [k, n] if shared else [*batch, k, n]
    known = shared or b.random.random() < 0.5
    right = (b.weight if known else b.input)(dtype, shape, low=-1, high=1)
    b.terms = max(1, k)
    value = b.node("MatMul", [left, right])
    return [epilogue(b, dtype, value, n, -1, 2) if dtype in FLOATS else value]


def gemm(b):
    dtype = b.pick(["float32", "float16"])
    m, n, k = b.size(140), b.size(140), b.size(140)
    ta, tb = int(b.random.integers(2)), int(b.random.integers(2))
    left = b.input(dtype, [k, m] if ta else [m, k], (), -1, 1)
    right = b.weight(dtype, [n, k] if tb else [k, n])
    b.terms = max(1, k)
    return [b.node("Gemm", [left, right, b.weight(dtype, b.pick([[n], [m, 1], [1, n], []]))],
                   transA=ta, transB=tb, alpha=0.5, beta=2.0)]


def window(b, spatial, limit=4):
    draw = lambda low, high: [int(b.random.integers(low, high)) for _ in range(spatial)]
    return {"kernel_shape": draw(1, limit), "strides": draw(1, 4), "dilations": draw(1, 3),
            "pads": draw(0, 3) + draw(0, 3)}


def padded(attributes, axis):
    """How far the window reaches on an axis, less its padding, at least 1."""
    spatial = len(attributes["strides"])
    reach = (attributes["kernel_shape"][axis] - 1) * attributes["dilations"][axis] + 1
    pads = attributes["pads"]
    return max(1, reach - pads[axis] - pads[axis + spatial])


def conv(b):
    dtype = b.pick(["float32", "float32", "float32", "float16", "float64"])
    spatial = b.pick([1, 2, 2, 2, 3])
    groups = b.pick([1, 1, 2, 8])
    per, out = b.pick([1, 3, 4, 9]), b.pick([1, 2, 5, 16])
    if groups == 8:
        per, out = 1, b.pick([1, 2])
    attributes = window(b, spatial)
    sizes = [padded(attributes, axis) + int(b.random.integers(0, 70 if spatial < 3 else 9))
             for axis in range(spatial)]
    symbolic = (2, 3)[:spatial] if b.random.random() < 0.3 else ()
    value = b.input(dtype, [b.pick([1, 2, 3]), per * groups, *sizes], symbolic, -1, 1)
    weight = b.weight(dtype, [out * groups, per, *attributes["kernel_shape"]])
    operands = [value, weight]
    if b.random.random() < 0.5:
        operands.append(b.weight(dtype, [out * groups]))
    b.terms = per * int(numpy.prod(attributes["kernel_shape"]))
    value = b.node("Conv", operands, group=groups, **attributes)
    return [epilogue(b, dtype, value, out * groups, 1, spatial + 2)]


def conv_transpose(b):
    dtype = b.pick(["float32", "float32", "float64"])
    spatial, groups = b.pick([1, 2, 2]), b.pick([1, 2])
    attributes = window(b, spatial)
    attributes["pads"] = [0] * (2 * spatial)
    sizes = [int(b.random.integers(1, 25)) for _ in range(spatial)]
    per, out = b.pick([1, 3, 8]), b.pick([1, 4])
    value = b.input(dtype, [b.pick([1, 2]), per * groups, *sizes], (), -1, 1)
    weight = b.weight(dtype, [per * groups, out, *attributes["kernel_shape"]])
    b.terms = per * int(numpy.prod(attributes["kernel_shape"]))
    return [b.node("ConvTranspose", [value, weight], group=groups, **attributes)]


def pool(b):
    spatial = b.pick([1, 2, 2, 3])
    attributes = window(b, spatial, 5)
    attributes["pads"] = [min(attributes["kernel_shape"][i % spatial] - 1, pad)
                          for i, pad in enumerate(attributes["pads"])]
    sizes = [padded(attributes, axis) + int(b.random.integers(0, 40 if spatial < 3 else 9))
             for axis in range(spatial)]
    symbolic = (2,) if b.random.random() < 0.3 else ()
    value = b.input(b.pick(["float32", "float16"]), [b.pick([1, 2]), b.pick([1, 3, 17]), *sizes],
                    symbolic)
    b.terms = int(numpy.prod(attributes["kernel_shape"]))
    if b.random.random() < 0.5:
        return [b.node("MaxPool", [value], **attributes)]
    return [b.node("AveragePool", [value], count_include_pad=int(b.random.integers(2)),
                   **attributes)]


def movement(b):
    dtype = b.pick(list(TYPES))
    shape = b.shape(int(b.random.integers(1, 5)))
    value = b.input(dtype, shape)
    for _ in range(int(b.random.integers(1, 4))):
        rank = len(shape)
        kind = b.pick(["Transpose", "Slice", "Concat", "Pad", "Gather", "Reshape"])
        if kind == "Transpose":
            order = [int(axis) for axis in b.random.permutation(rank)]
            value = b.node(kind, [value], perm=order)
            shape = [shape[axis] for axis in order]
        elif kind == "Slice":
            axis, step = int(b.random.integers(rank)), b.pick([1, 2, 3, -1, -2])
            ends = [0, shape[axis]] if step > 0 else [shape[axis], -shape[axis] - 1]
            bounds = [b.constant(numpy.array([number], numpy.int64))
                      for number in (*ends, axis, step)]
            value = b.node(kind, [value, *bounds])
            shape[axis] = -(-shape[axis] // abs(step))
        elif kind == "Concat":
            axis = int(b.random.integers(rank))
            other = list(shape)
            other[axis] = b.size(9)
            value = b.node(kind, [value, b.weight(dtype, other, -3, 3), value], axis=axis)
            shape[axis] = 2 * shape[axis] + other[axis]
        elif kind == "Pad" and dtype != "bool":
            mode = b.pick(["constant", "edge", "reflect"]) if min(shape) > 2 else "constant"
            pads = b.random.integers(0, 3, 2 * rank)
            value = b.node(kind, [value, b.constant(pads.astype(numpy.int64)),
                                  b.constant(numpy.array(1, dtype))], mode=mode)
            shape = [size + int(pads[i] + pads[i + rank]) for i, size in enumerate(shape)]
        elif kind == "Gather" and min(shape) > 0:
            axis = int(b.random.integers(rank))
            indices = b.random.integers(-shape[axis], shape[axis], b.shape(b.pick([1, 2]), 5))
            value = b.node(kind, [value, b.constant(indices)], axis=axis)
            shape = shape[:axis] + list(indices.shape) + shape[axis + 1:]
        elif kind == "Reshape":
            shape = [int(numpy.prod(shape[:1])), int(numpy.prod(shape[1:]))]
            value = b.node(kind, [value, b.constant(numpy.array(shape, numpy.int64))],
                           allowzero=1)
        if len(shape) > 5 or numpy.prod(shape) > 200000:
            break
    return [value]


def cast(b):
    shape = b.shape()
    source, target = b.pick(list(TYPES)), b.pick(list(TYPES))
    negative = source in FLOATS or source[0] == "i"
    low = 0 if target[0] == "u" and negative and source in FLOATS else -100
    return [b.node("Cast", [b.input(source, shape, (), low, 100)], to=TYPES[target])]


def block(b):
    """A residual block: several contractions, normalisation and branches."""
    n, c, side = b.pick([1, 2]), b.pick([3, 8, 17]), int(b.random.integers(3, 30))
    start = b.input("float32", [n, c, side, side + 1], (), -1, 1)
    value = start
    for _ in range(2):
        value = b.node("Conv", [value, b.weight("float32", [c, c, 3, 3])], pads=[1, 1, 1, 1])
        value = b.node("BatchNormalization",
                       [value, *[b.weight("float32", [c], 0.5, 1.5) for _ in range(4)]])
        value = b.node(b.pick(["Relu", "HardSwish", "Sigmoid"]), [value])
    b.terms = 81 * c * c
    value = b.node("Add", [value, start])
    return [value, b.node("GlobalAveragePool", [value])]


def attention(b):
    """Projections, batched products and a softmax over symbolic lengths."""
    n, s, heads, width = b.pick([1, 2]), int(b.random.integers(1, 40)), 2, b.pick([4, 9, 16])
    x = b.input("float32", [n, s, heads * width], (0, 1), -1, 1)
    split = b.constant(numpy.array([0, 0, heads, width], numpy.int64))
    parts = []
    for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        value = b.node("MatMul", [x, b.weight("float32", [heads * width, heads * width])])
        parts.append(b.node("Transpose", [b.node("Reshape", [value, split])], perm=order))
    scores = b.node("Mul", [b.node("MatMul", parts[:2]),
                            b.constant(numpy.float32(width ** -0.5))])
    value = b.node("MatMul", [b.node("Softmax", [scores], axis=-1), parts[2]])
    b.terms = heads * width * width
    return [b.node("Transpose", [value], perm=[0, 2, 1, 3])]
