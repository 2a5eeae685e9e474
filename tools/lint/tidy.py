#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy) on the LLVM-free files, with --all on all."""
import concurrent.futures
import json
import os
import subprocess
import sys

from common import ROOT, report


def sources(folder):
    """Project files of a compilation database."""
    database = ROOT / folder / "compile_commands.json"
    if not database.exists():
        sys.exit(f"tidy: {folder} is not configured; run tools/build first")
    files = {os.path.realpath(entry["file"]) for entry in json.loads(database.read_text())}
    return sorted(name for name in files
                  if name.startswith(f"{ROOT}/") and "/build" not in name
                  and "/test/" not in name)


def check(folder, name):
    result = subprocess.run(["clang-tidy-22", "-quiet", "-p", folder, name],
                            cwd=ROOT, text=True, capture_output=True, check=False)
    return [line for line in result.stdout.splitlines()
            if ": warning: " in line or ": error: " in line]


def main():
    folder = "build" if "--all" in sys.argv else "build-asan"
    problems = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda name: check(folder, name), sources(folder)):
            problems.update(found)
    return report(sorted(problems), "clang-tidy")


if __name__ == "__main__":
    sys.exit(main())
