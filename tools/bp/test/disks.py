# SPDX-License-Identifier: Apache-2.0
"""Files that cannot grow or that change while they are used, disks that are full, homes that
are none, and tools that are killed while they write."""
import os
import resource
import signal
import subprocess
import time

from onnx import helper

import models
from file_model import RUN
from programs import BIN, MOUNTS


def short_files(suite):
    """A limit for the size of files, whose signal nobody caught."""
    (suite.folder / "short").mkdir()
    for size in (0, 100, 4000, 16000):
        def limit(size=size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        target = suite.folder / "short" / f"{size}.bpx"
        for arguments in (["compile", "heavy.onnx", "-o", target],
                          ["run", "m.onnx", "--random-inputs", "1", "--output-dir", "short"],
                          ["run", "m.onnx", "--random-inputs", "1", "--trace", "short/t.json"]):
            result = suite.run(*arguments, preexec_fn=limit,
                               environment={"BACKPLANE_CACHE_DIR": "-"})
            lines = result.stderr.strip().splitlines()
            # A run that fails under a trace that cannot be written says both.
            most = 2 if "--trace" in arguments else 1
            good = result.returncode == 0 or (
                result.returncode == 1 and 1 <= len(lines) <= most)
            left = list((suite.folder / "short").glob("*.tmp-*"))
            suite.check(f"{arguments[0]} within {size} bytes", good and not left,
                        f"exit {result.returncode}: {result.stderr} {left}")


def changing(suite):
    """Files that are cut off or overwritten while they are used."""
    model, _ = models.heavy()
    folder = suite.folder
    (folder / "heavy.onnx").write_bytes(model.SerializeToString())
    suite.good("compile a heavy model", "compile", "heavy.onnx", "-o", "heavy.bpx")
    whole = (folder / "heavy.bpx").read_bytes()
    for name, spoil in (("cut off", lambda file: os.truncate(file, 0)),
                        ("cut in half", lambda file: os.truncate(file, len(whole) // 2)),
                        ("overwritten", lambda file: file.write_bytes(b"\xcc" * len(whole)))):
        (folder / "heavy.bpx").write_bytes(whole)
        bench = subprocess.Popen([BIN / "bp", "bench", "heavy.bpx", "--seconds", "1.5"],
                                 cwd=folder, env=suite.environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        spoil(folder / "heavy.bpx")
        output, errors = bench.communicate(timeout=100)
        suite.check(f"an artifact that is {name} while it runs", bench.returncode in (0, 1)
                    and (bench.returncode == 0 or len(errors.splitlines()) == 1),
                    (bench.returncode, output, errors))
        suite.check(f"after it was {name}", suite.run("run", "heavy.bpx", "--random-inputs",
                                                      "1").returncode == 1)
    (folder / "heavy.bpx").write_bytes(whole)
    mapped = suite.good("an artifact that is mapped", "run", "heavy.bpx", "--random-inputs", "1",
                        environment={"BACKPLANE_MAP_ARTIFACTS": "1"}).stdout
    suite.check("a mapped artifact gives the same", mapped == suite.good(
        "an artifact that is copied", "run", "heavy.bpx", "--random-inputs", "1").stdout, mapped)


LEFT = """"$@" > out.txt 2> err.txt; code=$?
find "$PLACE" -name '*.tmp-*' -o -name '*.npy' -size 0 | sed 's/^/LEFT /'
exit $code
"""


def full_disks(suite):
    """Outputs to a disk that is full: a line, and nothing half-written."""
    if not MOUNTS:
        suite.skipped += 1
        return
    place = suite.folder / "small"
    place.mkdir()
    (suite.folder / "big.onnx").write_bytes(models.model(
        [helper.make_node("Relu", ["x"], ["y"])], [models.tensor_value("x", [500, 500])],
        [models.tensor_value("y", [500, 500])]).SerializeToString())
    for name, command in (
            ("outputs", ["run", "big.onnx", "--random-inputs", "1", "--output-dir", place]),
            ("an artifact", ["compile", "heavy.onnx", "-o", place / "h.bpx"]),
            ("a bundle", ["bundle", "big.onnx", "--random-inputs", "1", "-o", place / "b.bpb"])):
        ran = subprocess.run(["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=100k none '
                              f'"$PLACE"\n{LEFT}', "sh", BIN / "bp", *map(str, command)],
                             cwd=suite.folder, env={
                                 **suite.environment, "PLACE": str(place),
                                 # Owners outside of a user namespace are nobody in it.
                                 "BACKPLANE_TRUSTED_DIRS": "/"},
                             check=False, capture_output=True, text=True, timeout=300)
        errors = (suite.folder / "err.txt").read_text(encoding="utf-8").splitlines()
        suite.check(f"{name} on a full disk", ran.returncode == 1 and len(errors) == 1
                    and "No space left" in errors[0], (ran, errors))
        suite.check(f"{name}: nothing is left", "LEFT" not in ran.stdout, ran.stdout)


def poor_homes(suite):
    """No home, none that can be written, a foreign one."""
    folder = suite.folder
    (folder / "ro").mkdir(mode=0o555)
    (folder / "file").write_text("no folder", encoding="utf-8")
    (folder / "dead").symlink_to("gone")
    bare = {key: value for key, value in os.environ.items()
            if key not in ("HOME", "XDG_CACHE_HOME", "BACKPLANE_CACHE_DIR")}
    for name, home in (("no home", {}), ("an empty home", {"HOME": ""}),
                       ("a relative home", {"HOME": "x"}), ("a home that is a file",
                       {"HOME": str(folder / "file")}), ("a dead link as home",
                       {"HOME": str(folder / "dead")}), ("a home nowhere", {"HOME": "/proc/1/x"}),
                       ("a home on a device", {"HOME": "/dev/null"}),
                       ("no place for temporaries", {"HOME": "/dev/null", "TMPDIR": str(folder)})):
        ran = subprocess.run([BIN / "bp", *RUN], cwd=folder, env={**bare, **home}, check=False,
                             capture_output=True, text=True, timeout=300)
        suite.check(f"{name}: the model runs", ran.returncode == 0
                    and all(line.startswith("bp: warning: ") for line in ran.stderr.splitlines()),
                    (ran.returncode, ran.stderr))
    suite.check("nothing appears elsewhere", not (folder / "x").exists())


def killed(suite):
    """Tools that are killed while they write leave a whole file or none."""
    target = suite.folder / "killed.bpx"
    suite.good("compile once", "compile", "heavy.onnx", "-o", target)
    whole = target.read_bytes()
    for delay in (0.02, 0.05, 0.1, 0.2):
        tool = subprocess.Popen([BIN / "bp", "compile", "heavy.onnx", "-o", target],
                                cwd=suite.folder, env=suite.environment,
                                stdout=subprocess.DEVNULL)
        time.sleep(delay)
        tool.send_signal(signal.SIGKILL)
        tool.wait()
        suite.check(f"killed after {delay} s", target.read_bytes() == whole)


ALL = changing, short_files, full_disks, poor_homes, killed
