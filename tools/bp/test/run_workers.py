#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of devices behind workers, as a user meets them: models, the suite and
bundles through launchers; and what happens when the plug is pulled.

The launchers are stand-ins that treat their arguments as ssh, docker, mpirun
and srun do. `arm64` runs when its build and qemu are there.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

import numpy

import checks
import models
import worker_failures
from programs import BIN, ROOT, Programs

sys.path.insert(0, str(ROOT / "conformance/split"))
import run_split_tests  # noqa: E402

STANDINS = {
    "ssh": 'shift\nexec sh -c "$*"\n',
    "docker": 'shift 3\nexec "$@"\n',
    "mpirun": 'shift 2\n"$@"\n',
    "srun": 'shift 2\n"$@"\n',
}


class Suite(Programs):
    def __init__(self, folder):
        super().__init__(folder)
        self.environment["BACKPLANE_WORKERS"] = str(self.folder / "workers.json")

    def good(self, name, *arguments, **keywords):
        return super().good(name, *arguments, **keywords).stdout

    def messages(self, result):
        """Without what programs behind the tool say."""
        return [line for line in result.stderr.splitlines()
                if line.startswith(("bp: ", "bp-worker: ", "bp conformance: "))]

    def add_workers(self, workers):
        """To those of the file of workers."""
        path = self.folder / "workers.json"
        known = json.loads(path.read_text(encoding="utf-8"))["workers"] if path.exists() else {}
        path.write_text(json.dumps({"workers": {**known, **workers}}), encoding="utf-8")

    def model_runs(self, device):
        self.good(f"run on {device}", "run", "m.onnx", "--device", device, "--input", "x=x.npy",
                  "--expect", "y=y.npy")


def prepare(suite):
    """A model with inputs and outputs, stand-ins, and workers behind them."""
    folder = suite.folder
    (folder / "m.onnx").write_bytes(models.with_control().SerializeToString())
    x = numpy.arange(1, 13, dtype="f4").reshape(3, 4)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", numpy.cumsum(abs(x), axis=0))
    numpy.save(folder / "z.npy", numpy.cumsum(abs(x), axis=0) + 1)
    odd = folder / "odd $(x) 'name"
    odd.mkdir()
    worker = odd / "bp-worker"
    worker.write_text(f'#!/bin/sh\necho $$ >> "{folder}/pids"\nexec "{BIN}/bp-worker" "$@"\n',
                      encoding="utf-8")
    worker.chmod(0o755)
    workers = {"here": {"worker": str(worker), "timeout": 60}}
    for name, text in STANDINS.items():
        program = folder / name
        program.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        program.chmod(0o755)
        words = {"ssh": ["box"], "docker": ["run", "-i", "image"]}.get(name, ["-n", "1"])
        workers[name] = {"launcher": [str(program), *words], "worker": str(worker)}
    suite.add_workers(workers)


def launchers(suite):
    for name in ("here", "local", *STANDINS):
        suite.model_runs(f"worker:{name}/host://cpu")
    shown = suite.good("devices", "devices", "--worker", "ssh")
    suite.check("devices behind ssh", "worker:ssh/host://cpu" in shown, shown)
    timed = json.loads(suite.good("bench", "bench", "m.onnx", "--device", "worker:here/host",
                                  "--seconds", "0.1", "--json") or "{}")
    suite.check("bench", 0 < timed.get("median_ms", 0) <= timed.get("round_trip_ms", 0), timed)
    suite.good("compare", "compare", "m.onnx", "--a", "worker:here/ref", "--b", "host")
    if checks.WIDE_FEATURE in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        variants(suite, "worker:here/host", *reversed(checks.OWN_TARGETS))
    else:
        suite.skipped += 1


def variants(suite, device, *targets):
    """Each variant of a fat artifact runs when it is asked for by its target."""
    suite.good(f"compile for {targets}", "compile", "m.onnx", "-o", "fat.bpx", "--target",
               ",".join(targets))
    where = f"{device}://cpu"
    taken = []
    for target in (*targets, ""):
        only = ["--variant", target] if target else []
        shown = suite.good(f"variant '{target}' on {device}", "run", "fat.bpx", "--device", device,
                           "--why", "--input", "x=x.npy", "--expect", "y=y.npy", *only)
        here = re.search(r"chosen: variant (\S+) on " + re.escape(where) + ":", shown)
        there = re.search(r"worker '\w+' \(.*\): variant (\S+) on host://cpu: ", shown)
        taken.append(there and there.group(1))
        if target:
            suite.check(f"both sides take '{target}'", here and there
                        and here.group(1) == there.group(1) == target, shown)
    suite.check(f"one of {targets} is the best", taken[-1] in targets, taken)
    suite.refused(f"a variant that is not in the artifact, on {device}", "there is no variant",
                  "run", "fat.bpx", "--device", device, "--variant", "abacus", "--random-inputs",
                  "1")


def fallback(suite):
    """What a worker's device lacks runs on that worker's host."""
    folder, plugins = suite.folder, ROOT / "build/lib/backplane"
    if not (plugins / "split/picky.bp.json").exists():
        suite.skipped += 1
        return
    run_split_tests.small_model(folder / "s.onnx")
    x = numpy.linspace(-1, 1, 80, dtype="f4").reshape(2, 40)
    weight = numpy.linspace(-1, 1, 1600).astype("f4").reshape(40, 40).astype("f8")
    numpy.save(folder / "sx.npy", x)
    numpy.save(folder / "sy.npy", (numpy.exp(x @ weight) @ weight).astype("f4"))
    # Here `picky` is the only target for the device ref; it refuses exp.
    only = [plugins / "plugins/host.bp.json", plugins / f"plugins/{checks.OWN_BACKEND}.bp.json",
            plugins / "split/picky.bp.json"]
    here = {"BP_PICKY_REFUSES": "exp", "BACKPLANE_PLUGIN_FILES": ":".join(map(str, only))}
    ref, both = "worker:ssh/ref", "worker:ssh/ref+worker:ssh/host"
    run = ["run", "s.onnx", "--why", "--input", "x=sx.npy", "--expect", "y=sy.npy", "--device"]
    for device, flags in ((ref, []), (both, []), (both, ["--no-fallback"]),
                          (f"{ref},worker:ssh/host", []), (f"worker:absent/npu,{ref},host", [])):
        shown = suite.good(f"a part on the host of a worker: {device}", *run, device, *flags,
                           environment=here)
        suite.check(f"{device} {flags} is a split",
                    f"chosen: variant picky+{checks.OWN_TARGET[:7]}" in shown
                    and " on worker:ssh/ref://interpreter: " in shown, shown)
    suite.refused("no fallback on a worker", "target picky cannot run", *run, ref,
                  "--no-fallback", environment=here)
    suite.good("compile for a worker with its host", "compile", "s.onnx", "-o", "s.bpx",
               "--for-driver", ref, environment=here)
    run[1] = "s.bpx"
    suite.good("a split artifact on a worker", *run, ref)
    suite.refused("a split artifact on a worker without fallback", "which was not asked for",
                  *run, ref, "--no-fallback")
    suite.refused("a worker and this machine in one variant", "each written as worker:ssh/DEVICE",
                  *run, "worker:ssh/ref+host")
    suite.refused("two devices are not judged", "is several devices", "conformance", "--device",
                  both, "--out", "two")
    suite.add_workers({"hostless": {"worker": str(BIN / "bp-worker"), "launcher": [
        "env", f"BACKPLANE_PLUGIN_FILES={plugins / 'plugins/ref.bp.json'}"]}})
    suite.refused("a worker without a host", "has no device of driver 'host'", *run,
                  "worker:hostless/ref")


def conformance(suite):
    suite.good("conformance", "conformance", "--device", "worker:ssh/host", "--filter",
               "L3/softmax/*", "--filter", "L1/memory/align/*", "--out", "report")
    facts = json.loads((suite.folder / "report/run.json").read_text(encoding="utf-8"))
    suite.check("conformance says where", facts.get("device") == "worker:ssh/host", facts)


def bundles(suite):
    folder = suite.folder
    suite.good("outputs of the host", "run", "m.onnx", "--input", "x=x.npy", "--output-dir",
               "out")
    expected = ["--expect", "last=out/last.npy", "--expect"]
    suite.good("bundle a model", "bundle", "m.onnx", "--input", "x=x.npy", *expected,
               "y=y.npy", "-o", "m.bpb")
    suite.good("run a model's bundle", "run", "m.bpb", "-o", "m.bpr", program="bp-worker")
    suite.good("judge a model", "bundle", "judge", "m.bpb", "m.bpr")
    suite.good("bundle a wrong model", "bundle", "m.onnx", "--input", "x=x.npy", *expected,
               "y=z.npy", "-o", "z.bpb")
    suite.good("run a wrong bundle", "run", "z.bpb", "-o", "z.bpr", program="bp-worker")
    judged = suite.run("bundle", "judge", "z.bpb", "z.bpr")
    suite.check("judge a wrong model", judged.returncode == 1 and "MISMATCH y" in judged.stdout,
                judged)
    suite.refused("results of another bundle", "does not hold the results of this bundle",
                  "bundle", "judge", "m.bpb", "z.bpr")
    suite.good("bundle without --expect", "bundle", "m.onnx", "--random-inputs", "1", "-o",
               "h.bpb")
    suite.good("bundle cases", "bundle", "cases", "--target", checks.OWN_TARGET, "--filter",
               "L3/softmax/f32/*", "-o", "c.bpb")
    suite.good("run cases", "run", "c.bpb", "-o", "c.bpr", program="bp-worker")
    judged = suite.good("judge cases", "bundle", "judge", "c.bpb", "c.bpr")
    suite.check("cases are judged", "Pass" in judged and "passed" in judged, judged)
    masks = ["L0/*", "L1/copy/*", "L2/matmul-f32/*", "L2/gather-i32/*", "L7/leak/*",
              "L3/softmax/f32/*"]
    words = [word for mask in masks for word in ("--filter", mask)]
    suite.good("bundle checks", "bundle", "cases", "--target", checks.OWN_TARGET, *words, "-o",
               "k.bpb")
    suite.good("run checks", "run", "k.bpb", "-o", "k.bpr", program="bp-worker")
    judged = suite.good("judge checks", "bundle", "judge", "k.bpb", "k.bpr")
    alive = suite.good("the same checks alive", "conformance", "--device", "worker:here/host",
                       *words, "--out", "alive")
    passed = sum(map(int, re.findall(r"(\d+) Pass", alive)))
    suite.check("as many checks pass as alive", passed > 40
                and re.search(rf"^{passed} Pass$", judged, re.M), judged + alive)
    suite.good("run checks elsewhere", "run", "k.bpb", "--device", "ref", "-o", "r.bpr",
               program="bp-worker")
    judged = suite.run("bundle", "judge", "k.bpb", "r.bpr")
    suite.check("checks that fail are judged so", judged.returncode == 1
                and re.search(r"^Fail L2/matmul-f32/", judged.stdout, re.M)
                and re.search(r"^\d+ Pass$", judged.stdout, re.M)
                and "not passed" in judged.stdout, judged)
    damaged = bytearray((folder / "c.bpr").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "d.bpr").write_bytes(damaged)
    suite.refused("damaged results", "d.bpr", "bundle", "judge", "c.bpb", "d.bpr")
    (folder / "half.bpb").write_bytes((folder / "m.bpb").read_bytes()[:-9])
    suite.refused("half a bundle", "half.bpb", "run", "half.bpb", "-o", "half.bpr",
                  program="bp-worker")
    suite.check("no results of half a bundle", not (folder / "half.bpr").exists())


def emulated(suite):
    ready = shutil.which("qemu-aarch64") and (ROOT / "build-arm64/bin/bp-worker").exists() \
        and (ROOT / "build/lib/backplane/plugins/arm.bp.json").exists()
    if not ready:
        suite.skipped += 1
        return
    for name in ("arm64", "arm64-neon"):
        suite.model_runs(f"worker:{name}/host")
    variants(suite, "worker:arm64/host", "aarch64", "aarch64+sve")


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(folder)
        prepare(suite)
        for part in (launchers, fallback, conformance, bundles, *worker_failures.ALL, emulated):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
