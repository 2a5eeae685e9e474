#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks licence lines, links between documents, and words that do not belong."""
import re
import sys

from common import CODE, ROOT, report, tracked

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
LICENSED = CODE + (".py", ".cmake", ".td", ".fbs", ".toml")


def main():
    problems = []
    for path in tracked():
        name = path.relative_to(ROOT)
        if name.parts[0] == "tools" and name.name == "prose.py":
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path.name.endswith(LICENSED) and "SPDX-License-Identifier" not in text[:200]:
            problems.append(f"{name}: no SPDX licence line at the top")
        for number, line in enumerate(text.split("\n"), 1):
            if UNFINISHED.search(line) and name.suffix != ".md":
                problems.append(f"{name}:{number}: unfinished work is not committed")
        if name.suffix == ".md":
            for target in LINK.findall(text):
                if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                    problems.append(f"{name}: broken link {target}")
    return report(problems, "prose")


if __name__ == "__main__":
    sys.exit(main())
