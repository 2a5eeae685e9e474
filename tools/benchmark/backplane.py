# SPDX-License-Identifier: Apache-2.0
"""Backplane as one of the systems that run a row."""
import json
import os
import subprocess

import numpy

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


def difference(folder, names, quantized=False):
    """What is wrong with the results, or nothing; None: there is nothing to compare."""
    expected = folder / "expected"
    if not expected.is_dir() or not (folder / "results").is_dir():
        return None
    for i, name in enumerate(names):
        wanted = numpy.load(expected / f"{i}.npy")
        got = numpy.load(folder / "results" / f"{name}.npy")
        if got.shape != wanted.shape:
            return f"{name} is {got.shape}, ONNX Runtime's {wanted.shape}"
        if wanted.size == 0:
            continue
        limit = TOLERANCE.get(wanted.dtype.name)
        limit = limit and max(limit, QUANTIZED if quantized else 0)
        away = numpy.abs(got.astype("float64") - wanted.astype("float64"))
        if limit is None:
            # Quantised bytes may fall to the other side of a half.
            allowed = 1 if wanted.dtype.itemsize == 1 and wanted.dtype != bool else 0
        else:
            allowed = limit * (float(numpy.abs(wanted).max()) + 1e-3)
        worst = float(away.max())
        if not worst <= allowed:
            return f"{name} is up to {worst:.3g} from ONNX Runtime's, {allowed:.3g} is allowed"
    return ""
