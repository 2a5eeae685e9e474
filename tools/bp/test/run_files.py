#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what the tools do to files and take from them: planted caches and
plug-ins, outputs that must not be replaced, disks that are full, streams that
are closed, arguments that are nonsense.

Each refusal is one line on standard error and exit code 1.
"""
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import numpy
from onnx import helper

import checks
import models

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BIN = ROOT / "build/bin"
STRANGER = 65533
IS_ROOT = os.geteuid() == 0
MOUNTS = subprocess.run(["unshare", "-rm", "true"], check=False,
                        capture_output=True).returncode == 0


class Suite(checks.Checks):
    def __init__(self, folder):
        super().__init__()
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "cache"
        self.environment = dict(os.environ, BACKPLANE_CACHE_DIR=str(self.cache))

    def run(self, *arguments, program="bp", environment=None, **keywords):
        keywords = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300,
                    "cwd": self.folder, **keywords}
        result = subprocess.run([BIN / program, *map(str, arguments)], check=False,
                                env={**self.environment, **(environment or {})}, **keywords)
        result.stdout = (result.stdout or b"").decode(errors="replace")
        result.stderr = (result.stderr or b"").decode(errors="replace")
        return result

    def good(self, name, *arguments, **keywords):
        result = self.run(*arguments, **keywords)
        self.check(name, result.returncode == 0, result.stdout + result.stderr)
        return result

    def refused(self, name, part, *arguments, **keywords):
        """One line that has `part`, exit code 1 (2 where the tool says so), no crash."""
        result = self.run(*arguments, **keywords)
        lines = [line for line in result.stderr.strip().splitlines()
                 if not line.startswith("bp: warning")]
        self.check(name, result.returncode in (1, 2) and len(lines) == 1
                   and lines[0].startswith("bp") and part in lines[0] and len(lines[0]) < 2500,
                   f"exit {result.returncode}: {result.stderr}")
        return result


def prepare(suite):
    folder = suite.folder
    (folder / "m.onnx").write_bytes(models.good().SerializeToString())
    (folder / "other.onnx").write_bytes(models.long_chain(3).SerializeToString())
    x = numpy.random.default_rng(1).standard_normal((5, 4)).astype("f4")
    w, b = (models.numpy_helper.to_array(t) for t in models.good().graph.initializer)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "want.npy", numpy.maximum(x @ w + b, 0))


RUN = ["run", "m.onnx", "--input", "x=x.npy", "--expect", "y=want.npy"]


def plant_link(entry, other):
    shutil.copyfile(other, entry.parent.parent / "elsewhere")
    entry.unlink()
    entry.symlink_to(entry.parent.parent / "elsewhere")


def plant_hard_link(entry, other):
    entry.unlink()
    os.link(other, entry)


def plant_other(entry, other):
    shutil.copyfile(other, entry)


def plant_pipe(entry, _):
    entry.unlink()
    os.mkfifo(entry)


def plant_folder(entry, _):
    entry.unlink()
    (entry / "full").mkdir(parents=True)


def plant_huge(entry, _):
    os.truncate(entry, 1 << 40)


def plant_open(entry, other):
    shutil.copyfile(other, entry)
    entry.chmod(0o666)


def plant_strangers(entry, other):
    shutil.copyfile(other, entry)
    os.chown(entry, STRANGER, STRANGER)


def planted_cache(suite):
    """Entries that are not what they were: made again with a warning, never run."""
    suite.good("fill the cache", *RUN)
    before = set((suite.cache / "artifacts").iterdir())
    suite.good("fill it with another model", "run", "other.onnx", "--random-inputs", "1")
    entries = set((suite.cache / "artifacts").iterdir())
    suite.check("an artifact for each model", len(before) == 1 and len(entries) == 2, entries)
    (entry,), (other,) = before, entries - before
    whole = other.read_bytes()
    plants = [plant_link, plant_hard_link, plant_other, plant_pipe, plant_folder, plant_huge,
              plant_open, *([plant_strangers] if IS_ROOT else [])]
    for plant in plants:
        plant(entry, other)
        name = plant.__name__.replace("_", " ")
        for kind in ("kernels", "keys"):
            for file in (suite.cache / kind).iterdir():
                if file.is_file() and plant in (plant_pipe, plant_folder, plant_open):
                    plant(file, other)
        ran = suite.good(f"{name}: the right numbers", *RUN)
        suite.check(f"{name}: a warning", "bp: warning: " in ran.stderr, ran.stderr)
        other.unlink()
        other.write_bytes(whole)
        again = suite.good(f"{name}: from the cache again", *RUN)
        suite.check(f"{name}: it is mended", not again.stderr and stat.S_ISREG(
            entry.lstat().st_mode), again.stderr)


def foreign_folders(suite):
    """A cache, plug-ins and worker files in folders that others may write."""
    cases = [("open", lambda path: path.chmod(0o777)), ("of a group", lambda path: path.chmod(
        0o775))]
    if IS_ROOT:
        cases.append(("of a stranger", lambda path: os.chown(path, STRANGER, -1)))
    plugins = suite.folder / "plugins"
    shutil.copytree(ROOT / "build/lib/backplane/plugins", plugins)
    only = {"BACKPLANE_PLUGIN_FILES": ":".join(map(str, plugins.glob("*.bp.json")))}
    workers = suite.folder / "conf"
    workers.mkdir()
    (workers / "w.json").write_text('{"workers": {"evil": {"worker": "/bin/touch", '
                                    '"arguments": ["planted"]}}}', encoding="utf-8")
    for name, spoil in cases:
        for path in (suite.cache, suite.cache / "artifacts", plugins, workers):
            path.chmod(0o755)
            spoil(path)
        ran = suite.good(f"a cache folder that is {name}", *RUN)
        suite.check(f"{name}: a warning for the cache", ran.stderr.count("warning: cache folder")
                    == 1 and "BACKPLANE_TRUSTED_DIRS" in ran.stderr, ran.stderr)
        suite.refused(f"plug-ins that are {name}", "", *RUN,
                      environment={**only, "BACKPLANE_CACHE_DIR": "-"})
        listed = suite.good(f"devices of plug-ins that are {name}", "devices", environment=only)
        suite.check(f"{name}: why no plug-in is used", "no usable device" in listed.stdout
                    and "BACKPLANE_TRUSTED_DIRS" in listed.stdout, listed.stdout)
        suite.refused(f"a worker file that is {name}", "worker file", "devices", "--worker",
                      "evil", environment={"BACKPLANE_WORKERS": str(workers / "w.json")})
        suite.check(f"{name}: nothing was started", not (suite.folder / "planted").exists())
        vouched = suite.good(f"{name}, but vouched for", *RUN, environment={
            **only, "BACKPLANE_TRUSTED_DIRS": str(suite.folder)})
        suite.check(f"{name}: no warning then", not vouched.stderr, vouched.stderr)
        for path in (suite.cache, suite.cache / "artifacts", plugins, workers):
            os.chown(path, os.geteuid(), -1)
            path.chmod(0o755)
    os.rename(suite.cache, suite.folder / "real")
    suite.cache.symlink_to(suite.folder / "real")
    ran = suite.good("a cache folder behind a link of the user", *RUN)
    suite.check("a link of the user is taken", not ran.stderr, ran.stderr)
    if IS_ROOT:
        os.chown(suite.cache, STRANGER, -1, follow_symlinks=False)
        ran = suite.good("a cache folder behind a link of a stranger", *RUN)
        suite.check("a link of a stranger is not", "cache folder" in ran.stderr, ran.stderr)
    suite.cache.unlink()
    os.rename(suite.folder / "real", suite.cache)


def outputs(suite):
    """What an output must not replace."""
    folder = suite.folder
    model = (folder / "m.onnx").read_bytes()
    os.link(folder / "m.onnx", folder / "hard.onnx")
    (folder / "link.onnx").symlink_to("m.onnx")
    (folder / "nowhere").symlink_to("absent/file")
    (folder / "d").mkdir()
    os.mkfifo(folder / "pipe")
    for output, part in (("m.onnx", "is the input"), ("./d/../m.onnx", "is the input"),
                         ("hard.onnx", "is the input"), ("link.onnx", "is a link"),
                         ("nowhere", "is a link"), ("pipe", "is a pipe"), ("d", "is a folder"),
                         ("/dev/null", "is a device"), ("/dev/stdout", "is a link")):
        suite.refused(f"compile to {output}", part, "compile", "m.onnx", "-o", output)
        suite.refused(f"bundle to {output}", part, "bundle", "m.onnx", "--random-inputs", "1",
                      "-o", output)
        suite.refused(f"trace to {output}", part, *RUN, "--trace", output)
    suite.refused("bundle to an input", "is the input", "bundle", "m.onnx", "--input",
                  "x=x.npy", "-o", "x.npy")
    suite.check("the model is as it was", (folder / "m.onnx").read_bytes() == model)
    # x is the name of an input file, and of an output.
    twin = models.model([helper.make_node("Relu", ["a"], ["x"])],
                        [models.tensor_value("a", [5, 4])], [models.tensor_value("x", [5, 4])])
    (folder / "twin.onnx").write_bytes(twin.SerializeToString())
    before = (folder / "x.npy").read_bytes()
    suite.refused("an output over an input", "is the input", "run", "twin.onnx", "--input",
                  "a=x.npy", "--output-dir", ".")
    suite.refused("an output over what is expected", "is the input", "run", "twin.onnx",
                  "--random-inputs", "1", "--expect", "x=./x.npy", "--output-dir", ".")
    (folder / "t").mkdir()
    suite.refused("an output over a trace", "written twice", "run", "twin.onnx",
                  "--random-inputs", "1", "--trace", "t/x.npy", "--output-dir", "t/../t")
    suite.check("the input is as it was", (folder / "x.npy").read_bytes() == before)
    (folder / "l").mkdir()
    (folder / "l/x.npy").symlink_to("../x.npy")
    suite.refused("an output through a link", "is a link", "run", "twin.onnx",
                  "--random-inputs", "1", "--output-dir", "l")
    external(suite)


def external(suite):
    """External data are inputs, too."""
    model = models.with_weight(models.external_weight("weights.bin"))
    (suite.folder / "e.onnx").write_bytes(model.SerializeToString())
    data = numpy.arange(6, dtype="f4").tobytes()
    (suite.folder / "weights.bin").write_bytes(data)
    for when in ("before the model is compiled", "when it is in the cache"):
        suite.refused(f"compile over external data {when}", "is the input", "compile", "e.onnx",
                      "-o", "weights.bin")
        suite.good("compile it", "compile", "e.onnx", "-o", "e.bpx")
    suite.check("external data are as they were",
                (suite.folder / "weights.bin").read_bytes() == data)


def named(count, name, twice=False):
    """A model of identities whose outputs have these names."""
    names = [name(i) for i in range(count)]
    nodes = [helper.make_node("Add" if i else "Relu", ["x", "x"] if i else ["x"], [n])
             for i, n in enumerate(names)]
    outs = [models.tensor_value(n, [2, 3]) for n in names]
    return models.model(nodes, [models.tensor_value("x", [2, 3])], outs + outs[:twice])


def names(suite):
    """Outputs whose names collide, are long, or hold anything."""
    strange = ["a/b", "a:b", "a_b", "A_B", "../a_b", "\x1b[31mred", "new\nline", ".", ".."]
    long = "n" * 5000
    for what, model, count in (
            ("strange", named(len(strange), strange.__getitem__), len(strange)),
            ("long", named(3, lambda i: long + "ab"[i % 2] + "x" * i), 3),
            ("the same", named(2, "y{}".format, twice=True), 3)):
        (suite.folder / "n.onnx").write_bytes(model.SerializeToString())
        target = suite.folder / f"out {what}"
        ran = suite.run("run", "n.onnx", "--random-inputs", "1", "--output-dir", target)
        if what == "the same" and ran.returncode:
            suite.check("outputs that are the same are refused", len(
                ran.stderr.splitlines()) == 1 and ran.returncode == 1, ran.stderr)
            continue
        suite.check(f"outputs with {what} names", ran.returncode == 0, ran.stderr)
        files = list(target.rglob("*"))
        suite.check(f"a file for each of the {what} names", len(files) == count
                    and all(file.suffix == ".npy" and file.parent == target and file.stat().st_size
                            for file in files)
                    and len({file.name.lower() for file in files}) == count, files)
        suite.check(f"{what} names are shown short and safe", "\x1b" not in ran.stdout
                    and max(map(len, ran.stdout.splitlines()), default=0) < 800, ran.stdout)
        for command in ("inspect", "explain"):
            shown = suite.good(f"{command} with {what} names", command, "n.onnx").stdout
            suite.check(f"{command} shows {what} names safely", "\x1b" not in shown
                        and max(map(len, shown.splitlines()), default=0) < 800, shown[-3000:])
    (suite.folder / "n.onnx").write_bytes(named(1, lambda i: long).SerializeToString())
    suite.refused("a long name of an input", "has no input", "run", "n.onnx", "--input",
                  f"{long}=x.npy")


def streams(suite):
    """Standard output that is full, closed or gone."""
    suite.good("an artifact", "compile", "m.onnx", "-o", "m.bpx")
    commands = [["devices"], ["devices", "--json"], ["inspect", "m.bpx"], ["explain", "m.bpx"],
                RUN, [*RUN, "--why"], ["compile", "m.onnx", "-o", "full.bpx"], ["--help"],
                ["run", "--help"], ["--version"], ["bench", "m.bpx", "--seconds", "0"],
                ["conformance", "--list", "--filter", "L3/softmax/f32/*"],
                ["bundle", "m.bpx", "--random-inputs", "1", "-o", "m.bpb"], ["bundle", "--help"],
                ["compare", "--help"]]
    with open("/dev/full", "wb") as full:
        for command in commands:
            suite.refused(f"{command} to a full disk", "cannot write to standard output",
                          *command, stdout=full)
        suite.refused("bp-worker to a full disk", "cannot write to standard output", "run",
                      "m.bpb", "-o", "m.bpr", program="bp-worker", stdout=full)
        for program, word in (("bp-lint", "--list-rules"), ("bp-mutants", "--list"),
                              ("bp-nodes", "--help")):
            suite.refused(f"{program} to a full disk", "cannot write to standard output", word,
                          program=program, stdout=full)
    for closed in ("0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"):
        (suite.folder / "c.bpx").unlink(missing_ok=True)
        shell = subprocess.run(["sh", "-c", f'"{BIN}/bp" compile m.onnx -o c.bpx {closed}'],
                               cwd=suite.folder, env=suite.environment, check=False,
                               capture_output=True, timeout=100)
        suite.check(f"with {closed} exit", shell.returncode == (1 if ">&-" in closed.replace(
            "2>&-", "") else 0), shell)
        suite.check(f"with {closed} the artifact is whole", (suite.folder / "c.bpx").read_bytes()
                    == (suite.folder / "m.bpx").read_bytes())
    piped = subprocess.run(["sh", "-c", f'"{BIN}/bp" explain m.bpx | true; exit 0'],
                           cwd=suite.folder, check=False, capture_output=True, timeout=100)
    suite.check("a reader that goes", b"core" not in piped.stderr, piped)


NUMBERS = ["", " ", "-1", "+1", "0x10", "1e3", "1.5", "1 ", " 1", "1x", "one", "1_000", "1'000",
           "99999999999999999999", "nan", "inf", "0b1", "١"]


def numbers(suite):
    """Numbers that are none, and names that nobody has."""
    for text in NUMBERS:
        suite.refused(f"BACKPLANE_THREADS='{text}'", "BACKPLANE_THREADS", "devices",
                      environment={"BACKPLANE_THREADS": text})
        for option in ("--threads", "--repeat", "--random-inputs"):
            suite.refused(f"{option} '{text}'", option, "run", "m.onnx", f"{option}={text}")
        suite.refused(f"--dim n='{text}'", "NAME=SIZE", *RUN, "--dim", f"n={text}")
        suite.refused(f"--dim n='{text}'..9", "MIN..MAX", "compile", "m.onnx", "-o", "z.bpx",
                      "--dim", f"n={text}..9")
    suite.refused("BACKPLANE_THREADS of 5000", "1024", "devices",
                  environment={"BACKPLANE_THREADS": "5000"})
    suite.good("BACKPLANE_THREADS of 0", "devices", environment={"BACKPLANE_THREADS": "0"})
    suite.refused("BACKPLANE_MAP_ARTIFACTS", "neither 0 nor 1", "devices",
                  environment={"BACKPLANE_MAP_ARTIFACTS": "yes"})
    suite.refused("a relative trusted folder", "absolute", "devices",
                  environment={"BACKPLANE_TRUSTED_DIRS": "."})
    for text in ("0", "-5", "many"):
        suite.check(f"--max-memory {text} in few words", len(suite.refused(
            f"--max-memory {text}", "--max-memory", *RUN, f"--max-memory={text}").stderr) < 160)
    for option, text in (("--max-time", "nan"), ("--max-time", "0x1p3"), ("--rtol", "nan"), ("--rtol", "-1"), ("--atol", "inf"),
                         ("--rtol", "1e400"), ("--rtol", ""), ("--rtol", "0x1p3")):
        suite.refused(f"{option} '{text}'", option, *RUN, f"{option}={text}")
    for text, part in (("n=1=2", "no symbolic dim"), ("=1", "NAME=SIZE"), ("n", "NAME=SIZE"),
                       ("m=1", "did you mean 'n'"), ("batch=1", "it has 'n'"),
                       ("x" * 5000 + "=1", "no symbolic dim")):
        suite.refused(f"--dim {text[:20]}", part, *RUN, "--dim", text)
    suite.refused("--dim twice", "given twice", *RUN, "--dim", "n=1", "--dim", "n=2")
    suite.refused("a misspelt option", "did you mean '--device'", *RUN, "--devise", "host")
    suite.refused("an input twice", "given twice", *RUN, "--input", "x=x.npy")
    suite.refused("a long argument", "there is no command", "y" * 100000)
    suite.refused("many arguments", "not expected", "run", "m.onnx", *["--none"] * 20000)


COMPARE = ["compare", "m.onnx", "--a", "ref", "--b", "ref"]


def compared(suite):
    """Sizes and inputs that `bp compare` cannot take."""
    for size in (3 * 10**11, 2**32, 2**60, 2**60 + 1, 2**61, 2**63 - 1):
        suite.refused(f"compare sizes of {size}", "", *COMPARE, "--dim", f"n={size}")
    shape = [2**40]
    wide = models.model([helper.make_node("Neg", ["x"], ["y"])],
                        [models.tensor_value("x", shape)], [models.tensor_value("y", shape)])
    (suite.folder / "wide.onnx").write_bytes(wide.SerializeToString())
    suite.refused("compare a large model", "memory", "compare", "wide.onnx")
    numpy.save(suite.folder / "i4.npy", numpy.ones((5, 4), "i4"))
    suite.refused("compare other numbers", "does not hold", *COMPARE, "--input", "x=i4.npy")
    suite.refused("compare an input twice", "given twice", *COMPARE, "--input", "x=x.npy",
                  "--input", "x=x.npy")
    suite.good("compare", *COMPARE, "--input", "x=x.npy")


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


def tensors(suite):
    """.npy files that are none."""
    good = (suite.folder / "x.npy").read_bytes()
    os.mkfifo(suite.folder / "p.npy")
    bad = {"h": good.replace(b"'shape'", b"'shapf'"), "o": good.replace(b"False", b"Fals "),
           "t": good + b"x", "c": good[:-1], "d": good.replace(b"<f4", b">f4"),
           "v": good[:6] + b"\x09" + good[7:], "r": good.replace(b"(5, 4)", b"(5 ,-4"),
           "e": b"", "k": good.replace(b"'descr'", b"'shape'")}
    for name, data in bad.items():
        (suite.folder / f"{name}.npy").write_bytes(data)
    for name in [*bad, "p"]:
        suite.refused(f"{name}.npy", f"{name}.npy", "run", "m.onnx", "--input", f"x={name}.npy")
    suite.refused("a device as an input", "no regular file", "run", "m.onnx", "--input",
                  "x=/dev/zero")
    suite.refused("a folder as an input", "no regular file", "run", "m.onnx", "--input", "x=/")
    for name in ("/dev/zero", "pipe", "/"):
        for command in ("run", "inspect", "compile"):
            more = ["-o", "z.bpx"] if command == "compile" else []
            suite.refused(f"{command} {name}", name, command, name, *more)
    for end in ("bpx", "bpb", "bpg"):
        os.mkfifo(suite.folder / f"q.{end}")
    suite.refused("run a pipe of an artifact", "regular", "run", "q.bpx")
    suite.refused("compare a pipe", "q.bpg", "compare", "q.bpg")
    suite.refused("judge a pipe", "regular", "bundle", "judge", "q.bpb", "q.bpb")
    suite.refused("run a pipe of a bundle", "regular", "run", "q.bpb", "-o", "z.bpr",
                  program="bp-worker")


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


def main():
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(folder)
        prepare(suite)
        for part in (planted_cache, foreign_folders, outputs, names, streams, numbers, tensors,
                     compared, short_files,
                     changing, full_disks, poor_homes, killed):
            part(suite)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
