#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models on a device against the reference device.

Each seed gives one small model (generate.py). Its outputs on --device must agree
with those on `ref` within a tolerance that grows with the length of the sums in
it. The node tests have tiny shapes; these reach tails of vectors, tiles, threads
and symbolic dims. A failing model is written to --keep DIR with its inputs.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx

import generate

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 120
# One rounding of each dtype.
ROUNDINGS = {"float64": 2.0 ** -53, "float32": 2.0 ** -24, "float16": 2.0 ** -11}


Outcome = collections.namedtuple("Outcome", "name device kind reason")


def difference(got, want, terms):
    """What is wrong with `got`, or an empty string."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
    if want.dtype.name not in ROUNDINGS:
        bad = got != want
    else:
        wide, wanted = got.astype(numpy.float64), want.astype(numpy.float64)
        # Some roundings per op, and one per term of a sum; a wide accumulator
        # of f16 rounds far less.
        unit = ROUNDINGS[want.dtype.name]
        slack = unit * (64 + (terms if unit < 1e-6 else terms * 2.0 ** -10))
        finite = numpy.abs(wanted[numpy.isfinite(wanted)])
        scale = float(finite.max()) if finite.size else 0.0
        bad = ~numpy.isclose(wide, wanted, slack, slack * scale, equal_nan=True)
    if not bad.any():
        return ""
    first = tuple(int(i) for i in numpy.argwhere(bad)[0])
    return (f"{int(bad.sum())} of {bad.size} elements, first at {list(first)}: "
            f"{got[first]}, expected {want[first]}")


def refusal(text):
    """The reason that bp gives, or an empty string."""
    match = re.search(r"^bp: (?:\S*model\.onnx: )?(.+)", text, re.MULTILINE)
    return match.group(1) if match else ""


def run_model(options, case, device, folder):
    """The kind of outcome and its reason, before outputs are compared."""
    onnx.save(case.model, folder / "model.onnx")
    command = [options.bp, "run", str(folder / "model.onnx"), "--device", device,
               "--threads", "1", "--output-dir", str(folder / "out")]
    for index, (name, value) in enumerate(case.inputs.items()):
        numpy.save(folder / f"{index}.npy", value)
        command += ["--input", f"{name}={folder / f'{index}.npy'}"]
    try:
        result = subprocess.run(command, text=True, capture_output=True,
                                timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "crashed", f"ran longer than {SECONDS} s"
    reason = refusal(result.stderr)
    if result.returncode == 1 and reason and "libbackplane" not in reason:
        return "refused", reason
    if result.returncode:
        return "crashed", f"exit {result.returncode}: {result.stderr.strip()[-300:]}"
    return "passed", ""


def outputs(options, case, device, folder):
    """(kind, reason, {name: array}) of one run."""
    (folder / "out").mkdir(parents=True, exist_ok=True)
    kind, reason = run_model(options, case, device, folder)
    found = {}
    for value in case.model.graph.output if kind == "passed" else ():
        path = folder / "out" / f"{re.sub('[/:]', '_', value.name)}.npy"
        found[value.name] = numpy.load(path)
    return kind, reason, found


def run_case(options, seed):
    case = generate.generate(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kind, reason, want = outputs(options, case, "ref", folder / "ref")
        if kind != "passed":
            return Outcome(case.name, "ref", kind, reason)
        kind, reason, got = outputs(options, case, options.device, folder / "device")
    for output, value in got.items():
        problem = difference(value, want[output], case.terms)
        if problem:
            kind, reason = "WRONG", f"{output}: {problem}"
            break
    if options.keep and kind != "passed":
        keep = pathlib.Path(options.keep) / case.name
        keep.mkdir(parents=True, exist_ok=True)
        onnx.save(case.model, keep / "model.onnx")
        for output, value in {**case.inputs, **want}.items():
            numpy.save(keep / f"{output}.npy", value)
    return Outcome(case.name, options.device, kind, reason)


def report(outcome):
    if outcome.kind in ("WRONG", "crashed"):
        print(f"FAILED {outcome.name} on {outcome.device} {outcome.kind}: "
              f"{outcome.reason}", flush=True)
    elif outcome.kind == "refused":
        print(f"note: {outcome.name} is refused on {outcome.device}: {outcome.reason}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--device", default="host")
    parser.add_argument("--count", type=int, default=192)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for models that do not pass")
    parser.add_argument("--all", action="store_true", help="ten times as many")
    options = parser.parse_args()
    os.environ.setdefault("BACKPLANE_CACHE_DIR", "-")
    seeds = range(options.first, options.first + options.count * (10 if options.all else 1))
    kinds = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda seed: run_case(options, seed), seeds):
            report(outcome)
            kinds[outcome.kind] += 1
    failed = kinds["WRONG"] + kinds["crashed"]
    print(f"{kinds['passed']} passed, {failed} failed, {kinds['refused']} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
