#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle against the outputs that the onnx package stores.

NumPy made the stored outputs in the dtype itself, so a stored element may be
off by as much as the oracle allows a device, and is rounded once more: it must
lie within twice the oracle's error and one unit in the last place. Outputs
without an error must be equal. Prints every disagreement that EXPLAINED does
not name, and counts: agreed, disagreed, refused by the importer.
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

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "conformance/onnx_nodes"))
import run_node_tests as nodes  # noqa: E402

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10,
           "bfloat16": 2.0**-7, "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2}
# Stored outputs that are wrong in their last digits, and why.
EXPLAINED = {
    "test_averagepool_2d_ceil_last_window_starts_on_pad":
        "stored as decimal digits",
    "test_resize_upsample_sizes_cubic":
        "the import makes positions and weights in f32, NumPy in f64",
}


def disagreement(folder, index, want):
    """What differs in one output, or an empty string."""
    got = nodes.load(folder / f"{index}.npy", want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, stored {want.dtype}{want.shape}"
    if want.dtype.name not in EPSILON:
        bad = got != want
        return f"{int(bad.sum())} of {bad.size} differ" if bad.any() else ""
    value = numpy.load(folder / f"{index}.value.npy")
    error = numpy.load(folder / f"{index}.error.npy")
    stored = want.astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        slack = 2 * error + EPSILON[want.dtype.name] * numpy.abs(value) * (error > 0)
        near = numpy.abs(stored - value) <= slack
    equal = (got == want) | (numpy.isnan(stored) & numpy.isnan(value))
    bad = ~(near | equal | numpy.isnan(error))
    if not bad.any():
        return ""
    at = tuple(int(i) for i in numpy.argwhere(bad)[0])
    return (f"{int(bad.sum())} of {bad.size}, first at {list(at)}: oracle "
            f"{value[at]} ± {error[at]}, stored {stored[at]}")


def run_oracle(tool, model, inputs, folder):
    onnx.save(model, folder / "model.onnx")
    command = [tool, str(folder / "model.onnx"), str(folder)]
    for index, value in enumerate(inputs.values()):
        nodes.save(folder / f"in{index}.npy", value)
        command.append(str(folder / f"in{index}.npy"))
    result = subprocess.run(command, text=True, capture_output=True, timeout=60,
                            check=False)
    return result.returncode, result.stderr.strip()


def check(tool, case, data):
    """Kind of outcome and reason for one data set."""
    inputs, outputs = ([nodes.array(value) for value in part] for part in data)
    if not all(nodes.storable(value) for value in [*inputs, *outputs]):
        return "skipped", "not a storable tensor"
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = dict(zip(nodes.present(v.name for v in model.graph.input), inputs))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        while True:
            code, reason = run_oracle(tool, model, inputs, folder)
            unknown = nodes.unknown_input(reason, inputs)
            if code != 1 or not unknown:
                break
            nodes.fix_input(model, unknown, inputs.pop(unknown))
        if code:
            return ("refused" if code == 1 else "crashed"), reason
        for index, want in enumerate(outputs):
            reason = disagreement(folder, index, want)
            if reason:
                explained = case.name in EXPLAINED
                return ("explained" if explained else "DISAGREES"), reason
    return "agreed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oracle", default=str(ROOT / "build/bin/bp-oracle"))
    parser.add_argument("--only", default="", help="a regular expression")
    parser.add_argument("--refused", action="store_true", help="list them too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [(case, data) for case in nodes.collect_testcases(None)
              if re.search(options.only, case.name) for data in case.data_sets]
    kinds = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda pair: check(options.oracle, *pair), chosen)
        for (case, _), (kind, reason) in zip(chosen, results):
            kinds[kind] += 1
            if kind in ("DISAGREES", "crashed"):
                print(f"FAILED {case.name}: {kind}: {reason}", flush=True)
            if kind == "refused" and options.refused:
                print(f"refused {case.name}: {reason}", flush=True)
    failed = kinds["DISAGREES"] + kinds["crashed"]
    print(f"{kinds['agreed'] + kinds['explained']} passed, {failed} failed, "
          f"{kinds['refused'] + kinds['skipped']} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
