#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy) on the LLVM-free sources that the last commits touched, or whose
header they touched; with --all on all files.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

from common import ROOT, report

# About those of two days.
COMMITS = 30


def sources(folder):
    """Project files of a compilation database."""
    database = ROOT / folder / "compile_commands.json"
    if not database.exists():
        sys.exit(f"tidy: {folder} is not configured; run tools/build first")
    files = {os.path.realpath(entry["file"]) for entry in json.loads(database.read_text())}
    return sorted(name for name in files
                  if name.startswith(f"{ROOT}/") and "/build" not in name
                  and "/test/" not in name)


def recent(names):
    """Those that the last commits touched; without a history all."""
    log = subprocess.run(["git", "log", f"-{COMMITS}", "--format=", "--name-only"], cwd=ROOT,
                         text=True, capture_output=True, check=False)
    touched = {os.path.splitext(f"{ROOT}/{name}")[0] for name in log.stdout.splitlines() if name}
    return [name for name in names if os.path.splitext(name)[0] in touched] if touched else names


def check(folder, name):
    result = subprocess.run(["clang-tidy-22", "-quiet", "-p", folder, name],
                            cwd=ROOT, text=True, capture_output=True, check=False)
    return [line for line in result.stdout.splitlines()
            if ": warning: " in line or ": error: " in line]


def main():
    everything = "--all" in sys.argv
    folder = "build" if everything else "build-asan"
    names = sources(folder) if everything else recent(sources(folder))
    problems = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda name: check(folder, name), names):
            problems.update(found)
    return report(sorted(problems), "clang-tidy")


if __name__ == "__main__":
    sys.exit(main())
