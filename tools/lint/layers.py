#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom.

- hal/, sdk/include/backplane/ and the LLVM-free parts of sdk/ never include
  LLVM or MLIR.
- backends/x include only installed headers, their own files and the standard
  library.
- conformance/ never includes MLIR or the compiler.
"""
import re
import sys

from common import CODE, ROOT, report, tracked

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
COMPILER = re.compile(r"^(mlir|llvm|lld|clang)/|^mlir-c/|^llvm-c/")
# The parts of sdk/ that need MLIR; all others are free of it.
MLIR_PARTS = ("dialect", "optimize", "fusion", "lower", "emit", "compiler")


def forbidden(name, included):
    """Why this include is not allowed, or nothing."""
    parts = name.parts
    free = (parts[0] in ("hal", "backends", "examples")
            or parts[0] == "sdk" and parts[1] not in MLIR_PARTS
            or parts[:2] == ("tools", "bp"))
    if free and COMPILER.match(included):
        return "LLVM-free code includes the compiler's libraries"
    if parts[0] == "conformance" and included.startswith(("mlir/", "sdk/compiler")):
        return "the conformance suite sees no compiler"
    own = included.startswith(("sdk/", "hal/")) and "test" not in parts
    if parts[0] == "backends" and own:
        return "a backend includes installed headers only"
    if parts[0] in ("hal", "sdk") and included.startswith("backends/"):
        return "the core names no backend"
    if parts[0] == "hal" and re.match(r"sdk/(dialect|optimize|fusion|lower|emit)/", included):
        return "the runtime has no compiler in it"
    return None


def main():
    problems = []
    for path in tracked(*CODE):
        name = path.relative_to(ROOT)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            match = INCLUDE.match(line)
            reason = match and forbidden(name, match.group(1))
            if reason:
                problems.append(f"{name}:{number}: {match.group(1)}: {reason}")
    return report(problems, "layers")


if __name__ == "__main__":
    sys.exit(main())
