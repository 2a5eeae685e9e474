#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how long files and functions are; fails on the hard limits.

Files: 800 lines. Functions: 70 lines, measured from the line of the opening
brace at the start of a definition to its closing brace, which clang-format puts
where the definition's indentation says. A definition preceded by a comment with
NOLINT(length) and a reason may be longer.
"""
import re
import statistics
import sys

from common import CODE, ROOT, report, tracked

FILE_LIMIT = 800
FUNCTION_LIMIT = 70
# A definition ends its head with `) {`, `const {`, `override {` and the like.
HEAD = re.compile(r"^( *)[^ #/}].*(\)|const|override|noexcept|>|\w) \{$")
NOT_FUNCTION = re.compile(
    r"^\s*(template <.*> (struct|class)|namespace|struct|class|enum|union|extern|switch|if|for|while|do|else|"
    r"case|default|typedef|\})\b|=\s*\{$|^\s*return\b")


def before_initializers(lines, at):
    """The line before the member initializers that end at a line; without any,
    the line itself."""
    first = at
    while first > 0 and not lines[first].lstrip().startswith(": ") and \
            lines[first - 1].endswith(","):
        first -= 1
    return first - 1 if lines[first].lstrip().startswith(": ") else at


def functions(lines):
    """(line, length, marked) of each definition outside other definitions."""
    at = 0
    while at < len(lines):
        match = HEAD.match(lines[at])
        start = at
        at += 1
        if not match or NOT_FUNCTION.match(lines[start]):
            continue
        indent = len(match.group(1))
        # The head may be wrapped: it begins where its parentheses open.
        first = before_initializers(lines, start)
        if NOT_FUNCTION.match(lines[first]):
            continue
        depth = lines[first].count(")") - lines[first].count("(")
        while first > 0 and depth > 0:
            first -= 1
            depth += lines[first].count(")") - lines[first].count("(")
        if indent > 2 and first == start and not lines[start].startswith("  "):
            continue
        closing = " " * (len(lines[first]) - len(lines[first].lstrip())) + "}"
        end = next((i for i in range(start + 1, len(lines))
                    if lines[i].startswith(closing)
                    and not lines[i].startswith(closing + " else")), start)
        marked = any("NOLINT(length)" in line
                     for line in lines[max(0, first - 6):first])
        yield first + 1, end - first + 1, marked
        at = max(at, end)


def distribution(values):
    ordered = sorted(values) or [0]
    return (f"median {statistics.median(ordered):.0f}, "
            f"p90 {ordered[int(len(ordered) * 0.9) - 1]}, longest {ordered[-1]}")


def main():
    problems, files, lengths = [], [], []
    for path in tracked(*CODE, ".py", ".td", ".cmake"):
        name = path.relative_to(ROOT)
        lines = path.read_text(encoding="utf-8").split("\n")
        files.append(len(lines) - 1)
        if files[-1] > FILE_LIMIT:
            problems.append(f"{name}: {files[-1]} lines, the limit is {FILE_LIMIT}")
        if path.suffix not in CODE:
            continue
        for line, length, marked in functions(lines):
            lengths.append(length)
            if length > FUNCTION_LIMIT and not marked:
                problems.append(f"{name}:{line}: a function of {length} lines, "
                                f"the limit is {FUNCTION_LIMIT}")
    print(f"{len(files)} files: {distribution(files)} lines")
    print(f"{len(lengths)} functions: {distribution(lengths)} lines")
    return report(problems, "lengths")


if __name__ == "__main__":
    sys.exit(main())
