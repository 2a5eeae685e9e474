# SPDX-License-Identifier: Apache-2.0
"""Registered kernels as a user of `bp` meets them. The set is the one of KernelSetTest, whose
kernel `product` adds 1000 to what its text says."""
import json
import pathlib

import numpy
from onnx import helper

import checks
import models


def relu_of(op):
    """y = relu(a op b) of n numbers."""
    nodes = [helper.make_node(op, ["a", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    return models.model(nodes, [models.tensor_value("a", ["n"]), models.tensor_value("b", ["n"])],
                        [models.tensor_value("y", ["n"])])


def listed(suite, tool, plugins):
    lines = tool.run("kernels", **plugins).stdout
    for line in ("marked.product version 1: function for *, of f32, 2 choices, preferred, set 1.0.0",
                 "marked.difference version 1: code for *, of f32, preferred, set 1.0.0"):
        suite.check("bp kernels lists", f"{line}\n" in lines, lines)
    text = tool.run("kernels", "--text", **plugins).stdout
    suite.check("bp kernels prints texts", "  %s = sub(%a, %b)\n" in text, text)
    rows = json.loads(tool.run("kernels", "--json", **plugins).stdout)
    suite.check("bp kernels in JSON", [(row["name"], row["body"], row["dtypes"]) for row in rows]
                == [("product", "function", ["f32"]), ("linear", "function", ["f32"]),
                    ("difference", "code", ["f32"])], rows)
    broken = tool.run("kernels", BP_MARKED_BREAKS="text", **plugins)
    suite.check("bp kernels says what is wrong", "marked: not used: line 1, column 42: no op has "
                "the name \"inptu\"" in broken.stdout, broken.stdout)
    suite.check("bp kernels without a set", tool.run("kernels").stdout == "no registered kernel\n")


def named(suite, tool, plugins):
    """What --kernel asks for computes the model, or the reason is said."""
    model = tool.file("product.onnx", relu_of("Mul").SerializeToString())
    for name, mark in (("marked.product", 1000), ("-", 0)):
        for limits in ((), ("--max-memory", "8G")):
            made = tool.run("compile", model, "-o", "product.bpx", "--kernel", name, "--target",
                            checks.OWN_TARGET, *limits, **plugins)
            suite.check(f"compile --kernel {name}", made.returncode == 0, made.stderr)
            numpy.save(tool.folder / "ka.npy", numpy.arange(9, dtype="f4"))
            numpy.save(tool.folder / "ky.npy", numpy.arange(9, dtype="f4") ** 2 + mark)
            ran = tool.run("run", "product.bpx", "--input", "a=ka.npy", "--input", "b=ka.npy",
                           "--expect", "y=ky.npy", **plugins)
            suite.check(f"run by {name}", ran.returncode == 0, ran.stdout + ran.stderr)
    tool.run("compile", model, "-o", "product.bpx", "--kernel", "marked.product", **plugins)
    without = tool.run("run", "product.bpx", "--random-inputs", "1")
    suite.refused("run without the set", without)
    suite.check("the reason", "which no other code replaces" in without.stderr, without.stderr)
    for name, reason in (("marked.difference", "does not compute mul"),
                         ("marked.nothing", "no set has a kernel 'marked.nothing'")):
        bad = tool.run("compile", model, "-o", "bad.bpx", "--kernel", name, **plugins)
        suite.refused(f"compile --kernel {name}", bad)
        suite.check("why not", reason in bad.stderr, bad.stderr)


def check(suite, tool):
    build = pathlib.Path(tool.binary).parent.parent
    own = build / "sdk/service/test/kernels/plugins/marked.bp.json"
    if not own.exists():
        suite.skipped += 1
        return
    plugins = {"BACKPLANE_ADD_PLUGIN_FILES": str(own)}
    listed(suite, tool, plugins)
    named(suite, tool, plugins)
