#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of oneDNN in models: their results, their threads, and where they are not.

Each model is compiled with the kernel named, so that nothing else computes it, and is compared
with numpy. Without the library's headers everything counts as skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[4]
BUILD = ROOT / "build"
LIBRARY = BUILD / "backends/x86/onednn/libbp-onednn.so"
MINOR = 2  # version of the ABI that the set needs
sys.path += [str(ROOT / "tools/benchmark"), str(ROOT / "tools/bp/test")]
from checks import Checks  # pylint: disable=wrong-import-position
from kernel_sets import call, manifest  # pylint: disable=wrong-import-position
from model import Model  # pylint: disable=wrong-import-position

# Channels, outputs, height, width, window, stride, dilation, low and high padding.
CONVOLUTIONS = [
    (8, 20, 9, 9, 3, 1, 1, 1, 1), (64, 64, 56, 56, 3, 1, 1, 1, 1),
    (3, 21, 7, 11, 3, 1, 1, 1, 1), (40, 17, 1, 2, 1, 1, 1, 0, 0),
    (256, 256, 14, 14, 3, 1, 1, 1, 1), (128, 384, 5, 6, 1, 1, 1, 0, 0),
    (3, 64, 40, 37, 7, 2, 1, 3, 3), (17, 33, 12, 13, 3, 2, 1, 1, 1),
    (16, 24, 9, 10, 3, 2, 1, 0, 1), (32, 40, 10, 9, 1, 2, 1, 0, 0),
    (64, 72, 30, 28, 5, 1, 1, 2, 2), (24, 24, 17, 15, 3, 1, 2, 2, 2),
    (16, 32, 20, 21, 3, 1, 4, 4, 4), (9, 19, 8, 9, 7, 1, 1, 3, 3)]
LINEARS = [(1, 17, 18), (64, 64, 64), (65, 48, 40), (130, 300, 1024), (7, 5, 19), (200, 33, 17)]


def convolve(x, w, stride, dilation, low, high):
    x = numpy.pad(x.astype("f8"), ((0, 0), (0, 0), (low, high), (low, high)))
    outputs, _, kh, kw = w.shape
    oh = (x.shape[2] - dilation * (kh - 1) - 1) // stride + 1
    ow = (x.shape[3] - dilation * (kw - 1) - 1) // stride + 1
    y = numpy.zeros((x.shape[0], outputs, oh, ow))
    for i in range(kh):
        for j in range(kw):
            part = x[:, :, i * dilation:i * dilation + (oh - 1) * stride + 1:stride,
                     j * dilation:j * dilation + (ow - 1) * stride + 1:stride]
            y += numpy.einsum("nchw,oc->nohw", part, w[:, :, i, j].astype("f8"))
    return y


def save(folder, model, outputs, data):
    onnx.save(model.finish(outputs), folder / "model.onnx")
    arguments = []
    for name, array in data.items():
        numpy.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder / f'{name}.npy'}"]
    return arguments


def convolution_model(folder, case, bias, residual, relu):
    """Writes a model; its inputs as arguments and what it computes."""
    c, o, h, w, k, stride, dilation, low, high = case
    random = numpy.random.default_rng(5)
    model = Model(1)
    weights = random.standard_normal((o, c, k, k), "f4")
    offset = random.standard_normal(o, "f4")
    x = random.standard_normal((2, c, h, w), "f4")
    data = {"x0": x}
    expected = convolve(x, weights, stride, dilation, low, high)
    operands = [model.input(*x.shape), model.constant(weights)]
    if bias:
        operands.append(model.constant(offset))
        expected += offset.reshape(1, -1, 1, 1)
    y = model.op("Conv", *operands, strides=[stride] * 2, dilations=[dilation] * 2,
                 pads=[low, low, high, high], kernel_shape=[k, k])
    if residual:
        data["x1"] = random.standard_normal(expected.shape).astype("f4")
        y = model.op("Add", y, model.input(*expected.shape))
        expected += data["x1"]
    if relu:
        y = model.op("Relu", y)
        expected = numpy.maximum(expected, 0)
    return save(folder, model, y, data), expected


def linear_model(folder, m, k, n, bias, relu):
    random = numpy.random.default_rng(6)
    model = Model(1)
    x, w = random.standard_normal((m, k), "f4"), random.standard_normal((k, n), "f4")
    offset = random.standard_normal(n, "f4")
    x[0, 0] = numpy.nan
    y = model.op("MatMul", model.input(m, k), model.constant(w))
    expected = x.astype("f8") @ w.astype("f8")
    if bias:
        y, expected = model.op("Add", y, model.constant(offset)), expected + offset
    if relu:
        y, expected = model.op("Relu", y), numpy.maximum(expected, 0)
    return save(folder, model, y, {"x0": x}), expected


def judge(suite, folder, name, kernel, arguments, expected, environment):
    """Compiles the model with the kernel named, runs it and compares."""
    code, text = call("compile", folder / "model.onnx", "-o", folder / "model.bpx", "--for-driver",
                      "host", "--kernel", f"onednn.{kernel}", **environment)
    if not code:
        code, text = call("run", folder / "model.bpx", *arguments, "--why", "--output-dir",
                          folder / "results", **environment)
    if code or f"kernel onednn.{kernel} version 1 on host" not in text:
        suite.check(name, False, text)
        return
    (path,) = (folder / "results").glob("*.npy")
    got = numpy.load(path)
    path.unlink()
    same = got.shape == expected.shape and numpy.allclose(
        got, expected, rtol=1e-5, atol=2e-5 * max(1.0, numpy.nanmax(numpy.abs(expected))),
        equal_nan=True)
    suite.check(name, same, f"{got.ravel()[:6]}, not {expected.ravel()[:6]}")


def results(suite, folder, environment):
    for number, case in enumerate(CONVOLUTIONS):
        for bias, residual, relu in ((1, 1, 1), (0, 0, 0)) if number else (
                (b, r, a) for b in (0, 1) for r in (0, 1) for a in (0, 1)):
            stride, dilation, low, high = case[5:]
            kernel = f"conv_s{stride}_d{dilation}_p{low}_{high}" + ("_relu" if relu else "")
            arguments, expected = convolution_model(folder, case, bias, residual, relu)
            judge(suite, folder, f"{kernel} {case}", kernel, arguments, expected, environment)
    for sizes in LINEARS:
        for bias, relu in ((0, 0), (0, 1), (1, 0), (1, 1)):
            kernel = "linear_relu" if relu else "linear"
            arguments, expected = linear_model(folder, *sizes, bias, relu)
            judge(suite, folder, f"{kernel} {sizes}", kernel, arguments, expected, environment)


def most_threads(folder, environment):
    """The most threads that a process has while it calls a model on two workers."""
    with subprocess.Popen([BUILD / "bin/bp", "bench", folder / "model.bpx", "--threads", "2",
                           "--seconds", "1.5"], stdout=subprocess.DEVNULL,
                          env=dict(os.environ, BACKPLANE_CACHE_DIR="-", **environment)) as process:
        most = 0
        while process.poll() is None:
            try:
                most = max(most, len(os.listdir(f"/proc/{process.pid}/task")))
            except FileNotFoundError:
                break
            time.sleep(0.005)
    return most


def threads(suite, folder, environment):
    """oneDNN works on the threads of the host: two are there, with the set and without."""
    convolution_model(folder, CONVOLUTIONS[1], 1, 0, 1)
    counts = []
    for kernel in ("onednn.conv_s1_d1_p1_1_relu", "-"):
        code, text = call("compile", folder / "model.onnx", "-o", folder / "model.bpx",
                          "--for-driver", "host", "--kernel", kernel, **environment)
        suite.check(f"threads: {kernel} compiles", code == 0, text)
        counts.append(most_threads(folder, environment))
    suite.check("threads do not grow", counts[0] == counts[1] > 1, counts)


def absence(suite, folder, here):
    """Without the library generated code runs, or what asks for the kernel fails."""
    arguments, expected = linear_model(folder, 128, 256, 256, True, True)
    missing = manifest(folder / "missing.bp.json", LIBRARY, MINOR, library="/nowhere/libdnnl.so.3")
    artifact = folder / "model.bpx"
    call("compile", folder / "model.onnx", "-o", artifact, "--for-driver", "host", **here)
    for what, environment, word in (("library", missing, "oneDNN is not here"),
                                    ("set", {}, "onednn")):
        code, text = call("run", artifact, *arguments, "--why", "--output-dir", folder / "results",
                          **environment)
        (path,) = (folder / "results").glob("*.npy")
        close = numpy.allclose(numpy.load(path), expected, rtol=1e-5, atol=1e-3,
                               equal_nan=True)
        path.unlink()
        suite.check(f"without the {what} generated code runs",
                    code == 0 and close and word in text, text)
    call("compile", folder / "model.onnx", "-o", artifact, "--for-driver", "host", "--kernel",
         "onednn.linear_relu", **here)
    code, text = call("run", artifact, *arguments, **missing)
    suite.check("a named kernel without the library is refused",
                code and "oneDNN is not here" in text, text)


def costs(suite, folder, environment):
    """It is taken where its cost is lower, and the report says both figures."""
    for m, used in ((128, True), (63, False), (64, True)):
        linear_model(folder, m, 256, 256, False, False)
        _, text = call("explain", folder / "model.onnx", **environment)
        said = re.search(r"onednn.linear \(without b\) (is not used|computes).*: it costs (\d+) "
                         r"ns, generated code an estimated (\d+) ns", text)
        suite.check(f"costs at {m} rows", said and (said[1] == "computes") == used and
                    (int(said[2]) < int(said[3])) == used, text)


def main():
    if not LIBRARY.exists():
        print("skipped: the kernels of oneDNN are not built\n0 passed, 0 failed, 1 skipped")
        return 0
    suite = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(LIBRARY, folder)
        here = manifest(folder / "here.bp.json", LIBRARY, MINOR)
        costs(suite, folder, here)
        absence(suite, folder, here)
        threads(suite, folder, here)
        results(suite, folder, here)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
