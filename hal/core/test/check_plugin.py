#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a plug-in library exports and needs.

usage: check_plugin.py LIBRARY

It may export bp_plugin_query_v<N> only, need the C library and its parts
only, and have no other undefined symbol.
"""

import re
import subprocess
import sys

ALLOWED_LIBRARIES = re.compile(
    r"(libc|libm|libdl|libpthread|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+"
)
ALLOWED_EXPORT = re.compile(r"bp_plugin_query_v\d+")
ALLOWED_UNDEFINED = re.compile(r".*@GLIBC_[\d.]+")


def run(*command):
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def complaints(library):
    for line in run("nm", "-D", "--defined-only", library):
        symbol = line.split()[-1]
        if not ALLOWED_EXPORT.fullmatch(symbol):
            yield f"exports {symbol}"
    for line in run("nm", "-D", "--undefined-only", library):
        kind, symbol = line.split()[-2:]
        if kind != "w" and not ALLOWED_UNDEFINED.fullmatch(symbol):
            yield f"needs the symbol {symbol}"
    for line in run("readelf", "-dW", library):
        needed = re.search(r"\(NEEDED\).*\[(.*)\]", line)
        if needed and not ALLOWED_LIBRARIES.fullmatch(needed.group(1)):
            yield f"needs the library {needed.group(1)}"


def main():
    found = list(complaints(sys.argv[1]))
    for complaint in found:
        print(f"{sys.argv[1]}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
