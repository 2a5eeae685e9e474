#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ops of ONNX on each device against numbers that philox.py draws apart
from the SDK, in the first and in later calls of a session, and against what
their distributions ask for."""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.parser

from philox import Draw, inside_loop, philox

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'
N = 4099


def known_answers():
    """The vectors that were published with the generator."""
    zero = [int(word) for word in philox([0] * 4, (0, 0))]
    ones = [int(word) for word in philox([2**32 - 1] * 4, (2**32 - 1,) * 2)]
    assert zero == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], zero
    assert ones == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD], ones


class Runner:
    def __init__(self, options, folder):
        self.bp_path, self.picky = options.bp, options.picky
        self.folder = pathlib.Path(folder)
        self.passed = self.failed = 0

    def check(self, name, good, found=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED {name}: {found}", flush=True)

    def bp(self, *arguments, refuses=""):
        """Runs the tool beside a compiler that refuses some ops (Picky.cpp)."""
        environment = dict(os.environ, BP_PICKY_REFUSES=refuses,
                           BACKPLANE_ADD_PLUGIN_FILES=self.picky if refuses else "")
        result = subprocess.run(list(map(str, [self.bp_path, *arguments])), text=True,
                                capture_output=True, timeout=120, check=False, env=environment)
        if result.returncode:
            raise RuntimeError(f"{arguments}: {result.stderr.strip()[-400:]}")

    def outputs(self, text, device, calls=1, inputs=None, refuses=""):
        """Those of the last of some calls of one session."""
        path = self.folder / "model.onnx"
        onnx.save(onnx.parser.parse_model(HEADER + f"g {text}"), path)
        if refuses:
            self.bp("compile", path, "-o", self.folder / "model.bpx", "--target", "picky",
                    refuses=refuses)
            path = self.folder / "model.bpx"
        command = ["run", path, "--device", device, "--repeat", str(calls),
                   "--output-dir", self.folder / "out"]
        for name, value in (inputs or {}).items():
            numpy.save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        self.bp(*command, refuses=refuses)
        return {path.stem: numpy.load(path) for path in (self.folder / "out").glob("*.npy")}

    def exact(self, name, found, want):
        same = found.shape == want.shape and found.dtype == want.dtype and (found == want).all()
        self.check(name, same, f"{found.reshape(-1)[:4]}, expected {want.reshape(-1)[:4]}")

    def near(self, name, found, want, limit):
        difference = numpy.max(numpy.abs(found.astype("f8") - want), initial=0)
        self.check(name, found.shape == want.shape and difference <= limit, difference)


def uniform(run, device):
    """Every bit, by call; nodes with and without a seed; each dtype."""
    text = f"""() => (float[{N}] a, float[{N}] b, float[3,5] c, double[{N}] d, float16[{N}] e) {{
        a = RandomUniform <shape = [{N}], seed = 1.5> ()
        b = RandomUniform <shape = [{N}]> ()
        c = RandomUniform <shape = [3, 5]> ()
        d = RandomUniform <shape = [{N}], dtype = 11, seed = 7.0> ()
        e = RandomUniform <shape = [{N}], dtype = 10> () }}"""
    for calls in (1, 3):
        found = run.outputs(text, device, calls)
        at = f"call {calls} on {device}"
        wanted = {
            "a": Draw(calls - 1, 1.5).uniform("f4", N).astype("f4"),
            "b": Draw(calls - 1).uniform("f4", N).astype("f4"),
            "c": Draw(calls - 1, number=1).uniform("f4", 15).astype("f4").reshape(3, 5),
            "d": Draw(calls - 1, 7.0).uniform("f8", N),
            "e": Draw(calls - 1, number=2).uniform("f2", N).astype("f2"),
        }
        for name, want in wanted.items():
            run.exact(f"uniform {name}, {at}", found[name], want)


def bounds(run, device):
    text = f"""(float16[{N}] x) => (float[{N}] a, float16[{N}] b, float[{N}] c) {{
        a = RandomUniform <shape = [{N}], low = -3.0, high = 5.0, seed = 1.0> ()
        c = RandomUniform <shape = [{N}], low = -3.0e38, high = 3.0e38, seed = 1.0> ()
        b = RandomUniformLike <low = 2.0, high = 3.0, seed = 2.0> (x) }}"""
    found = run.outputs(text, device, inputs={"x": numpy.zeros(N, "f2")})
    run.near(f"bounds on {device}", found["a"], Draw(0, 1.0).uniform("f4", N) * 8 - 3, 1e-6)
    run.near(f"f16 bounds on {device}", found["b"], Draw(0, 2.0).uniform("f2", N) + 2, 2e-3)
    run.near(f"wide bounds on {device}", found["c"] / 3e38,
             Draw(0, 1.0).uniform("f4", N) * 2 - 1, 1e-6)
    run.check(f"range on {device}", found["a"].min() >= -3 and found["a"].max() <= 5)


def kolmogorov(sample, distribution):
    """How far the sample is from its distribution, times the root of its size;
    more than 1.95 is as likely as 1 in 1000."""
    ordered = distribution(numpy.sort(sample.astype("f8")))
    steps = numpy.arange(len(ordered) + 1) / len(ordered)
    away = max(numpy.max(ordered - steps[:-1]), numpy.max(steps[1:] - ordered))
    return away * math.sqrt(len(ordered))


def normal(run, device):
    count = 200_000
    text = f"""(double[{N}] x) => (float[{count}] a, double[{N}] b, float[{count}] c) {{
        a = RandomNormal <shape = [{count}], seed = 3.0> ()
        b = RandomNormalLike <mean = 10.0, scale = 2.0, seed = 4.0> (x)
        c = RandomUniform <shape = [{count}], seed = 5.0> () }}"""
    found = run.outputs(text, device, inputs={"x": numpy.zeros(N)})
    a = found["a"]
    run.near(f"normal on {device}", a, Draw(0, 3.0).normal("f4", count), 2e-5)
    run.near(f"f64 normal on {device}", found["b"], Draw(0, 4.0).normal("f8", N) * 2 + 10, 1e-9)
    root = math.sqrt(count)
    run.check(f"mean on {device}", abs(a.mean(dtype="f8")) * root < 3.5, a.mean())
    run.check(f"variance on {device}",
              abs(a.var(dtype="f8") - 1) * root / math.sqrt(2) < 3.5, a.var())
    phi = numpy.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
    run.check(f"distribution of normal on {device}", kolmogorov(a, phi) < 1.95,
              kolmogorov(a, phi))
    far = kolmogorov(found["c"], lambda x: x)
    run.check(f"distribution of uniform on {device}", far < 1.95, far)
    halves = numpy.corrcoef(a[::2], a[1::2])[0, 1]
    run.check(f"neighbours on {device}", abs(halves) * math.sqrt(count / 2) < 3.5, halves)


def bernoulli(run, device):
    chance = numpy.linspace(0, 1, N).astype("f4")
    text = f"""(float[{N}] x) => (float[{N}] a, bool[{N}] b) {{
        a = Bernoulli <seed = 1.0> (x)
        b = Bernoulli <dtype = 9> (x) }}"""
    found = run.outputs(text, device, 2, {"x": chance})
    run.exact(f"Bernoulli on {device}", found["a"],
              (Draw(1, 1.0).uniform("f4", N) < chance).astype("f4"))
    run.exact(f"Bernoulli of bool on {device}", found["b"], Draw(1).uniform("f4", N) < chance)


def multinomial(run, device):
    samples = 20_000
    weights = numpy.array([[1, 2, 0, 5], [3, 0, 1, 0]], "f4")
    with numpy.errstate(divide="ignore"):
        x = numpy.log(weights)
    text = f"""(float[2,4] x) => (int64[2,{samples}] y) {{
        y = Multinomial <sample_size = {samples}, dtype = 7, seed = 1.0> (x) }}"""
    found = run.outputs(text, device, inputs={"x": x})["y"]
    for row, own in zip(found, weights):
        parts = own / own.sum()
        met = numpy.bincount(row, minlength=4)
        run.check(f"classes on {device}", not met[own == 0].any() and len(met) == 4, met)
        limit = 3.5 * numpy.sqrt(samples * parts * (1 - parts))
        run.check(f"shares on {device}", (abs(met - samples * parts) <= limit).all(), met)


def dropout(run, device):
    x = numpy.linspace(1, 2, N).astype("f4")
    text = f"""(float[{N}] x, bool t, float r) => (float[{N}] a, bool[{N}] b, float[{N}] c,
                                                   bool[{N}] d) {{
        h = Constant <value_float = 0.25> () yes = Cast <to = 9> (h)
        a, b = Dropout <seed = 5000000001> (x, h, yes)
        c, d = Dropout <seed = -7> (x, r, t) }}"""
    for training, ratio in ((True, 0.25), (False, 0.25), (True, 0.0), (True, 1.0)):
        found = run.outputs(text, device, inputs={
            "x": x, "t": numpy.array(training), "r": numpy.array(ratio, "f4")})
        for y, mask, part, seed in (("a", "b", 0.25, 5_000_000_001),
                                    ("c", "d", ratio if training else 0, -7)):
            kept = Draw(0, seed).uniform("f4", N) >= part
            want = numpy.where(kept, x / (1 - part) if part < 1 else 0, 0)
            run.exact(f"mask of {part} on {device}", found[mask], kept)
            run.near(f"dropout of {part} on {device}", found[y], want, 1e-6)


def nested(run, device):
    """A loop in a loop, whose counter has both iterations in it."""
    text = """(float[3] x) => (float[3] y) {
        n = Constant <value_int = 2> () yes = Constant <value = bool {1}> ()
        y = Loop (n, yes, x) <body = outer (int64 i, bool on, float[3] v)
            => (bool go, float[3] w) {
            go = Identity(on)
            w = Loop (n, yes, v) <body = inner (int64 j, bool still, float[3] a)
                => (bool more, float[3] b) {
                more = Identity(still)
                row = RandomUniformLike <seed = 1.0> (a) b = Max(a, row) }> }> }"""
    found = run.outputs(text, device, 2, {"x": numpy.zeros(3, "f4")})
    rows = [Draw(inside_loop(inside_loop(1, i), j), 1.0).uniform("f4", 3).astype("f4")
            for i in range(2) for j in range(2)]
    run.exact(f"nested loops on {device}", found["y"], numpy.max(rows, axis=0))


def control(run, device):
    """Each iteration draws numbers of its own; branches those of the call."""
    text = """(float[2,3] x, bool c) => (float[2,3] a, float[2,3] b) {
        n = Constant <value_int = 4> () yes = Constant <value = bool {1}> ()
        a, rows = Loop (n, yes, x) <body = body (int64 i, bool on, float[2,3] v)
            => (bool go, float[2,3] next, float[2,3] row) {
            go = Identity(on) row = RandomUniform <shape = [2, 3], seed = 1.0> ()
            next = Add(v, row) }>
        b = If (c) <then_branch = one () => (float[2,3] p) {
                        p = RandomUniform <shape = [2, 3], seed = 1.0> () },
                    else_branch = two () => (float[2,3] q) {
                        q = Neg(x) }> }"""
    for calls in (1, 2):
        found = run.outputs(text, device, calls, {"x": numpy.zeros((2, 3), "f4"),
                                                  "c": numpy.array(True)})
        rows = [Draw(inside_loop(calls - 1, i), 1.0).uniform("f4", 6).reshape(2, 3)
                for i in range(4)]
        run.near(f"loop, call {calls} on {device}", found["a"], sum(rows), 1e-6)
        run.exact(f"branch, call {calls} on {device}", found["b"],
                  Draw(calls - 1, 1.0).uniform("f4", 6).astype("f4").reshape(2, 3))


def split(run, refused):
    """The bits, what uses them or the counter on another device than the rest."""
    text = """(float[3] x) => (float[5] a, float[3] b) {
        n = Constant <value_int = 2> () yes = Constant <value = bool {1}> ()
        a = RandomUniform <shape = [5], seed = 1.0> ()
        b = Loop (n, yes, x) <body = body (int64 i, bool on, float[3] v)
            => (bool go, float[3] next) {
            go = Identity(on) row = RandomUniform <shape = [3], seed = 2.0> ()
            next = Max(v, row) }> }"""
    for calls in (1, 3):
        found = run.outputs(text, "ref+host", calls, {"x": numpy.zeros(3, "f4")}, refused)
        run.exact(f"call {calls} without {refused}", found["a"],
                  Draw(calls - 1, 1.0).uniform("f4", 5).astype("f4"))
        rows = [Draw(inside_loop(calls - 1, i), 2.0).uniform("f4", 3).astype("f4")
                for i in range(2)]
        run.exact(f"loop of call {calls} without {refused}", found["b"], numpy.maximum(*rows))


TESTS = [uniform, bounds, normal, bernoulli, multinomial, dropout, control, nested]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--picky",
                        default=str(ROOT / "build/lib/backplane/split/picky.bp.json"))
    parser.add_argument("--device", action="append",
                        help="default: ref, host, vulkan, worker:local/host")
    parser.add_argument("--only", default="", help="tests with this in their names")
    parser.add_argument("--all", action="store_true", help="no difference")
    options = parser.parse_args()
    known_answers()
    listed = subprocess.run([options.bp, "devices"], text=True, capture_output=True,
                            check=False).stdout
    devices = options.device or [name for name in ("ref", "host", "vulkan")
                                 if re.search(rf"\b{name}\b", listed)] + ["worker:local/host"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BACKPLANE_CACHE_DIR"] = f"{folder}/cache"
        run = Runner(options, folder)
        jobs = [(test, device) for device in devices for test in TESTS]
        jobs += [(split, refused) for refused in ("random_bits", "add", "mul,shl")]
        for test, where in jobs:
            if options.only in test.__name__:
                try:
                    test(run, where)
                except RuntimeError as error:
                    run.check(f"{test.__name__} on {where}", False, error)
    print(f"{run.passed} passed, {run.failed} failed, 0 skipped")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
