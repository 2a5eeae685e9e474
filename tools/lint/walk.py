#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/explanation/conv2d-walk.md with the tree.

Its numbered list has at most 25 functions, each in the file that it links; its
headings are folders in the order of README.md's table, each once, and a
function is below the heading of its folder.
"""
import re
import sys

from common import ROOT, report

PAGE = "docs/explanation/conv2d-walk.md"
LIMIT = 25
STEP = re.compile(r"^\d+\. `(\w+)` in \[`[^`]+`\]\(\.\./\.\./([^)]+)\)", re.M)


def check_folders(folders):
    table = re.findall(r"^\| `([^`]+)/` \|",
                       (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    for folder in folders:
        if folder not in table:
            yield f"{folder} is not in the table of README.md"
    if folders != [folder for folder in table if folder in folders]:
        yield "the folders are not in the order of README.md, each once"


def check_step(folder, function, file):
    path = ROOT / file
    if not file.startswith(folder + "/"):
        yield f"{function}: {file} is not in {folder}"
    if not path.is_file():
        yield f"{function}: there is no {file}"
    elif not re.search(rf"^[^/;=]*\b{function}\([^;]*?\{{", path.read_text(), re.M):
        yield f"{function} is not defined in {file}"


def main():
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    folders = re.findall(r"^## (.*)$", text, re.M)
    problems = list(check_folders(folders))
    count = 0
    for folder, part in zip(folders, re.split(r"^## .*$", text, flags=re.M)[1:]):
        steps = STEP.findall(part)
        if len(steps) != len(re.findall(r"^\d+\.", part, re.M)):
            problems.append(f"{folder}: a step names no function and file")
        count += len(steps)
        for step in steps:
            problems += check_step(folder, *step)
    if not 0 < count <= LIMIT:
        problems.append(f"{count} functions, the limit is {LIMIT}")
    return report([f"{PAGE}: {problem}" for problem in problems], "walk")


if __name__ == "__main__":
    sys.exit(main())
