# SPDX-License-Identifier: Apache-2.0
"""Streams, numbers, names and tensors that are none."""
import os
import subprocess

import numpy
from onnx import helper

import models
from file_model import RUN
from programs import BIN


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


ALL = streams, numbers, tensors, compared
