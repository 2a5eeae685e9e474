#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node tests of the onnx package, judged by the oracle's limits.

Each test is a small model with inputs and stored outputs. `bp-nodes` imports it,
runs it on each device and holds the outputs to the oracle; as the device
`oracle` it holds the stored outputs to the oracle instead. A check is

  passed   the outputs lie within the limits
  refused  the model is not supported, for a reason that expected.toml lists;
           counts as passed
  FAILED   wrong numbers, a crash, a refusal that is not listed or says something
           else than listed, a listed test that passes
  skipped  the oracle has no answer to hold the stored outputs to

Devices of --sampled, which not every machine has, run one test of thirteen,
always the same ones; with --all they run all. expected.toml lists what a device
alone refuses.

Prints coverage by op. A run of the whole collection also checks that
docs/reference/onnx-coverage.md is current; --write writes it. --out DIR gets the
records of each device, a report and the same page.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import warnings

import onnx
from onnx.backend.test.case.node import collect_testcases

import coverage
import expected as listed
import harness
import selfcheck

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
PAGE = ROOT / "docs/reference/onnx-coverage.md"
GOOD = ("Pass", "QualityWarning")
# Of so many tests one is in the sample.
SAMPLE = 13


@dataclasses.dataclass
class Test:
    """A node test with the op that it is for."""
    name: str
    model: onnx.ModelProto
    data_sets: list
    op: str
    expanded: bool

    @property
    def ident(self):
        return f"onnx/{self.op}/{self.name}"


@dataclasses.dataclass
class Outcome:
    """What one test came to on one device."""
    name: str
    op: str
    expanded: bool
    device: str
    kind: str  # passed, refused, FAILED, skipped
    why: str
    records: list


def op_of(case):
    """The op that a test is for: the one that its name is closest to."""
    nodes = [node for node in case.model.graph.node if node.op_type != "Constant"]
    plain = case.name.replace("_", "").lower()
    for node in nodes:
        if node.op_type.lower() in plain:
            return listed.full_name(node)
    return listed.full_name((nodes or case.model.graph.node)[0])


def all_tests():
    cases = collect_testcases(None)
    ops = {case.name: op_of(case) for case in cases if "_expanded" not in case.name}
    for case in cases:
        base, found, _ = case.name.partition("_expanded")
        yield Test(case.name, case.model, case.data_sets,
                   ops.get(base) or op_of(case), bool(found))


def worst(records):
    """The record that decides over the data sets of a test."""
    return next((record for record in records if record["status"] not in GOOD),
                records[0])


def judge(expected, test, device, records):
    """The outcome of a test on a device, held to what is listed."""
    record = worst(records)
    status, reason = record["status"], record["reason"]
    kind, why = ("passed", "") if status in GOOD else ("FAILED", f"{status}: {reason}")
    inexact = device == "oracle" and expected.inexact.get(test.name)
    if kind == "passed" and (inexact or expected.of(test.name, device)):
        kind, why = "FAILED", "passes; take it off the list in expected.toml"
    elif inexact and status == "Fail":
        kind, why = "passed", ""
    elif device == "oracle" and record["data"] == "stored":
        kind, why = "skipped", reason
    elif status == harness.REFUSED:
        why = expected.reason(test.name, device, reason)
        kind = "refused" if why else "FAILED"
        why = why or (f"refused for another reason than listed: {reason}"
                      if expected.of(test.name, device) else f"refused, not listed: {reason}")
    return Outcome(test.name, test.op, test.expanded, device, kind, why, records)


def absence(device):
    """What this machine lacks for a device of the sample; None: nothing."""
    listed_devices = subprocess.run([ROOT / "build/bin/bp", "devices"], text=True,
                                    check=False, capture_output=True).stdout
    if f"{device}://" not in listed_devices:
        return f"there is no plug-in for {device}"
    # The driver's own word; one that does not load is no absence.
    if f"{device}://none" in listed_devices:
        return f"there is no device for {device}"
    return None


def run_sample(options, tests, expected):
    """Outcomes of a fixed part of the tests, or of all with --all, on devices
    that may be absent."""
    for device in filter(None, options.sampled.split(",")):
        reason = absence(device)
        if reason:
            print(f"skipped {device}: {reason}")
            continue
        part = tests if options.all else tests[::SAMPLE]
        # The oracle finds the inputs that must be known.
        for outcome in run_all(options, ["oracle", device], part, expected):
            if outcome.device == device:
                yield outcome


def run_all(options, devices, tests, expected):
    """All outcomes on some devices, test by test."""
    os.environ.setdefault("BACKPLANE_CACHE_DIR", "-")
    free = queue.SimpleQueue()
    every = [[harness.Runner(options.tool, device) for device in devices]
             for _ in range(options.jobs)]
    for runners in every:
        free.put(runners)

    def run_test(test):
        runners = free.get()
        try:
            sets = [harness.run_set(runners, test, data) for data in test.data_sets]
        finally:
            free.put(runners)
        return [judge(expected, test, device, list(records))
                for device, records in zip(devices, zip(*sets))]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcomes in pool.map(run_test, tests):
            yield from outcomes
    for runners in every:
        for runner in runners:
            runner.stop()


def summary(outcomes):
    """Prints what went wrong and counts."""
    for outcome in outcomes:
        if outcome.kind == "FAILED":
            print(f"FAILED {outcome.name} on {outcome.device}: {outcome.why}")
    without = collections.Counter(
        (outcome.device, outcome.records[0]["reason"]) for outcome in outcomes
        if outcome.device != "oracle" and outcome.kind == "passed"
        and outcome.records[0]["data"] == "stored")
    for (device, reason), count in sorted(without.items()):
        print(f"{device}: {count} judged by the stored outputs: {reason}")
    for device in dict.fromkeys(outcome.device for outcome in outcomes):
        kinds = collections.Counter(o.kind for o in outcomes if o.device == device)
        elements = sum(record.get("elements", 0) for o in outcomes
                       if o.device == device for record in o.records)
        print(f"{device}: " + ", ".join(
            f"{kinds[kind]} {kind}" for kind in ("passed", "refused", "FAILED",
                                                 "skipped"))
              + f"; {elements} elements compared")


def combined(outcomes):
    """One outcome per test: passed where every device passes."""
    for group in by_name(outcomes).values():
        yield next((outcome for outcome in group if outcome.kind != "passed"), group[0])


def by_name(outcomes):
    """The outcomes on devices, test by test."""
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        if outcome.device != "oracle":
            groups[outcome.name].append(outcome)
    return groups


def write_report(options, outcomes, page):
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "coverage.md").write_text(page, encoding="utf-8")
    for device in dict.fromkeys(outcome.device for outcome in outcomes):
        part = folder / re.sub(r"\W", "_", device)
        part.mkdir(exist_ok=True)
        (part / "records.jsonl").write_text("".join(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
            for outcome in outcomes if outcome.device == device
            for record in outcome.records), encoding="utf-8")
        named = ["--device", device] if device != "oracle" else []
        subprocess.run([options.tool, "--report", str(part), *named], check=True)


def check_page(options, page):
    """Whether the page of the documentation is current."""
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return True
    print(f"FAILED {PAGE.relative_to(ROOT)} is not current; run this with --write")
    return False


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=str(ROOT / "build/bin/bp-nodes"))
    parser.add_argument("--devices", default="oracle,host,ref")
    parser.add_argument("--sampled", default="vulkan",
                        help="devices that run a part of the tests, where they are")
    parser.add_argument("--only", default="", help="a regular expression over names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", help="folder for records and reports")
    parser.add_argument("--write", action="store_true",
                        help="write the page of the documentation")
    parser.add_argument("--all", action="store_true",
                        help="the devices of --sampled run all tests")
    return parser.parse_args()


def main():
    options = parse()
    warnings.simplefilter("ignore")
    tests = list(all_tests())
    expected = listed.Expected(HERE / "expected.toml", tests)
    expected.problems += selfcheck.problems(listed, judge)
    chosen = [test for test in tests if re.search(options.only, test.name)]
    devices = options.devices.split(",")
    outcomes = list(run_all(options, devices, chosen, expected))
    table = coverage.rows(combined(outcomes))
    outcomes += run_sample(options, chosen, expected)
    print(coverage.text(table))
    for problem in expected.problems:
        print(f"FAILED {problem}")
    summary(outcomes)
    devices = [device for device in devices if device != "oracle"]
    page = coverage.page(table, onnx.__version__, devices)
    if options.out:
        write_report(options, outcomes, page)
    kinds = collections.Counter(outcome.kind for outcome in outcomes)
    failed = kinds["FAILED"] + len(expected.problems)
    whole = not options.only and options.devices == "oracle,host,ref"
    if whole and kinds["FAILED"] == 0:
        failed += not check_page(options, page)
    print(f"{kinds['passed'] + kinds['refused'] + whole} passed, {failed} failed, "
          f"{kinds['skipped']} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
