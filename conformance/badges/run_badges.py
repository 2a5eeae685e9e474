#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite at standard depth on the devices that come with it.

Without --all each device runs one of 120 parts of the cases (emulated GPUs one
of 600), none of which may be bad. With --all each runs all of them and must earn
the Full badge without a waiver, in an hour at most. A device that this machine
lacks is skipped, and why is said.

Each case is a test, each badge one more; the last line counts them.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from run_tests import model_folder  # pylint: disable=wrong-import-position

# Device -> part of the cases that it runs without --all; other parts for
# targets that share their code.
PARTS = {"host": 7, "ref": 47, "vulkan": 7, "worker:arm64-neon/host": 17,
         "worker:arm64/host": 27, "worker:arm64-sve512/host": 37,
         "cuda://emu?sm=80": 53, "cuda://emu?sm=90": 331}
GOOD = ("Pass", "QualityWarning")
LONGEST = 3600
# Seconds for one case: a large model on an emulated device takes half a minute,
# and several times that on a machine with other work.
CASE_SECONDS = 300


def absence(device):
    """What this machine lacks for a device; None: nothing."""
    if device.startswith("worker:arm64"):
        for tool in ("qemu-aarch64", "aarch64-linux-gnu-g++"):
            if not shutil.which(tool):
                return f"there is no {tool}"
    if device.startswith("cuda") and not (
            ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so").exists():
        return "the CUDA emulator is not built, as cuda.h was not found"
    if device == "vulkan":
        if not (ROOT / "build/lib/backplane/plugins/vulkan.bp.json").exists():
            return "the Vulkan driver is not built (BP_VULKAN)"
        listed = subprocess.run([ROOT / "build/bin/bp", "devices"], text=True, check=False,
                                capture_output=True)
        # The driver's own word; one that does not load is no absence.
        if "vulkan://none" in listed.stdout:
            return "there is no Vulkan device on this machine"
    return None


def lacking(summary):
    """What keeps a verdict from being the Full badge."""
    found = [] if summary["passed"] else ["it is not passed"]
    if summary["badge"] not in ("Full", "Strict"):
        found.append(f"the badge is '{summary['badge']}'")
    if summary["waivers"]:
        found.append(f"{len(summary['waivers'])} waivers")
    if summary["bad"]:
        found.append(f"{summary['bad']} bad cases")
    return found


def read_cases(device, records):
    """[passed, failed, skipped] of the cases; prints those that are bad."""
    counts = [0, 0, 0]
    for line in records.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        good = record["status"] in GOOD
        counts[0 if good else 2 if record["status"] == "NotSupported" else 1] += 1
        if not good and record["status"] != "NotSupported":
            print(f"FAILED {device} {record['id']}: {record['reason']}")
    return counts


def run_device(device, options, out):
    """[passed, failed, skipped] of one device."""
    # A process that is to grow old takes 100 s by itself.
    which = options.models if options.all else [
        "--shard", f"{PARTS[device]}/{600 if device.startswith('cuda') else 120}",
        "--exclude", "L7/uptime/*"]
    command = [ROOT / "build/bin/bp", "conformance", "--device", device, "--depth",
               "standard", "--timeout", str(CASE_SECONDS), "--out", out, *which]
    try:
        result = subprocess.run(command, cwd=ROOT, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=LONGEST,
                                env=dict(os.environ, BACKPLANE_CACHE_DIR="-"))
    except subprocess.TimeoutExpired:
        print(f"FAILED {device}: took more than {LONGEST} s")
        return [0, 1, 0]
    if result.returncode not in (0, 1) or "report in" not in result.stdout:
        print(f"FAILED {device}\n{result.stdout[-3000:]}")
        return [0, 1, 0]
    counts = read_cases(device, out / "records.jsonl")
    if counts[0] == 0:
        print(f"FAILED {device}: no case passed")
        counts[1] += 1
    if options.all:
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        found = lacking(summary)
        counts[1 if found else 0] += 1
        if found:
            print(f"FAILED {device} earns no Full badge: {', '.join(found)}")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all cases, for the badge")
    parser.add_argument("--device", action="append", choices=PARTS,
                        help="this device only; may be repeated")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/badges",
                        help="folder for records and reports")
    options = parser.parse_args()
    options.models = model_folder()
    total = [0, 0, 0]
    for device in options.device or PARTS:
        reason = absence(device)
        if reason:
            print(f"skipped {device}: {reason}")
            total[2] += 1
            continue
        options.out.mkdir(parents=True, exist_ok=True)
        folder = options.out / re.sub("[^a-z0-9]+", "-", device)
        shutil.rmtree(folder, ignore_errors=True)
        counts = run_device(device, options, folder)
        total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
