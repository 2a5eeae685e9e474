#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the test suites and counts every test of every kind.

Each suite prints its failures and gives (passed, failed, skipped). The last
line of the output is `N passed, N failed, N skipped`.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = os.cpu_count() or 1
LLVM_TOOLS = "/usr/lib/llvm-22/bin"


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def run(command, **keywords):
    return subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **keywords)


def processor_seconds():
    """Of all processes that were started here and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def single(name, command):
    """One command that is one test."""
    result = run(command)
    if result.returncode:
        print(f"FAILED {name}\n{result.stdout[-6000:]}")
        return Counts(failed=1)
    return Counts(passed=1)


def build(preset):
    return single(f"build {preset}",
                  ["env", f"BP_PRESET={preset}", "tools/build"])


def junit(path):
    """Counts of a JUnit file; prints the failures."""
    counts = Counts()
    for case in ElementTree.parse(path).iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        skipped = case.find("skipped")
        if failure is not None:
            text = failure.text or case.findtext("system-out") or ""
            print(f"FAILED {case.get('name')}\n{text[-3000:]}")
            counts.failed += 1
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            counts.skipped += 1
        else:
            counts.passed += 1
    return counts


def ctest(folder):
    out = ROOT / folder / "ctest.xml"
    out.unlink(missing_ok=True)
    # The FileCheck tests are a suite of their own, which counts each file.
    result = run(["ctest", "--test-dir", folder, "-j", str(CORES), "-LE", "^lit$",
                  "--output-junit", str(out)])
    if not out.exists():
        print(f"FAILED ctest in {folder}\n{result.stdout[-6000:]}")
        return Counts(failed=1)
    counts = junit(out)
    if result.returncode and not counts.failed:
        print(f"FAILED ctest in {folder}\n{result.stdout[-3000:]}")
        counts.failed += 1
    return counts


def lit(_):
    """All FileCheck tests, counted one by one."""
    out = ROOT / "build" / "lit.xml"
    out.unlink(missing_ok=True)
    folders = sorted({str(path.parent) for path in ROOT.glob("sdk/*/test/**/*.mlir")})
    if not folders:
        return Counts()
    result = run([f"{LLVM_TOOLS}/lit", "-q", "--param", f"build={ROOT}/build",
                  "--param", f"llvm_tools={LLVM_TOOLS}", f"-j{CORES}",
                  f"--xunit-xml-output={out}", *folders])
    if not out.exists():
        print(f"FAILED lit\n{result.stdout[-6000:]}")
        return Counts(failed=1)
    return junit(out)


def tests_release(_):
    counts = single("build", ["tools/build"])
    counts.add(ctest("build") if not counts.failed else Counts())
    return counts


def tests_asan(_):
    counts = build("asan")
    counts.add(ctest("build-asan") if not counts.failed else Counts())
    return counts


def tests_tsan(options):
    """The tests of LLVM-free code under ThreadSanitizer, at night."""
    if not options.all:
        return Counts(skipped=1)
    counts = build("tsan")
    counts.add(ctest("build-tsan") if not counts.failed else Counts())
    return counts


def lint(options):
    counts = Counts()
    for script in ("declared", "format", "layers", "lengths", "ops", "prose",
                   "quotes", "schemas", "walk", "words"):
        counts.add(single(f"lint {script}",
                          [sys.executable, f"tools/lint/{script}.py"]))
    return counts


def docs(_):
    return single("site", ["tools/docs"])


def tidy(options):
    command = [sys.executable, "tools/lint/tidy.py"]
    return single("clang-tidy", command + (["--all"] if options.all else []))


def scripted(script, nightly=True):
    """A script that prints its own failures and a line of counts; `nightly`:
    it takes --all."""
    def suite(options):
        result = run([sys.executable, script] +
                     (["--all"] if options.all and nightly else []))
        lines = result.stdout.strip().splitlines()
        match = re.search(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$",
                          lines[-1] if lines else "")
        if not match:
            print(f"FAILED {script}\n{result.stdout[-6000:]}")
            return Counts(failed=1)
        print("\n".join(line for line in lines
                        if line.startswith(("FAILED", "skipped"))))
        counts = Counts(*(int(number or 0) for number in match.groups()))
        if result.returncode and not counts.failed:
            counts.failed += 1
        return counts
    return suite


def model_folder():
    """--models with a folder that has files of known models, or nothing."""
    folders = [ROOT.parent / "shared/data/models",
               *ROOT.glob(".venv/lib/python3*/site-packages")]
    for folder in folders:
        if (folder / "magika").is_dir():
            return ["--models", str(folder)]
    return []


def conformance(options):
    """The smoke cases on the two devices of every machine, each case a test; at
    night "badges" runs the standard depth, of which they are a part."""
    counts = Counts()
    for device in () if options.all else ("ref", "host"):
        out = ROOT / "build" / "conformance" / device
        result = run(["build/bin/bp", "conformance", "--device", device, "--depth",
                      "smoke", "--out", str(out),
                      *model_folder()],
                     env=dict(os.environ, BACKPLANE_CACHE_DIR="-"))
        records = out / "records.jsonl"
        if result.returncode not in (0, 1) or "report in" not in result.stdout:
            print(f"FAILED conformance on {device}\n{result.stdout[-3000:]}")
            counts.failed += 1
            continue
        for line in records.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["status"] in ("Pass", "QualityWarning"):
                counts.passed += 1
            elif record["status"] == "NotSupported":
                counts.skipped += 1
            else:
                print(f"FAILED {device} {record['id']}: {record['reason']}")
                counts.failed += 1
    return counts


def fuzzing(options):
    """Its report of a crash is long and is printed whole."""
    command = [sys.executable, "tools/fuzz/run_fuzz.py"]
    result = run(command + (["--all"] if options.all else []))
    match = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped$",
                      result.stdout.strip())
    if result.returncode or not match:
        print(f"FAILED fuzzing\n{result.stdout}")
    return Counts(*map(int, match.groups())) if match else Counts(failed=1)


# Each suite with the seconds that it may take on two cores with a warm compiler
# cache; a run that takes longer does not fail for it.
SUITES = {
    "lint": (lint, 15),
    "docs": (docs, 45),
    "release": (tests_release, 180),
    "lit": (lit, 15),
    "models": (scripted("conformance/models/run_models.py"), 120),
    "nodes": (scripted("conformance/onnx_nodes/run_node_tests.py"), 240),
    "narrow": (scripted("conformance/onnx_nodes/run_narrow_tests.py"), 30),
    "random": (scripted("conformance/random/run_random_tests.py"), 90),
    "recurrent": (scripted("conformance/random/run_recurrent_tests.py"), 30),
    "shapes": (scripted("conformance/shapes/run_shape_models.py"), 60),
    "random-ops": (scripted("conformance/random_ops/run_random_op_tests.py"), 60),
    "split": (scripted("conformance/split/run_split_tests.py"), 30),
    "conformance": (conformance, 120),
    "plugins": (scripted("conformance/plugin/golden/run_golden.py", nightly=False), 15),
    "plugin-lint": (scripted("conformance/lint/test/run_lint.py", nightly=False), 60),
    "profiles": (scripted("conformance/profiles/run_profiles.py", nightly=False), 10),
    "badges": (scripted("conformance/badges/run_badges.py"), 150),
    "paths": (scripted("conformance/paths/run_paths.py", nightly=False), 30),
    "vulkan": (scripted("backends/vulkan/test/run_validated.py"), 30),
    "nvptx": (scripted("backends/nvptx/test/run_emulated.py"), 75),
    "cubin": (scripted("backends/nvptx/test/run_cubin.py", nightly=False), 15),
    "triton": (scripted("backends/nvptx/test/run_triton.py"), 30),
    "ptx-mutants": (scripted("backends/nvptx/test/run_ptx_mutants.py"), 20),
    "gpu-goldens": (scripted("backends/nvptx/test/run_goldens.py", nightly=False), 10),
    "gpu-day": (scripted("tools/gpu_day/test/run_gpu_day.py", nightly=False), 45),
    "mutants": (scripted("conformance/mutants/run_mutants.py"), 330),
    "kernels": (scripted("conformance/kernels/run_kernel_mutants.py"), 110),
    "onednn": (scripted("backends/x86/onednn/test/run_onednn.py", nightly=False), 90),
    "cublaslt": (scripted("backends/nvptx/cublaslt/test/run_cublaslt.py", nightly=False), 60),
    "submission": (scripted("tools/bp-conformance/test/run_submission.py"), 80),
    "full-disks": (scripted("tools/bp-conformance/test/run_full_disks.py", nightly=False), 60),
    "package": (scripted("examples/run_installed.py"), 120),
    "new-plugin": (scripted("examples/run_new_plugin.py"), 150),
    "arm": (scripted("backends/arm/test/run_arm.py"), 90),
    "arm-native": (scripted("backends/arm/test/run_native.py"), 30),
    "asan": (tests_asan, 300),
    "tool": (scripted("tools/bp/test/run_cli.py"), 180),
    "bench": (scripted("tools/benchmark/test/run_bench_tests.py", nightly=False), 15),
    "limits": (scripted("tools/bp/test/run_limits.py"), 30),
    "files": (scripted("tools/bp/test/run_files.py", nightly=False), 60),
    "kills": (scripted("tools/bp/test/run_kills.py"), 40),
    "workers": (scripted("tools/bp/test/run_workers.py", nightly=False), 90),
    "broken": (scripted("tools/bp/test/run_broken.py", nightly=False), 60),
    "tidy": (tidy, 420),
    "fuzz": (fuzzing, 90),
    "hostile": (scripted("tools/fuzz/run_hostile.py"), 5),
    "tsan": (tests_tsan, 5),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the nightly form")
    parser.add_argument("--only", action="append", choices=SUITES,
                        help="run one suite; may be repeated")
    parser.add_argument("--list", action="store_true", help="name the suites")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SUITES))
        return 0
    total = Counts()
    for name in options.only or SUITES:
        suite, budget = SUITES[name]
        limit = "" if options.all else f" of {budget}"
        print(f"== {name}", flush=True)
        start, cores = time.monotonic(), processor_seconds()
        counts = suite(options)
        total.add(counts)
        seconds = time.monotonic() - start
        cores = (processor_seconds() - cores) / max(seconds, 0.1)
        print(f"   {counts.passed} passed, {counts.failed} failed, {counts.skipped} "
              f"skipped in {seconds:.0f}{limit} s, on {cores:.1f} cores", flush=True)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
