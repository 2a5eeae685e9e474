# SPDX-License-Identifier: Apache-2.0
"""What an output must not replace, and outputs with any name."""
import os

import numpy
from onnx import helper

import models
from file_model import RUN


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


ALL = outputs, names
