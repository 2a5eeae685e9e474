#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the `bp` tool as a user meets it: results, messages, exit codes.

Broken inputs must give one clear line and exit code 1, in the release build and
under the sanitisers (build-asan, when it is there).
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import checks
import kernels
import models
import sizes

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
OWN = checks.OWN_TARGETS[-1]


class Tool:
    """One build of bp, with a cache folder of its own."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = pathlib.Path(folder)
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR=str(self.folder / "cache"))

    def run(self, *arguments, **environment):
        return subprocess.run([self.binary, *map(str, arguments)], text=True,
                              capture_output=True, timeout=300, check=False,
                              cwd=self.folder, env={**self.environment, **environment})

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


class Suite(checks.Checks):
    def refused(self, name, result):
        """One line on standard error, exit code 1, no crash."""
        lines = result.stderr.strip().splitlines()
        self.check(name, result.returncode == 1 and len(lines) == 1
                   and lines[0].startswith("bp: ") and len(lines[0]) > 12,
                   f"exit {result.returncode}: {result.stderr}")


def control_flow(suite, tool):
    """A model whose data choose what runs: on each device, and what is shown of it."""
    model = tool.file("control.onnx", models.with_control().SerializeToString())
    for device in ("host", "ref"):
        for sign in (1, -1):
            x = sign * numpy.arange(1, 13, dtype="f4").reshape(3, 4)
            numpy.save(tool.folder / "cx.npy", x)
            numpy.save(tool.folder / "cy.npy", numpy.cumsum(abs(x), axis=0))
            run = tool.run("run", model, "--device", device, "--input", "x=cx.npy",
                           "--expect", "y=cy.npy")
            suite.check(f"control flow on {device}", run.returncode == 0
                        and "match y" in run.stdout, run.stdout + run.stderr)
    tool.run("compile", model, "-o", "control.bpx")
    shown = tool.run("inspect", "control.bpx").stdout
    for part in ("if, region 0, 1: If node '/choice'", "repeat n times, carries 1, region 2",
                 "region 0: If node '/choice', then", "region 2: Scan node '/sums', body, "
                 "counts in i"):
        suite.check("inspect shows regions", part in shown, shown)
    explained = tool.run("explain", "control.bpx").stdout
    suite.check("explain names regions", "in Scan node '/sums', body: " in explained, explained)


def repeats(suite, tool):
    """Layers that repeat are shown once, and what costs most first."""
    tool.run("compile", tool.file("layers.onnx", models.layers(7).SerializeToString()), "-o",
             "layers.bpx")
    shown = tool.run("inspect", "layers.bpx").stdout
    suite.check("inspect folds layers", "7 × 2 commands" in shown
                and shown.count("entry matmul") == 1 and "/layer.6/" not in shown, shown)
    costs = shown.split("most multiplications and additions\n")[-1]
    suite.check("inspect puts costs first", costs.startswith("  100 %: 7 × matmul_0: MatMul"), shown)
    explained = tool.run("explain", "layers.bpx").stdout
    suite.check("explain says each reason once", "  7 × matmul (" in explained
                and "/layer.5/" not in explained, explained)


def per_dispatch(suite, tool, model):
    """What `bp bench --per-dispatch` says of a product, and where it cannot."""
    bench = ["bench", model, "--per-dispatch", "--threads", "1", "--seconds", "0.05", "--dim", "n=8"]
    run = tool.run(*bench, "--json")
    suite.check("bench per dispatch", run.returncode == 0, run.stdout + run.stderr)
    if run.returncode:
        return
    found = json.loads(run.stdout)["per_dispatch"]
    product = next((row for row in found["kernels"] if row["gflops"]), {})
    suite.check("work of a product of 8 x 4 and 4 x 3", product
                and abs(product["gflops"] * product["ms"] * 1e6 - 2 * 8 * 4 * 3) < 1
                and product["device"] == "host://cpu" and product["of_roof"] > 0, found)
    total = sum(row["ms"] for row in found["kernels"]) + found["gaps_ms"]
    suite.check("kernels and gaps make the call", found["calls"] >= 5
                and 0.5 < total / found["ms"] < 1.5 and found["roof"]["gflops"] > 0, found)
    shown = tool.run(*bench).stdout
    suite.check("bench per dispatch as a table", "gaps between dispatches" in shown
                and "roof of host://cpu, measured now with 1 threads" in shown, shown)
    refused = tool.run(*bench, "--device", "ref")
    suite.refused("times per dispatch of a device without timestamps", refused)
    suite.check("what the device lacks", "ref://interpreter has no table backplane.timestamps"
                in refused.stderr, refused.stderr)


def commands(suite, tool):
    """What each command prints, with good and bad arguments."""
    model = tool.file("good.onnx", models.good().SerializeToString())
    x = numpy.random.default_rng(1).standard_normal((5, 4)).astype("f4")
    numpy.save(tool.folder / "x.npy", x)
    proto = models.good()
    w, b = (models.numpy_helper.to_array(t) for t in proto.graph.initializer)
    numpy.save(tool.folder / "y.npy", numpy.maximum(x @ w + b, 0))
    numpy.save(tool.folder / "bad.npy", numpy.maximum(x @ w + b, 0) + 1)
    for device in ("host", "ref"):
        run = tool.run("run", model, "--device", device, "--input", "x=x.npy",
                       "--expect", "y=y.npy", "--output-dir", f"out_{device}")
        suite.check(f"run on {device}", run.returncode == 0 and "match y" in run.stdout,
                    run.stdout + run.stderr)
        suite.check(f"output file on {device}",
                    (tool.folder / f"out_{device}" / "y.npy").exists()
                    and numpy.allclose(numpy.load(tool.folder / f"out_{device}/y.npy"),
                                       numpy.maximum(x @ w + b, 0), 1e-5, 1e-6))
        run = tool.run("run", model, "--device", device, "--input", "x=x.npy",
                       "--expect", "y=bad.npy")
        suite.check(f"mismatch on {device}", run.returncode == 1
                    and "MISMATCH y" in run.stdout and "worst at [" in run.stdout, run.stdout)
    run = tool.run("compile", model, "-o", "good.bpx", "--target", ",".join([*checks.OWN_TARGETS, "ref"]))
    suite.check("compile three variants", run.returncode == 0, run.stderr)
    run = tool.run("run", "good.bpx", "--input", "x=x.npy", "--expect", "y=y.npy")
    suite.check("run the artifact", run.returncode == 0, run.stdout + run.stderr)
    run = tool.run("run", "good.bpx", "--device", "ref", "--input", "x=x.npy",
                   "--expect", "y=y.npy")
    suite.check("run its other variant", run.returncode == 0, run.stdout + run.stderr)
    least = checks.OWN_TARGETS[-1]
    for command in (["run", "--random-inputs", "1", "--why"], ["bench", "--seconds", "0.01"]):
        run = tool.run(*command, model, "--variant", least)
        suite.check(f"{command[0]} compiles for a variant", run.returncode == 0,
                    run.stdout + run.stderr)
    run = tool.run("bench", model, "--json", "--threads", "1", "--seconds", "0.05")
    suite.check("bench keys", run.returncode == 0 and set(json.loads(run.stdout)) == {
        "min_ms", "median_ms", "compile_cold_ms", "compile_cached_ms", "peak_rss_mb",
        "dispatches"}, run.stdout + run.stderr)
    per_dispatch(suite, tool, model)
    for command in ("inspect", "explain"):
        run = tool.run(command, "good.bpx")
        suite.check(command, run.returncode == 0 and checks.OWN_TARGETS[0] in run.stdout, run.stdout)


def has_vulkan(suite, tool):
    """Whether the backend is built; counts as skipped when not."""
    plugin = "backplane/plugins/vulkan.bp.json"
    built = (pathlib.Path(tool.binary).parent.parent / "lib" / plugin).exists()
    suite.skipped += not built
    return built


def laziness(suite, tool):
    """Drivers whose devices nobody asks for do not look for any."""
    def vulkan(*arguments):
        run = tool.run(*arguments, LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(tool.folder / "ld"))
        asked = False
        for log in tool.folder.glob("ld.*"):
            asked |= "find library=libvulkan.so" in log.read_text(errors="replace")
            log.unlink()
        suite.check(f"{arguments[0]} under LD_DEBUG", run.returncode == 0, run.stderr[-500:])
        return asked
    if not has_vulkan(suite, tool):
        return
    suite.check("devices asks for Vulkan", vulkan("devices"))
    for file in ("good.bpx", "good.onnx"):
        for device in ("host", "ref,host"):
            suite.check(f"{file} on {device} does without Vulkan", not vulkan(
                "run", file, "--device", device, "--input", "x=x.npy"))


def with_plugin(suite, tool, name, without=None):
    """The environment with a plug-in for tests beside those of the build, but for one; none, and a
    test is skipped, where it is not built."""
    build = pathlib.Path(tool.binary).parent.parent / "lib/backplane"
    own = build / name / f"{name}.bp.json"
    if not own.exists():
        suite.skipped += 1
        return None
    files = [file for file in build.glob("plugins/*.bp.json") if file.name != f"{without}.bp.json"]
    return {"BACKPLANE_PLUGIN_FILES": ":".join(map(str, [*files, own]))}


def lost(suite, tool):
    """A device whose cable is pulled: before it is opened, and between two calls."""
    plugins = with_plugin(suite, tool, "frail", without="ref")
    if not plugins:
        return
    made = tool.run("compile", "good.onnx", "-o", "frail.bpx", "--target",
                    f"ref,{checks.OWN_TARGETS[-1]}", **plugins)
    suite.check("compile for a device that gets lost", made.returncode == 0, made.stderr)
    out = tool.folder / "kept"

    def run(device, when, *more):
        return tool.run("run", "frail.bpx", "--device", device, "--input", "x=x.npy", "--repeat",
                        "4", "--output-dir", "kept", "--why", *more, **plugins, BP_FRAIL=when)
    whole = run("ref", "")
    suite.check("the device works", whole.returncode == 0, whole.stderr)
    kept = {file.name: file.read_bytes() for file in out.iterdir()}
    for when in ("0", "2", "3"):
        for device in ("ref", "ref,host", "worker:local/ref"):
            result = run(device, when)
            what = f"{device} is lost after {when} calls"
            suite.refused(what, result)
            suite.check(f"{what}: which, why, what to do", all(part in result.stderr for part in (
                "device ref://interpreter was lost: ", "somebody pulled the cable",
                "make a new session")), result.stderr)
            suite.check(f"{what}: the outputs are those of before",
                        kept == {file.name: file.read_bytes() for file in out.iterdir()}, kept)
    for path in list(out.iterdir()):
        path.unlink()
    suite.refused("lost with an empty folder", run("ref", "3"))
    suite.check("no output of a run that failed", not list(out.iterdir()), list(out.iterdir()))
    traced = run("ref", "2", "--trace", "lost.json")
    suite.refused("lost under a trace", traced)
    events = json.loads((tool.folder / "lost.json").read_text(encoding="utf-8"))["traceEvents"]
    calls = [event for event in events if event.get("name") == "call"]
    suite.check("the timeline ends with the call that failed", 0 < len(calls) < 4, calls)
    suite.refused("a device that cannot be opened", run("ref", "open"))
    stuck = run("ref", "hang", "--timeout", "1.5")
    suite.refused("work that is never done", stuck)
    suite.check("which call of what was in flight", "call 1 of 4 of 'frail.bpx' on device 'ref' did "
                "not complete within 1.5 s" in stuck.stderr, stuck.stderr)
    bench = ["bench", "frail.bpx", "--device", "ref", "--seconds", "0.01"]
    emulated = tool.run(*bench, **plugins, BP_FRAIL="emulated")
    suite.refused("no times of an emulated device", emulated)
    suite.check("why there are none", "ref://interpreter is emulated" in emulated.stderr,
                emulated.stderr)
    suite.check("times all the same", tool.run(
        *bench, "--emulated", **plugins, BP_FRAIL="emulated").returncode == 0)
    suite.check("times of the real one", tool.run(*bench, **plugins).returncode == 0)
    listed = run("ref,host", "open")
    suite.check("the next of a list when it cannot be opened", listed.returncode == 0
                and f"chosen: variant {checks.OWN_TARGETS[-1]} on host://cpu" in listed.stdout
                and "the cable is not there" in listed.stdout, listed.stdout + listed.stderr)


def described(suite, tool):
    """A target with a condition, a toolchain and pipelines for several hosts."""
    plugins = with_plugin(suite, tool, "described")
    if not plugins:
        return
    listed = tool.run("devices", "--why", **plugins).stdout
    met = r"needs 'cache_bytes\.2>=1099511627776' \(the device (has \d+|does not report it)\)"
    for line in (r"target described: plug-in described, toolchain acme-cc 3\.2",
                 rf"target described\+huge: plug-in described, toolchain acme-cc 3\.2, {met}"):
        suite.check(f"devices lists {line}", re.search(rf"^  {line}$", listed, re.M), listed)
    rows = json.loads(tool.run("devices", "--json", **plugins).stdout)
    suite.check("toolchains in JSON", {"acme-cc 3.2"} == {
        target["toolchain"] for row in rows for target in row["targets"]
        if target["plugin"] == "described"}, rows)
    made = tool.run("compile", "good.onnx", "-o", "described.bpx", "--target",
                    "described,described+huge", **plugins)
    suite.check("compile for described targets", made.returncode == 0, made.stderr)
    ran = tool.run("run", "described.bpx", "--device", "host", "--input", "x=x.npy", "--expect",
                   "y=y.npy", "--why", **plugins)
    suite.check("a condition that is not met", ran.returncode == 0
                and "chosen: variant described on host://cpu" in ran.stdout
                and re.search(rf"^passed over: described\+huge on host://cpu {met}$", ran.stdout,
                              re.M), ran.stdout + ran.stderr)
    reasons = tool.run("explain", "described.bpx", **plugins).stdout
    suite.check("which pipeline, and why no other", re.search(
        "target described, stage tile: pipeline 3 of 3; pipeline 1: 'bp-contract-next' .*; "
        "pipeline 2: .*lanes", reasons), reasons)


def passes(suite, tool):
    """What pipelines may name."""
    one = tool.run("passes", "bp-contract").stdout
    for line in ("bp-contract: .*", "  stage    tile", "  promise  stable", "  needs    .+",
                 "  gives    .+", r"  option   vector-bits \(unsigned, default 256\): .+"):
        suite.check(f"passes shows {line}", re.search(rf"^{line}$", one, re.M), one)
    rows = json.loads(tool.run("passes", "--stage", "device", "--json").stdout)
    suite.check("passes of a stage", {"device"} == {row["stage"] for row in rows}, rows)
    suite.check("options in JSON", {"vector-bits", "scalable", "compare-maxima", "permute"} == {
        option["name"] for row in rows if row["name"] == "bp-vectorize"
        for option in row["options"]}, rows)
    both = json.loads(tool.run("passes", "--json").stdout)
    suite.check("both promises", {"stable", "may change"} == {row["promise"] for row in both})
    for wrong, message in (
            (["--stage", "tiles"], "bp: there is no stage 'tiles' (did you mean 'tile'?)"),
            (["bp-contrakt"],
             "bp: there is no pass 'bp-contrakt' (did you mean 'bp-contract'?)")):
        said = tool.run("passes", *wrong)
        suite.check(f"passes {wrong}", said.returncode == 1 and said.stderr.strip() == message,
                    said.stderr)


def vendor_passes(suite, tool):
    """C++ passes of a plug-in: listed, run, and alone when they crash."""
    plugins = with_plugin(suite, tool, "toy")
    if not plugins:
        return
    listed = tool.run("passes", "toy-note", **plugins).stdout
    suite.check("passes lists one of a plug-in", re.fullmatch(
        r"toy-note: Notes a number\n  stage    lower\n  promise  none\n"
        r"  origin   toy 0\.1\.0, /.*/libtoy-passes\.so for LLVM \S+\n", listed), listed)
    rows = json.loads(tool.run("passes", "--stage", "lower", "--json", **plugins).stdout)
    suite.check("passes of plug-ins in JSON", any(
        row["name"] == "toy-crash" and row["origin"].startswith("toy 0.1.0") for row in rows), rows)

    def compiled(target):
        return tool.run("compile", "good.onnx", "-o", "toy.bpx", "--target", target, **plugins)
    suite.check("a pass runs", compiled("toy").returncode == 0)
    reasons = tool.run("explain", "toy.bpx", **plugins).stdout
    suite.check("and is told", "target toy, stage lower: runs pass toy-note of toy 0.1.0" in reasons,
                reasons)
    ran = tool.run("run", "toy.bpx", "--device", "host", "--input", "x=x.npy", "--expect",
                   "y=y.npy", **plugins)
    suite.check("the model is right", ran.returncode == 0, ran.stdout + ran.stderr)
    for target in ("toy+crash", "toy+program-crash"):
        crashed = compiled(target)
        suite.refused(f"{target} in one line", crashed)
        suite.check(f"{target} names the pass", "toy: pass 'toy-crash' ended with signal 11 (Segm"
                    in crashed.stderr, crashed.stderr)
    misspelt = compiled("toy+misspelt")
    suite.check("a pass that the manifest has not", "'toy-nota' is no published pass, nor one of its "
                "manifest; did you mean 'toy-note'?" in misspelt.stderr, misspelt.stderr)


def sized_targets(suite, tool):
    """A target that is compiled for each set of sizes, once."""
    plugins = with_plugin(suite, tool, "toy")
    if not plugins:
        return
    tool.file("squares.onnx", models.squares().SerializeToString())
    made = tool.run("compile", "squares.onnx", "-o", "squares.bpx", "--target", "toy+sizes", **plugins)
    suite.check("a target of sizes compiles", made.returncode == 0, made.stderr)
    kept = tool.folder / "cache/artifacts"

    def run(size, *more):
        before = len(list(kept.glob("*.bpx")))
        ran = tool.run("run", "squares.bpx", "--random-inputs", "1", "--dim", f"n={size}", *more, **plugins)
        return ran, len(list(kept.glob("*.bpx"))) - before
    plain, new = run(5, "--output-dir", "sizes-5")
    suite.check("without the JIT any sizes run", plain.returncode == 0 and new == 0, plain.stderr)
    for size, expected in ((5, 1), (5, 0), (9, 1)):
        ran, new = run(size, "--jit", "--why")
        suite.check(f"size {size} is compiled {expected} times", ran.returncode == 0
                    and new == expected and "target toy+sizes is compiled for each set of sizes"
                    in ran.stdout, f"{new} new\n{ran.stdout}{ran.stderr}")
    ran, _ = run(5, "--jit", "--expect", "y=sizes-5/y.npy")
    suite.check("both give the same", ran.returncode == 0, ran.stdout + ran.stderr)
    lost, _ = run(7, "--jit", "--max-time", "0.01")
    suite.check("any sizes run when they are not compiled", lost.returncode == 0
                and "target toy+sizes is not compiled for n=7, code for any sizes runs: "
                in lost.stderr, lost.stdout + lost.stderr)


def unplugged(suite, tool):
    """A machine whose Vulkan driver was removed."""
    if not has_vulkan(suite, tool):
        return

    def run(file, device):
        return tool.run("run", file, "--device", device, "--input", "x=x.npy", "--expect",
                        "y=y.npy", "--why", VK_DRIVER_FILES="/nonexistent")
    made = tool.run("compile", "good.onnx", "-o", "both.bpx", "--target", f"vulkan,{OWN}")
    suite.check("compile for Vulkan without a driver", made.returncode == 0, made.stderr)
    for file in ("both.bpx", "good.onnx"):
        alone, joined, listed = (run(file, device) for device in (
            "vulkan", "vulkan+host", "vulkan,host"))
        for result in (alone, joined):
            suite.refused(f"{file} without a driver of Vulkan", result)
            suite.check(f"{file}: why there is no device",
                        "mesa-vulkan-drivers" in result.stderr, result.stderr)
        suite.check(f"{file} goes on with the host", listed.returncode == 0
                    and "on host://cpu" in listed.stdout, listed.stdout + listed.stderr)
    listed = run("both.bpx", "vulkan,host")
    suite.check("--why says what Vulkan lacks", "mesa-vulkan-drivers" in listed.stdout,
                listed.stdout)


def subgroups(suite, tool):
    """The variant for subgroups where the device has them, and the same numbers without.

    Mesa's cache on disk does not tell widths of vectors apart.
    """
    if not has_vulkan(suite, tool) or "llvmpipe" not in tool.run("devices").stdout:
        suite.skipped += 1
        return
    model = tool.file("sums.onnx", models.sums().SerializeToString())
    x = numpy.random.default_rng(2).standard_normal((3, 5001)).astype("f4")
    numpy.save(tool.folder / "sx.npy", x)
    numpy.save(tool.folder / "sy.npy", x.mean(axis=1, dtype="f8").astype("f4"))
    made = tool.run("compile", model, "-o", "sums.bpx", "--no-fallback", "--target",
                    "vulkan,vulkan+subgroups")
    suite.check("compile with and without subgroups", made.returncode == 0, made.stderr)
    passed = {128: ("vulkan", "vulkan+subgroups", "needs 'subgroup_size>=8' \\(the device has 4\\)"),
              256: ("vulkan+subgroups", "vulkan", "has rank 10, not the highest")}
    found = []
    for width, (chosen, other, reason) in passed.items():
        ran = tool.run("run", "sums.bpx", "--device", "vulkan", "--why", "--input", "x=sx.npy",
                       "--expect", "y=sy.npy", "--output-dir", f"sums{width}",
                       LP_NATIVE_VECTOR_WIDTH=str(width), MESA_SHADER_CACHE_DISABLE="true")
        suite.check(f"sums in subgroups of {width // 32}", ran.returncode == 0
                    and f"chosen: variant {chosen} on vulkan://" in ran.stdout
                    and re.search(rf"^passed over: {re.escape(other)} on .* {reason}$",
                                  ran.stdout, re.M), ran.stdout + ran.stderr)
        path = tool.folder / f"sums{width}" / "y.npy"
        found.append(path.read_bytes() if path.exists() else width)
    suite.check("subgroups of any size give the same bits", found[0] == found[1])
    rows(suite, tool)


def rows(suite, tool):
    """A cluster of a subgroup for each of many rows, which is for those who ask for it."""
    model = tool.file("rows.onnx", models.sums(101, 333).SerializeToString())
    x = numpy.random.default_rng(3).standard_normal((101, 333)).astype("f4")
    numpy.save(tool.folder / "rx.npy", x)
    numpy.save(tool.folder / "ry.npy", x.mean(axis=1, dtype="f8").astype("f4"))
    for targets, chosen in (("vulkan+rows", "vulkan+rows"), ("vulkan,vulkan+rows", "vulkan")):
        made = tool.run("compile", model, "-o", "rows.bpx", "--no-fallback", "--target", targets)
        ran = tool.run("run", "rows.bpx", "--device", "vulkan", "--why", "--input", "x=rx.npy",
                       "--expect", "y=ry.npy", LP_NATIVE_VECTOR_WIDTH="256",
                       MESA_SHADER_CACHE_DISABLE="true")
        suite.check(f"rows by {targets}", made.returncode == 0 and ran.returncode == 0
                    and f"chosen: variant {chosen} on vulkan://" in ran.stdout,
                    made.stderr + ran.stdout + ran.stderr)


def has_target(tool, name):
    """Whether a compiler plug-in of this build has the target."""
    return tool.run("compile", "good.onnx", "-o", "probe.bpx", "--target", name).returncode == 0


def jit(suite, tool):
    """An artifact that fits no device here is compiled from its stored graph."""
    tool.run("run", "control.onnx", "--input", "x=cx.npy", "--output-dir", "out_control")
    files = {"good": ["x=x.npy", "y=y.npy"],
             "control": ["x=cx.npy", "y=cy.npy", "--expect", "last=out_control/last.npy"]}
    for target, device in (("ref", "host"), (checks.FOREIGN_TARGET, "host"), (OWN, "ref")):
        if not has_target(tool, target):
            suite.skipped += 1
            continue
        for model, (inputs, *expected) in files.items():
            what = f"{model} for {target} on {device}"
            make = ["compile", f"{model}.onnx", "-o", "far.bpx", "--no-fallback", "--target",
                    target]
            run = ["run", "far.bpx", "--device", device, "--why", "--input", inputs, "--expect",
                   *expected]
            tool.run(*make)
            refused = tool.run(*run, "--jit")
            suite.refused(f"{what}: no graph", refused)
            suite.check(f"{what}: says that there is no graph", f"JIT for {device}://"
                        in refused.stderr and "--embed-graph" in refused.stderr, refused.stderr)
            tool.run(*make, "--embed-graph")
            suite.refused(f"{what}: without --jit", tool.run(*run))
            for source in ("now", "from the cache", "without a cache"):
                cache = {"BACKPLANE_CACHE_DIR": "-"} if source == "without a cache" else {}
                made = tool.run(*run, "--jit", **cache)
                suite.check(f"{what}: compiled {source}", made.returncode == 0
                            and "match y" in made.stdout
                            and f" on {device}://" in made.stdout.split("chosen: ")[1]
                            and "compiled at load from the stored graph" in made.stdout
                            and f"passed over: {target} on {device}://" in made.stdout,
                            made.stdout + made.stderr)


FAT = "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve", "vulkan"


def weights_once(suite, tool, what, weights, options):
    """Compiles heavy.onnx; the size of an artifact that holds each weight once, in some order."""
    made = tool.run("compile", "heavy.onnx", "-o", "heavy.bpx", *options)
    suite.check(f"compile for {what}", made.returncode == 0, made.stderr)
    data = (tool.folder / "heavy.bpx").read_bytes()
    for weight in weights:
        rows, columns = weight.shape
        blocks = weight.reshape(rows, columns // 16, 16).transpose(1, 0, 2)
        times = sum(data.count(order.tobytes()[:4096]) for order in (weight, blocks))
        suite.check(f"{what} holds a weight once", times == 1, times)
    shown = tool.run("inspect", "heavy.bpx").stdout
    total = sum(weight.nbytes for weight in weights)
    suite.check(f"{what} has a pool of {len(weights)} weights", re.search(
        rf"^weights: {len(weights)} with {total} bytes", shown, re.M), shown)
    suite.check(f"{what} has its variants", shown.count("variant ") == what.count(",") + 1, shown)
    return len(data)


def fat(suite, tool):
    """One artifact for many targets, or with its graph, holds the weights once."""
    model, weights = models.heavy()
    tool.file("heavy.onnx", model.SerializeToString())
    total = sum(weight.nbytes for weight in weights)
    targets = [target for target in FAT if has_target(tool, target)]
    suite.skipped += len(FAT) - len(targets)
    all_of = ",".join(targets)
    sizes = {name: weights_once(suite, tool, name, weights, ["--target", name])
             for name in (*targets, ",".join(targets[:2]), all_of)}
    x = numpy.random.default_rng(8).standard_normal((9, 512)).astype("f4")
    numpy.save(tool.folder / "heavy_x.npy", x)
    numpy.save(tool.folder / "heavy_y.npy", numpy.maximum(x @ weights[0], 0) @ weights[1])
    run = tool.run("run", "heavy.bpx", "--input", "x=heavy_x.npy", "--expect", "y=heavy_y.npy",
                   "--rtol", "1e-3", "--atol", "0.05")
    suite.check("an artifact of many targets runs", run.returncode == 0, run.stdout + run.stderr)
    code = sum(sizes[target] - total for target in targets)
    suite.check("all variants cost their code only", sizes[all_of] <= total + code
                and code < total / 2, sizes)
    weights_once(suite, tool, "an artifact with its graph", weights, ["--embed-graph"])


def chain(x, length):
    for i in range(length):
        x = numpy.tanh(x) if i % 2 else numpy.sin(x)
    return x


def arena(tool, artifact):
    """Bytes that `bp inspect` says are planned, -1 when the call decides."""
    match = re.search(r"^ arena (\d+) bytes", tool.run("inspect", artifact).stdout, re.M)
    return int(match.group(1)) if match else -1


def reuse(suite, tool):
    """A result takes the place of an operand that dies, where that is safe."""
    x = numpy.random.default_rng(2).standard_normal((64, 64)).astype("f4")
    numpy.save(tool.folder / "square.npy", x)
    h = chain(x.astype("f8"), 6)
    numpy.save(tool.folder / "chain.npy", chain(x.astype("f8"), 100).astype("f4"))
    numpy.save(tool.folder / "sum.npy", (h.T + h).astype("f4"))
    tool.file("chain.onnx", models.long_chain().SerializeToString())
    tool.file("sum.onnx", models.long_chain(6, True).SerializeToString())
    for device, target in (("host", OWN), ("ref", "ref")):
        for name, shared, least in (("chain", True, 1), ("sum", False, 2)):
            made = tool.run("compile", f"{name}.onnx", "-o", f"{name}.bpx", "--target", target)
            suite.check(f"compile {name} for {target}", made.returncode == 0, made.stderr)
            why = tool.run("explain", f"{name}.bpx").stdout
            suite.check(f"{name} for {target} explains its memory",
                        ("takes the place of operand 0, 16384 bytes" in why) == shared, why)
            planned = arena(tool, f"{name}.bpx")
            suite.check(f"{name} for {target} plans {least} buffers",
                        planned == least * x.nbytes, planned)
            run = tool.run("run", f"{name}.bpx", "--device", device, "--input", "x=square.npy",
                           "--expect", f"y={name}.npy")
            suite.check(f"{name} on {device}", run.returncode == 0, run.stdout + run.stderr)


def bounds(suite, tool):
    """A symbolic dim with a stated range."""
    x = numpy.random.default_rng(4).standard_normal((9, 64)).astype("f4")
    numpy.save(tool.folder / "nine.npy", x)
    numpy.save(tool.folder / "nine_y.npy", chain(x.astype("f8"), 100).astype("f4"))
    model = tool.file("rows.onnx", models.long_chain(rows="n").SerializeToString())
    for device, target in (("host", OWN), ("ref", "ref")):
        for dim, planned in (("1..16", 16 * 256), ("1..8", 8 * 256),
                             ("0..1000000000", -1), ("", -1)):
            flag = ["--dim", f"n={dim}"] if dim else []
            made = tool.run("compile", model, "-o", "rows.bpx", "--target", target, *flag)
            suite.check(f"compile n={dim} for {target}", made.returncode == 0, made.stderr)
            suite.check(f"arena with n={dim} for {target}",
                        arena(tool, "rows.bpx") == planned, arena(tool, "rows.bpx"))
            suite.check(f"explain n={dim} for {target}",
                        ("at the greatest sizes" in tool.run("explain", "rows.bpx").stdout)
                        == (planned > 0))
            run = tool.run("run", "rows.bpx", "--device", device, "--input", "x=nine.npy",
                           "--expect", "y=nine_y.npy")
            if dim == "1..8":
                suite.refused(f"nine rows with n={dim} on {device}", run)
                suite.check("the refusal has the range", "1 to 8" in run.stderr, run.stderr)
            else:
                suite.check(f"nine rows with n={dim} on {device}", run.returncode == 0,
                            run.stdout + run.stderr)
    run = tool.run("compile", model, "-o", "z.bpx", "--dim", "m=1..8")
    suite.refused("range of an unknown dim", run)
    suite.check("unknown dim gets the known ones", "there is n" in run.stderr, run.stderr)
    for bad in ("n", "n=x", "n=8..1", "n=-1..4", "n=a..b", "n=1..", "=1..2", "n=1..2..3"):
        run = tool.run("compile", model, "-o", "z.bpx", "--dim", bad)
        suite.check(f"--dim {bad}", run.returncode == 1 and "MIN..MAX" in run.stderr, run.stderr)


def questions(suite, tool):
    """Devices, help and misspelt names."""
    run = tool.run("devices", "--json")
    devices = json.loads(run.stdout) if run.returncode == 0 else []
    suite.check("devices", {"host", "ref"} <= {row["uri"].split(":")[0] for row in devices
                                               if row["usable"]}, run.stdout + run.stderr)
    suite.check("devices --why", "features:" in tool.run("devices", "--why").stdout)
    suite.check("help", all(word in tool.run("--help").stdout for word in
                            ("devices", "compile", "run", "bench", "inspect", "explain")))
    run = tool.run("run", "good.onnx", "--random-inputs", "1", "--device", "hots")
    suite.refused("unknown device", run)
    suite.check("unknown device gets a suggestion", "'host'" in run.stderr, run.stderr)
    run = tool.run("compile", "good.onnx", "-o", "z.bpx", "--target", "x86-64-v9")
    suite.refused("unknown target", run)
    suite.check("unknown target gets a suggestion", "x86-64-v" in run.stderr.split("v9")[-1],
                run.stderr)
    run = tool.run("run", "good.onnx", "--input", "xx=x.npy")
    suite.refused("unknown input", run)
    suite.check("unknown input gets a suggestion", "'x'" in run.stderr, run.stderr)
    run = tool.run("inspekt", "good.bpx")
    suite.check("unknown command gets a suggestion", run.returncode == 1
                and "'inspect'" in run.stderr, run.stderr)
    suite.refused("no inputs", tool.run("run", "good.onnx"))
    suite.refused("no model", tool.run("run", "absent.onnx", "--random-inputs", "1"))
    suite.refused("a folder", tool.run("run", str(tool.folder), "--random-inputs", "1"))
    numpy.save(tool.folder / "narrow.npy", numpy.zeros((5, 3), "f4"))
    suite.refused("wrong shape", tool.run("run", "good.onnx", "--input", "x=narrow.npy"))
    numpy.save(tool.folder / "double.npy", numpy.zeros((5, 4)))
    suite.refused("wrong dtype", tool.run("run", "good.onnx", "--input", "x=double.npy"))
    tool.file("cut.npy", (tool.folder / "x.npy").read_bytes()[:100])
    suite.refused("cut input file", tool.run("run", "good.onnx", "--input", "x=cut.npy"))
    suite.refused("output into a file", tool.run("run", "good.onnx", "--input", "x=x.npy",
                                                 "--output-dir", "x.npy"))
    suite.refused("output to nowhere", tool.run("compile", "good.onnx", "-o",
                                                "absent/folder/z.bpx"))


def broken(suite, tool, artifact):
    """Broken models, artifacts and manifests."""
    for name, data in models.broken_models(tool.folder).items():
        path = tool.file("broken.onnx", data)
        suite.refused(f"{tool.binary}: {name}",
                      tool.run("run", path, "--random-inputs", "1"))
    for name, data in models.damaged_artifacts(artifact).items():
        path = tool.file("broken.bpx", data)
        suite.refused(f"{tool.binary}: {name}",
                      tool.run("run", path, "--random-inputs", "1"))
    good = tool.file("whole.bpx", artifact)
    for name, text in models.BROKEN_MANIFESTS.items():
        path = tool.file("acme.bp.json", text.encode())
        only = {"BACKPLANE_PLUGIN_FILES": str(path)}
        suite.refused(f"{tool.binary}: {name}",
                      tool.run("run", good, "--random-inputs", "1", **only))
        listed = tool.run("devices", **only)
        suite.check(f"{tool.binary}: {name} is listed", listed.returncode == 0
                    and "acme.bp.json" in tool.run("devices", "--why", **only).stdout,
                    listed.stdout + listed.stderr)
    whole = tool.run("run", good, "--random-inputs", "1")
    suite.check(f"{tool.binary}: the whole artifact runs", whole.returncode == 0,
                whole.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--asan-bp", default=str(ROOT / "build-asan/bin/bp"))
    parser.add_argument("--all", action="store_true", help="accepted, no effect")
    options = parser.parse_args()
    suite = Suite()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.bp, folder)
        commands(suite, tool)
        laziness(suite, tool)
        lost(suite, tool)
        described(suite, tool)
        kernels.check(suite, tool)
        passes(suite, tool)
        vendor_passes(suite, tool)
        sized_targets(suite, tool)
        unplugged(suite, tool)
        subgroups(suite, tool)
        control_flow(suite, tool)
        repeats(suite, tool)
        sizes.check(suite, tool, ("host", "ref", "worker:local/host"))
        jit(suite, tool)
        fat(suite, tool)
        reuse(suite, tool)
        bounds(suite, tool)
        questions(suite, tool)
        path = tool.folder / "good.bpx"
        artifact = path.read_bytes() if path.exists() else b""
        suite.check("an artifact to damage", bool(artifact))
        broken(suite, tool, artifact)
        if os.path.exists(options.asan_bp):
            broken(suite, Tool(options.asan_bp, folder), artifact)
        else:
            suite.skipped += 1
            print(f"skipped: no {options.asan_bp}")
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
