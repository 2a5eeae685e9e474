#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that names and comments use the terms of the glossary.

The table "Terms" of docs/reference/glossary.md has, for each term, what is not
written in its place, as regular expressions over whole words.
"""
import re
import sys

from common import CODE, ROOT, report, tracked

GLOSSARY = ROOT / "docs/reference/glossary.md"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| (`[^|]+`) \|$", re.MULTILINE)


def terms():
    """[(term, expression of what is not written)]"""
    text = GLOSSARY.read_text(encoding="utf-8").split("## Terms", 1)[1]
    found = []
    for term, words in ROW.findall(text):
        for word in re.findall(r"`([^`]+)`", words):
            found.append((term, re.compile(rf"\b(?:{word})\b")))
    return found


def main():
    problems = []
    table = terms()
    for path in tracked(*CODE):
        name = path.relative_to(ROOT)
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for term, expression in table:
                match = expression.search(line)
                if match:
                    problems.append(f"{name}:{number}: '{match.group()}': write {term}, see "
                                    "docs/reference/glossary.md")
    if len(table) < 10:
        problems.append(f"{GLOSSARY.relative_to(ROOT)}: the table of terms is not found")
    return report(problems, "words")


if __name__ == "__main__":
    sys.exit(main())
