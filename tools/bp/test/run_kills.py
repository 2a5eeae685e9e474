#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills tools at random moments. Afterwards the same command gives what it gives
undisturbed, files under the names of outputs are whole or absent, nothing else lies
beside them but a whole file that was about to replace one, and no process is left.

Caches are those that earlier kills left, or empty. --moments says how many kills
there are of each command, --seed when they come.
"""
import argparse
import hashlib
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

import numpy

import checks
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
DEPARTURE = 5  # seconds in which children are gone


def has_unnamed(folder):
    """Whether the file system has files without names, of which no kill leaves any."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Command:
    """`arguments` of bp, run in `folder`; `outputs`: files that it writes, which are
    whole or absent at any time. `again`: arguments that go on after a kill; `result`:
    what it came to, told by its folder, which must be equal each time."""

    def __init__(self, name, arguments, outputs=(), again=(), result=lambda folder: None):
        self.name, self.arguments, self.outputs = name, arguments, outputs
        self.again, self.result = [*arguments, *again], result


class Suite(checks.Checks):
    def __init__(self, folder, options):
        super().__init__()
        self.folder, self.options = pathlib.Path(folder), options
        self.random = random.Random(options.seed)
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "BACKPLANE_CACHE_DIR": str(self.cache),
                            "TMPDIR": str(self.folder / "tmp")}
        (self.folder / "tmp").mkdir()

    def start(self, arguments):
        return subprocess.Popen([self.options.bp, *map(str, arguments)], cwd=self.folder,
                                env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finish(self, arguments):
        tool = self.start(arguments)
        output, errors = tool.communicate(timeout=600)
        return tool.returncode, output, errors

    def left(self):
        """Processes that work for this folder."""
        mark = str(self.folder).encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" "))
            except OSError:
                continue  # it is gone, or another user's
        return found

    def departed(self):
        end = time.monotonic() + DEPARTURE
        while self.left() and time.monotonic() < end:
            time.sleep(0.02)
        return self.left()

    def temporaries(self):
        """Temporary files of outputs and of the cache."""
        return list(self.folder.rglob("*.tmp-*")) if has_unnamed(self.folder) else []

    def is_whole(self, path, wanted):
        """Whether a temporary file is one of those that replace a file, which are
        whole: they have their name between the last byte and the renaming."""
        name = str(path.relative_to(self.folder)).rpartition(".tmp-")[0]
        return digest(path) == wanted[name] if name in wanted else (self.folder / name).exists()

    def half_written(self, wanted):
        return [path for path in self.temporaries() if not self.is_whole(path, wanted)]

    def empty(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def whole(self, command):
        """What the command's files are without a kill, and the seconds that it takes
        with an empty cache and with a full one."""
        self.empty()
        seconds = []
        for place in ("an empty", "a full"):
            start = time.monotonic()
            code, output, errors = self.finish(command.arguments)
            self.check(f"{command.name} with {place} cache", code == 0, output + errors)
            seconds.append(time.monotonic() - start)
        self.wanted = command.result(self.folder)
        return {name: digest(self.folder / name) for name in command.outputs}, seconds

    def kill(self, command, seconds):
        """Kills it at some moment; True when it was not faster."""
        tool = self.start(command.arguments)
        time.sleep(self.random.uniform(0, seconds))
        ran_on = tool.poll() is None
        tool.send_signal(self.random.choice(SIGNALS))
        tool.communicate(timeout=600)
        return ran_on

    def killed(self, command):
        wanted, (cold, warm) = self.whole(command)
        kills = 0
        for number in range(self.options.moments):
            is_cold = self.random.random() < 0.7
            if is_cold:
                self.empty()
            if self.random.random() < 0.5:
                for name in command.outputs:
                    (self.folder / name).unlink(missing_ok=True)
            kills += self.kill(command, cold if is_cold else warm)
            self.look(f"{command.name}, kill {number}", command, wanted)
        return kills

    def look(self, name, command, wanted):
        left = self.departed()
        self.check(f"{name}: no process is left", not left, left)
        half = self.half_written(wanted)
        self.check(f"{name}: nothing half-written is left", not half, half)
        for output, expected in wanted.items():
            path = self.folder / output
            self.check(f"{name}: {output} is whole or absent",
                       not path.exists() or digest(path) == expected, path)
        code, output, errors = self.finish(command.again)
        self.check(f"{name}: then it works", code == 0 and not errors, (code, output, errors))
        self.check(f"{name}: then the result is the same",
                   command.result(self.folder) == self.wanted)
        for file, expected in wanted.items():
            self.check(f"{name}: then {file} is right",
                       digest(self.folder / file) == expected)


def statuses(folder):
    """Of the cases of a run of the suite."""
    lines = (folder / "suite/records.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((record["id"], record["status"]) for record in map(json.loads, lines))


def prepare(suite):
    folder = suite.folder
    heavy, (a, b) = models.heavy()
    for name, model in (("heavy", heavy), ("conv", models.convolutions())):
        (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    x = numpy.random.default_rng(1).standard_normal((3, 512)).astype("f4")
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "want.npy", (numpy.maximum(x @ a, 0) @ b).astype("f4"))


def commands():
    given = ["--input", "x=x.npy", "--expect", "y=want.npy", "--rtol", "1e-3", "--atol", "1e-2"]
    run = ["run", "heavy.onnx", *given]
    return [
        Command("run", [*run, "--output-dir", "out"], ["out/y.npy"]),
        Command("run with a limit", [*run, "--max-time", "500"]),
        Command("run convolutions", ["run", "conv.onnx", "--random-inputs", "1", "--dim", "n=2",
                                     "--output-dir", "seen"], ["seen/y.npy"]),
        Command("compile", ["compile", "heavy.onnx", "-o", "h.bpx", "--target",
                            ",".join(checks.OWN_TARGETS)], ["h.bpx"]),
        Command("compile with a limit", ["compile", "conv.onnx", "-o", "c.bpx", "--max-time",
                                         "500"], ["c.bpx"]),
        Command("bundle", ["bundle", "heavy.onnx", "--input", "x=x.npy", "-o", "h.bpb"],
                ["h.bpb"]),
        Command("conformance", ["conformance", "--device", "ref", "--out", "suite",
                                "--filter", "L3/softmax/f*/*", "--filter", "L2/*/memory/*",
                                "--filter", "L3/matmul/f32/n*/*"], again=["--resume"],
                result=statuses),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--moments", type=int, help="kills of each command (5; --all: 60)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("--all", action="store_true", help="many more moments")
    parser.add_argument("--only", action="append", metavar="NAME", help="a command by name")
    options = parser.parse_args()
    options.moments = options.moments or (60 if options.all else 5)
    print(f"moments are drawn from --seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(folder, options)
        prepare(suite)
        for command in commands():
            if not options.only or command.name in options.only:
                kills = suite.killed(command)
                print(f"{command.name}: {kills} of {options.moments} killed at work", flush=True)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
