#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that a wrong backend cannot pass the conformance suite.

Each mutant is a backend, a compiler or a comparator that is broken on purpose
(conformance/mutants). It runs through the cases that carry its tags until two
of them fail: it is then killed. A mutant that survives shows that the suite
lacks a case. Variants that are right run a sample of all cases, of which none
may fail.

Thresholds of cheats are drawn from --seed. Those that take longest to find take
part with --all, --page or --only.

The last line of the output is `N passed, N failed`, a test for each mutant.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import secrets
import subprocess
import sys
import time

from gen_mutants import load_mutants, row_start

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Cheats that are found after many runs, a long time or large cases alone.
SLOW = {198, 199, 202, 220, 221, 222, 223, 224, 258}
# Of the cheats from 300 on, those that every run has.
USUAL = {302, 319, 340, 354, 400, 424, 428, 446}
FIXED_SEED = 1  # of runs that are to be alike
SECONDS = 120  # that one mutant may take before it counts as a survivor


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Tool:
    def __init__(self, build):
        self.path = build / "bin" / "bp-mutants"

    def call(self, *arguments):
        return subprocess.run([self.path, *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def hunt_options(mutant, options):
    if mutant["family"] == "legal":
        sample = 1 if options.all else options.sample
        return ["--everything", "--until", 0, "--sample", sample]
    if options.all:
        return ["--until", 0, "--seconds", 1800]
    return ["--until", mutant["kills"], "--seconds", SECONDS]


def judge(mutant, kills, cases):
    """(verdict, whether it is good)"""
    if mutant["family"] == "legal":
        if cases == 0:
            return "not run", False
        return ("alarm", False) if kills else ("no alarm", True)
    if mutant["equivalent"]:
        return ("killed, said to be equivalent", False) if kills else (
            "equivalent", True)
    if len(kills) >= mutant["kills"]:
        return "killed", True
    return ("killed once", False) if kills else ("SURVIVES", False)


def run(tool, mutant, options):
    start = time.monotonic()
    row = {"id": mutant["id"], "title": mutant["title"], "kills": [], "cases": 0}
    if mutant["equivalent"]:
        row["verdict"], row["good"] = judge(mutant, [], 0)
        row["seconds"] = 0.0
        return row
    result = tool.call("--run", mutant["id"], "--seed", options.seed,
                       *hunt_options(mutant, options))
    for line in lines_of(result.stdout):
        if "case" in line:
            row["kills"].append({key: line[key] for key in ("case", "status", "reason")})
        else:
            row["cases"] = line["cases"]
            row["unsound"] = line["unsound"]
    row["seconds"] = time.monotonic() - start
    row["verdict"], row["good"] = judge(mutant, row["kills"], row["cases"])
    if result.returncode:
        row["verdict"], row["good"] = f"error: {result.stderr.strip()[-500:]}", False
    return row


def print_row(row):
    cases = ", ".join(kill["case"] for kill in row["kills"][:2])
    print(f"{'' if row['good'] else 'FAILED '}{row['id']:7} {row['verdict']:9} "
          f"{row['seconds']:5.1f} s  {row['title']}: {cases}", flush=True)
    if not row["good"]:
        for kill in row["kills"][:5]:
            print(f"    {kill['status']} {kill['case']}: {kill['reason']}")


def write_matrix(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "matrix.json").write_text(json.dumps(rows, indent=1) + "\n",
                                        encoding="utf-8")


PAGE = """# Mutants

<!-- Written by conformance/mutants/run_mutants.py --page; do not edit. -->

Backends, compilers and comparators that are broken on purpose, what each does,
and the first two cases that find it ([why](../explanation/conformance.md)).
Seconds are those of the machine that wrote this page, with other work beside.

"""


def results_of(path):
    """What the page says of each mutant after what it does."""
    rows = [line.split(" | ") for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("| ")]
    return {row[0].split()[1]: " | ".join(row[-3:]) for row in rows}


def write_page(path, mutants, rows):
    """The matrix as a reference page; mutants that did not run keep their results."""
    results = results_of(path) if path.exists() else {}
    for row in rows:
        found = "<br>".join(f"`{kill['case']}`" for kill in row["kills"][:2])
        results[row["id"]] = (f"{found or row['verdict']} | {row['cases']} | "
                              f"{row['seconds']:.1f} |")
    lines = ["| mutant | what it does | found by | cases | seconds |",
             "|---|---|---|---|---|"]
    lines += [row_start(mutant) + results[mutant["id"]] for mutant in mutants
              if mutant["id"] in results]
    reasons = [f"* {mutant['id']} {mutant['title']}: {mutant['equivalent']}."
               for mutant in mutants if mutant["equivalent"]]
    text = PAGE + "\n".join(lines) + "\n\n## Equivalent\n\n" + "\n".join(reasons)
    path.write_text(text + "\n", encoding="utf-8")


def print_list(mutants):
    for mutant in mutants:
        print(f"{mutant['id']:7} {mutant['family']:10} {mutant['title']}: "
              f"{mutant['does']}")
        if mutant["equivalent"]:
            print(f"{'':18} equivalent: {mutant['equivalent']}")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print all mutants")
    parser.add_argument("--only", action="append", metavar="ID",
                        help="this mutant (m13, 13, legal2); may be repeated")
    parser.add_argument("--all", action="store_true",
                        help="the whole matrix: every tagged case, no stop at two")
    parser.add_argument("--sample", type=int, default=12,
                        help="legal variants run every n-th unit (default: 12)")
    parser.add_argument("--seed", type=int,
                        help=f"what thresholds are drawn from (default: {FIXED_SEED}; "
                        "with --all any)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE",
                        help="write the matrix as a page; with --only the other "
                        "rows keep their results")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbits(32) if options.all else FIXED_SEED
    return options


def without_slow(mutants, options):
    if options.all or options.page:
        return mutants
    slow = SLOW | set(range(300, 500)) - USUAL
    return [mutant for mutant in mutants if mutant["number"] not in slow]


def chosen(mutants, options):
    only = options.only
    if not only:
        return without_slow(mutants, options)
    wanted = {name if not name.isdigit() else f"m{name}" for name in only}
    known = {mutant["id"] for mutant in mutants}
    if wanted - known:
        sys.exit(f"no mutant is called {', '.join(sorted(wanted - known))}; see --list")
    return [mutant for mutant in mutants if mutant["id"] in wanted]


def main():
    options = parse()
    everyone = load_mutants()
    if options.list:
        print_list(everyone)
        return 0
    mutants = chosen(everyone, options)
    tool = Tool(options.build)
    # Legal variants take longest, so they start first.
    order = sorted(mutants, key=lambda mutant: mutant["family"] != "legal")
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed(
                [pool.submit(run, tool, mutant, options) for mutant in order]):
            row = future.result()
            rows[row["id"]] = row
            print_row(row)
    matrix = [rows[mutant["id"]] for mutant in mutants]
    write_matrix(options.build / "mutants", matrix)
    if options.page:
        write_page(options.page, everyone, matrix)
    failed = sum(not row["good"] for row in matrix)
    print(f"thresholds are drawn from --seed {options.seed}")
    print(f"{len(matrix) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
