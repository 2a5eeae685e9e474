#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries tools/gpu-day against the emulator: all steps, a golden that is wrong, a step that takes
too long, a folder without results."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEVICE = "cuda://emu?sm=90"
COUNTS = {"passed": 0, "failed": 0}


def check(name, good, evidence=""):
    COUNTS["passed" if good else "failed"] += 1
    if not good:
        print(f"FAILED {name}: {str(evidence)[-2000:]}")


# In the place of cuBLASLt, which no emulator runs, a library that computes on it.
SET = ROOT / "build/backends/nvptx/cublaslt"
LIBRARY = {"BP_CUBLASLT": str(SET / "libbp-cublaslt-emulated.so"),
           "BP_TEST_PTX": str(SET / "product.ptx")}


def call(*command, **environment):
    return subprocess.run([str(part) for part in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **environment})


def there(folder, *arguments):
    """The results of steps, by name, and what was said."""
    said = call(sys.executable, folder / "there.py", *arguments).stdout
    steps = json.loads((folder / "results/there.json").read_text(encoding="utf-8"))["steps"]
    return {step["name"]: step for step in steps}, said


def check_day(folder):
    emulator = folder / "lib/backplane/plugins/libbp-cuda-emulator.so"
    done = call(ROOT / "tools/gpu-day", "all", folder, "--device", DEVICE, "--quick",
                **LIBRARY, BP_TEST_CUDA=str(emulator))
    check("a day ends well", done.returncode == 0, done.stdout)
    path = folder / "summary.json"
    if not path.exists():
        return check("a day has a summary", False, done.stdout)
    summary = json.loads(path.read_text(encoding="utf-8"))
    steps = {step["name"]: step for step in summary["steps"]}
    check("cases pass", summary["cases"]["counts"].get("Pass", 0) > 10 and
          not summary["cases"]["counts"].get("Fail"), summary["cases"])
    if pathlib.Path(LIBRARY["BP_CUBLASLT"]).exists():
        check("the kernels of a library are judged", summary["library"]["counts"].get("Pass", 0) > 10
              and summary["library"]["status"] == "ok", summary["library"])
    check("goldens are made", len(steps["goldens"]["rows"]) == 19 and
          all(row["made"] for row in steps["goldens"]["rows"]), steps["goldens"])
    check("the emulator matches", all(row["same"] for row in steps["emulator"]["rows"]),
          steps["emulator"])
    check("times of an emulated device are refused", steps["speed"]["status"] == "refused" and
          "is emulated" in steps["speed"]["said"] and not steps["speed"]["rows"], steps["speed"])
    check("what is absent is said", steps["peers"]["status"] == "absent" and
          "PyTorch" in steps["peers"]["said"], steps["peers"])
    check("a summary to read", "refused" in (folder / "summary.txt").read_text("utf-8"))
    return None


def check_failures(folder):
    golden = folder / "results/goldens/softmax/y.npy"
    values = numpy.load(golden)
    values[3, 5] *= 1.001
    numpy.save(golden, values)
    steps, said = there(folder, "--step", "emulator")
    check("a wrong golden is found", steps["emulator"]["status"] == "failed" and
          steps["emulator"]["said"].endswith("in softmax"), said)
    check("other steps are kept", steps["cases"]["status"] == "ok", steps)
    check("a failure is one of the day", call(ROOT / "tools/gpu-day", "judge", folder).returncode)
    steps, said = there(folder, "--step", "cases", "--seconds", "0.1")
    check("a step has a limit", steps["cases"]["status"] == "out of time", said)
    steps, said = there(folder, "--step", "goldens", "--device", "cuda://emu?sm=70")
    check("a refused device is said", steps["goldens"]["status"] == "failed" and
          "sm=70" in steps["goldens"]["said"], said)
    done = call(ROOT / "tools/gpu-day", "pack", folder)
    check("no folder is overwritten", done.returncode and "is there already" in done.stdout,
          done.stdout)


def main():
    if not (ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so").exists():
        print("skipped: the CUDA emulator is not built, as cuda.h was not found\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "day"
        check_day(folder)
        if (folder / "summary.json").exists():
            check_failures(folder)
    print(f"{COUNTS['passed']} passed, {COUNTS['failed']} failed")
    return int(COUNTS["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
