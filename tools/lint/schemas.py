#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two FlatBuffers schemas define the same name in a namespace.

Their generated functions are inline: of two the linker takes one, and what
verifies the one format then reads the other.
"""
import re
import sys

from common import ROOT, report

NAMESPACE = re.compile(r"^namespace ([\w.]+);", re.M)
NAME = re.compile(r"^(?:table|struct|union|enum) (\w+)", re.M)


def check(schemas):
    seen = {}
    for file, text in schemas:
        found = NAMESPACE.search(text)
        for name in NAME.findall(text):
            full = f"{found[1] if found else ''}.{name}"
            if full in seen:
                yield f"{file}: {full} is defined in {seen[full]} too"
            seen[full] = file


def main():
    files = sorted(path for folder in ("sdk", "hal", "conformance", "tools")
                   for path in (ROOT / folder).rglob("*.fbs"))
    return report(list(check((path.relative_to(ROOT), path.read_text(encoding="utf-8"))
                             for path in files)), "schemas")


if __name__ == "__main__":
    sys.exit(main())
