#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which graphs of the conformance suite reach which code path of the compiler.

A code path (sdk/emit/common/CodePaths.h) is a way to generate code that some
dispatches take. What bp-paths tells of a target's graphs is kept beside this
script, the page docs/reference/code-paths.md is made of it, and the test compiles
the graphs that the page names again.

  run_paths.py                         test: the page is true
  run_paths.py --measure T --every 6 --also 'L3/matmul*'
                                       every 6th graph of the suite for target T,
                                       and all of some
  run_paths.py --page                  write the page anew

The last line of the output is `N passed, N failed`, a test for each path.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/reference/code-paths.md"
FIRST = 3  # graphs that are named for each path and target
# Paths that no graph has to reach.
UNREACHED = {"fetched-rows": "needs an operand of 16 times the second cache, 17 MB and more"}
INTRODUCTION = """\
# Code paths, and the cases that reach them

A kernel is generated in one of several ways, by size, dtype and target: a *code path*. `bp explain` says which ones a
model's dispatches take. Here stands which graphs of the conformance suite take each of them, as measured by
`conformance/paths/run_paths.py --measure`: the number for each target, and the first graphs. A test compiles these
again. A path without a number has no graph there: the target has other instructions or passes.

"""


def known_paths():
    """(pass, name, what) of all, in the order of the header."""
    text = (ROOT / "sdk/emit/common/CodePaths.h").read_text(encoding="utf-8")
    found = re.findall(r"inline constexpr CodePath \w+ = \{([^}]*)\}", text)
    return [tuple(re.findall(r'"([^"]*)"', one)) for one in found]


def told_by(build, target, *options):
    done = subprocess.run([build / "bin/bp-paths", "--target", target, *map(str, options)],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(f"bp-paths --target {target}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def summarised(target, every, also, told):
    paths = {}
    for one in told:
        for path in one.get("paths", ()):
            entry = paths.setdefault(path, {"graphs": 0, "first": []})
            entry["graphs"] += 1
            entry["first"] = (entry["first"] + [one["unit"]])[:FIRST]
    return {"target": target, "every": every, "also": also, "graphs": len(told),
            "refused": sum("refused" in one for one in told),
            "paths": dict(sorted(paths.items()))}


def measure(build, target, every, also):
    jobs = os.cpu_count() or 1
    filters = [word for glob in also for word in ("--filter", glob)]
    runs = [["--part", 1 + every * i, "--parts", every * jobs] for i in range(jobs)]
    if also:
        runs += [[*filters, "--part", 1 + i, "--parts", jobs] for i in range(jobs)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        told = pool.map(lambda run: told_by(build, target, *run), runs)
        keep(target, every, also, [one for part in told for one in part])


def keep(target, every, also, told):
    """Writes what was told beside this script, each graph once."""
    each = {one["unit"]: one for one in told}
    result = summarised(target, every, also, [each[unit] for unit in sorted(each)])
    text = json.dumps(result, indent=1) + "\n"
    (HERE / f"{target}.json").write_text(text, encoding="utf-8")


def stored():
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(HERE.glob("*.json"))]


def page(targets):
    lines = [INTRODUCTION.rstrip("\n"), "", "| target | graphs |", "|---|---|"]
    for one in targets:
        share = "all" if one["every"] == 1 else f"one of {one['every']}"
        if one["also"]:
            share += ", and all of " + ", ".join(f"`{glob}`" for glob in one["also"])
        lines.append(f"| `{one['target']}` | {one['graphs']} ({share}), {one['refused']} not supported |")
    for name in dict.fromkeys(path[0] for path in known_paths()):
        lines += ["", f"## {name}", ""]
        lines += table([path for path in known_paths() if path[0] == name], targets)
    return "\n".join(lines) + "\n"


def table(paths, targets):
    shown = [one for one in targets if any(path[1] in one["paths"] for path in paths)]
    heads = "".join(f" `{one['target']}` |" for one in shown)
    lines = [f"| path | what |{heads} first graphs |", "|---|---|" + "---|" * (len(shown) + 1)]
    for _, name, what in paths:
        numbers, first = "", []
        for one in shown:
            entry = one["paths"].get(name)
            numbers += f" {entry['graphs'] if entry else ''} |"
            first = first or (entry["first"] if entry else [])
        graphs = "<br>".join(f"`{unit}`" for unit in first) or UNREACHED.get(name, "")
        lines.append(f"| `{name}` | {what} |{numbers} {graphs} |")
    return lines


def verdicts(build, targets):
    """(what, why it failed or "") of each path of each target, and of the whole."""
    names = [path[1] for path in known_paths()]
    for name in names:
        reached = name in UNREACHED or any(name in one["paths"] for one in targets)
        yield f"{name} is reached", "" if reached else "no graph of any target takes it"
    for one in targets:
        first = sorted({unit for entry in one["paths"].values() for unit in entry["first"]})
        options = [word for unit in first for word in ("--filter", f"{unit}/*")]
        told = {each["unit"]: each.get("paths", []) for each in told_by(build, one["target"], *options)}
        for name, entry in one["paths"].items():
            missing = [unit for unit in entry["first"] if name not in told.get(unit, [])]
            unknown = "" if name in names else "CodePaths.h has no such path"
            yield (f"{name} on {one['target']}",
                   unknown or (f"not taken by {', '.join(missing)}" if missing else ""))
    same = PAGE.read_text(encoding="utf-8") == page(targets)
    yield "the page is that of what was measured", "" if same else "run_paths.py --page writes it"


def test(build, targets):
    passed = failed = 0
    for what, why in verdicts(build, targets):
        passed, failed = passed + (not why), failed + bool(why)
        if why:
            print(f"FAILED {what}: {why}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--measure", metavar="TARGET", help="compile graphs of the suite")
    parser.add_argument("--every", type=int, default=1, help="with --measure: of so many graphs one")
    parser.add_argument("--also", nargs="*", default=[], metavar="GLOB",
                        help="with --measure: and all graphs with a case whose id matches")
    parser.add_argument("--page", action="store_true", help="write the page")
    options = parser.parse_args()
    if options.measure:
        measure(options.build, options.measure, options.every, options.also)
    if options.measure or options.page:
        PAGE.write_text(page(stored()), encoding="utf-8")
        return 0
    return test(options.build, stored())


if __name__ == "__main__":
    sys.exit(main())
