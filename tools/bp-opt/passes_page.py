#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the declarations of the passes say, as a page or as a table of C++.

    passes_page.py page LLVM_TBLGEN INCLUDE_DIR > docs/reference/passes.md
    passes_page.py table LLVM_TBLGEN INCLUDE_DIR > sdk/support/PublishedPasses.inc
"""
import json
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("optimize", "kernels", "layout", "fusion", "lower", "emit/common")
CONTRACT = ("stage", "promise", "needs", "gives")
PAGE = """# Passes

<!-- Written by tools/bp-opt/passes_page.py; do not edit. -->

The passes of the compiler, in the order of its stages ([stages](stages.md)). A
plug-in's pipelines are text over those that have a contract here, with options as
in `bp-contract{vector-bits=512}`; `bp passes` prints the same. Name, options and
contract of a _stable_ pass stay; one that _may change_ needs an alternative pipeline
without it. The others are the compiler's own.
What comes in and goes out: [lower](../../sdk/lower/README.md),
[emit](../../sdk/emit/README.md).
"""
TABLE = """// SPDX-License-Identifier: Apache-2.0
//
// Written by tools/bp-opt/passes_page.py; do not edit.
"""


def passes_in(tblgen, include, folder):
    """The passes of a folder with their options, sorted by name."""
    made = subprocess.run(
        [tblgen, "--dump-json", ROOT / "sdk" / folder / "Passes.td", "-I", include, "-I", ROOT],
        check=True, capture_output=True, text=True).stdout
    records = json.loads(made)
    found = [records[name] for name in records["!instanceof"]["PassBase"]]
    for one in found:
        one["options"] = [records[option["def"]] for option in one["options"]]
    return sorted(found, key=lambda one: one["argument"])


def type_of(option):
    """Its type and default: "unsigned, default 256"."""
    name = option["type"].removeprefix("std::")
    if "ListOption" in option["!superclasses"]:
        return f"list of {name}"
    return f"{name}, default {option['defaultValue'] or 'empty'}"


def section(one):
    text = f"### `{one['argument']}`\n\n_{one['summary']}_\n\n"
    text += textwrap.dedent(one["description"]).strip() + "\n"
    if "promise" in one:
        text += "\n| | |\n|---|---|\n" + "".join(f"| {key} | {one[key]} |\n" for key in CONTRACT)
    if one["options"]:
        text += "\n| option | | |\n|---|---|---|\n"
        for option in one["options"]:
            text += f"| `{option['argument']}` | {type_of(option)} | {option['description']} |\n"
    return text


def page(folders):
    text = PAGE
    for folder, found in folders:
        text += f"\n## sdk/{folder.split('/', maxsplit=1)[0]}\n"
        text += "".join("\n" + section(one) for one in found)
    return text


def row(one):
    texts = [one["argument"], one["summary"], *(one[key] for key in CONTRACT)]
    fields = ",\n     ".join(json.dumps(text) for text in texts)
    options = "".join(
        f"      {{{json.dumps(option['argument'])},\n"
        f"       {json.dumps(type_of(option))},\n"
        f"       {json.dumps(option['description'])}}},\n" for option in one["options"])
    return f"    {{{fields},\n     {{\n{options}     }}}},\n"


def table(folders):
    return TABLE + "".join(row(one) for _, found in folders for one in found if "promise" in one)


def main(what, tblgen, include):
    folders = [(folder, passes_in(tblgen, include, folder)) for folder in FOLDERS]
    print({"page": page, "table": table}[what](folders), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
