#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of devices behind workers, as a user meets them: models, the suite and
bundles through launchers; and what happens when the plug is pulled.

The launchers are stand-ins that treat their arguments as ssh, docker, mpirun
and srun do. `arm64` runs when its build and qemu are there.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy

import checks
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT / "conformance/split"))
import run_split_tests  # noqa: E402

BIN = ROOT / "build" / "bin"
STANDINS = {
    "ssh": 'shift\nexec sh -c "$*"\n',
    "docker": 'shift 3\nexec "$@"\n',
    "mpirun": 'shift 2\n"$@"\n',
    "srun": 'shift 2\n"$@"\n',
}


class Suite(checks.Checks):
    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR=str(self.folder / "cache"),
                                BACKPLANE_WORKERS=str(self.folder / "workers.json"))

    def run(self, *arguments, program="bp", environment=None, **keywords):
        return subprocess.run([BIN / program, *map(str, arguments)], text=True,
                              capture_output=True, timeout=300, check=False,
                              cwd=self.folder,
                              env={**self.environment, **(environment or {})}, **keywords)

    def good(self, name, *arguments, **keywords):
        result = self.run(*arguments, **keywords)
        self.check(name, result.returncode == 0, result.stdout + result.stderr)
        return result.stdout

    def refused(self, name, part, *arguments, **keywords):
        """Exit code 1 or 2, one line that has `part`, no crash."""
        result = self.run(*arguments, **keywords)
        lines = [line for line in result.stderr.splitlines()
                 if line.startswith(("bp: ", "bp-worker: ", "bp conformance: "))]
        self.check(name, result.returncode in (1, 2) and len(lines) == 1
                   and part in lines[0], f"{result.returncode}: {result.stderr}")


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
    (folder / "workers.json").write_text(json.dumps({"workers": workers}), encoding="utf-8")


def model_runs(suite, device):
    return suite.good(f"run on {device}", "run", "m.onnx", "--device", device, "--input",
                      "x=x.npy", "--expect", "y=y.npy")


def launchers(suite):
    for name in ("here", "local", *STANDINS):
        model_runs(suite, f"worker:{name}/host://cpu")
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
        suite.check(f"{device} {flags} is a split", f"chosen: variant picky+{checks.OWN_TARGET[:7]}" in shown
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
    config = json.loads((folder / "workers.json").read_text(encoding="utf-8"))
    config["workers"]["hostless"] = {"worker": str(BIN / "bp-worker"), "launcher": [
        "env", f"BACKPLANE_PLUGIN_FILES={plugins / 'plugins/ref.bp.json'}"]}
    (folder / "workers.json").write_text(json.dumps(config), encoding="utf-8")
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


def pulled_plug(suite):
    """Workers that die, hang, speak nonsense, or are not there."""
    folder = suite.folder
    suite.good("compile", "compile", "m.onnx", "-o", "m.bpx")
    before = len((folder / "pids").read_text(encoding="utf-8").split())
    bench = subprocess.Popen([BIN / "bp", "bench", "m.bpx", "--device", "worker:here/host",
                              "--seconds", "60"], cwd=folder, env=suite.environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and bench.poll() is None:
        pids = (folder / "pids").read_text(encoding="utf-8").split()
        if len(pids) > before:
            time.sleep(1)
            subprocess.run(["kill", "-9", pids[-1]], check=False)
            break
        time.sleep(0.2)
    output, errors = bench.communicate(timeout=60)
    suite.check("a worker that is killed", bench.returncode == 1
                and "ended with signal 9" in errors, output + errors)
    broken = {"dead": ["false"], "absent": ["/no/such/launcher"], "babble": ["sh", "-c", "yes"],
              "mute": ["sh", "-c", "sleep 100"]}
    config = json.loads((folder / "workers.json").read_text(encoding="utf-8"))
    for name, words in broken.items():
        config["workers"][name] = {"launcher": words, "timeout": 2, "worker": "1"}
    (folder / "workers.json").write_text(json.dumps(config), encoding="utf-8")
    for name, part in (("dead", "exit code 1"), ("absent", "exit code 127"),
                       ("babble", "damaged"), ("mute", "did not answer"),
                       ("nobody", "there is no worker 'nobody'")):
        suite.refused(f"a worker that is {name}", part, "run", "m.onnx", "--device",
                      f"worker:{name}/host", "--random-inputs", "1")
    listed = "worker:absent/npu,worker:here/host,host"
    for model in ("m.onnx", "m.bpx"):
        shown = suite.good(f"{model} on the next of a list", "run", model, "--device", listed,
                           "--why", "--input", "x=x.npy", "--expect", "y=y.npy")
        suite.check(f"{model}: the list is explained", all(part in shown for part in (
            f"policy: {listed}", " on worker:here/host://cpu: rank ",
            "passed over: worker:absent/npu: ", "exit code 127", "on host://cpu comes after it",
            "remark: worker 'here' (")), shown)
    shown = suite.good("what a list would take", "inspect", "m.bpx", "--device",
                       "worker:mute/host,auto:latency,worker:here/host", "--why")
    suite.check("a mute worker is passed over", "passed over: worker:mute/host: " in shown
                and "did not answer" in shown and "worker:here/host://cpu comes after" in shown,
                shown)
    for part in ("exit code 127", "exit code 1;", "no worker 'nobody'"):
        suite.refused("a list of what is not there", part, "run", "m.onnx", "--device",
                      "worker:absent/host,worker:dead/host,worker:nobody/x",
                      "--random-inputs", "1")
    suite.good("compile for elsewhere", "compile", "m.onnx", "-o", "far.bpx", "--target",
               checks.OWN_TARGET, "--embed-graph")
    far = ["run", "far.bpx", "--device", "worker:here/ref", "--why", "--input", "x=x.npy",
           "--expect", "y=y.npy"]
    suite.refused("an artifact that fits no worker", "is for driver 'host'", *far)
    shown = suite.good("the graph is compiled for a worker", *far, "--jit")
    suite.check("compiling for a worker is explained", "compiled at load from the stored graph"
                in shown and " on worker:here/ref://" in shown, shown)
    suite.refused("no device of that name", "has no device 'npu'", "run", "m.onnx",
                  "--device", "worker:here/npu", "--random-inputs", "1")
    model_runs(suite, "worker:here/host")


FLIP = """#!/usr/bin/env python3
import os, subprocess, sys, threading

way, at = sys.argv[1], int(sys.argv[2])
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def carry(source, target, flips):
    done = 0
    while piece := os.read(source.fileno(), 1 << 16):
        if flips and done <= at < done + len(piece):
            piece = piece[:at - done] + bytes([piece[at - done] ^ 16]) + piece[at - done + 1:]
        done += len(piece)
        target.write(piece)
        target.flush()
    target.close()


threading.Thread(target=carry, args=(sys.stdin.buffer, child.stdin, way == "there"),
                 daemon=True).start()
carry(child.stdout, sys.stdout.buffer, way == "back")
"""


def damaged_frames(suite):
    """One bit that flips on the way: in the greeting, an artifact, an outcome."""
    folder = suite.folder
    heavy(suite)
    (folder / "flip").write_text(FLIP, encoding="utf-8")
    (folder / "flip").chmod(0o755)
    config = json.loads((folder / "workers.json").read_text(encoding="utf-8"))
    for way, at in (("back", 100), ("there", 1000000), ("there", 4250000), ("back", 50000),
                    ("back", 100000000)):
        config["workers"]["flip"] = {"worker": str(BIN / "bp-worker"), "timeout": 20, "launcher":
                                     [sys.executable, str(folder / "flip"), way, str(at)]}
        (folder / "workers.json").write_text(json.dumps(config), encoding="utf-8")
        run = ["run", "heavy.bpx", "--device", "worker:flip/host", "--input", "x=hx.npy",
               "--expect", "y=hy.npy"]
        begin = time.monotonic()
        if at == 100000000:
            suite.good("nothing flips", *run)
        else:
            suite.refused(f"a bit flips on its way {way} at {at}", "damaged", *run)
        suite.check("damage is noticed at once", time.monotonic() - begin < 15)


def heavy(suite):
    """heavy.bpx with an input and an output; larger than what a worker does not keep."""
    folder = suite.folder
    if (folder / "heavy.bpx").exists():
        return
    model, (a, b) = models.heavy()
    (folder / "heavy.onnx").write_bytes(model.SerializeToString())
    x = numpy.random.default_rng(5).standard_normal((64, 512)).astype("f4")
    numpy.save(folder / "hx.npy", x)
    numpy.save(folder / "hy.npy", (numpy.maximum(x.astype("f8") @ a, 0) @ b).astype("f4"))
    suite.good("compile a heavy model", "compile", "heavy.onnx", "-o", "heavy.bpx")


LOOK = """"$@"; code=$?
find "$BACKPLANE_CACHE_DIR" -name '*.tmp-*' | sed 's/^/LEFT /'
find "$BACKPLANE_CACHE_DIR" -name '*.bpx' | while read -r file; do
  "$INSPECT" inspect "$file" > /dev/null || echo "HALF $file"
done
exit $code
"""


def full_disk(suite):
    """The disk of a worker, and of the tool, is full or has little left."""
    folder = suite.folder
    heavy(suite)
    mounts = subprocess.run(["unshare", "-rm", "true"], check=False,
                            capture_output=True).returncode == 0
    suite.skipped += not mounts
    kinds = [(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size={size} none "
               f'"$BACKPLANE_CACHE_DIR"\n{LOOK}'], f"{size} bytes for files")
             for size in ((4096, 65536, 2 << 20) if mounts else ())]
    kinds.append((["sh", "-c", f"trap '' XFSZ; ulimit -f 512\n{LOOK}"], "small files only"))
    for words, kind in kinds:
        for file, device in (("heavy.bpx", "worker:here/host"), ("heavy.onnx", "host"),
                             ("heavy.onnx", "worker:here/host")):
            small = folder / "small"
            shutil.rmtree(small, ignore_errors=True)
            small.mkdir()
            result = subprocess.run(
                [*words, "sh", BIN / "bp", "run", file, "--device", device, "--input", "x=hx.npy",
                 "--expect", "y=hy.npy"], text=True, capture_output=True, timeout=300,
                check=False, cwd=folder, env=dict(suite.environment, INSPECT=str(BIN / "bp"),
                                                  # Owners are nobody in a user namespace.
                                                  BACKPLANE_TRUSTED_DIRS="/",
                                                  BACKPLANE_CACHE_DIR=str(small)))
            what = f"{file} on {device} with {kind}"
            everything = result.stdout + result.stderr
            # An artifact goes to its worker through memory, a pipe and memory; a model is
            # compiled into a file, in the temporary folder when not in the cache.
            if "bytes" in kind or file.endswith(".bpx"):
                suite.check(f"{what} gives its results", result.returncode == 0
                            and "match y" in result.stdout, everything)
            else:
                suite.check(f"{what} says why not", result.returncode == 1
                            and "match" not in result.stdout
                            and "File too large" in result.stderr.splitlines()[-1], everything)
            suite.check(f"{what} says so", "cannot" in result.stderr, everything)
            suite.check(f"{what} leaves nothing half-written", "LEFT" not in result.stdout
                        and "HALF" not in result.stdout, everything)


# Killed before a file is whole, on a file system that has no files without names.
KILLED_WHILE_STORING = """#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int fd) { return raise(SIGKILL) + fd; }
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *, int, ...) __attribute__((alias("open")));
"""


def killed_while_storing(suite):
    """What a worker or a tool that is killed has left in a cache goes later."""
    folder = suite.folder
    heavy(suite)
    compiler = shutil.which("cc") or shutil.which("clang-22")
    if not compiler:
        suite.skipped += 1
        return
    (folder / "kill.c").write_text(KILLED_WHILE_STORING, encoding="utf-8")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "kill.so", "kill.c"], cwd=folder,
                   check=True)
    config = json.loads((folder / "workers.json").read_text(encoding="utf-8"))
    preload = f"LD_PRELOAD={folder / 'kill.so'}"
    config["workers"]["killed"] = {"worker": str(BIN / "bp-worker"),
                                   "launcher": ["env", preload]}
    (folder / "workers.json").write_text(json.dumps(config), encoding="utf-8")
    cache = folder / "fresh"
    environment = {"BACKPLANE_CACHE_DIR": str(cache)}
    run = ["run", "heavy.bpx", "--input", "x=hx.npy", "--expect", "y=hy.npy", "--device"]
    compiling = ["run", "heavy.onnx", *run[2:], "host"]
    shutil.rmtree(cache, ignore_errors=True)
    for kind in ("worker", "tool"):
        def left():
            return list(cache.glob("*/*.tmp-*"))

        if kind == "worker":
            suite.refused("a worker that is killed while it stores", "signal 9", *run,
                          "worker:killed/host", environment=environment)
            young = old = [*run, "worker:here/host"]
            shown = [file for file in left() if file.parent.name == "worker"]
            suite.check("a worker leaves a file", len(shown) == 1, left())
        else:
            died = suite.run(*compiling, environment={**environment,
                                                      "LD_PRELOAD": str(folder / "kill.so")})
            suite.check("a tool that is killed", died.returncode == -9, died)
            young, old = ["run", "m.onnx", "--random-inputs", "1"], compiling
        suite.check(f"the {kind} leaves a file", len(left()) == 1, left())
        suite.good(f"while the file of the {kind} is young", *young, environment=environment)
        suite.check(f"a young file of the {kind} stays", len(left()) == 1, left())
        for file in left():
            os.utime(file, (1, 1))
        suite.good(f"with an old file of the {kind}", *old, environment=environment)
        suite.check(f"an old file of the {kind} goes", not left(), left())


def emulated(suite):
    ready = shutil.which("qemu-aarch64") and (ROOT / "build-arm64/bin/bp-worker").exists() \
        and (ROOT / "build/lib/backplane/plugins/arm.bp.json").exists()
    if not ready:
        suite.skipped += 1
        return
    for name in ("arm64", "arm64-neon"):
        model_runs(suite, f"worker:{name}/host")
    variants(suite, "worker:arm64/host", "aarch64", "aarch64+sve")


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(folder)
        prepare(suite)
        for part in (launchers, fallback, conformance, bundles, pulled_plug, damaged_frames, full_disk,
                     killed_while_storing,
                     emulated):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
