#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives damaged files to the tools, and kills runs at random moments.

Each member is a valid file that was damaged in its structure (hostile.py). A
tool takes it or refuses it with one line and a non-zero exit code: it does not
crash or hang, and no file but the one that was asked for changes. Then runs are
killed at random moments and taken up again. With --all only; the last line is
`N passed, N failed, N skipped`, a test for each kind.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import hostile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 60  # for one member
LONGEST = 2400  # of a line


class Place:
    """A folder with valid files and with what must stay as it is."""

    def __init__(self, folder, build):
        self.folder = folder
        self.tools = build / "bin"
        self.plugins = build / "lib/backplane/plugins"
        self.environment = {**os.environ, "BACKPLANE_CACHE_DIR": "-",
                            "ASAN_OPTIONS": "allocator_may_return_null=1",
                            "BACKPLANE_PLUGINS_SELECT": "host,ref,x86,arm"}
        (folder / "kept.txt").write_text("kept", "utf-8")
        self.valid = {}

    def call(self, tool, *arguments, **environment):
        return subprocess.run([str(self.tools / tool), *map(str, arguments)],
                              cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.environment, **environment},
                              timeout=SECONDS, check=False)

    def must(self, tool, *arguments, **environment):
        result = self.call(tool, *arguments, **environment)
        if result.returncode:
            sys.exit(f"{tool}: {result.stderr.decode(errors='replace')}")

    def prepare(self):
        """Valid files of each kind."""
        sys.path.insert(0, str(ROOT / "tools/bp/test"))
        import models  # pylint: disable=import-outside-toplevel
        import numpy  # pylint: disable=import-outside-toplevel
        for name, made in (("good", models.good()), ("simple", models.simple()),
                           ("control", models.with_control())):
            (self.folder / f"{name}.onnx").write_bytes(made.SerializeToString())
        numpy.save(self.folder / "x.npy", numpy.ones((2, 4), "f4"))
        self.must("bp", "compile", "good.onnx", "-o", "good.bpx", "--target", "ref")
        self.must("bp", "bundle", "good.onnx", "--device", "ref", "--random-inputs", "1",
                  "-o", "good.bpb")
        manifest = self.plugins / "ref.bp.json"
        (self.folder / "workers.json").write_text(json.dumps({"workers": {"board": {
            "launcher": ["ssh", "nobody"], "worker": "w", "timeout": 3}}}), "utf-8")
        self.valid = {
            "model": [self.folder / f"{name}.onnx" for name in ("good", "simple", "control")],
            "artifact": [self.folder / "good.bpx"], "array": [self.folder / "x.npy"],
            "bundle": [self.folder / "good.bpb"], "manifest": [manifest],
            "workers": [self.folder / "workers.json"]}
        self.contents = {path.name: path.read_bytes()
                         for path in self.folder.iterdir() if path.is_file()}


# ---- Members ----

def give(place, kind, data):
    """Damaged bytes to the tools that read their kind."""
    names = {"model": "m.onnx", "artifact": "m.bpx", "array": "m.npy", "bundle": "m.bpb",
             "manifest": "m.bp.json", "workers": "m.json"}
    path = place.folder / names[kind]
    path.write_bytes(data)
    if kind == "model":
        return place.call("bp", "run", path, "--device", "ref", "--random-inputs", "1")
    if kind == "artifact":
        return place.call("bp", "run", path, "--device", "ref", "--random-inputs", "1")
    if kind == "array":
        return place.call("bp", "run", "good.bpx", "--device", "ref", "--input", f"x={path}")
    if kind == "bundle":
        return place.call("bp-worker", "run", path, "-o", "m.bpr")
    if kind == "manifest":
        return place.call("bp", "devices", BACKPLANE_ADD_PLUGIN_FILES=str(path))
    return place.call("bp", "run", "good.bpx", "--device", "worker:other/host",
                      "--random-inputs", "1", BACKPLANE_WORKERS=str(path))


def make(place, kind, rng):
    data = rng.choice(place.valid[kind]).read_bytes()
    if kind == "model":
        return hostile.model(data, rng)
    if kind == "array":
        return hostile.npy(data, rng)
    if kind in ("manifest", "workers"):
        return hostile.json_text(data, rng)
    return hostile.damage(data, rng, data)


def complaint(place, kind, result):
    """What is wrong with how a tool ended; empty when nothing is."""
    errors = result.stderr.decode(errors="replace")
    if result.returncode < 0 or result.returncode > 3 or "Sanitizer" in errors:
        return f"ended with {result.returncode}"
    lines = [line for line in errors.splitlines()
             if line and not line.startswith(("warning: ", "bp: warning: "))]
    if result.returncode and len(lines) != 1 and kind != "bundle":
        return f"{len(lines)} lines of message"
    if any(len(line) > LONGEST for line in lines):
        return "a line that nobody reads"
    if "internal error" in errors or "INTERNAL" in errors:
        return "an internal error"
    for name, data in place.contents.items():
        if (place.folder / name).read_bytes() != data:
            return f"{name} was changed"
    return ""


def run_members(place, kind, count, seed, keep):
    """Prints what goes wrong; gives whether nothing did."""
    wrong = 0
    for number in range(count):
        data = make(place, kind, hostile.generator(f"{seed}/{kind}", number))
        try:
            result = give(place, kind, data)
            text = complaint(place, kind, result)
            errors = result.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            text, errors = f"no end after {SECONDS} s", ""
        if text:
            wrong += 1
            print(f"FAILED {kind} {seed}/{number}: {text}: {errors[-600:].strip()}", flush=True)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{kind}-{seed}-{number}").write_bytes(data)
    print(f"{kind}: {count} members, {wrong} wrong", flush=True)
    return wrong == 0


# ---- Kills ----

def kill_at_random(place, rng, arguments, longest, **environment):
    """Starts a tool in a session of its own, and kills all of it."""
    process = subprocess.Popen([str(place.tools / arguments[0]), *map(str, arguments[1:])],
                               cwd=place.folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**place.environment, **environment})
    time.sleep(rng.uniform(0, longest))
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_kills(place, count, seed):
    """Compiles and suites that are killed leave what the next one can use."""
    rng = random.Random(seed)
    cache, out = place.folder / "cache", place.folder / "out"
    suite = ["bp-conformance", "--device", "ref", "--filter", "L3/ab[a-s]/f32/*", "--out", out]
    for number in range(count):
        kill_at_random(place, rng, ["bp", "run", "good.onnx", "--device", "host",
                                    "--random-inputs", "1"], 0.5,
                       BACKPLANE_CACHE_DIR=str(cache))
        kill_at_random(place, rng, ["bp", "compile", "good.onnx", "-o", "k.bpx"], 0.5)
        kill_at_random(place, rng, suite + (["--resume"] if out.exists() else []), 1.0)
        left = place.folder / "k.bpx"
        if left.exists() and place.call("bp", "inspect", left).returncode:
            print(f"FAILED kill {seed}/{number}: k.bpx is damaged")
            return False
    again = place.call("bp", "run", "good.onnx", "--device", "host", "--random-inputs", "1",
                       BACKPLANE_CACHE_DIR=str(cache))
    finished = place.call(*suite, "--resume")
    good = again.returncode == 0 and finished.returncode in (0, 1)
    if good and finished.returncode == 1:
        good = b"filtered" in finished.stdout or b"no badge" in finished.stdout.lower()
    if not good:
        print("FAILED kills: what they left cannot be used: "
              f"{again.stderr.decode()} {finished.stdout[-800:]} {finished.stderr.decode()}")
    print(f"kills: {3 * count}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="do the work")
    parser.add_argument("--members", type=int, default=60, help="of each kind")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what goes wrong")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    if not options.all:
        print("0 passed, 0 failed, 1 skipped")
        return 0
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        place = Place(folder, options.build.resolve())
        place.prepare()
        kinds = options.kind or sorted(place.valid)
        results = [run_members(place, kind, options.members, options.seed, options.keep)
                   for kind in kinds]
        if options.kills:
            results.append(run_kills(place, options.kills, options.seed))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
