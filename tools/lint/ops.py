#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/howto/add-an-op.md with the tree.

Each of its sections "…, such as OP" has a numbered list of the files to edit.
A composite has at most 6, a primitive at most 9; each of these files names the
op; and no other file of what runs, compiles or judges an op does, unless the
section links it too. A link of a section without an example is for all ops, and
for all files that begin like it. Tests, and what only uses ops, may.
"""
import re
import sys

from common import CODE, ROOT, report, tracked

sys.path.insert(0, str(ROOT / "sdk/graph"))
from op_table import camel, load_ops  # noqa: E402

PAGE = "docs/howto/add-an-op.md"
LIMITS = {"composite": 6, "primitive": 9}
# What knows each op, in contrast to what uses some.
KNOWING = ("sdk/graph/", "sdk/dialect/", "sdk/lower/", "backends/",
           "conformance/oracle/", "conformance/cases/")
MADE = "backends/reference/ref_ops.h"
LINK = r"\[`([^`]+)`\]\("


def names(op, text):
    """Whether a text names the op as code does; a family of functions that a
    table makes from names counts."""
    return re.search(rf'"{op}"|\b(ref_{op}|lower{camel(op)}|{camel(op)}Op)\b|'
                     rf"\b(BP_FUNCTION|REF_OP)\({op}\)|"
                     rf"\bTypes {op}\(|\bcomposites::{op}\(", text,
                     re.IGNORECASE)


def sections(page):
    """(op, numbered links, all links) of each section with an example; links of
    the other sections count for all."""
    examples, shared = [], []
    for part in page.split("\n## "):
        links = re.findall(LINK, part)
        if title := re.match(r".*, such as (\w+)\n", part):
            numbered = re.findall(rf"^\d+\. {LINK}", part, re.M)
            examples.append((title[1], numbered, links))
        else:
            shared += links
    return [(*example, shared) for example in examples]


def check(op, kind, numbered, linked, shared, texts):
    if len(numbered) > LIMITS[kind]:
        yield f"{op}: {len(numbered)} edits, a {kind} has {LIMITS[kind]} at most"
    for file in linked:
        if not (ROOT / file).is_file() or not names(op, (ROOT / file).read_text()):
            yield f"{op} is not named in {file}"
    allowed = tuple(file.rsplit(".", 1)[0] for file in shared)
    for file, text in texts.items():
        if file in linked or file.startswith(allowed):
            continue
        if names(op, text):
            yield f"{op} is named in {file}, too"


def main():
    texts = {}
    for path in tracked(*CODE):
        file = str(path.relative_to(ROOT))
        if file.startswith(KNOWING) and "/test/" not in file and file != MADE:
            texts[file] = path.read_text(encoding="utf-8")
    kinds = {op["name"]: op["kind"] for op in load_ops(ROOT / "sdk/graph/ops.toml")}
    problems, found = [], 0
    for op, *lists in sections((ROOT / PAGE).read_text(encoding="utf-8")):
        found += 1
        problems += [f"{PAGE}: {problem}"
                     for problem in check(op, kinds[op], *lists, texts)]
    if not found:
        problems.append(f"{PAGE} has no example")
    return report(problems, "ops")


if __name__ == "__main__":
    sys.exit(main())
