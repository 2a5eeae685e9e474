# SPDX-License-Identifier: Apache-2.0
"""Plug-ins for tests: devices that get lost, described targets, passes of a vendor, targets
that are compiled for sizes."""
import json
import re

import checks
import models
from tool import with_plugin


def lost(suite, tool):
    """A device whose cable is pulled: before it is opened, and between two calls."""
    plugins = with_plugin(suite, tool, "frail", without="ref")
    if not plugins:
        return
    made = tool.run("compile", "good.onnx", "-o", "frail.bpx", "--target",
                    f"ref,{checks.OWN_TARGET}", **plugins)
    suite.good("compile for a device that gets lost", made)
    out = tool.folder / "kept"

    def run(device, when, *more):
        return tool.run("run", "frail.bpx", "--device", device, "--input", "x=x.npy", "--repeat",
                        "4", "--output-dir", "kept", "--why", *more, **plugins, BP_FRAIL=when)
    suite.good("the device works", run("ref", ""))
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
    suite.good("times all the same",
               tool.run(*bench, "--emulated", **plugins, BP_FRAIL="emulated"))
    suite.good("times of the real one", tool.run(*bench, **plugins))
    suite.good("the next of a list when it cannot be opened", run("ref,host", "open"),
               f"chosen: variant {checks.OWN_TARGET} on host://cpu", "the cable is not there")


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
    suite.good("compile for described targets", made)
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
    suite.good("a pass runs", compiled("toy"))
    reasons = tool.run("explain", "toy.bpx", **plugins).stdout
    suite.check("and is told", "target toy, stage lower: runs pass toy-note of toy 0.1.0" in reasons,
                reasons)
    suite.good("the model is right", tool.run("run", "toy.bpx", "--device", "host", "--input",
                                              "x=x.npy", "--expect", "y=y.npy", **plugins))
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
    suite.good("a target of sizes compiles", tool.run(
        "compile", "squares.onnx", "-o", "squares.bpx", "--target", "toy+sizes", **plugins))
    kept = tool.folder / "cache/artifacts"

    def run(size, *more):
        before = len(list(kept.glob("*.bpx")))
        ran = tool.run("run", "squares.bpx", "--random-inputs", "1", "--dim", f"n={size}", *more,
                       **plugins)
        return ran, len(list(kept.glob("*.bpx"))) - before
    plain, new = run(5, "--output-dir", "sizes-5")
    suite.check("without the JIT any sizes run", plain.returncode == 0 and new == 0, plain.stderr)
    for size, expected in ((5, 1), (5, 0), (9, 1)):
        ran, new = run(size, "--jit", "--why")
        suite.check(f"size {size} is compiled {expected} times", ran.returncode == 0
                    and new == expected and "target toy+sizes is compiled for each set of sizes"
                    in ran.stdout, f"{new} new\n{ran.stdout}{ran.stderr}")
    suite.good("both give the same", run(5, "--jit", "--expect", "y=sizes-5/y.npy")[0])
    lost, _ = run(7, "--jit", "--max-time", "0.01")
    suite.check("any sizes run when they are not compiled", lost.returncode == 0
                and "target toy+sizes is not compiled for n=7, code for any sizes runs: "
                in lost.stderr, lost.stdout + lost.stderr)


ALL = lost, described, passes, vendor_passes, sized_targets
