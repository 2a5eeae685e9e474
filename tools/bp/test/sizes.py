# SPDX-License-Identifier: Apache-2.0
"""Outputs whose sizes data decide, as `bp` shows and writes them."""
import numpy
from onnx import TensorProto, helper

import checks
import models


def positives():
    """v: the elements of x[n, 4] above 0; at: their indices; after a control op, too."""
    def branch(name, op):
        return helper.make_graph([helper.make_node(op, ["v"], [name])], name, [],
                                 [models.tensor_value(name, ["k"])])
    return models.model(
        [helper.make_node("Greater", ["x", "zero"], ["mask"]),
         helper.make_node("NonZero", ["mask"], ["at"], name="/find"),
         helper.make_node("Transpose", ["at"], ["rows"]),
         helper.make_node("GatherND", ["x", "rows"], ["v"]),
         helper.make_node("ReduceSum", ["v"], ["sum"], keepdims=0),
         helper.make_node("Greater", ["sum", "limit"], ["large"]),
         helper.make_node("If", ["large"], ["y"], name="/choice",
                          then_branch=branch("then", "Neg"), else_branch=branch("else", "Exp"))],
        [models.tensor_value("x", ["n", 4])],
        [models.tensor_value("v", ["k"]), models.tensor_value("y", ["k"]),
         helper.make_tensor_value_info("at", TensorProto.INT64, [2, "k"])],
        [helper.make_tensor("zero", TensorProto.FLOAT, [], [0]),
         helper.make_tensor("limit", TensorProto.FLOAT, [], [6])])


def outputs(x):
    v = x[x > 0]
    return {"v": v, "y": -v if v.sum() > 6 else numpy.exp(v), "at": numpy.array(numpy.nonzero(x > 0))}


def check(suite, tool, devices):
    tool.file("sizes.onnx", positives().SerializeToString())
    inputs = [numpy.arange(-4, 4), -numpy.ones(8), numpy.ones(8), numpy.ones(0), numpy.ones(4)]
    for device in devices:
        for number, data in enumerate(inputs):
            x = data.astype("f4").reshape(-1, 4)
            numpy.save(tool.folder / "sizes_x.npy", x)
            run = tool.run("run", "sizes.onnx", "--device", device, "--input", "x=sizes_x.npy",
                           "--repeat", "3", "--output-dir", "sizes_out")
            what = f"sizes that data decide on {device}, input {number}"
            suite.check(what, run.returncode == 0, run.stdout + run.stderr)
            for name, expected in outputs(x).items() if run.returncode == 0 else ():
                found = numpy.load(tool.folder / "sizes_out" / f"{name}.npy")
                suite.check(f"{what}: {name}", found.shape == expected.shape
                            and numpy.allclose(found, expected, rtol=1e-6), found)
    made = tool.run("compile", "sizes.onnx", "-o", "sizes.bpx")
    suite.check("compile sizes that data decide", made.returncode == 0, made.stderr)
    shown = tool.run("inspect", "sizes.bpx").stdout
    for part in ("output at: i64[2, at_count]", "requires dims.read",
                 "read at_count <= 4*n: NonZero node '/find'"):
        suite.check("inspect shows reads", part in shown, shown)
    explained = tool.run("explain", "sizes.bpx").stdout
    suite.check("explain names reads", "read: at_count, at most 4*n, the host waits for it"
                in explained, explained)
    declared(suite, tool, devices)


def declared(suite, tool, devices):
    """A size that only the user can bound."""
    s = helper.make_tensor_value_info("s", TensorProto.INT64, [1])
    model = models.model([helper.make_node("Tile", ["x", "s"], ["y"], name="/tile")],
                         [models.tensor_value("x", [2]), s], [models.tensor_value("y", ["k"])], [])
    tool.file("tile.onnx", model.SerializeToString())
    x = numpy.array([1, 2], "f4")
    numpy.save(tool.folder / "tile_x.npy", x)
    for times in (0, 3, 5):
        numpy.save(tool.folder / f"tile_{times}.npy", numpy.array([times]))
    refused = tool.run("compile", "tile.onnx", "-o", "tile.bpx")
    suite.refused("a size that nothing bounds", refused)
    suite.check("the refusal says what to give", "--dim y_repeats_0=0..MAX" in refused.stderr,
                refused.stderr)
    made = tool.run("compile", "tile.onnx", "-o", "tile.bpx", "--target",
                    f"{checks.OWN_TARGET},ref",
                    "--dim", "y_repeats_0=0..4")
    suite.check("compile a size with a range", made.returncode == 0, made.stderr)
    for device in devices:
        for times in (0, 3, 5):
            run = tool.run("run", "tile.bpx", "--device", device, "--input", "x=tile_x.npy",
                           "--input", f"s=tile_{times}.npy", "--output-dir", "tile_out")
            what = f"{times} of at most 4 on {device}"
            if times > 4:
                suite.refused(what, run)
                suite.check(f"{what} has the range", "expected from 0 to 4" in run.stderr, run.stderr)
            else:
                suite.check(what, run.returncode == 0 and numpy.array_equal(
                    numpy.load(tool.folder / "tile_out/y.npy"), numpy.tile(x, times)), run.stderr)
