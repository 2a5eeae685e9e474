#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of unusual shapes (models.py), and drawn ones with sizes that data decide
(drawn.py), on each device against the reference evaluator of the onnx package. A
call that no output exists for must be refused, with words that tell why.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.parser
from onnx.reference import ReferenceEvaluator

import drawn
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "conformance/random"))
from run_random_tests import difference  # noqa: E402

SECONDS = 120
TERMS = 64


def present(bp, devices):
    """Those of some devices that this machine has."""
    listed = subprocess.run([bp, "devices"], text=True, capture_output=True, check=False).stdout
    return [name for name in devices if re.search(rf"\b{name}\b", listed)]


def inputs_of(entry, model, call):
    random = numpy.random.default_rng(len(entry.text) + sum(call.values()))
    inputs = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [call[dim.dim_param] if dim.dim_param else dim.dim_value
                 for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if value.name in entry.below:
            data = random.integers(0, max(1, call[entry.below[value.name]]), shape)
        else:
            data = random.uniform(-2, 2, shape)
        inputs[value.name] = data.astype(dtype)
    return inputs


def run(options, path, device, inputs, folder):
    """The exit status, its message and the outputs of one call."""
    command = [options.bp, "run", str(path), "--device", device, "--output-dir", str(folder)]
    for name, value in inputs.items():
        numpy.save(folder / f"in_{name}.npy", value)
        command += ["--input", f"{name}={folder}/in_{name}.npy"]
    result = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS,
                            check=False)
    found = {path.stem: numpy.load(path) for path in folder.glob("*.npy")
             if not path.stem.startswith("in_")}
    return result.returncode, result.stderr.strip()[-400:], found


def check_call(options, entry, model, path, device, call, refused):
    """What is wrong with one call, or an empty string."""
    inputs = inputs_of(entry, model, call)
    with tempfile.TemporaryDirectory() as folder:
        status, message, found = run(options, path, device, inputs, pathlib.Path(folder))
    if refused:
        right = status == 1 and entry.words in message
        return "" if right else f"exit {status}, not refused: {message}"
    if status:
        return f"exit {status}: {message}"
    names = [output.name for output in model.graph.output]
    wanted = (list(entry.answers.values()) if entry.answers
              else ReferenceEvaluator(model).run(names, inputs))
    for name, want in zip(names, wanted):
        problem = difference(found[name], numpy.asarray(want), TERMS)
        if problem:
            return f"{name}: {problem}"
    return ""


def check_model(options, entry, device):
    """Failures and the number of calls of a model on a device."""
    model = onnx.parser.parse_model(models.HEADER % entry.opset + entry.text)
    failures, calls = [], [*((call, False) for call in entry.calls),
                           *((call, True) for call in entry.refused)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(model, path)
        for call, refused in calls:
            problem = check_call(options, entry, model, path, device, call, refused)
            if problem:
                failures.append(f"FAILED {entry.name} {call} on {device}: {problem}")
    return failures, len(calls)


def check_drawn(options, seed, device):
    """Failures and the number of calls of a drawn model on a device."""
    name, case = drawn.name(seed), drawn.draw(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        onnx.save(case.model, path)
        status, message, found = run(options, path, device, case.inputs, pathlib.Path(folder))
    if status:
        return [f"FAILED {name} on {device}: exit {status}: {message}"], 1
    problems = {output: difference(found[output], numpy.asarray(want), TERMS)
                for output, want in case.wanted().items()}
    return [f"FAILED {name} on {device}: {output}: {problem}"
            for output, problem in problems.items() if problem][:1], 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--device", action="append", help="default: ref, host, vulkan")
    parser.add_argument("--only", default="", help="models with this in their names")
    parser.add_argument("--seeds", type=int, help="drawn models (default 30, with --all 240)")
    parser.add_argument("--all", action="store_true", help="more drawn models")
    options = parser.parse_args()
    chosen = [entry for entry in models.MODELS if options.only in entry.name]
    devices = options.device or present(options.bp, ["ref", "host", "vulkan"])
    seeds = [seed for seed in range(options.seeds or (240 if options.all else 30))
             if options.only in drawn.name(seed)]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as cache, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        os.environ["BACKPLANE_CACHE_DIR"] = cache
        jobs = [(check_model, entry, device) for device in devices for entry in chosen]
        jobs += [(check_drawn, seed, device) for seed in seeds for device in devices]
        for failures, calls in pool.map(lambda job: job[0](options, *job[1:]), jobs):
            print("".join(line + "\n" for line in failures), end="", flush=True)
            passed += calls - len(failures)
            failed += len(failures)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
