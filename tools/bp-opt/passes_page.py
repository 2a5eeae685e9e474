#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/reference/passes.md from the declarations of the passes.

    passes_page.py MLIR_TBLGEN INCLUDE_DIR > docs/reference/passes.md
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("optimize", "kernels", "fusion", "lower", "emit/common")
HEAD = """# Passes

<!-- Written by tools/bp-opt/passes_page.py; do not edit. -->

The passes of the compiler, in the order of its stages ([stages](stages.md)). A
backend's pipelines are text over those of `sdk/lower` and `sdk/emit`, with
options as in `bp-contract{vector-bits=512}`; their names and options are stable.
What comes in and goes out: [lower](../../sdk/lower/README.md),
[emit](../../sdk/emit/README.md).
"""


def page(tblgen, include):
    text = HEAD
    for folder in FOLDERS:
        name = folder.split("/", maxsplit=1)[0]
        made = subprocess.run(
            [tblgen, "-gen-pass-doc", ROOT / "sdk" / folder / "Passes.td", "-I", include],
            check=True, capture_output=True, text=True).stdout
        body = made.split("-->", 1)[1].strip()
        text += f"\n## sdk/{name}\n\n{body}\n"
    return text


if __name__ == "__main__":
    print(page(*sys.argv[1:]), end="")
