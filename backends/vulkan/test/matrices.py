# SPDX-License-Identifier: Apache-2.0
"""What is compiled for vulkan+matrix: that products of f16 use cooperative matrices, that their
shaders are valid, and the numbers that they compute (shader.py), which no device here can. Devices
that lack the target take another from the same artifact."""
import pathlib
import struct
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

import shader

ROOT = pathlib.Path(__file__).resolve().parents[3]
BP = ROOT / "build" / "bin" / "bp"
VALIDATORS = list(ROOT.glob(".venv/lib/python3*/site-packages/cmeel.prefix/bin/spirv-val"))
PACKED, MATRICES = 0x56505342, 6022
# Work-groups of a dispatch, as many as any case has or more.
GROUPS = 64


def numbers(seed, *shape):
    """Such that sums are exact."""
    return (numpy.random.default_rng(seed).integers(-8, 9, shape) / 8).astype("f")


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs.split(), [output], **attributes)


def product(*, outer=(), m, n, k):
    x = {"a": numbers(1, *outer, m, k), "b": numbers(2, *outer, k, n)}
    return [node("MatMul", "a b", "y")], x, x["a"] @ x["b"]


def turned():
    x = {"a": numbers(1, 48, 136), "b": numbers(2, 200, 48)}
    return [node("Transpose", "a", "s"), node("Transpose", "b", "t"),
            node("MatMul", "s t", "y")], x, x["a"].T @ x["b"].T


def epilogue():
    x = {"a": numbers(1, 70, 72), "b": numbers(2, 72, 104), "c": numbers(3, 104)}
    return [node("MatMul", "a b", "s"), node("Add", "s c", "t"), node("Relu", "t", "y")], x, \
        numpy.maximum(x["a"] @ x["b"] + x["c"], 0)


def convolution():
    x = {"x": numbers(1, 1, 16, 18, 18), "w": numbers(2, 40, 16, 3, 3)}
    padded = numpy.pad(x["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = sum(numpy.einsum("bchw,oc->bohw", padded[:, :, i:i + 18, j:j + 18], x["w"][:, :, i, j])
            for i in range(3) for j in range(3))
    return [node("Conv", "x w", "y", pads=[1, 1, 1, 1])], x, y


# Name -> the model, and the work-groups that are carried out.
CASES = {
    "product": (lambda: product(m=64, n=96, k=64), range(GROUPS)),
    "product of odd sizes": (lambda: product(outer=(3,), m=65, n=67, k=35), range(GROUPS)),
    "product of transposed factors": (turned, range(GROUPS)),
    "product of few rows": (lambda: product(m=5, n=128, k=300), range(GROUPS)),
    "product with an epilogue": (epilogue, range(GROUPS)),
    "convolution": (convolution, range(GROUPS)),
    "two tiles of a large product": (lambda: product(m=2048, n=1024, k=72), (5, 77)),
}


def save(path, nodes, x, y, dtype):
    def value(name, array):
        return helper.make_tensor_value_info(name, dtype, array.shape)
    graph = helper.make_graph(nodes, "model", [value(*item) for item in x.items()], [value("y", y)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10),
              path)


def call(*command):
    return subprocess.run([str(part) for part in command], cwd=ROOT, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={"BACKPLANE_CACHE_DIR": "-", "PATH": "/usr/bin:/bin"})


def compiled(folder, target, nodes, x, y, dtype=TensorProto.FLOAT16):
    """The artifact, and the modules in it."""
    model, artifact = folder / "model.onnx", folder / "model.bpx"
    save(model, nodes, x, y, dtype)
    result = call(BP, "compile", model, "-o", artifact, "--target", target)
    if result.returncode:
        raise RuntimeError(result.stdout[-2000:])
    data = artifact.read_bytes()
    start = data.find(struct.pack("<II", PACKED, 1))
    words = struct.unpack_from(f"<{(len(data) - start) // 4}I", data, start)
    return artifact, [words[words[3 + 2 * i]:words[3 + 2 * i] + words[4 + 2 * i]]
                      for i in range(words[2])]


def uses_matrices(words):
    return (2 << 16 | 17, MATRICES) in zip(words, words[1:])


def complaint_of(folder, words):
    if not VALIDATORS:
        return ""
    path = folder / "module.spv"
    path.write_bytes(struct.pack(f"<{len(words)}I", *words))
    return call(VALIDATORS[0], "--target-env", "vulkan1.3", path).stdout


def computed(name):
    """What is wrong with a case; empty when nothing is."""
    make, groups = CASES[name]
    nodes, x, y = make()
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        _, modules = compiled(folder, "vulkan+matrix", nodes, x, y)
        if len(modules) != 1 or not uses_matrices(modules[0]):
            return "it is not one shader with cooperative matrices"
        if said := complaint_of(folder, modules[0]):
            return said
    result = numpy.full(y.shape, numpy.nan, "f2")
    buffers = [array.astype("f2").reshape(-1).view("u1") for array in x.values()]
    buffers += [result.reshape(-1).view("u1"), numpy.zeros(4, "u1")]
    shader.run(modules[0], buffers, groups, GROUPS if len(groups) == GROUPS else 1 << 15)
    done = ~numpy.isnan(result)
    least = y.size if len(groups) == GROUPS else len(groups) * 128 * 128
    if done.sum() != least:
        return f"{done.sum()} numbers are computed, not {least}"
    return "" if numpy.array_equal(result[done], y.astype("f2")[done]) else "the result is wrong"


def singles():
    """Products of f32 have no matrices."""
    with tempfile.TemporaryDirectory() as path:
        _, modules = compiled(pathlib.Path(path), "vulkan+matrix", *product(m=64, n=64, k=64),
                              TensorProto.FLOAT)
    return "they have matrices" if any(map(uses_matrices, modules)) else ""


def passed_over():
    """A device without the extension says what it lacks, and takes what else is there."""
    nodes, x, y = product(m=64, n=64, k=64)
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        artifact, _ = compiled(folder, "vulkan,vulkan+subgroups,vulkan+matrix", nodes, x, y)
        said = call(BP, "inspect", artifact, "--device", "vulkan", "--why").stdout
        if "cooperativeMatrix:" in call(BP, "devices").stdout:
            return "" if "chosen: variant vulkan+matrix" in said else said
        if "chosen: variant vulkan+matrix" in said or "'cooperativeMatrix'" not in said:
            return said
        for name, array in x.items():
            numpy.save(folder / f"{name}.npy", array.astype("f2"))
        inputs = [word for name in x for word in ("--input", f"{name}={folder}/{name}.npy")]
        ran = call(BP, "run", artifact, "--device", "vulkan", "--no-fallback", *inputs,
                   "--output-dir", folder)
        found = folder / "y.npy"
        right = found.exists() and numpy.array_equal(numpy.load(found), y.astype("f2"))
    return "" if right else f"the result is wrong: {ran.stdout[-1000:]}"


def outcomes(device):
    """(passed, failed, skipped) of each check; `device`: there is one of Vulkan."""
    checks = {name: lambda name=name: computed(name) for name in CASES}
    checks["products of f32"] = singles
    if device:
        checks["a device without matrices"] = passed_over
    for name, check in checks.items():
        try:
            problem = check()
        except (RuntimeError, IndexError, NotImplementedError) as error:
            problem = repr(error)
        if problem:
            print(f"FAILED {name}: {problem}")
        yield int(not problem), int(bool(problem)), 0
