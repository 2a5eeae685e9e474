#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format would change nothing and that text is clean."""
import subprocess
import sys

from common import CODE, ROOT, report, tracked

TEXT = CODE + (".py", ".md", ".cmake", ".txt", ".toml", ".fbs", ".td", ".json")


def main():
    code = [str(path) for path in tracked(*CODE)]
    result = subprocess.run(["clang-format-22", "--dry-run", "-Werror", *code],
                            text=True, capture_output=True, check=False)
    problems = [line for line in result.stderr.splitlines() if "error:" in line]
    for path in tracked(*TEXT):
        name = path.relative_to(ROOT)
        lines = path.read_text(encoding="utf-8").split("\n")
        problems += [f"{name}:{number}: trailing white space"
                     for number, line in enumerate(lines, 1)
                     if line != line.rstrip()]
        if lines[-1]:
            problems.append(f"{name}: no newline at the end")
    return report(problems, "format")


if __name__ == "__main__":
    sys.exit(main())
