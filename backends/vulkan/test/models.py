# SPDX-License-Identifier: Apache-2.0
"""Small models with results that are exact, for runs on a device.

Their numbers are small integers, so that sums may be taken in any order.
"""
import numpy
import onnx
from onnx import TensorProto, helper


def numbers(seed, *shape):
    return numpy.random.default_rng(seed).integers(-8, 9, shape).astype("f")


def many_operands():
    """A concat of more tensors than devices have bindings."""
    parts = {f"x{i}": numbers(i, 3, i % 4 + 1) for i in range(101)}
    node = helper.make_node("Concat", list(parts), ["y"], axis=1)
    return [node], parts, numpy.concatenate(list(parts.values()), 1)


def rows(width):
    """Rows of vec4, or not, with an operand for each row and each column."""
    def make():
        x = {"a": numbers(1, 80, width), "b": numbers(2, width),
             "c": numbers(3, 80, 1)}
        nodes = [helper.make_node("Add", ["a", "b"], ["t"]),
                 helper.make_node("Mul", ["t", "c"], ["y"])]
        return nodes, x, (x["a"] + x["b"]) * x["c"]
    return make


def product(m, k, n):
    """Tiles whose edges are vec4, or not."""
    def make():
        x = {"a": numbers(1, m, k), "b": numbers(2, k, n)}
        return [helper.make_node("MatMul", ["a", "b"], ["y"])], x, x["a"] @ x["b"]
    return make


def depthwise():
    """Windows that reach beyond each edge."""
    x = {"x": numbers(1, 1, 12, 20, 20), "w": numbers(2, 12, 1, 3, 3)}
    padded = numpy.pad(x["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = sum(padded[:, :, i:i + 20, j:j + 20] * x["w"][:, 0, i, j, None, None]
            for i in range(3) for j in range(3))
    return [helper.make_node("Conv", ["x", "w"], ["y"], group=12,
                             pads=[1, 1, 1, 1])], x, y


MODELS = {
    "concat of 101 operands": many_operands,
    "rows of vec4": rows(128),
    "rows of no vec4": rows(127),
    "product of vec4": product(72, 40, 100),
    "product of no vec4": product(67, 41, 101),
    "depthwise convolution": depthwise,
}


def write(name, folder):
    """Writes model.onnx and its inputs; gives the arguments of `bp run` for
    these, and the result `y`."""
    nodes, inputs, result = MODELS[name]()
    graph = helper.make_graph(
        nodes, "main",
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, value.shape)
         for key, value in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result.shape)])
    model = helper.make_model(graph, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder / "model.onnx")
    arguments = [folder / "model.onnx"]
    for key, value in inputs.items():
        numpy.save(folder / f"{key}.npy", value)
        arguments += ["--input", f"{key}={folder / key}.npy"]
    return arguments, result
