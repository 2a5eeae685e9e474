# SPDX-License-Identifier: Apache-2.0
"""Models whose code shows what a target has: floats, bytes, bf16."""
import numpy
from onnx import TensorProto, helper, numpy_helper

import models


def make_model(path):
    """Padded convolution, product, softmax, sums, a transpose; odd sizes."""
    rng = numpy.random.default_rng(5)
    constants = [numpy_helper.from_array(rng.standard_normal(dims).astype("f4") / 3, name)
                 for name, dims in (("k", (13, 3, 3, 3)), ("w", (21, 35)), ("b", (35,)))]
    node = helper.make_node
    nodes = [node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]), node("Tanh", ["c"], ["t"]),
             node("MatMul", ["t", "w"], ["m"]), node("Add", ["m", "b"], ["a"]),
             node("Softmax", ["a"], ["s"], axis=-1), node("Exp", ["a"], ["e"]),
             node("Add", ["s", "e"], ["p"]), node("Transpose", ["p"], ["y"], perm=[0, 3, 2, 1]),
             node("ReduceMean", ["p"], ["z"], axes=[2, 3], keepdims=0)]
    value = models.tensor_value
    made = models.model(nodes, [value("x", ["n", 3, 17, 21])],
                        [value("y", ["n", 35, 17, 13]), value("z", ["n", 13])], constants)
    path.write_bytes(made.SerializeToString())


def make_integer_model(path, kinds="ss su us uu", zeros=(128, 77)):
    """Products of bytes, signed and not: with weights, and then of u8 less a zero point
    that leaves no byte or that only the call tells; with sizes that only the call tells and
    that no word or vector divides; padded convolutions whose zero point leaves a byte (128)
    and one that does not."""
    rng = numpy.random.default_rng(6)
    types = {"s": (TensorProto.INT8, "i1", -128), "u": (TensorProto.UINT8, "u1", 0)}
    nodes, inputs, outputs, constants = [], [], [], []

    def constant(name, dtype, low, dims):
        value = rng.integers(low, low + 256, dims).astype(dtype)
        constants.append(numpy_helper.from_array(value, name))
        return name

    def value(of, name, dims):
        made = helper.make_tensor_value_info(name, of, dims)
        (outputs if of == TensorProto.INT32 else inputs).append(made)
        return name

    for kind in kinds.split():
        left, right = types[kind[0]], types[kind[1]]
        x = value(left[0], f"x{kind}", ["n", 3, 17, 21])
        weights = constant(f"w{kind}", *right[1:], (21, 35))
        nodes.append(helper.make_node("MatMulInteger", [x, weights], [f"m{kind}"]))
        value(TensorProto.INT32, f"m{kind}", ["n", 3, 17, 35])
        two = [value(side[0], f"{name}{kind}", ["p", *dims])
               for side, name, dims in ((left, "a", ["q", "k"]), (right, "b", ["k", 19]))]
        nodes.append(helper.make_node("MatMulInteger", two, [f"t{kind}"]))
        value(TensorProto.INT32, f"t{kind}", ["p", "q", 19])
        if left[1] != "u1":
            continue
        constants.append(numpy_helper.from_array(numpy.uint8(77), f"p{kind}"))
        points = (f"p{kind}", value(left[0], f"y{kind}", []))
        for point in points:
            nodes.append(helper.make_node("MatMulInteger", [x, weights, point], [f"d{point}"]))
            value(TensorProto.INT32, f"d{point}", ["n", 3, 17, 35])
        for zero in zeros:
            constants.append(numpy_helper.from_array(numpy.uint8(zero), f"z{kind}{zero}"))
            kernel = constant(f"k{kind}{zero}", *right[1:], (13, 3, 3, 3))
            nodes.append(helper.make_node("ConvInteger", [x, kernel, f"z{kind}{zero}"],
                                          [f"c{kind}{zero}"], pads=[1, 1, 1, 1]))
            value(TensorProto.INT32, f"c{kind}{zero}", ["n", 13, 17, 21])
    graph = helper.make_graph(nodes, "bytes", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(made.SerializeToString())


def make_brain_model(path, convolution=True):
    """Products of bf16: with weights, with sizes that only the call tells, of one row,
    and a padded convolution; sizes that no block of an instruction divides."""
    rng = numpy.random.default_rng(7)
    sizes = {"w": (21, 35), "k": (13, 3, 3, 3), "v": (35, 33)}
    constants = [numpy_helper.from_array(rng.standard_normal(dims).astype("f4"), name)
                 for name, dims in sizes.items()]
    inputs = {"x": ["n", 3, 17, 21], "a": ["p", "q", "k"], "b": ["p", "k", 19], "r": [1, 35]}
    products = {"m": ("x", "w", ["n", 3, 17, 35]), "t": ("a", "b", ["p", "q", 19]),
                "s": ("r", "v", [1, 33]), "c": ("x", "k", ["n", 13, 17, 21])}
    if not convolution:
        del products["c"]
    nodes = [helper.make_node("Cast", [name], [name + "n"], to=TensorProto.BFLOAT16)
             for name in [*inputs, *sizes]]
    for name, (left, right, _) in products.items():
        kind, options = ("Conv", {"pads": [1, 1, 1, 1]}) if name == "c" else ("MatMul", {})
        nodes += [helper.make_node(kind, [left + "n", right + "n"], [name + "n"], **options),
                  helper.make_node("Cast", [name + "n"], [name], to=TensorProto.FLOAT)]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "brain", [info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [info(name, TensorProto.FLOAT, dims) for name, (*_, dims) in products.items()], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    path.write_bytes(made.SerializeToString())
