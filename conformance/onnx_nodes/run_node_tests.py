#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node tests of the onnx package against the outputs that it stores.

Each test is a small model with inputs and expected outputs. It is run with
`bp run` on each device; the outcome is one of

  passed    the outputs have the expected dtypes and shapes, and their values
            lie within the tolerance of their dtype
  refused   the model is not supported, and the message says why
  WRONG     the outputs differ: what this tool is there to find
  crashed   a signal, a time-out, a failure that gives no reason or lies in the
            installation
  skipped   a value is not a tensor, or not of a dtype that NumPy files can hold

Where a model is refused because an input must be known when it is compiled
(axes, shapes, bounds of slices), it runs once more with that input as a constant
of the model, which is what exporters write.

The list of refusals ends up in --refusals FILE, for the tables of the
documentation. The exit code is 1 when anything is wrong or has crashed.
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
import warnings

import numpy
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 120

# Relative and absolute tolerance per dtype. The expected values were computed
# by NumPy in the dtype itself, so that their own rounding is allowed for.
TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "float32": (2e-5, 2e-6),
    "float16": (2e-3, 2e-3),
    "bfloat16": (2e-2, 2e-2),
}
# Types that NumPy lacks, which bp reads and writes as the bits.
BITS = {"bfloat16": numpy.uint16, "float8_e4m3fn": numpy.uint8,
        "float8_e5m2": numpy.uint8}

Outcome = collections.namedtuple("Outcome", "name device kind reason")


# Stored outputs that are less exact than their dtype: name, tolerance.
ROUNDED = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-3,
}


def array(value):
    """A stored value as an array, or what it is when it is no tensor."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def storable(value):
    return isinstance(value, numpy.ndarray) and (
        value.dtype.name in BITS or value.dtype.name in TOLERANCES
        or value.dtype.kind in "iub")


def save(path, value):
    bits = BITS.get(value.dtype.name)
    numpy.save(path, numpy.ascontiguousarray(value).view(bits).reshape(value.shape)
               if bits else value)


def load(path, like):
    value = numpy.load(path)
    if like.dtype.name in BITS and value.dtype == BITS[like.dtype.name]:
        return value.view(like.dtype)
    return value


def difference(got, want, least=0.0):
    """What is wrong with `got`, or an empty string."""
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    name = want.dtype.name
    if name not in TOLERANCES:
        bad = got != want
        if name in BITS:
            bad &= ~(numpy.isnan(got.astype(float)) & numpy.isnan(want.astype(float)))
    else:
        relative, absolute = TOLERANCES[name]
        relative = max(relative, least)
        # In double, so that NumPy computes and compares every dtype alike.
        wide, wanted = got.astype(numpy.float64), want.astype(numpy.float64)
        bad = ~numpy.isclose(wide, wanted, relative, absolute, equal_nan=True)
    if not bad.any():
        return ""
    first = tuple(int(i) for i in numpy.argwhere(bad)[0])
    return (f"{int(bad.sum())} of {bad.size} elements, first at {list(first)}: "
            f"{got[first]}, expected {want[first]}")


def refusal(text):
    """The reason that bp gives, or an empty string."""
    match = re.search(r"^bp: (?:\S*model\.onnx: )?(.+)", text, re.MULTILINE)
    return match.group(1) if match else ""


def unknown_input(reason, names):
    """The input that a refusal wants to be known, or None."""
    match = re.search(r"\('([^']*)'\) is computed from data", reason)
    return match.group(1) if match and match.group(1) in names else None


def fix_input(model, name, value):
    """Makes an input of the model a constant."""
    model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    for index, given in enumerate(model.graph.input):
        if given.name == name:
            del model.graph.input[index]
            return


def present(names):
    return [name for name in names if name]


def run_model(options, model, device, folder, inputs):
    """The kind of outcome and its reason, before outputs are compared."""
    onnx.save(model, folder / "model.onnx")
    command = [options.bp, "run", str(folder / "model.onnx"), "--device", device,
               "--threads", "1", "--output-dir", str(folder / "out")]
    for index, (name, value) in enumerate(inputs.items()):
        save(folder / f"{index}.npy", value)
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


def compare(case, wanted, folder):
    for name, want in wanted:
        path = folder / "out" / f"{re.sub('[/:]', '_', name)}.npy"
        if not path.exists():
            return "WRONG", f"output '{name}' is missing"
        reason = difference(load(path, want), want, ROUNDED.get(case.name, 0))
        if reason:
            return "WRONG", f"{name}: {reason}"
    return "passed", ""


def run_set(options, case, device, folder, data):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = ([array(value) for value in values] for values in data)
    if not all(storable(value) for value in [*inputs, *outputs]):
        return "skipped", "a value is no tensor of a storable dtype"
    inputs = dict(zip(present(value.name for value in model.graph.input), inputs))
    wanted = zip(present(value.name for value in model.graph.output), outputs)
    while True:
        kind, reason = run_model(options, model, device, folder, inputs)
        name = unknown_input(reason, inputs)
        if kind != "refused" or not name:
            break
        fix_input(model, name, inputs.pop(name))
    return compare(case, wanted, folder) if kind == "passed" else (kind, reason)


def run_case(options, case, device):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        for data in case.data_sets:
            kind, reason = run_set(options, case, device, folder, data)
            if kind != "passed":
                break
    return Outcome(case.name, device, kind, reason)


def run_all(options, cases):
    os.environ.setdefault("BACKPLANE_CACHE_DIR", "-")
    work = [(case, device) for device in options.devices.split(",") for case in cases]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        yield from pool.map(lambda pair: run_case(options, *pair), work)


def summary(outcomes):
    """Prints what went wrong and a count per device."""
    for kind in ("WRONG", "crashed"):
        for outcome in outcomes:
            if outcome.kind == kind:
                print(f"FAILED {outcome.name} on {outcome.device} {kind}: "
                      f"{outcome.reason}")
    passed = {outcome.name for outcome in outcomes if outcome.kind == "passed"}
    for outcome in outcomes:
        if outcome.kind == "refused" and outcome.name in passed:
            print(f"note: {outcome.name} is refused on {outcome.device} only: "
                  f"{outcome.reason}")
    for device in dict.fromkeys(outcome.device for outcome in outcomes):
        kinds = collections.Counter(o.kind for o in outcomes if o.device == device)
        print(f"{device}: " + ", ".join(
            f"{kinds[kind]} {kind}"
            for kind in ("passed", "refused", "WRONG", "crashed", "skipped")))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--devices", default="host,ref")
    parser.add_argument("--only", default="", help="a regular expression over names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--refusals", help="file for the refused tests and reasons")
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [case for case in collect_testcases(None)
             if re.search(options.only, case.name)]
    outcomes = list(run_all(options, cases))
    if options.refusals:
        pathlib.Path(options.refusals).write_text("".join(
            f"{o.device}\t{o.name}\t{o.reason}\n"
            for o in outcomes if o.kind == "refused"))
    summary(outcomes)
    kinds = collections.Counter(outcome.kind for outcome in outcomes)
    failed = kinds["WRONG"] + kinds["crashed"]
    print(f"{kinds['passed']} passed, {failed} failed, "
          f"{kinds['refused'] + kinds['skipped']} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
