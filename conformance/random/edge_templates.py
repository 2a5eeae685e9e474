# SPDX-License-Identifier: Apache-2.0
"""Templates of random models with sizes 0 and 1, and with what only the call tells."""
import numpy
import onnx
from onnx import TensorProto, helper

from templates import (binary, compare_where, conv, conv_transpose, gemm, matmul, movement,
                       normalise, reduce, unary_chain)

def tiny(b):
    """Another template, most of whose sizes are 0 or 1."""
    b.tiny = True
    return b.pick([unary_chain, binary, compare_where, reduce, normalise, matmul, gemm,
                   movement])(b)


def cut(b, value, size, axis, step=1):
    """A slice with bounds that may be negative or out of range, and its size."""
    start, end = (int(number) for number in b.random.integers(-size - 2, size + 3, 2))
    bounds = [b.constant(numpy.array([number], numpy.int64))
              for number in (start, end, axis, step)]
    return b.node("Slice", [value, *bounds]), len(range(size)[start:end:step])


def column(b):
    """x and one column of it, or none, over symbolic axes."""
    rows, size = b.size(9), b.pick([0, 1, 2, 3, 7, 40])
    x = b.input("float32", [rows, size], (0, 1))
    start, end = b.pick([(0, 1), (-1, 2 ** 63 - 1), (0, min(1, size))])
    bounds = [b.constant(numpy.array([number], numpy.int64)) for number in (start, end, 1)]
    part = b.node("Slice", [x, *bounds])
    if b.random.random() < 0.5:
        part = b.node(b.pick(["Exp", "Neg", "Abs"]), [part])
    value = b.node(b.pick(["Add", "Sub", "Mul", "Max"]), b.pick([[x, part], [part, x]]))
    if b.random.random() < 0.5:
        value = b.node("Add", [b.node("Expand", [part, b.node("Shape", [x])]), value])
    if b.random.random() < 0.5:
        value = b.node("Reshape", [value, b.constant(numpy.array([-1], numpy.int64))])
    return [value]


def two_sizes(b):
    """Operands whose symbols are equal, or one of them 1."""
    wide = b.pick([1, 2, 5, 33])
    first, second = b.pick([(wide, wide), (1, wide), (wide, 1)])
    depth = b.size(9)
    x = b.name()
    b.inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, ["p", depth]))
    b.data[x] = b.values("float32", [first, depth])
    y = b.name()
    b.inputs.append(helper.make_tensor_value_info(y, TensorProto.FLOAT, ["q", depth]))
    b.data[y] = b.values("float32", [second, depth])
    value = b.node(b.pick(["Add", "Mul", "Min"]), [x, y])
    if b.random.random() < 0.6:
        value = b.node("Softmax", [b.node("Sub", [value, b.pick([x, y])])], axis=-1)
    if b.random.random() < 0.4:
        b.terms = max(1, depth)
        value = b.node("MatMul", [value, b.weight("float32", [depth, 3])])
    return [value]


def empties(b):
    """Movement, reductions and products around axes without elements."""
    shape = [b.pick([0, 1, 2, 4]) for _ in range(int(b.random.integers(1, 4)))]
    value = b.input("float32", shape, b.some_axes(len(shape)) if b.random.random() < 0.3 else ())
    outputs = []
    for _ in range(int(b.random.integers(1, 5))):
        axis = int(b.random.integers(len(shape)))
        kind = b.pick(["Slice", "Pad", "Split", "Concat", "Reduce", "MatMul", "Expand", "Unary"])
        if kind == "Slice":
            value, shape[axis] = cut(b, value, shape[axis], axis, b.pick([1, 1, 2]))
        elif kind == "Pad":
            pads = numpy.zeros(2 * len(shape), numpy.int64)
            pads[axis] = b.random.integers(0, 3)
            pads[axis + len(shape)] = b.random.integers(0, 2)
            value = b.node("Pad", [value, b.constant(pads), b.constant(numpy.float32(2))])
            shape[axis] += int(pads.sum())
        elif kind == "Split" and not b.symbols:
            first = int(b.random.integers(0, shape[axis] + 1))
            parts = b.constant(numpy.array([first, shape[axis] - first], numpy.int64))
            names = [b.name() + "a", b.name() + "b"]
            b.nodes.append(helper.make_node("Split", [value, parts], names, axis=axis))
            outputs.append(names[0])
            value, shape[axis] = names[1], shape[axis] - first
        elif kind == "Concat":
            value = b.node("Concat", [value, value], axis=axis)
            shape[axis] *= 2
        elif kind == "Reduce":
            op = b.pick(["ReduceSum", "ReduceMax", "ReduceProd"])
            value = b.node(op, [value, b.constant(numpy.array([axis], numpy.int64))], keepdims=1)
            shape[axis] = 1
        elif kind == "MatMul" and len(shape) > 1:
            width = b.pick([0, 1, 3])
            value = b.node("MatMul", [value, b.weight("float32", [shape[-1], width])])
            shape[-1] = width
        elif kind == "Expand":
            wide = [b.pick([0, 1, 3]) if size == 1 else size for size in shape]
            value = b.node("Expand", [value, b.constant(numpy.array(wide, numpy.int64))])
            shape = wide
        else:
            value = b.node(b.pick(["Neg", "Tanh", "Abs"]), [value])
    return [*outputs, b.node("Identity", [value])]


def folded(b):
    """What depends on weights alone, between reshapes and broadcasts, then x."""
    rows, width = b.pick([2, 6]), b.pick([1, 4])
    shape = [rows, 1, width]
    value = b.weight("float32", shape)
    for _ in range(int(b.random.integers(2, 7))):
        kind = b.pick(["Unary", "Expand", "Reshape", "Concat", "Transpose"])
        if kind == "Expand":
            shape = [b.pick([2, 3]) if size == 1 else size for size in shape]
            value = b.node("Expand", [value, b.constant(numpy.array(shape, numpy.int64))])
        elif kind == "Reshape":
            shape = b.pick([[int(numpy.prod(shape[:-1])), 1, shape[-1]],
                            [1, int(numpy.prod(shape)), 1], [int(numpy.prod(shape)), 1]])
            value = b.node("Reshape", [value, b.constant(numpy.array(shape, numpy.int64))])
        elif kind == "Concat":
            value = b.node("Concat", [value, b.node("Cos", [value])], axis=-1)
            shape = [*shape[:-1], 2 * shape[-1]]
        elif kind == "Transpose":
            value = b.node("Transpose", [value], perm=list(range(len(shape)))[::-1])
            shape = shape[::-1]
        else:
            value = b.node(b.pick(["Neg", "Exp", "Sin", "Abs", "Tanh"]), [value])
            value = b.node("Clip", [value, b.constant(numpy.float32(-3)),
                                    b.constant(numpy.float32(3))])
    return [b.node("Add", [value, b.input("float32", shape)])]


def broken_weights(b):
    """NaN and infinities in the weights of a contraction."""
    value = b.pick([matmul, gemm, conv, conv_transpose])(b)
    large = [i for i, tensor in enumerate(b.constants)
             if tensor.data_type == TensorProto.FLOAT and numpy.prod(tensor.dims) > 1]
    for index in large[:1]:
        array = onnx.numpy_helper.to_array(b.constants[index]).copy()
        array.flat[int(b.random.integers(array.size))] = b.pick([numpy.nan, numpy.inf])
        b.constants[index] = onnx.numpy_helper.from_array(array, b.constants[index].name)
    return value
