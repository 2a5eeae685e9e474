#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives damaged files to the tools, and kills runs at random moments.

Each member is a valid file that was damaged in its structure (hostile.py), or a
command among odd files, caches, plug-ins, variables and machines
(hostile_kinds.py). A tool takes it or refuses it with one line and a non-zero
exit code: it does not crash or hang, runs no planted code, gives no wrong
number, and changes no file but the one that was asked for. Then runs are killed
at random moments, two at a time over one cache, and taken up again. With --all
only; the last line is `N passed, N failed, N skipped`, a test for each kind.
"""
import argparse
import functools
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
import hostile_kinds

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SECONDS = 60  # for one member
LONGEST = 2400  # of a line


class Place:
    """A folder with valid files and with what must stay as it is."""

    def __init__(self, folder, build):
        self.folder = folder
        self.given = folder / "given"  # of one member
        self.mounts = subprocess.run(["unshare", "-rm", "true"], check=False,
                                     capture_output=True).returncode == 0
        self.tools = build / "bin"
        self.plugins = build / "lib/backplane/plugins"
        self.environment = {**os.environ, "BACKPLANE_CACHE_DIR": "-",
                            "ASAN_OPTIONS": "allocator_may_return_null=1",
                            "BACKPLANE_PLUGINS_SELECT": "host,ref,x86,arm"}
        (folder / "kept.txt").write_text("kept", "utf-8")

    def call(self, tool, *arguments, wrap=(), cwd=None, input=b"", **environment):
        return subprocess.run([*map(str, wrap), str(self.tools / tool), *map(str, arguments)],
                              cwd=cwd or self.folder, input=input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.environment, **environment},
                              timeout=SECONDS, check=False)

    def right(self, *arguments, model="good.onnx", whole=False, **keywords):
        """Runs a model whose results are known; with `whole` from any folder. What
        ends well has right numbers."""
        model, x, y = (self.folder / name if whole else name
                       for name in (model, "x.npy", "want.npy"))
        result = self.call("bp", "run", model, "--input", f"x={x}", "--expect", f"y={y}",
                           *arguments, **keywords)
        wrong = b"MISMATCH" in result.stdout or (
            result.returncode == 0 and result.stdout and b"match y" not in result.stdout)
        if wrong:
            result.stderr += b"WRONG NUMBER"
        return result

    def must(self, tool, *arguments, **environment):
        result = self.call(tool, *arguments, **environment)
        if result.returncode:
            sys.exit(f"{tool}: {result.stderr.decode(errors='replace')}")

    def prepare(self):
        """Valid files of each kind."""
        sys.path.insert(0, str(ROOT / "tools/bp/test"))
        import models  # pylint: disable=import-outside-toplevel
        import numpy  # pylint: disable=import-outside-toplevel
        import onnx  # pylint: disable=import-outside-toplevel
        for name, made in (("good", models.good()), ("simple", models.simple()),
                           ("control", models.with_control())):
            (self.folder / f"{name}.onnx").write_bytes(made.SerializeToString())
        x = numpy.ones((2, 4), "f4")
        numpy.save(self.folder / "x.npy", x)
        w, b = (onnx.numpy_helper.to_array(t) for t in models.good().graph.initializer)
        numpy.save(self.folder / "want.npy", numpy.maximum(x @ w + b, 0))
        self.must("bp", "compile", "good.onnx", "-o", "good.bpx", "--target", "ref")
        self.must("bp", "bundle", "good.onnx", "--device", "ref", "--random-inputs", "1",
                  "-o", "good.bpb")
        (self.folder / "workers.json").write_text(json.dumps({"workers": {"board": {
            "launcher": ["ssh", "nobody"], "worker": "w", "timeout": 3}}}), "utf-8")
        hostile_kinds.prepare(self)
        self.contents = self.look()

    def look(self):
        """All files but those of a member, with what a change would change."""
        return {path: (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_mode,
                       path.lstat().st_uid)
                for path in self.folder.rglob("*")
                if not path.is_relative_to(self.given) and not path.is_dir()}

    def clear(self):
        shutil.rmtree(self.given, ignore_errors=True)
        self.given.mkdir()


# ---- Members ----

VALID = {"model": ["good.onnx", "simple.onnx", "control.onnx"], "artifact": ["good.bpx"],
         "array": ["x.npy"], "bundle": ["good.bpb"], "manifest": [], "workers": ["workers.json"]}


def give(kind, place, rng):
    """Damaged bytes to the tools that read their kind."""
    names = {"model": "m.onnx", "artifact": "m.bpx", "array": "m.npy", "bundle": "m.bpb",
             "manifest": "m.bp.json", "workers": "m.json"}
    path = place.given / names[kind]
    path.write_bytes(make(place, kind, rng))
    if kind == "model":
        return place.call("bp", "run", path, "--device", "ref", "--random-inputs", "1")
    if kind == "artifact":
        return place.call("bp", "run", path, "--device", "ref", "--random-inputs", "1")
    if kind == "array":
        return place.call("bp", "run", "good.bpx", "--device", "ref", "--input", f"x={path}")
    if kind == "bundle":
        return place.call("bp-worker", "run", path, "-o", place.given / "m.bpr")
    if kind == "manifest":
        return place.call("bp", "devices", BACKPLANE_ADD_PLUGIN_FILES=str(path))
    return place.call("bp", "run", "good.bpx", "--device", "worker:other/host",
                      "--random-inputs", "1", BACKPLANE_WORKERS=str(path))


def make(place, kind, rng):
    valid = place.plugins / "ref.bp.json" if kind == "manifest" else \
        place.folder / rng.choice(VALID[kind])
    data = valid.read_bytes()
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
    if "WRONG NUMBER" in errors:
        return "a wrong number"
    if result.returncode < 0 or result.returncode > 3 or "Sanitizer" in errors:
        return f"ended with {result.returncode}"
    lines = [line for line in errors.splitlines()
             if line and not line.startswith(("warning: ", "bp: warning: "))]
    fewest = 0 if kind == "frames" else 1  # a worker says it in a frame
    if result.returncode and not fewest <= len(lines) <= 1 and kind != "bundle":
        return f"{len(lines)} lines of message"
    if any(len(line) > LONGEST for line in lines):
        return "a line that nobody reads"
    if "internal error" in errors or "INTERNAL" in errors:
        return "an internal error"
    if (place.given / "mark").exists():
        return "planted code was run"
    before, place.contents = place.contents, place.look()
    for path in sorted(before.keys() | place.contents.keys()):
        if before.get(path) != place.contents.get(path):
            return f"{path.name} was made, changed or removed"
    return ""


MEMBERS = {kind: functools.partial(give, kind) for kind in VALID} | {
    function.__name__: function for function in hostile_kinds.ALL}


def run_members(place, kind, options):
    """Prints what goes wrong; gives whether nothing did."""
    wrong, seed, keep = 0, options.seed, options.keep
    numbers = range(options.first, options.first + options.members)
    for number in numbers:
        rng = hostile.generator(f"{seed}/{kind}", number)
        place.clear()
        try:
            result = MEMBERS[kind](place, rng)
            text = complaint(place, kind, result)
            errors = result.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            text, errors = f"no end after {SECONDS} s", ""
        if text:
            wrong += 1
            print(f"FAILED {kind} {seed}/{number}: {text}: {errors[-600:].strip()}", flush=True)
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(keep / f"{kind}-{seed}-{number}", ignore_errors=True)
                subprocess.run(["cp", "-a", place.given, keep / f"{kind}-{seed}-{number}"],
                               check=False, stderr=subprocess.DEVNULL)
    print(f"{kind}: {len(numbers)} members, {wrong} wrong", flush=True)
    return wrong == 0


# ---- Kills ----

def kill_at_random(place, rng, arguments, longest, copies=1, **environment):
    """Starts a tool, or several at once, each in a session of its own, and kills all
    of them."""
    processes = [subprocess.Popen([str(place.tools / arguments[0]), *map(str, arguments[1:])],
                                  cwd=place.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True,
                                  env={**place.environment, **environment})
                 for _ in range(copies)]
    for process in processes:
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
                                    "--random-inputs", "1"], 0.5, copies=2,
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
    print(f"kills: {4 * count}", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="do the work")
    parser.add_argument("--members", type=int, default=60, help="of each kind")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first member")
    parser.add_argument("--kind", action="append", choices=sorted(MEMBERS))
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
        results = [run_members(place, kind, options)
                   for kind in options.kind or sorted(MEMBERS)]
        if options.kills:
            results.append(run_kills(place, options.kills, options.seed))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
