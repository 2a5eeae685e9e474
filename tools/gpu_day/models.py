# SPDX-License-Identifier: Apache-2.0
"""The small models of a day on a GPU: those whose outputs are goldens, and those that are timed."""
import dataclasses

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 23
FLOAT, HALF, BF16 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16
INT8, INT32 = TensorProto.INT8, TensorProto.INT32


@dataclasses.dataclass
class Golden:
    """`rtol` and `atol` are how far the emulator may be from a GPU: nothing where the ISA says every
    bit, some units in the last place where it gives a bound (the emulator's page has which)."""
    name: str
    nodes: list
    inputs: dict  # name -> (dtype, sizes)
    output: tuple  # dtype, sizes
    rtol: float = 0
    atol: float = 0
    precision: str = ""  # that the device is asked for


@dataclasses.dataclass
class Timed:
    """`kind` and `sizes` are what peers.py computes the same by; `flops` of a call, or the bytes that
    it has to move."""
    name: str
    kind: str
    sizes: list
    nodes: list
    inputs: dict
    output: tuple
    flops: int = 0
    bytes: int = 0
    precision: str = ""  # that the device is asked for
    kernel: str = ""  # a registered one that computes it


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], **attributes)


def goldens():
    """Those that code for any GPU computes, then those of code that Hopper has for itself."""
    return plain_goldens() + hopper_goldens()


def plain_goldens():
    cube = {"a": (FLOAT, (67, 45)), "b": (FLOAT, (45, 53))}
    halves = {name: (HALF, sizes) for name, (_, sizes) in cube.items()}
    image = {"x": (FLOAT, (2, 5, 17, 19)), "w": (FLOAT, (7, 5, 3, 3))}
    rows = {"x": (FLOAT, (37, 301))}
    return [
        Golden("add-mul", [node("Mul", "a a", "t"), node("Add", "t b", "y")],
               {"a": (FLOAT, (33, 77)), "b": (FLOAT, (77,))}, (FLOAT, (33, 77)), 2e-7, 1e-7),
        Golden("matmul-f32", [node("MatMul", "a b", "y")], cube, (FLOAT, (67, 53))),
        Golden("matmul-f16", [node("MatMul", "a b", "y")], halves, (HALF, (67, 53)), 2e-3, 1e-3),
        Golden("conv-f32", [node("Conv", "x w", "y")], image, (FLOAT, (2, 7, 15, 17))),
        Golden("softmax", [node("Softmax", "x", "y")], rows, (FLOAT, (37, 301)), 1e-6, 1e-9),
        Golden("layer-norm", [node("LayerNormalization", "x s", "y")],
               {**rows, "s": (FLOAT, (301,))}, (FLOAT, (37, 301)), 1e-5, 1e-6),
        Golden("erf", [node("Erf", "x", "y")], rows, (FLOAT, (37, 301)), 1e-6, 1e-9),
        Golden("sum", [node("ReduceSum", "x axes", "y", keepdims=0)], rows, (FLOAT, (37,))),
        Golden("transpose", [node("Transpose", "x", "y")], rows, (FLOAT, (301, 37))),
        Golden("to-f16", [node("Cast", "x", "y", to=HALF)], rows, (HALF, (37, 301))),
        Golden("matmul-tf32", [node("MatMul", "a b", "y")],
               {"a": (FLOAT, (136, 72)), "b": (FLOAT, (72, 200))}, (FLOAT, (136, 200)),
               precision="tf32"),
    ]


def hopper_goldens():
    wide = {"a": (HALF, (136, 72)), "b": (HALF, (72, 200))}
    turned = {"a": (HALF, (72, 136)), "b": (HALF, (200, 72))}
    heads = {name: (HALF, (1, 2, 48, 64)) for name in "qkv"}
    image = {"x": (HALF, (1, 16, 18, 18)), "w": (HALF, (40, 16, 3, 3))}
    long, planes = {"x": (FLOAT, (3, 5000))}, {"x": (FLOAT, (2, 3, 17, 19))}
    halves = {"x": (HALF, (9, 768)), "s": (HALF, (768,))}
    channels = {"s": (FLOAT, (3,)), "b": (FLOAT, (3,))}
    return [
        Golden("matmul-wide", [node("MatMul", "a b", "y")], wide, (HALF, (136, 200)), 2e-3, 1e-3),
        Golden("matmul-turned", [node("Transpose", "a", "at"), node("Transpose", "b", "bt"),
                                 node("MatMul", "at bt", "y")], turned, (HALF, (136, 200)), 2e-3,
               1e-3),
        Golden("matmul-i8", [node("MatMulInteger", "a b", "y")],
               {"a": (INT8, (136, 64)), "b": (INT8, (64, 208))}, (INT32, (136, 208))),
        Golden("conv-f16", [node("Conv", "x w", "y")], image, (HALF, (1, 40, 16, 16)), 2e-3, 1e-3),
        Golden("attention-f16", [node("Attention", "q k v", "y")], heads, (HALF, (1, 2, 48, 64)),
               2e-3, 1e-3),
        Golden("softmax-long", [node("Softmax", "x", "y")], long, (FLOAT, (3, 5000)), 1e-6, 1e-9),
        Golden("instance-norm", [node("InstanceNormalization", "x s b", "y")],
               {**planes, **channels}, (FLOAT, (2, 3, 17, 19)), 1e-5, 1e-6),
        Golden("rms-norm-f16", [node("RMSNormalization", "x s", "y")], halves, (HALF, (9, 768)),
               1e-3, 1e-6),
    ]


def timed(quick):
    cube = 128 if quick else 4096
    rows, columns = (64, 256) if quick else (8192, 4096)
    heads, keys, width = (2, 64, 64) if quick else (16, 2048, 64)
    line = {"x": (FLOAT, (rows, columns))}
    moved = 2 * 4 * rows * columns
    product = {"a": (BF16, (cube, cube)), "b": (BF16, (cube, cube))}
    singles = {name: (FLOAT, sizes) for name, (_, sizes) in product.items()}
    multiply = [node("MatMul", "a b", "y")]
    heads_of = (1, heads, keys, width)
    parts = {name: (HALF, heads_of) for name in "qkv"}
    return [
        Timed(f"bf16 product {cube}", "matmul", [cube] * 3, multiply, product,
              (BF16, (cube, cube)), flops=2 * cube ** 3),
        Timed(f"tf32 product {cube}", "matmul-tf32", [cube] * 3, multiply, singles,
              (FLOAT, (cube, cube)), flops=2 * cube ** 3, precision="tf32"),
        Timed(f"bf16 product {cube} by cuBLASLt", "matmul", [cube] * 3, multiply, product,
              (BF16, (cube, cube)), flops=2 * cube ** 3, kernel="cublaslt.linear_bf16"),
        Timed("softmax rows", "softmax", [rows, columns], [node("Softmax", "x", "y")], line,
              (FLOAT, (rows, columns)), bytes=moved),
        Timed("layer norm rows", "layer-norm", [rows, columns],
              [node("LayerNormalization", "x s", "y")], {**line, "s": (FLOAT, (columns,))},
              (FLOAT, (rows, columns)), bytes=moved),
        Timed("gelu", "gelu", [rows, columns], [node("Gelu", "x", "y", approximate="tanh")], line,
              (FLOAT, (rows, columns)), bytes=moved),
        Timed("attention", "attention", list(heads_of), [node("Attention", "q k v", "y")], parts,
              (HALF, heads_of), flops=4 * heads * keys * keys * width),
    ]


def save(model, path):
    """As ONNX; `axes` of a reduction is a constant."""
    values = [helper.make_tensor_value_info(name, dtype, sizes)
              for name, (dtype, sizes) in model.inputs.items()]
    used = {name for one in model.nodes for name in one.input}
    constants = [numpy_helper.from_array(numpy.array([1], numpy.int64), "axes")] * ("axes" in used)
    graph = helper.make_graph(model.nodes, "day", values,
                              [helper.make_tensor_value_info("y", *model.output)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                ir_version=10), path)


def draw(model, folder):
    """Its inputs as files: numbers that f16 holds, of sums that f32 holds."""
    random = numpy.random.default_rng(7)
    for name, (dtype, sizes) in model.inputs.items():
        values = random.integers(-64, 65, sizes)
        numpy.save(folder / f"{name}.npy", values.astype("i1") if dtype == INT8 else
                   (values / 16).astype("f2" if dtype == HALF else "f4"))
