#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `bp conformance` does around the cases: runs that are killed, full
disks, shards, submissions, comparisons, launchers.

Uses the device `ref` and a few hundred cases. Prints the failures, then
`N passed, N failed`.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import launchers, reruns, runs, seals  # noqa: E401, F401  pylint: disable=unused-import
from submission import TESTS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="the same tests")
    parser.add_argument("--only", help="a part of a test's name")
    options = parser.parse_args()
    passed = failed = 0
    for function in TESTS:
        if options.only and options.only not in function.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(pathlib.Path(folder))
                passed += 1
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"FAILED {function.__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
