#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a day on the machine with the GPU: needs the folder that it lies in, and Python.

Each step has a limit of time, all have ten minutes together. What they found lies in results/.
"""
import argparse
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE / "results"
BIN = HERE / "bin"
EMULATED = (120, 100, 90, 80)  # architectures of the emulator, the newest first
# Seconds of each step, of a day of ten minutes.
LIMITS = {"facts": 20, "cases": 210, "library": 60, "goldens": 50, "emulator": 70, "speed": 80,
          "peers": 100}
# cuBLASLt's set of kernels, as it is called there.
SET = OUT / "cublaslt.bp.json"


class Step:
    """What a step found. `status` is ok, failed, refused, absent or out of time."""

    def __init__(self, name, limit):
        self.name, self.status, self.said, self.rows = name, "ok", "", []
        self.limit = limit
        self.start = time.monotonic()

    def left(self):
        return max(0.1, self.limit - (time.monotonic() - self.start))

    def call(self, *command):
        """Its output, None when it failed or time is over; the reason is kept."""
        # The folder of NVIDIA's driver may be named there already.
        libraries = [str(HERE / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment = dict(os.environ, BACKPLANE_CACHE_DIR="-",
                           LD_LIBRARY_PATH=os.pathsep.join(libraries))
        if SET.exists():
            environment["BACKPLANE_ADD_PLUGIN_FILES"] = str(SET)
        try:
            done = subprocess.run([str(part) for part in command], text=True, check=False,
                                  capture_output=True, timeout=self.left(), env=environment)
        except subprocess.TimeoutExpired:
            self.fail("out of time", f"more than {self.limit:.0f} s")
            return None
        except OSError as error:
            self.fail("absent", str(error))
            return None
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            self.fail("failed", lines[-1] if lines else f"exit code {done.returncode}")
            return None
        return done.stdout

    def fail(self, status, said):
        self.status, self.said = status, said

    def result(self):
        return {"name": self.name, "status": self.status, "said": self.said, "rows": self.rows,
                "seconds": round(time.monotonic() - self.start, 1)}


def facts(step, plan):
    devices = step.call(BIN / "bp", "devices", "--why")
    if devices is None:
        return
    (OUT / "devices.txt").write_text(devices, encoding="utf-8")
    tool = shutil.which("nvidia-smi")
    text = step.call(tool, "-q") if tool else ""
    (OUT / "nvidia-smi.txt").write_text(text or "", encoding="utf-8")
    step.said = "" if tool else "there is no nvidia-smi"


def cases(step, plan):
    said = step.call(BIN / "bp-worker", "run", HERE / "cases.bpb", "-o", OUT / "cases.bpr",
                     "--device", plan["device"], "--timeout", "60")
    if said is not None:
        step.said = (said.strip().splitlines() or [""])[-1]


def find_library():
    """cuBLASLt: named by BP_CUBLASLT, of PyTorch's wheels, or the system's; None."""
    named = os.environ.get("BP_CUBLASLT")
    wheels = [path for folder in sys.path if folder
              for path in sorted(pathlib.Path(folder).glob("nvidia/*/lib/libcublasLt.so.*"))]
    found = named or (wheels and str(wheels[-1])) or ctypes.util.find_library("cublasLt")
    return str(found) if found else None


def library(step, plan):
    """The kernels of cuBLASLt, each against its own text."""
    path, bundle = find_library(), HERE / "library.bpb"
    if not bundle.exists() or not path:
        step.fail("absent", "cuBLASLt is not installed" if bundle.exists() else
                  "the kernels of cuBLASLt were not built")
        return
    (OUT / "libbp-cublaslt.so").write_bytes((HERE / "lib/libbp-cublaslt.so").read_bytes())
    SET.write_text(json.dumps({
        "format": 1, "name": "cublaslt", "version": "1.0.0", "vendor": "Backplane",
        "abi": {"major": 0, "minor_low": 4}, "kernels": "libbp-cublaslt.so",
        "options": {"library": path}}), encoding="utf-8")
    said = step.call(BIN / "bp-worker", "run", bundle, "-o", OUT / "library.bpr", "--device",
                     plan["device"], "--timeout", "60")
    if said is not None:
        step.said = f"{path}: {(said.strip().splitlines() or [''])[-1]}"


def device_of(uri, model):
    """The device with the precision that a model asks for."""
    asked = f"precision={model['precision']}" if model["precision"] else ""
    return uri + ("&" if "?" in uri else "?") + asked if asked else uri


def inputs_of(model):
    folder = HERE / model["folder"]
    return [f"--input={name}={folder / name}.npy" for name in model["inputs"]]


def goldens(step, plan):
    for model in plan["goldens"]:
        made = step.call(BIN / "bp", "run", HERE / model["folder"] / "model.bpx", "--device",
                         device_of(plan["device"], model), "--no-fallback", *inputs_of(model),
                         "--output-dir",
                         OUT / model["folder"])
        step.rows.append({"name": model["name"], "made": made is not None,
                          "said": "" if made is not None else step.said})


def capability(plan):
    """That of the emulator which is nearest to the device's."""
    named = re.search(r"sm=(\d+)", plan["device"])
    text = (OUT / "devices.txt").read_text(encoding="utf-8")
    found = named or re.search(r"^cuda://(?!emu).*?\bsm[ =](\d+)", text, re.MULTILINE | re.DOTALL)
    sm = int(found[1]) if found else EMULATED[-1]
    return next((one for one in EMULATED if one <= sm), EMULATED[-1])


def emulator(step, plan):
    """The emulator must give what the device gave."""
    uri = f"cuda://emu?sm={capability(plan)}"
    wrong = []
    for model in plan["goldens"]:
        golden = OUT / model["folder"] / "y.npy"
        if not golden.exists():
            continue
        same = step.call(BIN / "bp", "run", HERE / model["folder"] / "model.bpx", "--device",
                         device_of(uri, model),
                         *inputs_of(model), f"--expect=y={golden}", "--rtol", model["rtol"],
                         "--atol", model["atol"]) is not None
        wrong += [] if same else [model["name"]]
        step.rows.append({"name": model["name"], "same": same, "rtol": model["rtol"],
                          "said": "" if same else step.said})
    if wrong:
        step.fail("failed", f"{uri} differs from the device in {', '.join(wrong)}")
    elif not step.rows:
        step.fail("absent", "there is no golden")
    else:
        step.said = f"{uri} gives what the device gave"


def speed(step, plan):
    for model in plan["timed"]:
        row = {"name": model["name"], "flops": model["flops"], "bytes": model["bytes"]}
        if model["kernel"] and not SET.exists():
            step.rows.append({**row, "said": "cuBLASLt is not here"})
            continue
        text = step.call(BIN / "bp", "bench", HERE / model["folder"] / "model.bpx", "--device",
                         device_of(plan["device"], model), "--no-fallback", "--per-dispatch",
                         "--json", "--seconds", "1")
        if text is None and "emulated" in step.said:
            step.status = "refused"
            return
        if text is None:
            row["said"] = step.said
        else:
            report = json.loads(text)
            row["kernel_ms"] = sum(kernel["ms"] for kernel in report["per_dispatch"]["kernels"]
                                   if kernel["kernel"])  # others are copies
            row["call_ms"] = report["min_ms"]
        step.rows.append(row)


def peers(step, plan):
    text = step.call(sys.executable, HERE / "peers.py", HERE / "plan.json")
    if text is None:
        return
    found = json.loads(text)
    step.rows, step.said = found["rows"], found["said"]
    step.status = "ok" if found["rows"] else "absent"


STEPS = {"facts": facts, "cases": cases, "library": library, "goldens": goldens, "emulator": emulator,
         "speed": speed, "peers": peers}


def before(names):
    """Results of an earlier run, but for the steps that run again."""
    path = OUT / "there.json"
    if not path.exists():
        return []
    earlier = json.loads(path.read_text(encoding="utf-8"))["steps"]
    return [result for result in earlier if result["name"] not in names]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="default: the one that the folder was made for")
    parser.add_argument("--step", action="append", choices=STEPS,
                        help="this one only; may be repeated")
    parser.add_argument("--seconds", type=float, default=sum(LIMITS.values()),
                        help="that all steps together may take (default: %(default)s)")
    options = parser.parse_args()
    plan = json.loads((HERE / "plan.json").read_text(encoding="utf-8"))
    plan["device"] = options.device or plan["device"]
    OUT.mkdir(exist_ok=True)
    names = options.step or list(STEPS)
    results = before(names)
    for name in names:
        step = Step(name, LIMITS[name] * options.seconds / sum(LIMITS.values()))
        STEPS[name](step, plan)
        results.append(step.result())
        print(f"{name:9} {step.status:11} {results[-1]['seconds']:6.1f} s  {step.said}", flush=True)
        (OUT / "there.json").write_text(
            json.dumps({"device": plan["device"], "steps": results}, indent=1) + "\n",
            encoding="utf-8")


if __name__ == "__main__":
    main()
