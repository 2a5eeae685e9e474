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
# Where goldens came from, the target that had made the code, and the emulator that stands for it.
GPUS = {"h100": ("nvptx-sm90a", "cuda://emu?sm=90")}


def call(*command):
    return subprocess.run([str(part) for part in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, BACKPLANE_CACHE_DIR="-"))


def compare(model, golden, target, device, folder):
    """What went wrong; empty: nothing."""
    models.save(model, folder / "model.onnx")
    models.draw(model, folder)
    made = call(BP, "compile", folder / "model.onnx", "-o", folder / "model.bpx", "--target",
                target, "--no-fallback")
    if made.returncode:
        return made.stdout
    inputs = [f"--input={name}={folder / name}.npy" for name in model.inputs]
    ran = call(BP, "run", folder / "model.bpx", "--device", device, "--no-fallback", *inputs,
               f"--expect=y={golden}", "--rtol", model.rtol, "--atol", model.atol)
    return ran.stdout if ran.returncode else ""


def main():
    passed, failed, skipped = 0, 0, 0
    for gpu, (target, device) in GPUS.items():
        for model in models.goldens():
            golden = HERE / "goldens" / gpu / f"{model.name}.npy"
            if not golden.exists():
                print(f"skipped: {gpu} has not run {model.name}")
                skipped += 1
                continue
            with tempfile.TemporaryDirectory() as folder:
                why = compare(model, golden, target, device, pathlib.Path(folder))
            if why:
                print(f"FAILED {gpu} {model.name}: {why[-2000:]}")
            failed += bool(why)
            passed += not why
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
