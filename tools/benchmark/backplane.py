# SPDX-License-Identifier: Apache-2.0
"""Backplane as one of the systems that run a row."""
import json
import os
import subprocess

import numpy
import onnx
import onnx.reference

# How far results may be from ONNX Runtime's, in parts of the largest magnitude.
TOLERANCE = {"float64": 2e-4, "float32": 2e-4, "float16": 1e-2}
# ONNX Runtime quantises operands of products whose weights are.
QUANTIZED = 2e-2


class Backplane:
    """A bp tool. `name` tells its files from those of another build."""

    def __init__(self, name, binary, threads, device="host"):
        self.name, self.binary, self.threads, self.device = name, binary, threads, device
        self.compiled = None
        # What an older compiler left in the cache is not this one's.
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR="-")

    def call(self, *arguments):
        result = subprocess.run([self.binary, *map(str, arguments)], text=True,
                                capture_output=True, check=False, env=self.environment)
        if result.returncode:
            lines = (result.stderr or result.stdout).strip().splitlines()
            raise RuntimeError(lines[-1] if lines else f"bp ended with {result.returncode}")
        return result.stdout

    def measure(self, folder, seconds, outputs=False):
        artifact = folder / f"{self.name}.bpx"
        try:
            if self.compiled != folder:
                self.call("compile", folder / "model.onnx", "-o", artifact,
                          "--for-driver", self.device)
                self.compiled = folder
            report = json.loads(self.call(
                "bench", artifact, "--json", "--device", self.device,
                "--threads", self.threads, "--seconds", seconds))
            if outputs:
                self.run(folder, artifact)
        except RuntimeError as error:
            return {"error": str(error)}
        return {"best": report["min_ms"] / 1e3, "median": report["median_ms"] / 1e3,
                "dispatches": report["dispatches"]}

    def run(self, folder, artifact):
        """Writes the results for the row's inputs."""
        given = [f"--input={name}={folder / f'{i}.npy'}"
                 for i, name in enumerate(input_names(folder))]
        self.call("run", artifact, *given, "--device", self.device,
                  "--output-dir", folder / "results")

    def close(self):
        pass


def input_names(folder):
    return (folder / "inputs.txt").read_text(encoding="utf-8").split()


def limit_of(wanted, dtype, quantized):
    """How far a result may be from these numbers, which have had this dtype."""
    parts = TOLERANCE.get(dtype.name)
    if parts is None:
        # Quantised bytes may fall to the other side of a half.
        return 1 if dtype.itemsize == 1 and dtype != bool else 0
    return max(parts, QUANTIZED if quantized else 0) * (float(numpy.abs(wanted).max()) + 1e-3)


def difference(names, wanted, got, of, quantized=False):
    """How results differ from those `of` another; nothing where they do not."""
    for name, a, b in zip(names, wanted, got):
        if a.shape != b.shape:
            return f"{name} is {b.shape}, {of} {a.shape}"
        dtype = a.dtype
        a, b = a.astype("float64"), b.astype("float64")
        inside = numpy.isfinite(a)
        if not numpy.array_equal(a[~inside], b[~inside], equal_nan=True):
            return f"{name} has other infinities or NaN than {of}"
        if not inside.any():
            continue
        allowed = limit_of(a[inside], dtype, quantized)
        worst = float(numpy.abs(b[inside] - a[inside]).max())
        if not worst <= allowed:
            return f"{name} is up to {worst:.3g} from {of}, {allowed:.3g} is allowed"
    return ""


def reference(folder):
    """The results of ONNX's own evaluator, which is slow; None: it has no such op."""
    model = onnx.load(folder / "model.onnx")
    given = {name: numpy.load(folder / f"{i}.npy") for i, name in enumerate(input_names(folder))}
    try:
        return onnx.reference.ReferenceEvaluator(model).run(None, given)
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return None


def judge(folder, names, quantized=False):
    """What is wrong with the results, and what with ONNX Runtime's, each nothing or a
    text; (None, ""): there is nothing to compare. Who of two is wrong ONNX's evaluator
    says: ONNX Runtime's products of bytes saturate on machines without VNNI."""
    expected, results = folder / "expected", folder / "results"
    if not expected.is_dir() or not results.is_dir():
        return None, ""
    peer = [numpy.load(expected / f"{i}.npy") for i in range(len(names))]
    own = [numpy.load(results / f"{name}.npy") for name in names]
    found = difference(names, peer, own, "ONNX Runtime's", quantized)
    exact = reference(folder) if found else None
    if exact is None:
        return found, ""
    of = "that of ONNX's evaluator"
    return difference(names, exact, own, of, quantized), difference(names, exact, peer, of, quantized)
