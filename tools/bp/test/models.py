# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models, good and broken, for the tests of the tool."""
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def tensor_value(name, dims, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def model(nodes, inputs, outputs, constants=(), opset=17, domain=""):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)])
    made.ir_version = 8
    return made


def good():
    """y[n, 3] = relu(x[n, 4] * w + b)"""
    rng = numpy.random.default_rng(3)
    w = numpy_helper.from_array(rng.standard_normal((4, 3)).astype("f4"), "w")
    b = numpy_helper.from_array(rng.standard_normal(3).astype("f4"), "b")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]),
             helper.make_node("Add", ["m", "b"], ["a"]),
             helper.make_node("Relu", ["a"], ["y"])]
    return model(nodes, [tensor_value("x", ["n", 4])], [tensor_value("y", ["n", 3])], [w, b])


def squares():
    """y[n, 64] = x / sqrt(mean of x⁴ + 1e-5), which is squares of squares."""
    four = numpy_helper.from_array(numpy.float32(4), "four")
    small = numpy_helper.from_array(numpy.float32(1e-5), "small")
    nodes = [helper.make_node("Pow", ["x", "four"], ["s"]),
             helper.make_node("ReduceMean", ["s"], ["m"], axes=[-1]),
             helper.make_node("Add", ["m", "small"], ["a"]),
             helper.make_node("Sqrt", ["a"], ["r"]),
             helper.make_node("Div", ["x", "r"], ["y"])]
    return model(nodes, [tensor_value("x", ["n", 64])], [tensor_value("y", ["n", 64])],
                 [four, small])


def eighths():
    """y[n, 64] = |x| / 8, which is exact."""
    eight = numpy_helper.from_array(numpy.float32(8), "eight")
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Div", ["a", "eight"], ["y"])]
    return model(nodes, [tensor_value("x", ["n", 64])], [tensor_value("y", ["n", 64])], [eight])


def long_chain(length=100, transposed=False, rows=64):
    """A chain of tanh and sin on x[rows, 64]; transposed: plus its transpose."""
    names = ["x"] + [f"h{i}" for i in range(length - 1)] + ["h" if transposed else "y"]
    nodes = [helper.make_node("Tanh" if i % 2 else "Sin", [names[i]], [names[i + 1]])
             for i in range(length)]
    if transposed:
        nodes += [helper.make_node("Transpose", ["h"], ["t"], perm=[1, 0]),
                  helper.make_node("Add", ["t", "h"], ["y"])]
    return model(nodes, [tensor_value("x", [rows, 64])], [tensor_value("y", [rows, 64])])


def layers(count):
    """`count` times a product and a norm."""
    nodes = []
    for i in range(count):
        nodes += [helper.make_node("MatMul", [f"x{i}", "w"], [f"m{i}"], f"/layer.{i}/MatMul"),
                  helper.make_node("LayerNormalization", [f"m{i}", "s"], [f"x{i + 1}"],
                                   f"/layer.{i}/Norm")]
    weights = [numpy_helper.from_array(numpy.eye(64, dtype="f4"), "w"),
               numpy_helper.from_array(numpy.ones(64, "f4"), "s")]
    return model(nodes, [tensor_value("x0", [32, 64])], [tensor_value(f"x{count}", [32, 64])],
                 weights)


def heavy():
    """Two products by weights of 2 MiB each, and these weights."""
    random = numpy.random.default_rng(7)
    weights = [random.standard_normal((512, 1024)).astype("f4"),
               random.standard_normal((1024, 512)).astype("f4")]
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"], name="/up"),
             helper.make_node("Relu", ["h"], ["r"], name="/relu"),
             helper.make_node("MatMul", ["r", "b"], ["y"], name="/down")]
    constants = [numpy_helper.from_array(weight, name) for weight, name in zip(weights, "ab")]
    return model(nodes, [tensor_value("x", ["n", 512])], [tensor_value("y", ["n", 512])],
                 constants), weights


def convolutions():
    """y[n, 10] of x[n, 3, 16, 20]: convolutions of all kinds, pools, a product."""
    rng = numpy.random.default_rng(11)
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 1, 3, 3), "w3": (12, 4, 1, 1),
              "w4": (12, 12, 3, 2), "w5": (12, 10), "b5": (10,)}
    weights = [numpy_helper.from_array((rng.standard_normal(shape) / 3).astype("f4"), name)
               for name, shape in shapes.items()]
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1", "b1"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
             node("Relu", ["a"], ["b"]),
             node("Conv", ["b", "w2"], ["c"], group=8, pads=[1, 1, 1, 1]),
             node("Add", ["b", "c"], ["d"]),
             node("Conv", ["d", "w3"], ["e"], group=2),
             node("MaxPool", ["e"], ["f"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             node("Conv", ["f", "w4"], ["g"], dilations=[1, 2], pads=[1, 1, 1, 1]),
             node("Tanh", ["g"], ["h"]),
             node("GlobalAveragePool", ["h"], ["i"]),
             node("Flatten", ["i"], ["j"]),
             node("Gemm", ["j", "w5", "b5"], ["y"])]
    return model(nodes, [tensor_value("x", ["n", 3, 16, 20])], [tensor_value("y", ["n", 10])],
                 weights)


def decoder():
    """logits[B, 1, 11] of token[B, 1] and a cache present[B, P + 1, 4] of past[B, P, 4]."""
    rng = numpy.random.default_rng(5)
    table = numpy_helper.from_array(rng.standard_normal((11, 4)).astype("f4"), "table")
    words = numpy_helper.from_array(rng.standard_normal((4, 11)).astype("f4"), "words")
    nodes = [helper.make_node("Gather", ["table", "token"], ["now"]),
             helper.make_node("Concat", ["past", "now"], ["present"], axis=1),
             helper.make_node("ReduceMean", ["present"], ["mean"], axes=[1]),
             helper.make_node("MatMul", ["mean", "words"], ["logits"])]
    return model(nodes, [tensor_value("token", ["B", 1], TensorProto.INT64),
                         tensor_value("past", ["B", "P", 4])],
                 [tensor_value("logits", ["B", 1, 11]), tensor_value("present", ["B", "P1", 4])],
                 [table, words])


def attention():
    """o[b, 3, m, 40] of q[b, 3, m, 40], k[b, 3, n, 40] and v[b, 3, n, 40], scaled."""
    scale = numpy_helper.from_array(numpy.float32(40 ** -0.5), "scale")
    nodes = [helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "kt"], ["s"], name="/scores"),
             helper.make_node("Mul", ["scale", "s"], ["scaled"]),
             helper.make_node("Softmax", ["scaled"], ["p"], axis=-1),
             helper.make_node("MatMul", ["p", "v"], ["o"])]
    inputs = [tensor_value(name, ["b", 3, size, 40]) for name, size in
              (("q", "m"), ("k", "n"), ("v", "n"))]
    return model(nodes, inputs, [tensor_value("o", ["b", 3, "m", 40])], [scale])


def sums(rows=3, columns=5001):
    """Few and long sums."""
    return model([helper.make_node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)],
                 [tensor_value("x", [rows, columns])], [tensor_value("y", [rows])])


def with_control():
    """y = sum(x) > 0 ? relu(x) : -x, then the running sums of its rows; x[n, 4]"""
    def branch(name, op):
        return helper.make_graph([helper.make_node(op, ["x"], [f"{name}_y"])], name, [],
                                 [tensor_value(f"{name}_y", ["n", 4])])
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "row"], ["after"]),
         helper.make_node("Identity", ["after"], ["each"])], "body",
        [tensor_value("before", [4]), tensor_value("row", [4])],
        [tensor_value("after", [4]), tensor_value("each", [4])])
    zero = numpy_helper.from_array(numpy.zeros((), "f4"), "zero")
    start = numpy_helper.from_array(numpy.zeros(4, "f4"), "start")
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
             helper.make_node("Greater", ["sum", "zero"], ["positive"]),
             helper.make_node("If", ["positive"], ["chosen"], name="/choice",
                              then_branch=branch("then", "Relu"),
                              else_branch=branch("else", "Neg")),
             helper.make_node("Scan", ["start", "chosen"], ["last", "y"], name="/sums",
                              body=body, num_scan_inputs=1)]
    return model(nodes, [tensor_value("x", ["n", 4])],
                 [tensor_value("y", ["n", 4]), tensor_value("last", [4])], [zero, start])


def simple(op="Relu", **attributes):
    return model([helper.make_node(op, ["x"], ["y"], **attributes)],
                 [tensor_value("x", [2, 3])], [tensor_value("y", [2, 3])])


def with_weight(tensor):
    return model([helper.make_node("Add", ["x", "w"], ["y"])],
                 [tensor_value("x", [2, 3])], [tensor_value("y", [2, 3])], [tensor])


def raw_weight(dims, data, dtype=FLOAT):
    tensor = TensorProto(name="w", data_type=dtype, raw_data=data)
    tensor.dims.extend(dims)
    return tensor


def external_weight(location, offset=0, length=24):
    tensor = TensorProto(name="w", data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend([2, 3])
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def broken_models(folder):
    """name -> bytes of a model that must be refused. Files lie in `folder`."""
    whole = good().SerializeToString()
    with open(os.path.join(folder, "short.bin"), "wb") as file:
        file.write(b"\0" * 8)
    cycle = model([helper.make_node("Add", ["x", "b"], ["a"]),
                   helper.make_node("Relu", ["a"], ["b"])],
                  [tensor_value("x", [2])], [tensor_value("b", [2])])
    twice = model([helper.make_node("Relu", ["x"], ["y"]),
                   helper.make_node("Neg", ["x"], ["y"])],
                  [tensor_value("x", [2])], [tensor_value("y", [2])])
    models = {
        "unknown op": simple("Frobnicate"),
        "unknown domain": model([helper.make_node("Relu", ["x"], ["y"], domain="acme")],
                                [tensor_value("x", [2])], [tensor_value("y", [2])]),
        "unknown attribute": simple("Relu", slope=2.0),
        "wrong attribute type": simple("Softmax", axis=1.5),
        "missing input value": model([helper.make_node("Add", ["x", "gone"], ["y"])],
                                     [tensor_value("x", [2])], [tensor_value("y", [2])]),
        "cycle": cycle,
        "value defined twice": twice,
        "output that nothing makes": model([helper.make_node("Relu", ["x"], ["y"])],
                                           [tensor_value("x", [2])], [tensor_value("z", [2])]),
        "opset of the future": model([helper.make_node("Relu", ["x"], ["y"])],
                                     [tensor_value("x", [2])], [tensor_value("y", [2])],
                                     opset=9999),
        "shapes that do not broadcast": with_weight(raw_weight([5], b"\0" * 20)),
        "huge weight": with_weight(raw_weight([1 << 40, 1 << 20], b"\0" * 24)),
        "overflowing weight": with_weight(raw_weight([1 << 62, 1 << 62], b"\0" * 24)),
        "negative weight size": with_weight(raw_weight([-2, 3], b"\0" * 24)),
        "weight with too few bytes": with_weight(raw_weight([2, 3], b"\0" * 20)),
        "weight of an unknown dtype": with_weight(raw_weight([2, 3], b"\0" * 24, 77)),
        "string weight": with_weight(raw_weight([2, 3], b"\0" * 24, TensorProto.STRING)),
        "mixed dtypes": with_weight(raw_weight([2, 3], b"\0" * 48, TensorProto.DOUBLE)),
        "external file is absent": with_weight(external_weight("absent.bin")),
        "external path goes up": with_weight(external_weight("../../etc/hostname")),
        "external path is absolute": with_weight(external_weight("/etc/hostname")),
        "external data is short": with_weight(external_weight("short.bin")),
        "external offset is outside": with_weight(external_weight("short.bin", 1 << 40)),
    }
    made = {name: value.SerializeToString() for name, value in models.items()}
    made["cut in half"] = whole[:len(whole) // 2]
    made["empty file"] = b""
    made["text file"] = b"this is not a model\n" * 40
    made["no graph"] = onnx.ModelProto(ir_version=8).SerializeToString()
    return made


def damaged_artifacts(whole):
    """name -> bytes, from a good artifact."""
    def flipped(at):
        data = bytearray(whole)
        data[at] ^= 0x5A
        return bytes(data)
    return {
        "wrong magic": b"ZIP!" + whole[4:],
        "cut header": whole[:20],
        "cut metadata": whole[:200],
        "cut weights": whole[:-8],
        "newer version": flipped(4),
        "flipped metadata": flipped(100),
        "flipped weights": flipped(len(whole) - 70),
        "garbage": b"BPX\n" + bytes(range(256)) * 8,
        "empty artifact": b"",
    }


BROKEN_MANIFESTS = {
    "cut manifest": '{"name": "acme", ',
    "manifest is a list": "[1, 2, 3]",
    "manifest of wrong types": '{"format": "one", "name": 7, "driver": []}',
    "manifest names a path above": '{"format": 1, "name": "acme", "version": "1.0.0", '
                                   '"abi": {"major": 0, "minor_low": 0}, '
                                   '"driver": "../../../lib/libacme.so"}',
    "manifest names an absent library": '{"format": 1, "name": "acme", "version": "1.0.0", '
                                        '"abi": {"major": 0, "minor_low": 0}, '
                                        '"driver": "libacme.so"}',
}
