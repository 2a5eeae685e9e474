#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what a model may take: limits of memory and time, a disk that is full,
no folder for temporary files, too little memory. Each ends in a result or in one
line and exit code 1, and leaves no half-written file."""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import numpy
from onnx import helper, numpy_helper

import checks
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
MIB = 1 << 20


class Tool:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = pathlib.Path(folder)

    def run(self, *arguments, limit=None, prefix=(), **environment):
        """`limit`: what this process itself may take, (resource, bytes)."""
        def restrict():
            if limit:
                resource.setrlimit(limit[0], (limit[1], limit[1]))
        return subprocess.run([*prefix, self.binary, *map(str, arguments)], text=True,
                              capture_output=True, timeout=300, check=False,
                              cwd=self.folder, preexec_fn=restrict,
                              env={**os.environ, "BACKPLANE_CACHE_DIR": "-", **environment})

    def model(self, name, model):
        path = self.folder / name
        path.write_bytes(model.SerializeToString())
        return path


class Suite(checks.Checks):
    def ends_well(self, name, result, folder, word=""):
        """It worked, or says why on one line; nothing half-written is left."""
        lines = result.stderr.strip().splitlines()
        good = result.returncode == 0 or (
            result.returncode == 1 and len(lines) == 1
            and lines[0].startswith("bp: ") and word in lines[0])
        left = [path.name for path in folder.glob("*.tmp-*")]
        self.check(name, good and not left,
                   f"exit {result.returncode}: {result.stderr} left {left}")
        return result.returncode == 0


def different(count):
    """Products of `count` sizes: each needs a kernel of its own."""
    random = numpy.random.default_rng(1)
    sizes = range(8, 9 + count)
    weights = [numpy_helper.from_array(random.standard_normal((a, b)).astype("f4"), f"w{a}")
               for a, b in zip(sizes, sizes[1:])]
    nodes = [helper.make_node("MatMul", [f"h{a}" if a > 8 else "x", f"w{a}"], [f"h{a + 1}"])
             for a in sizes[:-1]]
    return models.model(nodes, [models.tensor_value("x", [8, 8])],
                        [models.tensor_value(f"h{sizes[-1]}", [8, sizes[-1]])], weights)


def limits(suite, tool):
    """What --max-memory and --max-time do."""
    model = tool.model("good.onnx", models.good())
    plain = tool.run("compile", model, "-o", "plain.bpx")
    limited = tool.run("compile", model, "-o", "limited.bpx", "--max-memory", "4G",
                       "--max-time", "200")
    suite.check("the same artifact", plain.returncode == 0 and limited.returncode == 0
                and (tool.folder / "plain.bpx").read_bytes()
                == (tool.folder / "limited.bpx").read_bytes(), plain.stderr + limited.stderr)
    ran = tool.run("run", model, "--random-inputs", "1", "--max-memory", "4G")
    suite.check("runs without a cache", ran.returncode == 0, ran.stderr)
    cache = {"BACKPLANE_CACHE_DIR": str(tool.folder / "cache")}
    for times in ("first", "second"):
        ran = tool.run("run", model, "--random-inputs", "1", "--max-time", "200", **cache)
        suite.check(f"runs a {times} time", ran.returncode == 0, ran.stderr)
    late = tool.run("compile", tool.model("many.onnx", different(400)), "-o", "late.bpx",
                    "--max-time", "0.3")
    suite.check("too late", not suite.ends_well("time", late, tool.folder, "time limit of 0.3 s")
                and not (tool.folder / "late.bpx").exists(), late.stderr)
    for text in ("0", "-1", "lots"):
        bad = tool.run("compile", model, "-o", "x.bpx", "--max-memory", text)
        suite.check(f"--max-memory {text}", bad.returncode == 1 and bad.stderr, bad.stderr)
    outcomes = set()
    for limit in (2048, 400, 200, 100, 60, 40, 20, 10, 4, 1):
        result = tool.run("compile", model, "-o", f"m{limit}.bpx", "--max-memory",
                          f"{limit}M")
        outcomes.add(suite.ends_well(f"{limit} MiB", result, tool.folder,
                                     f"memory limit of {limit * MIB / 1e6:.6g} MB"))
    suite.check("memory decides", outcomes == {True, False}, outcomes)
    for name, data in models.broken_models(tool.folder).items():
        (tool.folder / "broken.onnx").write_bytes(data)
        result = tool.run("compile", "broken.onnx", "-o", "broken.bpx", "--max-time", "100")
        suite.check(f"{name} in a worker", not suite.ends_well(name, result, tool.folder),
                    result.stderr)


def at_load(suite, tool):
    """The same limits for what --jit compiles: a graph without a variant for here."""
    for name, model in (("small", models.good()), ("many", different(400))):
        made = tool.run("compile", tool.model(f"{name}.onnx", model), "-o", f"{name}.bpx",
                        "--target", "aarch64", "--embed-graph")
        suite.check(f"{name} for elsewhere", made.returncode == 0, made.stderr)
    run = ("run", "small.bpx", "--random-inputs", "1", "--jit")
    cache = {"BACKPLANE_CACHE_DIR": str(tool.folder / "cache")}
    for times, environment in (("without a cache", {}), ("first", cache), ("second", cache)):
        ran = tool.run(*run, "--max-memory", "4G", **environment)
        suite.check(f"runs {times}", ran.returncode == 0, ran.stderr)
    short = tool.run(*run, "--max-memory", "4M")
    suite.check("memory", not suite.ends_well("4 MB", short, tool.folder,
                                              "memory limit of 4.1943 MB"), short.stderr)
    late = tool.run("run", "many.bpx", "--random-inputs", "1", "--jit", "--max-time", "0.3")
    suite.check("time", not suite.ends_well("0.3 s", late, tool.folder, "time limit of 0.3 s"),
                late.stderr)


def short_memory(suite, tool):
    """The tool itself under limits of its process, from generous to tiny."""
    model = tool.model("good.onnx", models.good())
    outcomes = set()
    for megabytes in (4000, 1000, 500, 350, 300, 260, 240, 220, 200, 180, 160, 140, 120, 100,
                      80, 60, 50, 40, 35):
        for kind, name in ((resource.RLIMIT_AS, "address space"),
                           (resource.RLIMIT_DATA, "private memory")):
            result = tool.run("compile", model, "-o", "short.bpx", "--target",
                              checks.OWN_TARGET, limit=(kind, megabytes * MIB))
            # Where the program itself cannot be loaded, the loader says so.
            if result.returncode == 127 and "shared libraries" in result.stderr:
                continue
            outcomes.add(suite.ends_well(f"{megabytes} MiB of {name}", result, tool.folder))
    suite.check("memory decides", outcomes == {True, False}, outcomes)


def run_short(suite, tool):
    """Compiling and running where the compiler is loaded and then gets too little, and
    the same with what that left in the cache."""
    big, (up, down) = models.heavy()
    path = tool.model("heavy.onnx", big)
    x = numpy.random.default_rng(1).standard_normal((3, 512)).astype("f4")
    numpy.save(tool.folder / "x.npy", x)
    numpy.save(tool.folder / "y.npy", numpy.maximum(x @ up, 0) @ down)
    run = ("run", path, "--input", "x=x.npy", "--expect", "y=y.npy", "--rtol", "1e-3",
           "--atol", "1e-3", "--output-dir", "out")
    cache = {"BACKPLANE_CACHE_DIR": str(tool.folder / "cache")}
    outcomes = set()
    for megabytes in (1000, 420, 400, 390, 380, 370, 360, 350, 340, 330, 300, 200, 100, 60):
        for place, environment in (("no cache", {}), ("a cache", cache)):
            shutil.rmtree(tool.folder / "cache", ignore_errors=True)
            name = f"run in {megabytes} MiB with {place}"
            short = tool.run(*run, limit=(resource.RLIMIT_AS, megabytes * MIB), **environment)
            outcomes.add(suite.ends_well(name, short, tool.folder))
            suite.check(f"{name}: the model is named once",
                        short.stderr.count("heavy.onnx: ") < 2, short.stderr)
            if place == "a cache":
                after = tool.run(*run, **environment)
                suite.check(f"{name}, and then in plenty", after.returncode == 0
                            and not after.stderr, after.stderr)
    suite.check("memory decides over runs", outcomes == {True, False}, outcomes)
    both = tool.run(*run, "--max-memory", "4G", limit=(resource.RLIMIT_DATA, 1000 * MIB))
    suite.check("a limit above that of the process", both.returncode == 0, both.stderr)


def suite_short(suite, tool):
    """The suite, whose workers are short of memory too: it ends, and starts anew."""
    run = ("conformance", "--device", "ref", "--out", "out", "--filter", "L3/softmax/f32/*")
    verdicts = set()
    for megabytes in (2000, 400, 200, 120, 90, 80, 70, 60, 50, 20):
        short = tool.run(*run, limit=(resource.RLIMIT_AS, megabytes * MIB))
        verdicts.add(short.returncode)
        suite.check(f"the suite in {megabytes} MiB", short.returncode in (0, 1, 2, 127),
                    f"exit {short.returncode}: {short.stderr}")
        left = [str(path) for path in tool.folder.rglob("*.tmp-*")]
        suite.check(f"the suite in {megabytes} MiB leaves nothing", not left, left)
    suite.check("memory decides over the suite", {0, 1} <= verdicts, verdicts)
    after = tool.run(*run)
    suite.check("the suite in plenty", after.returncode == 0, after.stdout + after.stderr)


def can_mount():
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    return probe.returncode == 0 and os.geteuid() == 0


def full_disk(suite, tool):
    """Temporary files, the cache and outputs on a file system of 100 KiB."""
    if not can_mount():
        suite.skipped += 1
        print("skipped: only root mounts a small file system")
        return
    small = tool.folder / "small"
    small.mkdir()
    script = ('mount -t tmpfs -o size=100k none "$0" && "$@"; code=$?; '
              'if ls "$0" | grep -q tmp-; then echo "half-written" >&2; fi; exit $code')
    prefix = ("unshare", "-m", "bash", "-c", script, small)
    model = tool.model("good.onnx", models.good())
    big, _ = models.heavy()
    heavy = tool.model("heavy.onnx", big)
    for name, path in (("small", model), ("large", heavy)):
        for more in ((), ("--max-time", "200")):
            for place, environment in (
                    ("temporary files", {"TMPDIR": str(small)}),
                    ("the cache", {"BACKPLANE_CACHE_DIR": str(small / "cache")}),
                    ("both", {"TMPDIR": str(small),
                              "BACKPLANE_CACHE_DIR": str(small / "cache")})):
                result = tool.run("run", path, "--random-inputs", "1", *more, prefix=prefix,
                                  **environment)
                lines = result.stderr.strip().splitlines()
                good = result.returncode == 0 or (result.returncode == 1 and lines)
                suite.check(f"{name} model, no room for {place} {more}",
                            good and not any("half" in line for line in lines)
                            and all(line.startswith("bp: ") for line in lines), result.stderr)
            result = tool.run("compile", path, "-o", small / "out.bpx", *more, prefix=prefix)
            suite.ends_well(f"{name} model, no room for the output {more}", result, tool.folder,
                            "No space left")


def no_folder(suite, tool):
    """A folder for temporary files that is missing, or is none."""
    model = tool.model("good.onnx", models.good())
    (tool.folder / "file").write_text("")
    for place in ("missing", "file"):
        for more in ((), ("--max-time", "200")):
            result = tool.run("compile", model, "-o", "out.bpx", *more,
                              TMPDIR=str(tool.folder / place))
            suite.check(f"TMPDIR {place} {more}", result.returncode == 0, result.stderr)
            result = tool.run("run", model, "--random-inputs", "1", *more,
                              TMPDIR=str(tool.folder / place))
            suite.ends_well(f"run, TMPDIR {place} {more}", result, tool.folder)


def far_window(strides, image=(4, 4)):
    """y = 4 x, at every stride: all other elements of the window are padding."""
    return models.model(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1 << 30] * 4, strides=strides,
                          dilations=[1 << 30] * 2)],
        [models.tensor_value("x", [1, 1, *image])], [models.tensor_value("y", None)],
        [numpy_helper.from_array(numpy.arange(9, dtype="f4").reshape(1, 1, 3, 3), "w")])


def far_padding(suite, tool):
    """Padding that needs no copy may be of any size."""
    x = numpy.arange(16, dtype="f4").reshape(1, 1, 4, 4)
    numpy.save(tool.folder / "far_x.npy", x)
    for stride in (1, 3):
        path = tool.model("far.onnx", far_window([stride, stride]))
        numpy.save(tool.folder / "far_y.npy", 4 * x[:, :, ::stride, ::stride])
        result = tool.run("run", path, "--input", "x=far_x.npy", "--expect", "y=far_y.npy")
        suite.check(f"padding of 2^30 elements, stride {stride}", result.returncode == 0,
                    result.stdout + result.stderr)


def too_large(suite, tool):
    """What does not fit any device is refused by the name of its op."""
    def constant(name, value, kind="i8"):
        return numpy_helper.from_array(numpy.array(value, kind), name)
    node, value = helper.make_node, models.tensor_value
    huge = 1 << 62
    cases = {
        "expand": models.model([node("Expand", ["x", "s"], ["y"])], [value("x", [1])],
                               [value("y", None)], [constant("s", [huge, 4])]),
        "tile": models.model([node("Tile", ["x", "s"], ["y"])], [value("x", [1 << 20])],
                             [value("y", None)], [constant("s", [1 << 50])]),
        "pad": models.model([node("Pad", ["x", "p"], ["y"])], [value("x", [4, 4])],
                            [value("y", None)], [constant("p", [0, 0, huge, huge])]),
        "conv": models.model([node("Conv", ["x", "w"], ["y"], pads=[1 << 40] * 4)],
                             [value("x", [1, 1, 4, 4])], [value("y", None)],
                             [constant("w", numpy.ones((1, 1, 3, 3)), "f4")]),
        "one_hot": models.model([node("OneHot", ["i", "d", "v"], ["y"])],
                                [value("i", [1 << 20], 7)], [value("y", None)],
                                [constant("d", huge), constant("v", [0, 1], "f4")]),
        "attention": models.model(
            [node("Attention", ["q", "q", "q"], ["y"], q_num_heads=2, kv_num_heads=2)],
            [value("q", [1, 1 << 32, 4])], [value("y", None)], opset=23),
        "workspace": far_window([3, 3], ("h", "w")),
        "pool": models.model(
            [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1 << 30] * 4,
                  strides=[3, 3], dilations=[1 << 30] * 2)],
            [value("x", [1, 1, 4, 4])], [value("y", None)]),
        "range": models.model(
            [node("Range", ["zero", "n", "one"], ["r"]),
             node("ReduceSum", ["r"], ["y"], keepdims=0)], [], [value("y", None, 7)],
            [constant("zero", 0), constant("n", 1 << 31), constant("one", 1)]),
        "weights": models.model([node("Add", ["x", "x"], ["y"])], [value("x", [1 << 40] * 3)],
                                [value("y", None)]),
    }
    for name, model in cases.items():
        path = tool.model(f"{name}.onnx", model)
        result = tool.run("compile", path, "-o", "large.bpx", "--max-memory", "4G",
                          "--max-time", "100")
        refused = not suite.ends_well(f"{name} too large", result, tool.folder)
        suite.check(f"{name} is refused by name", refused and "internal" not in result.stderr
                    and "reader" not in result.stderr, result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    parser.add_argument("--only", action="append", help="a part by name")
    options = parser.parse_args()
    suite = Suite()
    for part in (limits, at_load, short_memory, run_short, suite_short, full_disk, no_folder, far_padding, too_large):
        if options.only and part.__name__ not in options.only:
            continue
        folder = tempfile.mkdtemp()
        try:
            part(suite, Tool(options.bp, folder))
        finally:
            shutil.rmtree(folder)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
