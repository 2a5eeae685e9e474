#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the headers of a minor version that does not exist yet.

usage: grow.py FROM TO

Every growable struct gets two more members, and BP_ABI_MINOR is one more.
"""
import pathlib
import re
import shutil
import sys

GROWABLE = re.compile(r"(struct bp_\w+ \{\n  bp_header_t header;.*?\n)(\})", re.S)
MEMBERS = "  uint64_t grown_number;\n  const void *grown_pointer;\n"
MINOR = re.compile(r"(#define BP_ABI_MINOR )(\d+)")


def grown(text):
    text = GROWABLE.sub(rf"\1{MEMBERS}\2", text)
    return MINOR.sub(lambda match: match.group(1) + str(int(match.group(2)) + 1), text)


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    shutil.copytree(source, target, dirs_exist_ok=True)
    for path in target.glob("backplane/*.h"):
        path.write_text(grown(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
