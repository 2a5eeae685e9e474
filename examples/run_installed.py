#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build into a fresh folder and uses it as a stranger would.

- The installed `bp` finds the installed plug-ins and compiles and runs a model.
- examples/magika and examples/decode build against the package with find_package.
- examples/numpy runs a model on arrays of numpy.
- The reference backend builds as a vendor's plug-in would, from its C files and
  the installed headers alone, under another name, and runs a model.
- examples/data-backend builds in the same way, and compiles a model.
- examples/kernels builds in the same way, and computes a part of a model on x86-64; its kernels of
  IR compute one on every device that has an emitter, those for Vulkan on Vulkan. The kernel of the
  tutorial is also broken, which is found.
- examples/passes builds in the same way; its graph pass changes a model on x86-64.
- The packages that CPack makes work in the same way (packages.py).
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import models  # noqa: E402
import packages  # noqa: E402


class Steps:
    def __init__(self):
        self.passed = self.failed = 0

    def run(self, name, command, expect="", **environment):
        """One test: the command succeeds and prints what is expected."""
        result = subprocess.run([str(part) for part in command], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, **environment}, check=False)
        self.check(name, result.returncode == 0 and expect in result.stdout,
                   result.stdout[-1500:])

    def check(self, name, holds, found):
        """One test: the condition holds."""
        if holds:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {name}: {found!r}")


MANIFEST = """{
  "format": 1, "name": "acme", "version": "0.1.0", "vendor": "Acme",
  "abi": {"major": 0, "minor_low": 1},
  "driver": "libacme.so", "compiler": "libacme.so"
}
"""


def build_vendor_plugin(steps, prefix, folder):
    """The reference backend under the name "acme"; gives its manifest."""
    sources = []
    for path in sorted((ROOT / "backends/reference").glob("*.[ch]")):
        text = path.read_text(encoding="utf-8").replace('"ref"', '"acme"')
        copy = folder / path.name
        copy.write_text(text, encoding="utf-8")
        if path.suffix == ".c":
            sources.append(copy)
    steps.run("vendor plug-in builds", [
        "gcc", "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        "-ffp-contract=off", f"-I{prefix}/include", *sources, "-o",
        folder / "libacme.so", "-lm", "-Wl,-z,defs"])
    manifest = folder / "acme.bp.json"
    manifest.write_text(MANIFEST, encoding="utf-8")
    return manifest


def build_data_backend(steps, prefix, folder):
    """A compiler that is data only; gives its manifest."""
    source = ROOT / "examples/data-backend"
    library = folder / "libacme-data.so"
    steps.run("data backend builds", [
        "g++", "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra",
        "-Werror", f"-I{prefix}/include", source / "acme.cpp", "-o", library, "-Wl,-z,defs,--as-needed"])
    manifest = folder / "acme-data.bp.json"
    shutil.copy(source / manifest.name, manifest)
    return manifest


def test_kernels(steps, bp, prefix, folder, cache):
    """A set of registered kernels: it is found, used, right, and left out."""
    build = folder / "kernels"
    steps.run("kernels configure", [
        "cmake", "-S", prefix / "share/doc/backplane/examples/kernels", "-B", build, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}"])
    steps.run("kernels build", ["cmake", "--build", build])
    manifest = build / "acme-kernels.bp.json"
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
    steps.run("kernels keep the rules", [bp, "lint", manifest], " 0 errors", **cache)
    model, artifact = folder / "attention.onnx", folder / "attention.bpx"
    model.write_bytes(models.attention().SerializeToString())
    name = "kernel acme-kernels.attention"
    steps.run("kernel is found", [bp, "explain", model], f"{name} (with scale) computes", **used)
    steps.run("kernel runs", [bp, "run", model, "--random-inputs", "1", "--why"],
              f"{name} version 1 on host://cpu\n", **used)
    for b, m, n in ((1, 1, 1), (2, 49, 65), (1, 100, 7), (1, 6, 200)):
        sizes = [word for dim in (f"b={b}", f"m={m}", f"n={n}") for word in ("--dim", dim)]
        steps.run(f"kernel is right {b} {m} {n}",
                  [bp, "compare", model, "--a", "ref", "--b", "host", *sizes],
                  "ref and host agree", **used)
    steps.run("kernel conforms", [
        bp, "conformance", "--filter", "L8/*", "--out", folder / "kernels"],
        "only a part of the cases ran, all of them good", **used)
    steps.run("artifact with a kernel", [bp, "compile", model, "-o", artifact], **used)
    steps.run("without the kernel", [bp, "run", artifact, "--random-inputs", "1", "--why"],
              "not used: no plug-in 'acme-kernels' with kernels is loaded; generated code runs",
              **cache)


def test_kernels_of_ir(steps, bp, prefix, folder, cache):
    """A kernel that is IR: the compiler makes code of it for each device."""
    source = prefix / "share/doc/backplane/examples/kernels"
    steps.run("kernels of IR build", [
        "gcc", "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra",
        "-Werror", f"-I{prefix}/include", source / "anywhere.c", "-o",
        folder / "libacme-anywhere.so", "-Wl,-z,defs"])
    manifest = folder / "acme-anywhere.bp.json"
    shutil.copy(source / manifest.name, manifest)
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
    steps.run("kernels of IR keep the rules", [bp, "lint", manifest], " 0 errors", **cache)
    for device in ("host", "cuda://emu?sm=90"):
        steps.run(f"kernel of IR conforms on {device}", [
            bp, "conformance", "--device", device, "--filter", "L8/*", "--out", folder / "ir"],
            "only a part of the cases ran, all of them good", **used)


def test_first_kernel(steps, bp, prefix, folder, cache):
    """The kernel of the tutorial: built by gcc alone, listed, used, right; and broken, it is found."""
    source = prefix / "share/doc/backplane/examples/kernels"
    manifest, text = folder / "acme-first.bp.json", folder / "first.c"
    shutil.copy(source / manifest.name, manifest)
    shutil.copy(source / text.name, text)
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
    build = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared",
             "-fvisibility=hidden", f"-I{prefix}/include", text, "-o", folder / "libacme-first.so"]
    steps.run("first kernel builds", build)
    steps.run("first kernel is listed", [bp, "kernels"], "acme-first.add_relu version 1: function", **used)
    model = folder / "add_relu.onnx"
    model.write_bytes(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[rows, 1024] a, float[rows, 1024] b) '
        "=> (float[rows, 1024] y) { s = Add(a, b) y = Relu(s) }").SerializeToString())
    name = "kernel acme-first.add_relu"
    steps.run("first kernel is found", [bp, "explain", model], f"{name} computes add", **used)
    steps.run("first kernel runs", [bp, "run", model, "--random-inputs", "1", "--why"],
              f"{name} version 1 on host://cpu\n", **used)
    conformance = [bp, "conformance", "--filter", "L8/*", "--out", folder / "first"]
    steps.run("first kernel conforms", conformance, "only a part of the cases ran, all of them good", **used)
    right, wrong = "sum <= 0 ? 0 : sum", "sum > 0 ? sum : 0"
    steps.check("first kernel has its relu", text.read_text().count(right) == 1, right)
    text.write_text(text.read_text().replace(right, wrong))
    steps.run("broken kernel builds", build)
    run = subprocess.run([str(part) for part in conformance], text=True, capture_output=True,
                         env={**os.environ, **used}, check=False)
    steps.check("broken kernel is found", run.returncode == 1 and "needs nan" in run.stdout, run.stdout[-1500:])


def test_kernels_for_vulkan(steps, bp, prefix, folder, cache):
    """Kernels as SPIR-V, where a device and the compiler of shaders are there."""
    listed = subprocess.run([bp, "devices", "--json"], text=True, capture_output=True, check=True,
                            env={**os.environ, **cache})
    usable = any(device["plugin"] == "vulkan" and device["usable"]
                 for device in json.loads(listed.stdout))
    if not usable or not shutil.which("glslangValidator"):
        print("skipped kernels for Vulkan: no device, or no glslangValidator")
        return
    build = folder / "vulkan-kernels"
    steps.run("kernels for Vulkan configure", [
        "cmake", "-S", prefix / "share/doc/backplane/examples/kernels/vulkan", "-B", build, "-G",
        "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"])
    steps.run("kernels for Vulkan build", ["cmake", "--build", build])
    steps.run("kernels for Vulkan conform", [
        bp, "conformance", "--device", "vulkan", "--filter", "L8/*", "--out", folder / "spirv"],
        "only a part of the cases ran, all of them good", **cache,
        BACKPLANE_ADD_PLUGIN_FILES=str(build / "acme-vulkan.bp.json"))


def test_passes(steps, bp, prefix, folder, cache):
    """A graph pass: it runs, says so, is right, and passes over what it cannot do."""
    source = prefix / "share/doc/backplane/examples/passes"
    steps.run("passes build", [
        "gcc", "-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra",
        "-Werror", f"-I{prefix}/include", source / "acme.c", "-o", folder / "libacme-passes.so", "-Wl,-z,defs"])
    manifest = folder / "acme-passes.bp.json"
    shutil.copy(source / manifest.name, manifest)
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
    steps.run("passes keep the rules", [bp, "lint", manifest], " 0 errors", **cache)

    def compiled(name, made):
        model, artifact = folder / f"{name}.onnx", folder / f"{name}.bpx"
        model.write_bytes(made.SerializeToString())
        steps.run(f"{name} compiles",
                  [bp, "compile", model, "-o", artifact, "--target", "acme-squares"], **used)
        return model, artifact
    line = "target acme-squares, stage partition: acme-passes: graph pass 'squares'"
    model, artifact = compiled("squares", models.squares())
    steps.run("the pass ran", [bp, "explain", artifact], f"{line}: ", **used)
    size = ["--random-inputs", "1", "--dim", "n=5"]
    steps.run("without the pass", [bp, "run", model, "--device", "ref", *size,
                                   "--output-dir", folder / "squares"], **cache)
    steps.run("the pass is right", [bp, "run", artifact, *size, "--expect",
                                    f"y={folder}/squares/y.npy"], "y: ", **used)
    _, artifact = compiled("control", models.with_control())
    steps.run("a model with control flow", [bp, "explain", artifact],
              "partition: its graph passes are left out, as the program has control flow", **used)


def test_mlir_passes(steps, bp, prefix, folder, cache):
    """A library of C++ passes: listed, run, right, refused when it is of another LLVM."""
    if not (pathlib.Path("/usr/bin/clang++-22").exists()
            and pathlib.Path("/usr/lib/llvm-22/include/mlir").is_dir()):
        print("skipped: no clang-22 or no headers of MLIR")
        return
    build = folder / "mlir-passes"
    steps.run("C++ passes configure", [
        "cmake", "-S", prefix / "share/doc/backplane/examples/mlir-passes", "-B", build, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=clang++-22"])
    steps.run("C++ passes build", ["cmake", "--build", build])
    manifest = build / "acme-mlir.bp.json"
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
    steps.run("C++ passes are listed", [bp, "passes", "--stage", "lower"],
              "origin   acme-mlir 1.0.0, ", **used)
    model, artifact = folder / "eighths.onnx", folder / "eighths.bpx"
    model.write_bytes(models.eighths().SerializeToString())
    stages = folder / "stages"
    steps.run("eighths compiles", [bp, "compile", model, "-o", artifact, "--target", "acme-mlir",
                                   "--dump-stages", stages], **used)
    steps.run("the C++ pass is told", [bp, "explain", artifact],
              "stage lower: runs pass acme-mlir-reciprocals of acme-mlir 1.0.0", **used)
    before, after = (path.read_text() for path in sorted(stages.glob("*.lower.mlir")))
    steps.check("the C++ pass ran", "arith.divf" in before and "arith.mulf" in after
                and "arith.divf" not in after, after)
    size = ["--random-inputs", "1", "--dim", "n=5"]
    steps.run("without the C++ pass", [bp, "run", model, "--device", "ref", *size,
                                       "--output-dir", folder / "eighths"], **cache)
    steps.run("the C++ pass is exact", [bp, "run", artifact, *size, "--rtol", "0", "--atol", "0", "--expect",
                                        f"y={folder}/eighths/y.npy"], "match y", **used)
    text = manifest.read_text()
    manifest.write_text(re.sub(r'"llvm": "[^"]*"', '"llvm": "21.1.0"', text))
    steps.run("of another LLVM it is left out", [
        bp, "compile", model, "-o", artifact, "--target", "acme-mlir"], **used)
    steps.run("and the reason told", [bp, "explain", artifact], "pipeline 2 of 2; pipeline 1: library of "
              "passes libacme-mlir-passes.so: its manifest says that it is built with LLVM 21.1.0", **used)


def test_npu(steps, bp, prefix, folder, trained, cache):
    """An NPU that takes partitions: right, told, recut, and with faults."""
    build = folder / "npu"
    steps.run("npu configures", [
        "cmake", "-S", prefix / "share/doc/backplane/examples/npu", "-B", build, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}"])
    steps.run("npu builds", ["cmake", "--build", build])
    used = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(build / "npu.bp.json")}
    model, artifact = folder / "convolutions.onnx", folder / "convolutions.bpx"
    model.write_bytes(models.convolutions().SerializeToString())
    steps.run("npu is clean", [bp, "lint", "npu", "--strict"], "npu: 0 errors, 0 warnings", **used)
    steps.run("npu compiles", [bp, "compile", model, "-o", artifact, "--for-driver", "npu+host",
                               "--dump-dispatches", folder / "calls"], **used)
    for line in ("target npu: partition of", "its values stay in the NPU", "log: ",
                 "npu.weight_bytes="):
        steps.run(f"npu explains '{line}'", [bp, "explain", artifact], line, **used)
    steps.run("npu ran a partition again", [
        bp, "replay", next((folder / "calls").glob("*-partition-npu"))], "partition: ", **used)
    steps.run("npu compiled again", [
        bp, "replay", next((folder / "calls").glob("*-partition_*"))], "compiled: ", **used)
    for n in (1, 3):
        sizes = ["--random-inputs", "1", "--dim", f"n={n}"]
        steps.run(f"reference of {n}", [bp, "run", model, "--device", "ref", *sizes,
                                        "--output-dir", folder / f"npu-{n}"], **cache)
        steps.run(f"npu is right on {n}", [
            bp, "run", artifact, "--device", "npu+host", *sizes, "--expect",
            f"y={folder}/npu-{n}/y.npy"], "match y", **used)
    steps.run("Magika on the host", [
        bp, "run", trained / "model.onnx", "--random-inputs", "1", "--output-dir", folder / "magika-y"],
        **cache)
    steps.run("npu is right on Magika", [
        bp, "run", trained / "model.onnx", "--device", "npu+host", "--random-inputs", "1",
        "--expect", f"target_label={folder}/magika-y/target_label.npy"], "match target_label", **used)
    for fault, expected in (
            ("memory", "npu has no memory left"),
            ("load", "npu cannot load a program: the program memory does not answer"),
            ("dispatch", "npu: a parity error in the memory of the device"),
            ("lost", "npu: the device does not answer any more"),
            ("hang", "did not complete within 1 s"),
            ("fire", "npu has one option, fault=memory, load, dispatch, lost or hang")):
        run = subprocess.run([bp, "run", artifact, "--device", f"npu://sim?fault={fault}+host",
                              "--random-inputs", "1", "--timeout", "1"], text=True,
                             capture_output=True, env={**os.environ, **used}, check=False)
        errors = [line for line in run.stderr.splitlines() if line.startswith("bp: ")]
        steps.check(f"npu with fault {fault}", run.returncode != 0 and len(errors) == 1
                    and expected in errors[0], run.stderr)


def test_values(steps, prefix, folder, cache):
    """The examples whose tensors are values."""
    for name in ("good", "decoder"):
        (folder / f"{name}.onnx").write_bytes(getattr(models, name)().SerializeToString())
    steps.run("decode configures", [
        "cmake", "-S", ROOT / "examples/decode", "-B", folder / "decode", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}"])
    steps.run("decode builds", ["cmake", "--build", folder / "decode"])
    steps.run("decode runs", [folder / "decode/decode", folder / "decoder.onnx", "--batch", "3"],
              "cache on the device", **cache)
    steps.run("numpy runs", [sys.executable, ROOT / "examples/numpy/run.py",
                             prefix / "lib/libbackplane.so", folder / "good.onnx"],
              "float32[3, 3], uncopied", **cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    steps = Steps()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prefix = folder / "prefix"
        steps.run("install", ["cmake", "--install", options.build, "--prefix", prefix])
        bp = prefix / "bin/bp"
        cache = {"BACKPLANE_CACHE_DIR": str(folder / "cache")}
        model = folder / "model.onnx"
        model.write_bytes(models.good().SerializeToString())
        steps.run("installed devices", [bp, "devices", "--why"], str(prefix), **cache)
        steps.run("installed run", [bp, "run", model, "--random-inputs", "1"], "y: f32", **cache)
        steps.run("example configures", [
            "cmake", "-S", ROOT / "examples/magika", "-B", folder / "magika", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}"])
        steps.run("example builds", ["cmake", "--build", folder / "magika"])
        trained = next((ROOT / ".venv/lib").glob(
            "python3*/site-packages/magika/models/standard_v3_3"), None)
        steps.run("example runs", [folder / "magika/magika", trained, ROOT / "README.md"],
                  "markdown", **cache)
        test_values(steps, prefix, folder, cache)
        manifest = build_vendor_plugin(steps, prefix, folder)
        vendor = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
        steps.run("vendor device", [bp, "devices"], "acme://", **vendor)
        steps.run("vendor run", [bp, "run", model, "--device", "acme",
                                 "--random-inputs", "1"], "y: f32", **vendor)
        manifest = build_data_backend(steps, prefix, folder)
        data = {**cache, "BACKPLANE_ADD_PLUGIN_FILES": str(manifest)}
        artifact = folder / "acme.bpx"
        steps.run("data backend compiles",
                  [bp, "compile", model, "-o", artifact, "--target", "acme-64"], **data)
        steps.run("its artifact", [bp, "inspect", artifact], "acme-64", **data)
        test_npu(steps, bp, prefix, folder, trained, cache)
        test_kernels_of_ir(steps, bp, prefix, folder, cache)
        test_kernels_for_vulkan(steps, bp, prefix, folder, cache)
        if platform.machine() == "x86_64":
            test_first_kernel(steps, bp, prefix, folder, cache)
            test_kernels(steps, bp, prefix, folder, cache)
            test_passes(steps, bp, prefix, folder, cache)
            test_mlir_passes(steps, bp, prefix, folder, cache)
        packages.test(steps, options.build, prefix, folder, model, cache)
    print(f"{steps.passed} passed, {steps.failed} failed")
    return 1 if steps.failed else 0


if __name__ == "__main__":
    sys.exit(main())
