#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Vulkan driver, and models on it, under the validation layers,
synchronisation validation included. Whatever they say is a failure; that they
say something when there is something to say is tested too, by programs with a
mistake. Shaders with cooperative matrices are carried out without a device.

Prints `N passed, N failed, N skipped` in the end.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import matrices
import models

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = ROOT / "build" / "bin"
TESTS = BIN / "bp_vulkan_driver_tests"
LAYER = "VK_LAYER_KHRONOS_validation"
FOLDERS = ("/usr/share/vulkan/explicit_layer.d", "/etc/vulkan/explicit_layer.d",
           "/usr/local/share/vulkan/explicit_layer.d")
SETTINGS = """khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn,perf
khronos_validation.enables = \
VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.log_filename = """


def lacking():
    """What keeps the driver from being validated here, if anything."""
    if not TESTS.exists():
        return "the Vulkan driver is not built (BP_VULKAN)"
    if not any(LAYER in path.read_text(encoding="utf-8")
               for folder in FOLDERS
               for path in pathlib.Path(folder).glob("*.json")):
        return f"there is no {LAYER}"
    found = subprocess.run([BIN / "bp-lint", "vulkan", "--check", "L0/devices/ids",
                            "--verbose"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    lists = subprocess.run([BIN / "bp-lint", "vulkan", "--check",
                            "L1/queue/compute"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    if found.returncode == 0 and "no usable device" in lists.stdout:
        return "there is no Vulkan device on this machine"
    return None


def validated(command):
    """The outcome of a command, and what the layers said."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.txt"
        settings = pathlib.Path(folder) / "vk_layer_settings.txt"
        settings.write_text(SETTINGS + str(log) + "\n", encoding="utf-8")
        result = subprocess.run(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
            env=dict(os.environ, VK_INSTANCE_LAYERS=LAYER,
                     VK_LAYER_SETTINGS_PATH=folder, BACKPLANE_CACHE_DIR="-"))
        said = log.read_text(encoding="utf-8") if log.exists() else None
    return result, said


def count(output):
    """(passed, failed, skipped) of a program of tests or of bp-lint."""
    checks = re.search(r"^(\d+) checks, (\d+) failed$", output, re.MULTILINE)
    if checks:
        failed = int(checks.group(2))
        return int(checks.group(1)) - failed, failed, 0
    counts = []
    for word in ("PASSED", "FAILED", "SKIPPED"):
        match = re.search(rf"\[  {word} ?\s?\] (\d+) tests?", output)
        counts.append(int(match.group(1)) if match else 0)
    return tuple(counts)


def clean(name, command):
    """Runs tests, all of which must pass without a word of the layers."""
    result, said = validated(command)
    passed, failed, skipped = count(result.stdout)
    if result.returncode or passed == 0:
        print(f"FAILED {name}\n{result.stdout[-3000:]}")
        failed = max(failed, 1)
    if said is None or said:
        text = said[:3000] if said else "the layers were not loaded"
        print(f"FAILED {name}: {text}")
        failed += 1
    return passed, failed, skipped


def mistaken(name, test, expected):
    """Runs a test with a mistake, which the layers must name."""
    _, said = validated([TESTS, "--gtest_also_run_disabled_tests",
                         f"--gtest_filter={test}"])
    if said and expected in said:
        return 1, 0, 0
    print(f"FAILED {name}: the layers say {said!r}, not {expected}")
    return 0, 1, 0


def computed(name):
    """Runs a model of models.py, whose result is exact."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        arguments, expected = models.write(name, folder)
        result, said = validated([BIN / "bp", "run", *arguments, "--device",
                                  "vulkan", "--no-fallback", "--output-dir", folder])
        found = folder / "y.npy"
        if result.returncode or not found.exists():
            problem = result.stdout[-3000:]
        elif not numpy.array_equal(numpy.load(found), expected):
            problem = "the result is wrong"
        else:
            problem = "the layers were not loaded" if said is None else said[:3000]
    if problem:
        print(f"FAILED {name}: {problem}")
    return int(not problem), int(bool(problem)), 0


def validated_outcomes(options):
    """What runs under the layers."""
    check = [BIN / "bp-lint", "--depth", "standard" if options.all else "smoke"]
    layers = ["--check", "L0/*", "--check", "L1/*", "--check", "L7/*"]
    return [
        mistaken("race", "*MistakeRace", "SYNC-HAZARD-WRITE-AFTER-WRITE"),
        mistaken("range", "*MistakeRange", "VUID-VkDescriptorBufferInfo"),
        clean("tests of the driver", [TESTS]),
        clean("checks", check + ["vulkan"] + layers),
        clean("checks, memory hidden from the host",
              check + ["vulkan://?staging=always"] + layers),
        *(computed(name) for name in models.MODELS),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the nightly form")
    options = parser.parse_args()
    reason = lacking()
    outcomes = list(matrices.outcomes(device=not reason))
    if reason:
        print(f"skipped: {reason}")
        outcomes.append((0, 0, 1))
    else:
        outcomes += validated_outcomes(options)
    passed, failed, skipped = (sum(part) for part in zip(*outcomes))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
