#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks emitted PTX on purpose, one instruction at a time: the conformance suite on the emulator
must tell.

Mutants are drawn from --seed: a unit of the suite, a kernel of it, an operator (ptx_mutants.py), a
place. The emulator loads the changed text in place of the emitted one (its option `modules`), and
all cases of the unit run at standard depth, with warps in order, reversed and at random, until one
is bad. Where none is, a `trap` in the place of the instruction tells whether any case executes it: one
that none does is unreached, and another mutant is drawn. At least 80 % of the others must be caught.
Those that survive are printed.

Without --all six mutants of three units, of which 60 % must be caught. The last line counts what was
caught, and how many too many survive.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import ptx_mutants

ROOT = pathlib.Path(__file__).resolve().parents[3]
EMULATOR = ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so"
SHARE = 0.8  # of all mutants, which must be caught; 0.9 is the aim
SHARE_OF_FEW = 0.6  # of a sample, whose survivors may come together by chance
SCHEDULES = ("in-order", "reversed", "random")
ASIDE = ("refused", "unreached")  # what tells nothing
LIMIT = 5  # million instructions of a warp: far more than a case of these takes
# Ways to be caught, by what is said; what has none of these is a result.
WAYS = {"race": r"\(race\)", "divergence": r"divergent barrier",
        "poison": r"never written|was not written",
        "copies": r"cp\.async|before a wait", "hang": r"does a loop never end",
        "bounds": r"CUDA_ERROR_ILLEGAL_ADDRESS|no living buffer|outside of|is not inside",
        "alignment": r"MISALIGNED|multiple of", "trap": r"ILLEGAL_INSTRUCTION"}

# Of each class of ops, dtype and layer some.
UNITS = {
    80: ("L2/add-f32/run", "L2/transpose-i32/run", "L2/gather-i32/error",
         "L2/scatter-add-i32/error", "L3/matmul/f32/tn", "L3/matmul/f32/nt-batch",
         "L3/matmul/f16/nn", "L3/matmul/bf16/nn", "L3/matmul/f64/nn", "L3/conv/f32/3x3",
         "L3/conv/f16/groups", "L3/conv_transpose/f32/2x2-twice",
         "L3/conv_integer/i8/uneven-u8", "L3/softmax/f32/rows", "L3/softmax/f16/axis1",
         "L3/layer_norm/f32/last", "L3/layer_norm/f16/static", "L3/reduce/f32/sum-1",
         "L3/reduce/i32/max-2", "L3/cumulative/f32/sum", "L3/top_k/f32/both-ends",
         "L3/attention/f32/causal", "L3/gather/f32/negative", "L3/scatter/f32/add-i64-1"),
    90: ("L3/exp/f32/n", "L3/erf/f64/n", "L3/tanh/f16/n", "L3/pow/f32/n", "L3/div/f32/n",
         "L3/div/i8/n", "L3/rem/i32/n", "L3/cast/f32/to-i8", "L3/cast/f64/to-f16",
         "L3/cast/bf16/to-f8e4m3fn", "L3/cast/f32/to-bf16", "L3/pool/f32/max-uneven",
         "L3/arg_reduce/f32/axis1-max", "L3/transpose/f32/102", "L3/concat/f32/axis1",
         "L3/pad/f32/reflect", "L3/matmul_integer/i8/u8-nn", "L4/epilogue/f32/matmul-bias-relu",
         "L4/epilogue/f16/conv-bias-relu", "L4/elementwise/f32/chain8",
         "L4/elementwise/bf16/chain5", "L5/mlp/f16/seeded", "L5/bert-block/f32/seeded",
         "L5/resnet-block/f32/seeded", "L6/random/f32/seed1", "L6/random/f16/seed10"),
}
SAMPLE = ("L3/gather/f32/negative", "L3/cast/f32/to-i8", "L4/elementwise/f32/chain8")


@dataclasses.dataclass
class Found:
    """What became of a mutant: `way` is how it was caught, or refused, unreached, SURVIVES."""
    unit: str
    kernel: str
    mutant: ptx_mutants.Mutant
    way: str = "SURVIVES"
    case: str = ""
    schedule: str = ""

    def row(self):
        return {"unit": self.unit, "kernel": self.kernel, "operator": self.mutant.operator,
                "line": self.mutant.line + 1, "before": self.mutant.before,
                "after": self.mutant.after.strip(), "way": self.way, "case": self.case,
                "schedule": self.schedule}


def way_of(record):
    if record["status"] == "Fail":
        return "result"
    if "refuses the " in record["reason"]:
        return "refused"
    for way, pattern in WAYS.items():
        if re.search(pattern, record["reason"]):
            return way
    return "hang" if record["status"] == "Timeout" else record["status"]


def bad_of(records):
    return [one for one in records if one["status"] not in ("Pass", "QualityWarning")]


class Unit:
    """A unit of the suite on the device of an architecture, and the modules that it loads."""

    def __init__(self, name, capability, folder):
        self.name, self.capability = name, capability
        self.folder = folder / f"{capability}-{name.replace('/', '-')}"
        self.modules = self.folder / "modules"
        self.modules.mkdir(parents=True)
        self.wrong, self.lock = {}, threading.Lock()

    def records(self, modules, schedule, out):
        """Those of a run with the texts of a folder; None and what was said without a report."""
        options = f"modules={modules},schedule={schedule},limit={LIMIT},log=0"
        result = subprocess.run(
            [ROOT / "build/bin/bp", "conformance", "--device", f"cuda://emu?sm={self.capability}",
             "--depth", "standard", "--filter", f"{self.name}/*", "--jobs", "1", "--timeout", "120",
             "--env", "BP_CUDA_EMULATOR", "--out", out],
            text=True, capture_output=True, check=False,
            env=dict(os.environ, BACKPLANE_CACHE_DIR=str(self.folder / "cache"),
                     BP_CUDA_EMULATOR=options))
        if "report in" not in result.stdout:
            return None, result.stdout[-500:] + result.stderr[-500:]
        lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
        shutil.rmtree(out)
        return [json.loads(line) for line in lines], ""

    def unbroken(self, schedule):
        """What is wrong without a mutant, asked once; None."""
        with self.lock:
            if schedule not in self.wrong:
                records, said = self.records(self.modules, schedule, self.folder / "out")
                bad = bad_of(records or [])
                self.wrong[schedule] = (said or "no case" if not records else
                                        f"{bad[0]['id']}: {bad[0]['reason']}" if bad else None)
            return self.wrong[schedule]

    def draw(self, draw, known):
        """A mutant that is not known yet."""
        files = sorted(self.modules.glob("*.ptx"))
        for _ in range(20 if files else 0):
            path = draw.choice(files)
            avoid = known[self.name, path.name]
            mutant = ptx_mutants.draw(path.read_text(encoding="utf-8"), draw, avoid)
            if mutant:
                avoid.add((mutant.line, mutant.after))
                return Found(self.name, path.name, mutant)
        return None

    def bad_with(self, found, after, schedule, number):
        """The first bad record with the text `after` in the place of the mutant's line; None."""
        folder = self.folder / f"mutant{number}"
        shutil.copytree(self.modules, folder)
        text = (folder / found.kernel).read_text(encoding="utf-8")
        changed = dataclasses.replace(found.mutant, after=after).apply(text)
        (folder / found.kernel).write_text(changed, encoding="utf-8")
        records, said = self.records(folder, schedule, self.folder / f"out{number}")
        shutil.rmtree(folder)
        if records is None:
            return {"id": "", "status": "crash", "reason": said}
        return next(iter(bad_of(records)), None)

    def judge(self, found, number):
        """Runs the cases with the mutant, in each order, until one is bad."""
        for schedule in SCHEDULES:
            if wrong := self.unbroken(schedule):
                raise RuntimeError(f"{self.name} unbroken, {schedule}: {wrong}")
            if bad := self.bad_with(found, found.mutant.after, schedule, number):
                found.way, found.case, found.schedule = way_of(bad), bad["id"], schedule
                return found
        if not self.bad_with(found, "\ttrap;", SCHEDULES[0], number):
            found.way = "unreached"
        return found


def run(units, count, draw, pool):
    """Mutants of the units in turn, `count` of which are loaded and reached."""
    known, done, missing, number = collections.defaultdict(set), [], count, 0
    while missing > 0 and units:
        jobs = []
        for _ in range(missing):
            unit = units[number % len(units)]
            number += 1
            if found := unit.draw(draw, known):
                jobs.append(pool.submit(unit.judge, found, number))
        if not jobs:
            break
        for job in jobs:
            done.append(job.result())
            show(done[-1])
        missing = count - sum(found.way not in ASIDE for found in done)
    return done


def show(found):
    print(f"{found.way:10} {found.mutant.operator:18} {found.unit}: {found.mutant.before} -> "
          f"{found.mutant.after.strip() or 'nothing'}", flush=True)


def report(done, share, folder):
    """Writes all, prints what was found by what; gives how many were caught, and how many too
    many survive."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ptx-mutants.json").write_text(
        json.dumps([found.row() for found in done], indent=1) + "\n", encoding="utf-8")
    ways = collections.Counter(found.way for found in done)
    counted = len(done) - sum(ways[way] for way in ASIDE)
    survivors = ways["SURVIVES"]
    allowed = int(counted * (1 - share) + 1e-9)
    print(", ".join(f"{number} by {way}" for way, number in ways.most_common()
                    if way not in (*ASIDE, "SURVIVES")))
    print(f"{counted - survivors} of {counted} mutants caught, {survivors} survive, {allowed} may; "
          f"besides {ways['unreached']} that no case reaches, {ways['refused']} that are no PTX")
    return counted - survivors, max(0, survivors - allowed)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="240 mutants of all units")
    parser.add_argument("--count", type=int, help="as many mutants")
    parser.add_argument("--unit", action="append", help="of this unit only; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/mutants",
                        help="folder for ptx-mutants.json")
    options = parser.parse_args()
    if not EMULATOR.exists():
        print("skipped: the CUDA emulator is not built, as cuda.h was not found\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    wanted = options.unit or (None if options.all else SAMPLE)
    count = options.count or (240 if options.all else 6)
    failed = 0
    with tempfile.TemporaryDirectory() as name, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        units = [Unit(unit, capability, pathlib.Path(name))
                 for capability, listed in UNITS.items() for unit in listed
                 if wanted is None or unit in wanted]
        for unit, wrong in zip(units, pool.map(lambda unit: unit.unbroken(SCHEDULES[0]), units)):
            if wrong:
                print(f"FAILED {unit.name} unbroken: {wrong}")
                failed += 1
        done = run([] if failed else units, count, random.Random(options.seed), pool)
        passed, many = report(done, SHARE if options.all else SHARE_OF_FEW, options.out)
    if many:
        print(f"FAILED {many} mutants too many survive")
    print(f"{passed} passed, {failed + many} failed")
    return int(failed + many > 0)


if __name__ == "__main__":
    sys.exit(main())
