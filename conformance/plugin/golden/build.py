#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the plug-ins that are kept for a minor version of the ABI.

usage: build.py [TREE]

TREE, by default this one, has the headers and the reference backend. The
results are MINOR/libref.so, the reference backend, and MINOR/libacme.so, the
plug-in of the tutorial, for x86-64, stripped. A minor version that is released
is built once; its files are never built again.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-s",
         "-Wl,-z,defs", "-Wl,--build-id=none", "-lm")


def minor_version(tree):
    text = (tree / "sdk/include/backplane/abi.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"#define BP_ABI_{part} (\d+)", text).group(1)
                    for part in ("MAJOR", "MINOR"))


def build(tree, name, library):
    """The reference backend under another name, as the tutorial makes it."""
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for path in sorted((tree / "backends/reference").glob("*.[ch]")):
            copy = pathlib.Path(folder) / path.name
            text = path.read_text(encoding="utf-8").replace('"ref"', f'"{name}"')
            copy.write_text(text, encoding="utf-8")
            sources += [copy] if path.suffix == ".c" else []
        subprocess.run(["gcc", f"-I{tree}/sdk/include", *sources, *FLAGS, "-o", library],
                       check=True)
    library.chmod(0o644)


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parents[2]).resolve()
    folder = HERE / minor_version(tree)
    if folder.exists():
        print(f"{folder} exists: a minor version is built once")
        return 1
    folder.mkdir()
    for name in ("ref", "acme"):
        build(tree, name, folder / f"lib{name}.so")
    return 0


if __name__ == "__main__":
    sys.exit(main())
