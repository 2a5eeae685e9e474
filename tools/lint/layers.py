#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom.

- hal/, sdk/include/backplane/ (but mlir/) and the LLVM-free parts of sdk/ never
  include LLVM or MLIR.
- backends/x include only installed headers, their own files, those of
  backends/gpu and the standard library.
- hal/ never includes the suite, the compiler or what stands above the runtime.
- conformance/ never includes MLIR or the compiler.
- sdk/support includes nothing of ours but itself and installed headers.
- No folder includes another one that leads back to it; tests aside.
"""
import collections
import re
import sys

from common import CODE, ROOT, report, tracked

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]')
COMPILER = re.compile(r"^(mlir|llvm|lld|clang)/|^mlir-c/|^llvm-c/")
OURS = ("sdk/", "hal/", "conformance/", "backends/", "tools/")
# The parts of sdk/ that need MLIR; all others are free of it.
MLIR_PARTS = ("dialect", "optimize", "layout", "fusion", "kernels", "lower", "emit", "schedule",
              "compiler")
MLIR_HEADERS = re.compile(r"sdk/(dialect|optimize|layout|fusion|lower|emit)/|sdk/kernels/Match")
# Of a folder that needs MLIR, the part that the runtime has too.
PLAIN = ("FixSize", "InPlace", "KernelParse", "KernelScan", "KernelSyntax", "KernelText", "MemoryPlan",
         "RegisteredKernel", "SplitAxis", "Timeline")


def forbidden(name, included):
    """Why this include is not allowed, or nothing."""
    parts = name.parts
    free = (parts[0] in ("hal", "backends", "examples")
            or parts[0] == "sdk" and parts[1] not in MLIR_PARTS
            or parts[0] == "sdk" and parts[1] in ("kernels", "schedule") and name.stem in PLAIN
            or parts[:2] == ("tools", "bp"))
    if parts[:4] == ("sdk", "include", "backplane", "mlir") or parts[:2] == ("examples", "mlir-passes"):
        free = False  # C++ passes, of the build of LLVM that the compiler has
    if free and COMPILER.match(included):
        return "LLVM-free code includes the compiler's libraries"
    if parts[0] == "conformance" and included.startswith(("mlir/", "sdk/compiler")):
        return "the conformance suite sees no compiler"
    own = included.startswith(("sdk/", "hal/")) and "test" not in parts
    if parts[0] == "backends" and own:
        return "a backend includes installed headers only"
    if parts[0] == "backends" and included.startswith("backends/"):
        if included.split("/")[1] not in (parts[1], "gpu"):
            return "a backend sees of others backends/gpu only"
    elif included.startswith("backends/") and parts[:2] != ("tools", "fuzz"):
        return "a backend is reached through its plug-in only"
    if parts[0] == "hal" and MLIR_HEADERS.match(included):
        return "the runtime has no compiler in it"
    if parts[0] == "hal" and included.startswith(
            ("conformance/", "sdk/compiler/", "sdk/service/", "sdk/api/")):
        return "hal/ sees neither the suite nor what is above the runtime"
    if parts[:2] == ("sdk", "support") and included.startswith(OURS):
        if not included.startswith("sdk/support/"):
            return "sdk/support knows nothing of graphs or devices"
    return None


def folder_of(path):
    """The folder of a file, that of its library for a test or a tool in it."""
    parts = [part for part in path.split("/")[:-1] if part not in ("test", "tool")]
    return "/".join(parts)


def cycle(edges):
    """Folders that lead back to the first of them, or nothing."""
    state = {}

    def visit(folder, way):
        state[folder] = "open"
        for following in sorted(edges[folder]):
            if state.get(following) == "open":
                return way[way.index(following):] + [following]
            if following not in state:
                found = visit(following, way + [following])
                if found:
                    return found
        state[folder] = "done"
        return None

    for folder in sorted(edges):
        if folder not in state:
            found = visit(folder, [folder])
            if found:
                return found
    return None


def main():
    problems = []
    edges = collections.defaultdict(set)
    for path in tracked(*CODE):
        name = path.relative_to(ROOT)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            match = INCLUDE.match(line)
            reason = match and forbidden(name, match.group(1))
            if reason:
                problems.append(f"{name}:{number}: {match.group(1)}: {reason}")
            if match and "test" not in name.parts and match.group(1).startswith(OURS):
                edges[folder_of(str(name))].add(folder_of(match.group(1)))
    for folder, included in edges.items():
        included.discard(folder)
    edges.default_factory = None
    edges = collections.defaultdict(set, edges)
    found = cycle(dict.fromkeys(set(edges) | set().union(*edges.values()), set()) | edges)
    if found:
        problems.append("folders include each other: " + " -> ".join(found))
    return report(problems, "layers")


if __name__ == "__main__":
    sys.exit(main())
