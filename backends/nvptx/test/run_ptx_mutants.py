#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks emitted PTX on purpose, one instruction at a time: the conformance suite on the emulator
must tell.

Mutants are drawn from --seed: a unit of the suite, a kernel of it, an operator (ptx_mutants.py), a
place. The emulator loads the changed text in place of the emitted one (its option `modules`), and
all cases of the unit run at standard depth, with warps in order, reversed and at random, until one
is bad; units run together, each with a mutant. Where no case is bad, a `trap` in the place of the
instruction tells whether any executes it: a mutant that none does is unreached, and another is
drawn. So it is where no case uses what the instruction gives, as one that LLVM moved out of a part
that none reaches: without the instruction its register is never written, and the emulator tells who
uses such a register. At least 85 % of the others must be caught. Those that survive are printed.
Changes that a rule proves to make no difference are not drawn (ptx_same.py).

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

import ptx_mutants

ROOT = pathlib.Path(__file__).resolve().parents[3]
EMULATOR = ROOT / "build/lib/backplane/plugins/libbp-cuda-emulator.so"
SHARE = 0.85  # of all mutants, which must be caught; 0.9 is the aim
SHARE_OF_FEW = 0.6  # of a sample, whose survivors may come together by chance
SCHEDULES = ("in-order", "reversed", "random")
ASIDE = ("refused", "unreached", "unused")  # what tells nothing
# Million instructions of a warp, and of a launch: far more than a case of these takes.
LIMITS = "limit=5,total=50"
# Ways to be caught, by what is said; what has none of these is a result.
WAYS = {"race": r"\(race\)", "divergence": r"divergent barrier",
        "poison": r"never written|was not written",
        "copies": r"cp\.async|before a wait", "hang": r"does a loop never end",
        "bounds": r"CUDA_ERROR_ILLEGAL_ADDRESS|no living buffer|outside of|is not inside",
        "alignment": r"MISALIGNED|multiple of", "trap": r"ILLEGAL_INSTRUCTION"}

# Of each class of ops, dtype and layer some; none of layer 2, whose cases compare runs with each
# other, not with the oracle, so that they tell no kernel that is wrong every time.
UNITS = {
    80: ("L3/add/f32/n", "L3/transpose/i32/210", "L3/gather/i32/i64",
         "L3/scatter/i32/add-i64-1", "L3/matmul/f32/tn", "L3/matmul/f32/nt-batch",
         "L3/matmul/f16/nn", "L3/matmul/bf16/nn", "L3/matmul/f64/nn", "L3/conv/f32/3x3",
         "L3/conv/f16/groups", "L3/conv_transpose/f32/2x2-twice",
         "L3/conv_integer/i8/uneven-u8", "L3/softmax/f32/rows", "L3/softmax/f16/axis1",
         "L3/layer_norm/f32/last", "L3/layer_norm/f16/static", "L3/reduce/f32/sum-1",
         "L3/reduce/i32/max-2", "L3/cumulative/f32/sum", "L3/top_k/f32/both-ends",
         "L3/attention/f32/causal", "L3/attention/f16/tiles-causal", "L3/gather/f32/negative",
         "L3/scatter/f32/add-i64-1"),
    90: ("L3/exp/f32/n", "L3/erf/f64/n", "L3/tanh/f16/n", "L3/pow/f32/n", "L3/div/f32/n",
         "L3/div/i8/n", "L3/rem/i32/n", "L3/cast/f32/to-i8", "L3/cast/f64/to-f16",
         "L3/cast/bf16/to-f8e4m3fn", "L3/cast/f32/to-bf16", "L3/pool/f32/max-uneven",
         "L3/arg_reduce/f32/axis1-max", "L3/attention/bf16/tiles", "L3/transpose/f32/102",
         "L3/concat/f32/axis1", "L3/pad/f32/reflect", "L3/matmul_integer/i8/u8-nn",
         "L4/epilogue/f32/matmul-bias-relu", "L4/epilogue/f16/conv-bias-relu", "L4/elementwise/f32/chain8",
         "L4/elementwise/bf16/chain5", "L5/mlp/f16/seeded", "L5/bert-block/f32/seeded",
         "L5/resnet-block/f32/seeded", "L6/random/f32/seed1", "L6/random/f16/seed10"),
}
# Of the same kernels, in units of their own.
ENDS = "-ends"
WITH_ENDS = ("L3/matmul/f32/tn", "L3/matmul/f16/nn", "L3/matmul/bf16/nn", "L3/matmul/f64/nn")
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


class Device:
    """Units of the suite on the device of an architecture. One run judges many of them, each with a
    mutant of its own."""

    def __init__(self, capability, units, folder):
        self.capability = capability
        self.folder = folder / str(capability)
        self.modules = self.folder / "modules"
        self.modules.mkdir(parents=True)
        self.texts = dict.fromkeys(units)  # unit -> the name of its module and the text
        self.first = {}  # unit -> the filter of its largest case
        self.right = set()  # (unit, schedule) of what is right without a mutant
        self.known, self.turn, self.runs = collections.defaultdict(set), 0, 0

    def records(self, units, modules, schedule, first=False):
        """Those of a run with the texts of a folder, by unit in the order of the run; `first`: of
        the largest case of each alone."""
        self.runs += 1
        out = self.folder / f"out{self.runs}"
        options = f"modules={modules},schedule={schedule},{LIMITS},log=0"
        globs = [self.first[unit] if first else glob for unit in units
                 for glob in (f"{unit}/*", unit + ENDS + "/*")[:1 + (unit in WITH_ENDS)]]
        filters = [word for glob in dict.fromkeys(globs) for word in ("--filter", glob)]
        result = subprocess.run(
            [ROOT / "build/bin/bp", "conformance", "--device", f"cuda://emu?sm={self.capability}",
             "--depth", "standard", *filters, "--jobs", "1", "--timeout", "60",
             "--keep-going", "--env", "BP_CUDA_EMULATOR", "--out", out],
            text=True, capture_output=True, check=False,
            env=dict(os.environ, BACKPLANE_CACHE_DIR=str(self.folder / "cache"),
                     BP_CUDA_EMULATOR=options))
        if "report in" not in result.stdout:
            raise RuntimeError(f"no report of {', '.join(units)} on {self.capability}: "
                               f"{result.stdout[-500:]}{result.stderr[-500:]}")
        lines = (out / "records.jsonl").read_text(encoding="utf-8").splitlines()
        shutil.rmtree(out)
        records = {}
        for line in lines:
            record = json.loads(line)
            base = record["unit"].removesuffix(ENDS)
            unit = base if base in WITH_ENDS else record["unit"]
            records.setdefault(unit, []).append(record)
        if set(records) != set(units):
            raise RuntimeError(f"cases of {', '.join(set(units) ^ set(records))} are amiss")
        return records

    def fill(self):
        """Finds the text of each unit; gives what is wrong without a mutant."""
        records = self.records(list(self.texts), self.modules, SCHEDULES[0])
        self.assign(list(records))
        for unit, some in records.items():
            largest = max(some, key=lambda one: one["elements"])
            self.first[unit] = glob_of(largest["id"])
            self.right.add((unit, SCHEDULES[0]))
        return wrong_of(records)

    def check(self, units, schedule):
        """That it is a mutant that is found: without one all is right in this order, too."""
        asked = [unit for unit in units if (unit, schedule) not in self.right]
        wrong = wrong_of(self.records(asked, self.modules, schedule)) if asked else ""
        if wrong:
            raise RuntimeError(f"unbroken on sm_{self.capability}: {wrong}, {schedule}")
        self.right.update((unit, schedule) for unit in asked)

    def assign(self, units):
        """Gives units, in the order in which they ran, the texts in the order in which they came:
        a unit is one module."""
        paths = sorted(self.modules.glob("*.ptx"), key=lambda path: path.stat().st_mtime_ns)
        if len(paths) != len(units):
            raise RuntimeError(f"{len(units)} units on sm_{self.capability} load {len(paths)} "
                               "modules; each must load one of its own")
        for unit, path in zip(units, paths):
            self.texts[unit] = (path.name, path.read_text(encoding="utf-8"))

    def draw(self, unit, draw):
        """A mutant of the unit that is not known yet; None."""
        name, text = self.texts[unit]
        mutant = ptx_mutants.draw(text, draw, self.known[unit])
        if not mutant:
            return None
        self.known[unit].add((mutant.line, mutant.after))
        return Found(unit, name, mutant)

    def batch(self, count, draw):
        """Mutants of up to `count` units, the next ones in turn."""
        chosen, units = [], list(self.texts)
        for _ in range(len(units)):
            if len(chosen) < count:
                found = self.draw(units[self.turn % len(units)], draw)
                self.turn += 1
                chosen += [found] if found else []
        return chosen

    def bad_with(self, batch, schedule, probe=None, first=False):
        """Unit -> its first bad record, with all mutants of a batch, or what `probe` gives in
        their places."""
        if not batch:
            return {}
        folder = self.folder / f"mutants{self.runs}"
        shutil.copytree(self.modules, folder)
        for found in batch:
            mutant, text = found.mutant, self.texts[found.unit][1]
            if probe:
                mutant = dataclasses.replace(mutant, after=probe(mutant, text))
            text = mutant.apply(text)
            (folder / found.kernel).write_text(text, encoding="utf-8")
        records = self.records([found.unit for found in batch], folder, schedule, first)
        shutil.rmtree(folder)
        return {unit: bad[0] for unit, all in records.items() if (bad := bad_of(all))}

    def judge(self, batch):
        """Runs the cases with the mutants, in each order, until one is bad. The largest case goes
        first: most mutants are found by it, and each case that loses the device takes long."""
        left = list(batch)
        for schedule, first in ((SCHEDULES[0], True), *((one, False) for one in SCHEDULES)):
            bad = self.bad_with(left, schedule, first=first)
            self.check(bad, schedule)
            for found in left:
                if one := bad.get(found.unit):
                    found.way, found.case, found.schedule = way_of(one), one["id"], schedule
            left = [found for found in left if found.unit not in bad]
        self.set_aside(left, "unreached", lambda mutant, text: "\ttrap;")
        left = [found for found in left if found.way == "SURVIVES"]
        self.set_aside(left, "unused", ptx_mutants.unwritten)

    def set_aside(self, left, way, probe):
        """Those whose place no case notices, whatever stands there, have this way."""
        left = [found for found in left
                if probe(found.mutant, self.texts[found.unit][1]) is not None]
        for first in (True, False):
            noticed = self.bad_with(left, SCHEDULES[0], probe, first)
            left = [found for found in left if found.unit not in noticed]
        for found in left:
            found.way = way

    def run(self, count, draw):
        """Mutants of the units in turn, `count` of which are loaded and reached."""
        done, missing = [], count
        while missing > 0:
            batch = self.batch(missing, draw)
            if not batch:
                break
            self.judge(batch)
            for found in batch:
                show(found)
            done += batch
            missing = count - sum(found.way not in ASIDE for found in done)
        return done


def glob_of(case):
    """A glob that the id of a case alone matches."""
    return re.sub(r"[][*?]", "?", case)


def wrong_of(records):
    """What is wrong where nothing is changed."""
    for some in records.values():
        if bad := bad_of(some):
            return f"{bad[0]['id']}: {bad[0]['reason']}"
    return ""


def show(found):
    print(f"{found.way:10} {found.mutant.operator:18} {found.unit}: {found.mutant.before} -> "
          f"{found.mutant.after.strip() or 'nothing'}", flush=True)


def devices_of(wanted, folder):
    listed = {capability: [unit for unit in units if wanted is None or unit in wanted]
              for capability, units in UNITS.items()}
    return [Device(capability, units, folder) for capability, units in listed.items() if units]


def run(devices, count, seed, pool):
    """On each device as many as it has units."""
    total, jobs, given = sum(len(device.texts) for device in devices), [], 0
    for device in devices:
        share = min(-(-count * len(device.texts) // total), count - given)
        given += share
        draw = random.Random(f"{seed} {device.capability}")
        jobs.append(pool.submit(device.run, share, draw))
    return [found for job in jobs for found in job.result()]


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
          f"besides {ways['unreached']} that no case reaches, {ways['unused']} of which none uses "
          f"the result, {ways['refused']} that are no PTX")
    return counted - survivors, max(0, survivors - allowed)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="240 mutants of all units")
    parser.add_argument("--count", type=int, help="as many mutants")
    parser.add_argument("--unit", action="append", help="of this unit only; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
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
            concurrent.futures.ThreadPoolExecutor(len(UNITS)) as pool:
        devices = devices_of(wanted, pathlib.Path(name))
        for device, wrong in zip(devices, pool.map(Device.fill, devices)):
            if wrong:
                print(f"FAILED unbroken on sm_{device.capability}: {wrong}")
                failed += 1
        done = [] if failed else run(devices, count, options.seed, pool)
        passed, many = report(done, SHARE if options.all else SHARE_OF_FEW, options.out)
    if many:
        print(f"FAILED {many} mutants too many survive")
    print(f"{passed} passed, {failed + many} failed")
    return int(failed + many > 0)


if __name__ == "__main__":
    sys.exit(main())
