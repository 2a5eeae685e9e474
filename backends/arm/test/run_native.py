#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compiler on AArch64: the release build there, or on another machine the
build of the preset arm64-compiler (BP_SYSROOT names its libraries) in qemu.

- The processor's features are found, and choose the target.
- A model compiles to the code to which it compiles on this machine.
- Models compile and run, and give the outputs that are stored with them.
- What was compiled for another architecture is compiled again at load.
- Cases and checks pass, with a process that compiles beside one that runs.
- Unit tests whose code is other than on x86-64 pass.

What is missing for a part is said, and its checks count as skipped.
"""
import argparse
import os
import pathlib
import platform
import re
import struct
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/bp/test"))
import checks  # noqa: E402  pylint: disable=wrong-import-position
import models  # noqa: E402  pylint: disable=wrong-import-position

NATIVE = platform.machine() == "aarch64"
BUILD = ROOT / ("build" if NATIVE else "build-arm64-compiler")
OTHER = ROOT / "build/bin/bp"
EMULATE = pathlib.Path(__file__).parent / "as-aarch64"
PROGRAMS = ["bp", "bp-worker", "bp-compile-worker", "bp-conformance", "bp-lint"]
PARTS = ["backplane-import", "backplane-compiler", "bp-host", "bp-ref", "bp-arm", "bp-x86"]
# Test programs and which of their tests; times in qemu say nothing.
UNITS = {"bp-core-test": "CpuInfo*", "checks_test": "*", "session_test": "*-*Quickly",
         "bp_emit_tests": "*.F32/*:*.I8/*:Kernel.*",
         "bp_math_tests": "*.F32/exp:*.F32/sin:*.F64/log"}
# CPU that qemu plays -> features that it has, and the default target.
MACHINES = {"cortex-a57": ({"neon"}, "aarch64"),
            "cortex-a76": ({"neon", "dotprod"}, "aarch64+dotprod"),
            "a64fx": ({"neon", "sve"}, "aarch64+sve"),
            "max,sve-max-vq=2": ({"neon", "dotprod", "sve", "i8mm", "bf16"}, "aarch64+sve+bf16")}


class Suite(checks.Checks):
    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}")

    def good(self, name, result):
        self.check(name, result.returncode == 0, result.stdout)
        return result.stdout


def run(*command, cpu="max,sve-max-vq=2", timeout=900, **more):
    words = [] if NATIVE else [EMULATE, os.environ["BP_SYSROOT"]]
    environment = {**os.environ, "BACKPLANE_CACHE_DIR": "-", "QEMU_CPU": cpu}
    return subprocess.run([str(word) for word in (*words, *command)], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          env=environment, **more)


def bp(*arguments, **more):
    return run(BUILD / "bin/bp", *arguments, **more)


def save_model(folder):
    """A model with weights, its input and what it computes."""
    x = numpy.random.default_rng(2).standard_normal((64, 64)).astype("f4")
    y = x.astype("f8")
    for i in range(6):
        y = numpy.tanh(y) if i % 2 else numpy.sin(y)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", (y.T + y).astype("f4"))
    (folder / "m.onnx").write_bytes(models.long_chain(6, True).SerializeToString())
    heavy, _ = models.heavy()
    (folder / "heavy.onnx").write_bytes(heavy.SerializeToString())


def detection(suite, folder):
    """Features and default targets of each processor; of one only, natively."""
    for cpu, (features, target) in MACHINES.items():
        said = suite.good(f"devices of {cpu}", bp("devices", "--why", cpu=cpu))
        found = re.search(r"formats: elf-aarch64\n +features: (.*)", said)
        words = set(found.group(1).split()) if found else set()
        ran = suite.good(f"run on {cpu}", bp(
            "run", "m.onnx", "--why", "--input", "x=x.npy", "--expect", "y=y.npy", cpu=cpu,
            cwd=folder))
        if NATIVE:
            suite.check("the host is AArch64 with NEON", "neon" in words, said)
            suite.check("its default target is of AArch64", "variant aarch64" in ran, ran)
            return
        known = set().union(*(row[0] for row in MACHINES.values()))
        suite.check(f"features of {cpu}", words & known == features, said)
        suite.check(f"target of {cpu}", f"variant {target} on host://cpu" in ran, ran)


def stages_of(folder):
    """The dumped stages; names of kernels hold a hash of the compiler's library."""
    def masked(text):
        return re.sub(r"_[0-9a-f]{16}", "_hash", text)
    return {masked(str(path.relative_to(folder))): masked(path.read_text(encoding="utf-8"))
            for path in folder.rglob("*.mlir")}


def code_of(data):
    """The executable segments of the ELF images in an artifact."""
    found = []
    for match in re.finditer(rb"\x7fELF\x02", data):
        start = match.start()
        table, = struct.unpack_from("<Q", data, start + 32)
        count, = struct.unpack_from("<H", data, start + 56)
        for i in range(count):
            kind, flags, offset, _, _, size = struct.unpack_from(
                "<IIQQQQ", data, start + table + 56 * i)
            if kind == 1 and flags & 1:
                found.append(data[start + offset:start + offset + size])
    return found


def same_code(suite, folder):
    """Whoever compiles, every stage and the machine code are the same."""
    if NATIVE or not OTHER.exists():
        suite.skip("the same code", "there is no second machine" if NATIVE else
                   "this machine's build is not there")
        return
    targets = ["aarch64+sve+i8mm", "x86-64-v3"]
    for model in ("m", "heavy"):
        words = ["compile", f"{model}.onnx", "--target", ",".join(targets), "--dump-stages"]
        suite.good(f"compile {model} there", bp(*words, f"{model}.there", "-o", "there.bpx",
                                                cwd=folder))
        here = subprocess.run([OTHER, *words, f"{model}.here", "-o", "here.bpx"], cwd=folder,
                              text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              env={**os.environ, "BACKPLANE_CACHE_DIR": "-"})
        suite.good(f"compile {model} here", here)
        stages = [stages_of(folder / f"{model}.{where}") for where in ("here", "there")]
        differ = [name for name, text in stages[0].items() if stages[1].get(name) != text]
        suite.check(f"{model}: the same stages", len(stages[0]) > 10
                    and stages[0].keys() == stages[1].keys() and not differ, differ)
        codes = [code_of((folder / f"{where}.bpx").read_bytes()) for where in ("here", "there")]
        suite.check(f"{model}: the same code", len(codes[0]) >= len(targets)
                    and codes[0] == codes[1], [len(code) for code in codes])


def at_load(suite, folder):
    """An artifact for x86-64 is compiled from its stored graph."""
    suite.good("compile for x86-64", bp("compile", "m.onnx", "-o", "far.bpx", "--target",
                                        "x86-64-v3", "--embed-graph", cwd=folder))
    words = ["run", "far.bpx", "--why", "--input", "x=x.npy", "--expect", "y=y.npy"]
    refused = bp(*words, cwd=folder)
    suite.check("x86-64 does not run", refused.returncode == 1 and "elf-x86_64" in refused.stdout,
                refused.stdout)
    said = suite.good("compile at load", bp(*words, "--jit", cwd=folder))
    suite.check("compiled at load", "compiled at load from the stored graph" in said, said)


def stored_models(suite, data):
    """Real models against the outputs that another system stored."""
    for name in ("magika", "silero_vad/silero_vad.onnx"):
        if not (data / "models" / name).exists():
            suite.skip(name, f"it is not in {data}/models")
            continue
        result = run(sys.executable, ROOT / "conformance/models/run_models.py", "--bp",
                     BUILD / "bin/bp", "--data", data, "--devices", "host", "--only", name)
        suite.check(f"{name} gives the stored outputs", result.returncode == 0
                    and "1 passed" in result.stdout, result.stdout)


def cases(suite, folder):
    """Some cases of the conformance suite, compiled and run by two processes."""
    filters = [word for pattern in ("L2/matmul-f32/*", "L3/softmax/f32/*", "L3/cast/f16/*",
                                    "L3/exp/f32/*", "L0/process/*")
               for word in ("--filter", pattern)]
    said = suite.good("conformance", bp("conformance", "--device", "host", "--depth", "smoke",
                                        *filters, "--out", folder / "out"))
    passed = sum(map(int, re.findall(r"(\d+) Pass", said)))
    suite.check("cases passed", passed > 20, said)
    record = folder / "out/run.json"
    processor = re.search(r'"processor": "(.*)"', record.read_text(encoding="utf-8")) \
        if record.exists() else None
    suite.check("the report names the processor", processor and re.match(
        r"\S.*, \d+ threads", processor.group(1)), processor and processor.group(0))


def units(suite):
    for program, pattern in UNITS.items():
        path = BUILD / "bin" / program
        if not path.exists():
            suite.skip(program, "it is not built")
            continue
        result = run(path, f"--gtest_filter={pattern}", "--gtest_brief=1")
        match = re.search(r"PASSED +\] (\d+) test", result.stdout)
        suite.check(program, result.returncode == 0 and match and int(match.group(1)) > 0,
                    result.stdout)


def obstacle():
    """Why nothing can be done here, or nothing."""
    if NATIVE:
        return ""
    if not os.environ.get("BP_SYSROOT"):
        return "BP_SYSROOT names no folder that tools/sysroot made"
    probe = run("true")
    return f"programs for AArch64 cannot be started: {probe.stdout.strip()}" \
        if probe.returncode else ""


def build():
    tests = [] if NATIVE else list(UNITS)
    return subprocess.run(
        [ROOT / "tools/build", *PROGRAMS, *PARTS, *tests], text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "BP_PRESET": "release" if NATIVE else "arm64-compiler"})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the nightly form: without it, "
                        "nothing is built on machines that are not AArch64")
    parser.add_argument("--data", default=str(ROOT.parent / "shared/data"))
    options = parser.parse_args()
    suite = Suite()
    why = obstacle()
    if not why and not NATIVE and not options.all:
        why = "it builds the compiler a second time; --all asks for that"
    if why:
        suite.skip("the compiler on AArch64", why)
    else:
        suite.good("build", build())
    if not why and not suite.failed:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            save_model(folder)
            detection(suite, folder)
            same_code(suite, folder)
            at_load(suite, folder)
            stored_models(suite, pathlib.Path(options.data))
            cases(suite, folder)
            units(suite)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
