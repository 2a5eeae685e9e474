# SPDX-License-Identifier: Apache-2.0
"""Models of one ONNX Attention, what they are called with, and what NumPy says of them."""
import dataclasses

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper

F16, BF16, F32 = numpy.dtype("f2"), numpy.dtype(ml_dtypes.bfloat16), numpy.dtype("f4")
# Of the result, and of each weight: half of the distance to the next number; what sums in f32 add.
UNIT = {F16: 2.0**-11, BF16: 2.0**-8, F32: 2.0**-18}


@dataclasses.dataclass
class Attention:
    dtype: numpy.dtype
    rows: int
    keys: int
    depth: int
    columns: int
    heads: int = 2
    shared: int = 2  # heads of k and v
    causal: bool = False
    mask: bool = False
    # Bounds of the counters: multiply-adds in matrix instructions; none: no such instruction.
    matrix: float = 0
    conflicts: float = 5
    coalesced: float = 90
    products: int = 0  # multiply-adds in matrix instructions at most; none: any number


CASES = {
    "op-f16": Attention(F16, 256, 256, 64, 64, matrix=90),
    "op-bf16": Attention(BF16, 256, 256, 64, 64, matrix=90),
    "op-f16-128": Attention(F16, 128, 256, 128, 128, matrix=90),
    "op-bf16-mask": Attention(BF16, 128, 128, 64, 64, mask=True, matrix=90),
    "op-f16-mask": Attention(F16, 128, 128, 64, 64, mask=True, matrix=90),
    "op-f16-grouped": Attention(F16, 64, 128, 80, 80, heads=4, shared=2, matrix=90),
    "op-f16-causal": Attention(F16, 130, 130, 64, 48, causal=True, matrix=90,
                               coalesced=85),
    # Six of sixteen tiles of 64 x 64 have no scores, and one product of zeros in place of two.
    "op-f16-causal-tiles": Attention(F16, 256, 256, 64, 64, causal=True, matrix=90,
                                     products=19 << 20),
    "op-bf16-causal-grouped": Attention(BF16, 128, 128, 64, 64, heads=4, shared=2, causal=True,
                                        matrix=90, coalesced=85),
    "op-f16-step": Attention(F16, 1, 200, 64, 64, heads=8, shared=2, matrix=85, conflicts=30),
    "op-f16-one": Attention(F16, 1, 1, 48, 48, heads=1, shared=1, matrix=50, conflicts=50,
                            coalesced=0),
    "op-f16-uneven": Attention(F16, 37, 77, 24, 20, matrix=50, conflicts=50),
    "op-bf16-256": Attention(BF16, 64, 64, 256, 256, matrix=90),
    "op-f32": Attention(F32, 128, 128, 64, 64),
    "op-f32-mask": Attention(F32, 128, 128, 64, 64, mask=True),
}


def expected(case, q, k, v, mask):
    wide = [one.astype("f8") for one in (q, k, v)]
    k, v = (numpy.repeat(one, case.heads // case.shared, 1) for one in wide[1:])
    scores = wide[0] @ k.transpose(0, 1, 3, 2) / numpy.sqrt(case.depth)
    if mask is not None:
        scores = scores + mask.astype("f8")
    if case.causal:
        scores[..., ~numpy.tri(case.rows, case.keys, dtype=bool)] = -numpy.inf
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def passed(value):
    """As .npy files hold it: there is no bf16."""
    return value.astype(F32) if value.dtype == BF16 else value


def model(name, case, tensors):
    """Numbers of bf16 come and go as f32."""
    infos = {part: helper.make_tensor_value_info(
        part, helper.np_dtype_to_tensor_dtype(passed(value).dtype), value.shape)
             for part, value in tensors.items()}
    result = [infos.pop("y")]
    read = {part: f"{part}-cast" if case.dtype == BF16 else part for part in [*infos, "y"]}
    nodes = [helper.make_node("Cast", [part], [read[part]], to=TensorProto.BFLOAT16)
             for part in infos if read[part] != part]
    nodes.append(helper.make_node("Attention", [read[part] for part in infos], [read["y"]],
                                  is_causal=int(case.causal)))
    if read["y"] != "y":
        nodes.append(helper.make_node("Cast", [read["y"]], ["y"], to=TensorProto.FLOAT))
    return helper.make_model(helper.make_graph(nodes, name, list(infos.values()), result),
                             opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def save(folder, name):
    """The model, its inputs and its result; the words of `bp run` that name them."""
    case = CASES[name]
    draw = numpy.random.default_rng(7)

    def some(heads, rows, columns):
        return draw.uniform(-2, 2, (1, heads, rows, columns)).astype(case.dtype)

    tensors = {"q": some(case.heads, case.rows, case.depth),
               "k": some(case.shared, case.keys, case.depth),
               "v": some(case.shared, case.keys, case.columns)}
    if case.mask:
        tensors["m"] = some(1, case.rows, case.keys)
    y = expected(case, tensors["q"], tensors["k"], tensors["v"], tensors.get("m"))
    tensors["y"] = y.astype(case.dtype)
    onnx.save(model(name, case, tensors), folder / f"{name}.onnx")
    for part, value in tensors.items():
        numpy.save(folder / f"{name}-{part}.npy", passed(value))
    infos = [part for part in tensors if part != "y"]
    unit = UNIT[case.dtype]
    # Weights of halves are halves, and V is about 1.
    near = unit / 8 if case.dtype == F32 else unit
    return [*(word for part in infos for word in ("--input", f"{part}={folder}/{name}-{part}.npy")),
            "--expect", f"y={folder}/{name}-y.npy", "--rtol", str(2 * unit), "--atol",
            str(near)]
