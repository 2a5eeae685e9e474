#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how long compiling takes, in seconds, for models of growing size: one
line for each shape of graph. The last column is how far the time of the largest
is from proportional to the one before it: 1.0 is proportional.

    .venv/bin/python tools/bp/bench_compile.py --sizes 2000,8000,32000 --only chain
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
node, SIDE = helper.make_node, 8


def value(name, dims=(SIDE, SIDE), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def constant(name, seed, dims=(SIDE, SIDE)):
    random = numpy.random.default_rng(seed)
    return numpy_helper.from_array(random.standard_normal(dims).astype("f4") / 8, name)


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def line(count, make):
    """Ops one behind the other; `make` gives the op of a number."""
    names = ["x", *(f"h{i}" for i in range(1, count)), "y"]
    return [make(i, names[i], names[i + 1]) for i in range(count)]


def chain(count):
    return model(line(count, lambda i, x, y: node(("Sin", "Tanh")[i % 2], [x], [y])),
                 [value("x")], [value("y")])


def softmax(count):
    return model(line(count, lambda _, x, y: node("Softmax", [x], [y])), [value("x")],
                 [value("y")])


def products(count):
    return model(line(count, lambda _, x, y: node("MatMul", [x, "w"], [y])), [value("x")],
                 [value("y")], [constant("w", 1)])


def weights(count):
    return model(line(count, lambda i, x, y: node("Add", [x, f"w{i}"], [y])), [value("x")],
                 [value("y")], [constant(f"w{i}", i) for i in range(count)])


def inputs(count):
    return model(line(count, lambda i, x, y: node("Add", [x, f"x{i}"], [y])),
                 [value("x"), *(value(f"x{i}") for i in range(count))], [value("y")])


def folded(count):
    nodes = line(count, lambda i, x, y: node(("Sin", "Tanh")[i % 2], [x], [y]))
    nodes[0].input[0] = "w"
    nodes[-1].output[0] = "c"
    return model([*nodes, node("Add", ["x", "c"], ["y"])], [value("x")], [value("y")],
                 [constant("w", 1)])


def outputs(count):
    nodes = [node("MatMul", [f"y{i - 1}" if i else "x", "w"], [f"y{i}"]) for i in range(count)]
    return model(nodes, [value("x")], [value(f"y{i}") for i in range(count)],
                 [constant("w", 1)])


def fan(count):
    nodes = [node("MatMul", ["x", f"w{i}"], [f"a{i}"]) for i in range(count // 2)]
    names = [f"a{i}" for i in range(count // 2)]
    return model([*nodes, node("Concat", names, ["y"], axis=0)], [value("x")],
                 [value("y", (SIDE * len(names), SIDE))],
                 [constant(f"w{i}", i) for i in range(count // 2)])


def ladder(count):
    nodes, a, b = [], "x", "z"
    for i in range(count // 4):
        nodes += [node("Add", [a, b], [f"a{i}"]), node("MatMul", [a, b], [f"m{i}"]),
                  node("Sin", [f"m{i}"], [f"b{i}"]), node("Mul", [f"b{i}", b], [f"c{i}"])]
        a, b = f"a{i}", f"c{i}"
    return model([*nodes, node("Add", [a, b], ["y"])], [value("x"), value("z")], [value("y")])


def branches(count):
    def branch(kind, name, source):
        return helper.make_graph([node(kind, [source], [name])], name, [], [value(name)])
    return model(line(count, lambda i, x, y: node(
        "If", ["c"], [y], then_branch=branch("Sin", f"t{i}", x),
        else_branch=branch("Neg", f"e{i}", x))),
        [value("x"), value("c", (), TensorProto.BOOL)], [value("y")])


def symbols(count):
    return model([node("Sin", [f"x{i}"], [f"y{i}"]) for i in range(count)],
                 [value(f"x{i}", [f"s{i}"]) for i in range(count)],
                 [value(f"y{i}", [f"s{i}"]) for i in range(count)])


SHAPES = (chain, softmax, products, weights, inputs, folded, outputs, fan, ladder, branches,
          symbols)


def seconds(bp, folder, made):
    path = pathlib.Path(folder) / "m.onnx"
    path.write_bytes(made.SerializeToString())
    start = time.monotonic()
    result = subprocess.run([bp, "compile", path, "-o", f"{folder}/m.bpx"], text=True,
                            capture_output=True, check=False,
                            env={**os.environ, "BACKPLANE_CACHE_DIR": f"{folder}/cache"})
    if result.returncode:
        print(result.stderr.strip()[:300], file=sys.stderr)
        return float("nan")
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bp", default=str(ROOT / "build/bin/bp"))
    parser.add_argument("--sizes", default="1000,4000")
    parser.add_argument("--only", action="append", choices=[s.__name__ for s in SHAPES])
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    print(f"{'shape':10}" + "".join(f"{size:>9}" for size in sizes) + "   growth")
    for shape in SHAPES:
        if options.only and shape.__name__ not in options.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            seconds(options.bp, folder, shape(100))  # its kernels, into the cache
            times = [seconds(options.bp, folder, shape(size)) for size in sizes]
        growth = times[-1] / times[-2] * sizes[-2] / sizes[-1] if len(sizes) > 1 else 1
        print(f"{shape.__name__:10}" + "".join(f"{time:9.2f}" for time in times)
              + f"   {growth:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
