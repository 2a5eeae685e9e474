#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that code in tutorials and how-tos is code of the tree, which is compiled.

A block of C, C++ or GLSL in docs/tutorial or docs/howto stands in a source file, but for white
space. A line of an ellipsis leaves something out. What no example has stands in
hal/core/test/DocSamples.cpp.
"""
import re

from common import ROOT, report, tracked

BLOCK = re.compile(r"^( *)```(?:c|cpp|glsl)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"^\s*(?://|/\*)?\s*…\s*(?:\*/)?\s*$", re.MULTILINE)


def squeezed(text):
    return re.sub(r"\s+", "", text)


def main():
    sources = [squeezed(path.read_text(encoding="utf-8"))
               for path in tracked(".c", ".cpp", ".h", ".comp", ".in")]
    problems, blocks = [], 0
    for path in tracked(".md"):
        name = path.relative_to(ROOT)
        if name.parts[:2] not in (("docs", "tutorial"), ("docs", "howto")):
            continue
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            blocks += 1
            parts = [part for part in map(squeezed, LEFT_OUT.split(block[2])) if part]
            if not any(all(part in source for part in parts) for source in sources):
                problems.append(f"{name}:{text.count(chr(10), 0, block.start()) + 1}: this code is "
                                "in no source file; quote what is compiled")
    if blocks < 20:
        problems.append(f"found {blocks} blocks of code, expected more")
    return report(problems, "quotes")


if __name__ == "__main__":
    raise SystemExit(main())
