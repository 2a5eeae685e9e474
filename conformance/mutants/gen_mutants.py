# SPDX-License-Identifier: Apache-2.0
"""Reads the table of mutants (mutants.toml) and writes what is made from it.

  gen_mutants.py --inc FILE    the entries of the table in Mutant.cpp
  gen_mutants.py --check FILE  fails when a page does not list them all
"""
import argparse
import itertools
import json
import pathlib
import sys
import tomllib

TABLE = pathlib.Path(__file__).with_name("mutants.toml")
# Keys of a row and the members of Mutant that they set, in their order.
MEMBERS = {"title": "title", "does": "description", "tags": "tags", "ops": "ops",
           "composites": "composites", "fault": "fault", "moment": "moment",
           "fuses": "fuses", "equivalent": "equivalent", "kills": "kills"}

DEFAULTS = {"tags": [], "ops": [], "equivalent": "", "kills": 2}


def load_mutants():
    """All rows, in order, with id, number and family."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    mutants = []
    for family, rows in table.items():
        for number, row in rows.items():
            unknown = set(row) - set(MEMBERS)
            if unknown or "title" not in row or "does" not in row:
                sys.exit(f"{TABLE.name}: {number} has no title or sentence, or "
                         f"unknown keys {unknown}")
            prefix = "legal" if family == "legal" else "m"
            mutants.append({"id": prefix + number, "number": int(number),
                            "family": family, **DEFAULTS, **row})
    return mutants


def _literal(key, value):
    if key in ("fault", "moment"):
        return f"{key.capitalize()}::{value}"
    if isinstance(value, list):
        return "{" + ", ".join(map(json.dumps, value)) + "}"
    return json.dumps(value)


def write_inc(path):
    lines = []
    for row in load_mutants():
        members = [f".number = {row['number']}",
                   f".family = Family::{row['family'].capitalize()}"]
        members += [f".{member} = {_literal(key, row[key])}"
                    for key, member in MEMBERS.items() if key in row]
        lines.append("{" + ", ".join(members) + "},\n")
    path.write_text("".join(lines), encoding="utf-8")


def row_start(mutant):
    """How the page's row of a mutant begins."""
    return f"| {mutant['id']} {mutant['title']} | {mutant['does']} | "


def check_page(path):
    rows = [line for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith(("| m", "| legal"))][1:]
    starts = list(map(row_start, load_mutants()))
    for start, row in itertools.zip_longest(starts, rows, fillvalue=""):
        if not start or not row.startswith(start):
            print(f"{path}: '{row[:60]}' is not '{start}'; "
                  "conformance/mutants/run_mutants.py --page writes the page")
            return 1
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inc", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.inc:
        write_inc(options.inc)
    return check_page(options.check) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
