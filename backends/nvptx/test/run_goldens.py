#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the models whose outputs a GPU has given (goldens/GPU, made by tools/gpu-day) on the
emulator, which must give the same: every bit, or within the bounds of an instruction that the
ISA leaves open (tools/gpu_day/models.py has which).
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools/gpu_day"))
import models  # pylint: disable=wrong-import-position

BP = ROOT / "build/bin/bp"
# The target that had made the code of all goldens, and the emulator that stands for these GPUs.
TARGET, DEVICE = "nvptx-sm90a", "cuda://emu?sm=90"
GPUS = ("h100", "h200")


def call(*command):
    return subprocess.run([str(part) for part in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, BACKPLANE_CACHE_DIR="-"))


def compare(model, golden, folder):
    """What went wrong; empty: nothing."""
    suffix, option = (f"-{model.precision}", f"&precision={model.precision}") if model.precision else (
        "", "")
    models.save(model, folder / "model.onnx")
    models.draw(model, folder)
    made = call(BP, "compile", folder / "model.onnx", "-o", folder / "model.bpx", "--target",
                TARGET + suffix, "--no-fallback")
    if made.returncode:
        return made.stdout
    inputs = [f"--input={name}={folder / name}.npy" for name in model.inputs]
    ran = call(BP, "run", folder / "model.bpx", "--device", DEVICE + option,
               "--no-fallback", *inputs,
               f"--expect=y={golden}", "--rtol", model.rtol, "--atol", model.atol)
    return ran.stdout if ran.returncode else ""


def main():
    passed, failed, skipped = 0, 0, 0
    for model in models.goldens():
        goldens = [path for gpu in GPUS
                   if (path := HERE / "goldens" / gpu / f"{model.name}.npy").exists()]
        if not goldens:
            print(f"skipped: no GPU has run {model.name}")
            skipped += 1
        for golden in goldens:
            with tempfile.TemporaryDirectory() as folder:
                why = compare(model, golden, pathlib.Path(folder))
            if why:
                print(f"FAILED {golden.parent.name} {model.name}: {why[-2000:]}")
            failed += bool(why)
            passed += not why
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
