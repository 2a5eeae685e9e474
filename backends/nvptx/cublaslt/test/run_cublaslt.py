#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of cuBLASLt in models, on the CUDA emulator.

cuBLASLt's own code runs on GPUs only. In its place is Emulated.cpp, which has its functions and
computes on the emulator, so that what the set tells cuBLASLt is checked, not cuBLASLt. Each model is
compiled with the kernel named, so that nothing else computes it, and is compared with numpy.
Without the headers or nvcc everything counts as skipped.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "tools/bp/test"))
from checks import Checks  # pylint: disable=wrong-import-position
from kernel_sets import call, manifest  # pylint: disable=wrong-import-position

BUILD = ROOT / "build"
FOLDER = BUILD / "backends/nvptx/cublaslt"
LIBRARY, EMULATED = FOLDER / "libbp-cublaslt.so", FOLDER / "libbp-cublaslt-emulated.so"
DEVICE = "cuda://emu?sm=90"
HERE = {"BP_TEST_CUDA": str(BUILD / "lib/backplane/plugins/libbp-cuda-emulator.so"),
        "BP_TEST_PTX": str(FOLDER / "product.ptx")}
# Files of numpy have no bf16, of which the suite has cases.
TYPES = {"f32": (TensorProto.FLOAT, "f4", 2e-5), "f16": (TensorProto.FLOAT16, "f2", 2e-3)}
# Rows, terms, columns.
SIZES = [(1, 17, 18), (64, 64, 64), (65, 48, 40), (3, 1, 5), (7, 33, 1)]


def found(folder, name, **options):
    """The environment with the set, and with what the emulated library needs."""
    return {**manifest(folder / f"{name}.bp.json", LIBRARY, 4, **options), **HERE}


def model(folder, sizes, name, transposed, bias, residual, batch=()):
    """Writes a model y = x w + b + r; its inputs, and what it computes in f64."""
    kind, dtype, _ = TYPES[name]
    (m, k, n), random = sizes, numpy.random.default_rng(sum(sizes))
    def data(*dims):
        return random.standard_normal(dims).astype(dtype)
    x, w = data(*batch, m, k), data(*((n, k) if transposed else (k, n)))
    inputs, nodes, factor = {"x": x}, [], "w"
    if transposed:
        nodes.append(helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]))
        factor = "wt"
    nodes.append(helper.make_node("MatMul", ["x", factor], ["p"]))
    wide = [one.astype("f8") for one in (x, w)]
    expected, last = wide[0] @ (wide[1].T if transposed else wide[1]), "p"
    added = [(bias, "b", (n,)), (residual, "r", expected.shape)]
    for there, key, dims in reversed(added) if name == "f32" else added:
        if there:
            inputs[key] = data(*dims)
            nodes.append(helper.make_node("Add", [last, key], [last + key]))
            expected, last = expected + inputs[key].astype("f8"), last + key
    # Weights come from outside, so that nothing is transposed when it is compiled.
    inputs["w"] = w
    values = [helper.make_tensor_value_info(key, kind, one.shape) for key, one in inputs.items()]
    graph = helper.make_graph(nodes, "product", values,
                              [helper.make_tensor_value_info(last, kind, expected.shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                                ir_version=10), folder / "model.onnx")
    arguments = []
    for key, one in inputs.items():
        numpy.save(folder / f"{key}.npy", one)
        arguments += ["--input", f"{key}={folder / f'{key}.npy'}"]
    return arguments, expected


def compiled(folder, kernel, environment):
    return call("compile", folder / "model.onnx", "-o", folder / "model.bpx", "--target",
                "nvptx-sm90a", *(["--kernel", f"cublaslt.{kernel}"] if kernel else []),
                **environment)


def ran(folder, arguments, *more, **environment):
    """Exit code, what was said, the result in f64."""
    results = folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    code, text = call("run", folder / "model.bpx", "--device", DEVICE, *arguments, "--why",
                      "--output-dir", results, *more, **environment)
    paths = list(results.glob("*.npy")) if results.exists() else []
    return code, text, numpy.load(paths[0]).astype("f8") if len(paths) == 1 else None


def close(got, expected, name):
    bound = TYPES[name][2] * max(1.0, numpy.abs(expected).max())
    return (got is not None and got.shape == expected.shape and
            numpy.abs(got - expected).max() <= bound)


def results(suite, folder, environment):
    for name in TYPES:
        for number, sizes in enumerate(SIZES):
            for transposed in (False, True):
                bias = bool(number & 1)
                residual = name == "f32" and bool(number & 2) != transposed
                kernel = f"linear{'_t' if transposed else ''}_{name}"
                what = f"{kernel} {sizes} bias {bias} residual {residual}"
                arguments, expected = model(folder, sizes, name, transposed, bias, residual,
                                            (2, 3) if number == 3 else ())
                code, text = compiled(folder, kernel, environment)
                got = None
                if not code:
                    code, text, got = ran(folder, arguments, **environment)
                suite.check(what, code == 0 and close(got, expected, name) and
                            f"kernel cublaslt.{kernel} version 1 on cuda://emu" in text,
                            f"{text} {got} {expected}")


def repeats(suite, folder, environment):
    """A session is replayed as a graph, in which the library has put its work."""
    arguments, expected = model(folder, (33, 20, 24), "f16", False, True, False)
    compiled(folder, "linear_f16", environment)
    code, text, got = ran(folder, arguments, "--repeat", "5", **environment)
    suite.check("runs again and again", code == 0 and close(got, expected, "f16"), text)


def absence(suite, folder, here):
    """Where the library cannot be used generated code runs, or what asks for the kernel fails."""
    arguments, expected = model(folder, (256, 256, 512), "f16", False, True, False)
    missing = found(folder, "missing", library="/nowhere/libcublasLt.so")
    plain = found(folder, "plain")
    compiled(folder, None, here)
    for what, environment, word in (
            ("file", missing, "cuBLASLt is not here"),
            ("GPU", plain, "an emulated device executes PTX"),
            ("context", {**here, "BP_TEST_BREAK": "create"}, "cublasLtCreate: not initialized"),
            ("set", HERE, "no plug-in 'cublaslt'")):
        code, text, got = ran(folder, arguments, **environment)
        suite.check(f"without the {what} generated code runs", code == 0 and word in text and
                    "generated code runs" in text and close(got, expected, "f16"), text)
    compiled(folder, "linear_f16", here)
    code, text, _ = ran(folder, arguments, **missing)
    suite.check("a named kernel without the library is refused",
                code and "cuBLASLt is not here" in text, text)


def failures(suite, folder, here):
    """What fails while commands are recorded is told, and the next call is as good as any."""
    arguments, _ = model(folder, (8, 16, 24), "f32", False, False, False)
    compiled(folder, "linear_f32", here)
    for broken, word in (("heuristic", "has no algorithm for this product"),
                         ("matmul", "cublasLtMatmul: invalid value")):
        code, text, _ = ran(folder, arguments, **here, BP_TEST_BREAK=broken)
        suite.check(f"{broken} fails", code == 1 and word in text, text)


def costs(suite, folder, environment):
    """It is taken where its cost is lower, which the report says."""
    for sizes, used in (((256, 256, 512), True), ((64, 64, 64), False)):
        model(folder, sizes, "f16", False, False, False)
        _, text = call("explain", folder / "model.onnx", "--device", DEVICE, **environment)
        said = re.search(r"cublaslt.linear_f16 \(without b\) computes.*: "
                         r"it costs (\d+) ns, generated code an estimated (\d+) ns", text)
        suite.check(f"costs at {sizes}", bool(said) == used and
                    (not said or int(said[1]) < int(said[2])), text)


def conformance(suite, folder, environment, device, glob):
    """Each kernel against its own text, at the edges of its sizes."""
    code, text = call("conformance", "--device", device, "--filter", glob, "--shard", "1/4",
                      "--out", folder / "report", *(f"--env={name}" for name in HERE),
                      **environment)
    records = (folder / "report/records.jsonl").read_text(encoding="utf-8").splitlines()
    bad = [one for one in map(json.loads, records)
           if one["status"] not in ("Pass", "QualityWarning")]
    suite.check(f"the suite's cases of {glob}", len(records) > 50 and not bad,
                (code, len(records), bad[:3], text[-600:]))


def main():
    if not LIBRARY.exists() or not EMULATED.exists():
        print("skipped: the kernels of cuBLASLt are not built\n0 passed, 0 failed, 1 skipped")
        return 0
    suite = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(LIBRARY, folder)
        here = found(folder, "here", library=str(EMULATED))
        costs(suite, folder, here)
        absence(suite, folder, here)
        failures(suite, folder, here)
        repeats(suite, folder, here)
        results(suite, folder, here)
        conformance(suite, folder, here, DEVICE, "L8/*")
        conformance(suite, folder, here, f"{DEVICE}&precision=tf32", "L8/cublaslt.linear_tf32/*")
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
