#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models on two devices against one.

The target `picky` (Picky.cpp) refuses some ops, another choice for each seed, so
that `bp compile` gives these to the host; the outputs must agree with those of
the reference device alone. Before that: what is refused is explained, and is an
error with --no-fallback.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "conformance/random"))
import generate  # noqa: E402
import run_random_tests as base  # noqa: E402

OPS = ["add", "sub", "mul", "div", "max", "exp", "relu", "sigmoid", "tanh", "erf", "neg",
       "matmul", "conv", "reduce", "transpose", "slice", "concat", "pad", "gather",
       "select", "cast", "broadcast", "pool", "if", "while"]


def bp(options, arguments, refuses=""):
    environment = dict(os.environ, BP_PICKY_REFUSES=refuses,
                       BACKPLANE_ADD_PLUGIN_FILES=options.picky)
    return subprocess.run([options.bp, *map(str, arguments)], text=True, env=environment,
                          capture_output=True, timeout=base.SECONDS, check=False)


def expect(what, condition, result):
    if condition:
        return 0
    print(f"FAILED {what}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return 1


def small_model(path):
    """exp between two matmuls."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 40])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 40])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="/first"),
             helper.make_node("Exp", ["a"], ["b"], name="/exp"),
             helper.make_node("MatMul", ["b", "w"], ["y"], name="/last")]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [40, 40],
                                numpy.linspace(-1, 1, 1600).tolist())
    graph = helper.make_graph(nodes, "small", [x], [y], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)


def traced(options, folder, target):
    """Each call has both transfers on the timeline, in a call's time and their order."""
    out = folder / "trace.json"
    result = bp(options, ["run", folder / "m.bpx", "--random-inputs", 1, "--device", "ref+host",
                          "--repeat", 3, "--trace", out])
    events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    spans = sorted((event for event in events if event["ph"] == "X"), key=lambda e: e["ts"])
    calls = [span for span in spans if span["name"] == "call"]
    moves = [span for span in spans if span["name"] == "transfer"]
    good = result.returncode == 0 and len(calls) == 3 and len(moves) == 6
    for i, move in enumerate(moves if good else []):
        call = calls[i // 2]
        ends = [move["args"][key].split(":")[0] for key in ("from", "to")]
        good &= ends == (["host", "ref"] if i % 2 else ["ref", "host"])
        good &= move["args"]["bytes"] == 320
        good &= call["ts"] <= move["ts"] and \
            move["ts"] + move["dur"] <= call["ts"] + call["dur"] + 0.001
    return expect(f"{target}: transfers in the trace: {moves}", good, result)


def explained(options, folder):
    """Failures of the checks on one small model."""
    model, artifact, failures = folder / "m.onnx", folder / "m.bpx", 0
    small_model(model)
    compile_it = ["compile", model, "-o", artifact, "--target"]
    for target, reason in [("picky", "there is no exp on this device"),
                           ("picky-claims", "picky does not like exp")]:
        result = bp(options, [*compile_it, target], "exp")
        failures += expect(f"{target}: compile", result.returncode == 0, result)
        result = bp(options, ["explain", artifact], "exp")
        failures += expect(f"{target}: explain", "exp (Exp node '/exp') of f32: on " in
                           result.stdout and reason in result.stdout and
                           "transfer: 320 bytes" in result.stdout, result)
        run = ["run", artifact, "--random-inputs", 1, "--no-fallback", "--device"]
        result = bp(options, [*run, "ref"])
        failures += expect(f"{target}: a split artifact without fallback", result.returncode == 1
                           and "on a device of driver 'host', which was not asked for"
                           in result.stderr, result)
        result = bp(options, [*run, "ref+host"])
        failures += expect(f"{target}: both by name", result.returncode == 0 and
                           "a part of the model" not in result.stderr, result)
        result = bp(options, ["run", artifact, "--random-inputs", 1, "--device", "ref"])
        failures += expect(f"{target}: a fallback is told", result.returncode == 0 and
                           "a part of the model runs on host, as ref" in result.stderr, result)
        failures += traced(options, folder, target)
        result = bp(options, [*compile_it, target, "--no-fallback"], "exp")
        failures += expect(f"{target}: --no-fallback", result.returncode == 1 and
                           f"target {target} cannot run " in result.stderr and
                           "exp (Exp node '/exp') of f32" in result.stderr and
                           "no exp on this device" in result.stderr, result)
    result = bp(options, [*compile_it, "picky"])
    result = bp(options, ["inspect", artifact])
    failures += expect("all taken: no second device", "variant picky:" in
                       result.stdout, result)
    result = bp(options, ["compile", model, "-o", artifact, "--target", "picky+none"])
    failures += expect("unknown target", result.returncode == 1 and
                       "picky+none" in result.stderr, result)
    return failures


def run_case(options, seed):
    case = generate.generate(seed)
    choice = random.Random(seed)
    refuses = ",".join(choice.sample(OPS, choice.randint(1, 8)))
    target = choice.choice(["picky", "picky-claims"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kind, reason, want = base.outputs(options, case, "ref", folder / "ref")
        if kind != "passed":
            return base.Outcome(case.name, "ref", kind, reason), False
        model, artifact = folder / "ref/model.onnx", folder / "m.bpx"
        result = bp(options, ["compile", model, "-o", artifact, "--target", target], refuses)
        if result.returncode:
            kind = "refused" if base.refusal(result.stderr) else "crashed"
            return base.Outcome(case.name, target, kind, result.stderr.strip()), False
        out = folder / "out"
        inputs = [word for i, key in enumerate(case.inputs)
                  for word in ("--input", f"{key}={folder / 'ref' / f'{i}.npy'}")]
        result = bp(options, ["run", artifact, "--device", "ref", "--output-dir", out,
                              "--threads", 1 + seed % 2, *inputs])
        if result.returncode:
            return base.Outcome(case.name, target, "crashed",
                                f"{refuses}: {result.stderr.strip()}"), False
        split = "+" in bp(options, ["inspect", artifact]).stdout.split("variant ")[1].split(":")[0]
        for key, value in want.items():
            got = numpy.load(out / f"{key.replace('/', '_').replace(':', '_')}.npy")
            problem = base.difference(got, value, case.terms)
            if problem:
                kind, reason = "WRONG", f"refuses {refuses}: {key}: {problem}"
    return base.Outcome(case.name, target, kind, reason), split


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--picky",
                        default=str(ROOT / "build/lib/backplane/split/picky.bp.json"))
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="ten times as many")
    options = parser.parse_args()
    os.environ.setdefault("BACKPLANE_CACHE_DIR", "-")
    with tempfile.TemporaryDirectory() as name:
        failed = explained(options, pathlib.Path(name))
    passed, skipped, split = 0, 0, 0
    seeds = range(options.first, options.first + options.count * (10 if options.all else 1))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome, was_split in pool.map(lambda seed: run_case(options, seed), seeds):
            base.report(outcome)
            passed += outcome.kind == "passed"
            skipped += outcome.kind == "refused"
            failed += outcome.kind in ("WRONG", "crashed")
            split += was_split
    if split < passed // 4:
        print(f"FAILED only {split} of {passed} models were split")
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
