#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads every kept plug-in binary into this host and runs it.

Each library of each minor version in this folder, and the reference backend as
it is when every growable struct of the headers has grown (build/grown),
- is listed with a device,
- passes the checks of plug-in binaries,
- compiles and runs a model as its own compiler and driver, with the same bits as
  the reference backend of this build.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / "build"
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import models  # noqa: E402


def model():
    """A convolution, a matmul with a symbolic dim, a softmax and movement."""
    rng = numpy.random.default_rng(5)
    constants = [numpy_helper.from_array(rng.standard_normal(shape).astype("f4"), name)
                 for name, shape in (("k", (4, 3, 3, 3)), ("w", (4, 5)), ("b", (5,)))]
    nodes = [helper.make_node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 3, 1]),
             helper.make_node("MatMul", ["t", "w"], ["m"]),
             helper.make_node("Add", ["m", "b"], ["a"]),
             helper.make_node("Softmax", ["a"], ["y"], axis=-1)]
    return models.model(nodes, [models.tensor_value("x", ["n", 3, 6, 7])],
                        [models.tensor_value("y", ["n", 6, 7, 5])], constants)


class Steps:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, name, passed, detail=""):
        self.passed += bool(passed)
        self.failed += not passed
        if not passed:
            print(f"FAILED {name}: {detail[-1500:]!r}")

    def run(self, name, command, plugins, expect=""):
        environment = {**os.environ, "BACKPLANE_CACHE_DIR": "-", **plugins}
        result = subprocess.run([str(part) for part in command], text=True, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.expect(name, result.returncode == 0 and expect in result.stdout, result.stdout)


def install(library, folder, version):
    """A copy that only the user may write, with its manifest."""
    name = library.stem.removeprefix("lib")
    copy = folder / library.name
    copy.write_bytes(library.read_bytes())
    copy.chmod(0o600)
    major, minor = version.split(".")
    manifest = folder / f"{name}.bp.json"
    manifest.write_text(json.dumps({
        "format": 1, "name": name, "version": "0.1.0", "arch": "x86_64",
        "abi": {"major": int(major), "minor_low": int(minor)},
        "driver": library.name, "compiler": library.name}), encoding="utf-8")
    return manifest


def run_model(steps, name, path, device, plugins):
    """The output of a model; None when it does not run."""
    with tempfile.TemporaryDirectory() as out:
        steps.run(name, [BUILD / "bin/bp", "run", path, "--device", device, "--random-inputs", "1",
                         "--dim", "n=2", "--output-dir", out, "--no-fallback"], plugins)
        result = pathlib.Path(out) / "y.npy"
        return numpy.load(result) if result.exists() else None


def check(steps, library, folder, path, wanted):
    grown = library.parent.name == "grown"
    manifest = install(library, folder, "0.1" if grown else library.parent.name)
    device = manifest.name.removesuffix(".bp.json")
    label = f"{library.parent.name}/{device}"
    # Only one plug-in may be "ref", which also folds constants.
    variable = "BACKPLANE_PLUGIN_FILES" if device == "ref" else "BACKPLANE_ADD_PLUGIN_FILES"
    plugins = {variable: str(manifest)}
    steps.run(f"{label} is listed", [BUILD / "bin/bp", "devices"], plugins,
              f"{device}://interpreter")
    for arguments in (["--depth", "smoke", "--check", "*"], ["--check", "L0/*"], []):
        steps.run(f"{label} {' '.join(arguments)}",
                  [BUILD / "bin/bp-lint", device, *arguments], plugins)
    found = run_model(steps, f"{label} runs", path, device, plugins)
    steps.expect(f"{label} computes the same", found is not None
                 and found.tobytes() == wanted.tobytes(), f"{found} {wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    if platform.machine() != "x86_64":
        print("0 passed, 0 failed, 1 skipped")
        return 0
    steps = Steps()
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "model.onnx"
        path.write_bytes(model().SerializeToString())
        wanted = run_model(steps, "this build runs", path, "ref", {})
        for library in [*sorted(HERE.glob("*/lib*.so")), BUILD / "grown/libref.so"]:
            folder = pathlib.Path(temporary) / library.parent.name
            folder.mkdir(exist_ok=True)
            check(steps, library, folder, path, wanted)
    print(f"{steps.passed} passed, {steps.failed} failed, 0 skipped")
    return 1 if steps.failed else 0


if __name__ == "__main__":
    sys.exit(main())
