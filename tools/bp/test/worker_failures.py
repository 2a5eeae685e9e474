# SPDX-License-Identifier: Apache-2.0
"""Workers that die, hang or speak nonsense, damage on the way to them, and disks of theirs
that are full."""
import os
import shutil
import subprocess
import sys
import time

import numpy

import checks
import models
from programs import BIN, MOUNTS


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
    suite.add_workers({name: {"launcher": words, "timeout": 2, "worker": "1"}
                       for name, words in broken.items()})
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
    suite.model_runs("worker:here/host")


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
    for way, at in (("back", 100), ("there", 1000000), ("there", 4250000), ("back", 50000),
                    ("back", 100000000)):
        suite.add_workers({"flip": {"worker": str(BIN / "bp-worker"), "timeout": 20, "launcher": [
            sys.executable, str(folder / "flip"), way, str(at)]}})
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
    suite.skipped += not MOUNTS
    kinds = [(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size={size} none "
               f'"$BACKPLANE_CACHE_DIR"\n{LOOK}'], f"{size} bytes for files")
             for size in ((4096, 65536, 2 << 20) if MOUNTS else ())]
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
    suite.add_workers({"killed": {"worker": str(BIN / "bp-worker"), "launcher": [
        "env", f"LD_PRELOAD={folder / 'kill.so'}"]}})
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


ALL = pulled_plug, damaged_frames, full_disk, killed_while_storing
