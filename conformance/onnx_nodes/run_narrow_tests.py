#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX ops on f16 and bf16, held to f64 that is computed outside.

The oracle judges a model as it was imported, so it cannot see an import that
keeps squares or means in f16. Here the node tests of the onnx package, one for
each op of the import table, get narrow inputs, as they are and at magnitudes
whose squares and sums f16 cannot hold; the package's reference implementation
computes them in f64. An op of the table that has narrow inputs and no such run
fails, unless UNTESTED names the reason.

Without --all one test of an op runs on f16 at one magnitude on host; with
--all three run on both dtypes at all magnitudes, on each of --devices.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import queue
import sys
import tomllib
import warnings

import ml_dtypes
import numpy
import onnx
import onnx.reference

import harness
import run_node_tests
import values

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
NARROW = {"f16": (onnx.TensorProto.FLOAT16, numpy.float16, "tensor(float16)"),
          "bf16": (onnx.TensorProto.BFLOAT16, ml_dtypes.bfloat16, "tensor(bfloat16)")}
# What becomes of the numbers of a test.
DATA = {"large": lambda x: x * 300, "plain": lambda x: x,
        "far": lambda x: x * 30 + 1000}
# Units in the last place. A result is rounded once and functions of 16 bits may
# be 2 off.
UNITS = 2.5
UNTESTED = {
    "If": "its nodes are nodes of their own", "Loop": "as If", "Scan": "as If",
    "Range": "its bounds are known at import",
    "Cast": "its test is a table of dtypes", "CastLike": "as Cast",
    "Identity": "moves", "Constant": "has no input", "ConstantOfShape": "likewise",
    "Shape": "gives sizes", "Size": "gives sizes",
    **{op: "its input is a size that is known at import" for op in (
        "BlackmanWindow", "HammingWindow", "HannWindow")},
    "Scatter": "was replaced by ScatterElements", "Equal": "as Greater",
    "EyeLike": "its input gives a size", "Trilu": "moves",
    "Dropout": "moves, or draws numbers, which the suite random-ops judges",
    **{op: "draws numbers, which the suite random-ops judges" for op in (
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike")},
}
# The reference implementation rounds, or is defined, otherwise.
UNJUDGED = {"DequantizeLinear": "its reference computes in the dtype of the scale",
            "QuantizeLinear": "its reference leaves what does not fit to NumPy"}


REFUSALS = ("not supported", "computed from data", "must be the constant")


def own(op, shapes, function, seed=1, prepare=lambda *x: x, result=FLOAT, **attributes):
    """(op, model in f32, inputs, function of them in f64) of a test of ours.

    `prepare` changes the normally distributed inputs. A `result` other than FLOAT
    stays as it is when the floats become narrow.
    """
    names = [f"x{i}" for i in range(len(shapes))]
    given = [onnx.helper.make_tensor_value_info(name, FLOAT, shape)
             for name, shape in zip(names, shapes)]
    output = onnx.helper.make_tensor_value_info("y", result, None)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op, names, ["y"], **attributes)], op, given, [output])
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    random = numpy.random.default_rng(seed)
    inputs = prepare(*(random.standard_normal(shape) for shape in shapes))
    return op, model, inputs, function


def own_tests():
    """Forms that the node tests lack, or have no large numbers for."""
    def norm(x, p, axes):
        return (numpy.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)

    def windows(x, p):
        blocks = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        return (numpy.abs(blocks) ** p).sum((-1, -2)) ** (1 / p)
    def convolution(x, w, b):
        blocks = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        return numpy.einsum("nchwij,ocij->nohw", blocks, w) + b[:, None, None]

    def pointwise(x, w, b):
        return numpy.einsum("nchw,coij->nohw", x, w) + b[:, None, None]

    # Sums of many thousands, and a bias that brings most of them back into f16.
    def far_below(x, w, b):
        return abs(x), abs(w), b - 50000
    return [
        own("Gemm", [(5, 300), (300, 7), (7,)], lambda a, b, c: a @ b + c,
            prepare=far_below),
        own("Conv", [(1, 33, 6, 7), (4, 33, 3, 3), (4,)], convolution,
            prepare=far_below),
        own("ConvTranspose", [(1, 300, 2, 3), (300, 4, 1, 1), (4,)], pointwise,
            prepare=far_below),
        own("GlobalLpPool", [(2, 3, 9, 8)], lambda x: norm(x, 2, (2, 3))),
        own("GlobalLpPool", [(2, 3, 9, 8)], lambda x: norm(x, 3, (2, 3)), p=3),
        own("LpPool", [(1, 2, 7, 9)], lambda x: windows(x, 3), p=3, kernel_shape=[3, 3]),
        own("Gemm", [(5, 300), (300, 7), (7,)],
            lambda a, b, c: numpy.float64(numpy.float32(0.001)) * (a @ b) + 2 * c,
            alpha=0.001, beta=2.0),
        own("Einsum", [(5, 90), (90, 4), (4, 30)], lambda a, b, c: a @ b @ c,
            equation="ij,jk,kl->il"),
        own("Einsum", [(5, 90), (90, 4)], lambda a, b: a.sum(0) @ b,
            equation="ij,jk->k"),
        # What is denormal in f16 is not zero.
        own("NonZero", [(20, 30)], lambda x: numpy.stack(numpy.nonzero(x)),
            prepare=lambda x: (numpy.where(x < 0, 0, 1e-7),), result=onnx.TensorProto.INT64),
        own("Sum", [(400,)] * 5, lambda *x: sum(x)),
        own("Mean", [(400,)] * 3, lambda *x: sum(x) / 3),
    ]


def attempt_own(entry, which, change):
    """As attempt, of a test of ours."""
    _, model, inputs, function = entry
    proto, dtype, _ = NARROW[which]
    narrow, _ = retyped(model, {v.name for v in (*model.graph.input,
                                                 *model.graph.output)}, proto)
    # The first operand alone is moved, so that products stay in range.
    rounded = [(change(x) if index == 0 else x).astype(dtype)
               for index, x in enumerate(inputs)]
    right = function(*(x.astype(numpy.float64) for x in rounded))
    right = numpy.asarray(right)
    return narrow, rounded, [right.astype(dtype) if right.dtype.kind == "f" else right]


def table_ops():
    table = (ROOT / "sdk/import/onnx_ops.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(table)["ops"])


def formal(schema, index, inputs):
    """The parameter of a schema that stands for input or output `index`."""
    listed = schema.inputs if inputs else schema.outputs
    return listed[min(index, len(listed) - 1)]


def allowed(schema, parameter):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter.type_str:
            return constraint.allowed_type_strs
    return [parameter.type_str]


def narrow_names(model, text):
    """Names that may be of another float dtype; None: not of one node."""
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    if len(nodes) != 1 or len(model.graph.node) != 1:
        return None
    node = nodes[0]
    opset = next(entry.version for entry in model.opset_import if entry.domain == "")
    schema = onnx.defs.get_schema(node.op_type, opset, "")
    names = set()
    # What LayerNormalization says of its input has the dtype of stash_type.
    outputs = node.output[:1] if node.op_type == "LayerNormalization" else node.output
    for inputs, listed in ((True, node.input), (False, outputs)):
        names |= {name for index, name in enumerate(listed) if name
                  and text in allowed(schema, formal(schema, index, inputs))
                  # What is f32 whatever x is has a type of its own.
                  and "tensor(float)" in allowed(schema, formal(schema, index, inputs))}
    return names


def retyped(model, names, dtype):
    """The model with another dtype for its floats of these names."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    changed = set()
    for value in itertools.chain(copy.graph.input, copy.graph.output):
        kind = value.type.tensor_type
        if value.name in names and kind.elem_type in (FLOAT, DOUBLE):
            kind.elem_type = dtype
            changed.add(value.name)
    return copy, changed


def attempt(test, which, change):
    """Model, inputs and right outputs of a test on narrow floats, or None."""
    proto, dtype, text = NARROW[which]
    names = narrow_names(test.model, text)
    wide = narrow_names(test.model, "tensor(double)")
    if not names or wide is None:
        return None
    model, changed = retyped(test.model, names, proto)
    given = [value.name for value in model.graph.input]
    if not changed & set(given):
        return None
    inputs = [values.array(value) for value in test.data_sets[0][0]]
    if len(inputs) != len(given) or not all(isinstance(x, numpy.ndarray) for x in inputs):
        return None
    first = True
    for index, name in enumerate(given):
        if name in changed:
            # Only data are moved: scales and weights stay as they are.
            value = change(inputs[index].astype(numpy.float64)) if first else inputs[index]
            inputs[index] = value.astype(dtype)
            first = False
    for target, kind in ((DOUBLE, numpy.float64), (FLOAT, numpy.float32)):
        outside, _ = retyped(test.model, changed & (wide if target == DOUBLE else changed),
                             target)
        feeds = {name: x.astype(kind) if name in changed and (target == FLOAT or name in wide)
                 else x.astype(numpy.float32) if name in changed else x
                 for name, x in zip(given, inputs)}
        try:
            outputs = onnx.reference.ReferenceEvaluator(outside).run(None, feeds)
            break
        except Exception:  # pylint: disable=broad-except
            outputs = None
    if outputs is None:
        return None
    def stored(y, value):
        y = numpy.asarray(y)
        if value.name in changed:
            return y.astype(dtype)
        return y.astype(numpy.float32) if y.dtype == numpy.float64 else y

    right = [stored(y, value) for y, value in zip(outputs, model.graph.output)]
    return model, inputs, right


def weight(test):
    """Tests with many elements come first."""
    return -sum(values.array(value).size for value in test.data_sets[0][0]
                if isinstance(values.array(value), numpy.ndarray))


def plans(options):
    """(op, name, model, inputs, outputs) of all runs; then the ops without."""
    groups = collections.defaultdict(list)
    for test in run_node_tests.all_tests():
        if not test.expanded and test.data_sets:
            groups[test.op].append(test)
    runs, without = [], []
    dtypes = NARROW if options.all else ["f16"]
    for op in table_ops():
        if op in UNTESTED:
            continue
        found = 0
        tests = sorted(groups.get(op, []), key=weight)
        for which, data in itertools.product(dtypes, DATA):
            wanted = 3 if options.all else 1
            if not options.all and data != "large":
                continue
            for test in tests:
                made = attempt(test, which, DATA[data]) if wanted else None
                if made:
                    runs.append((op, f"{test.name}-{which}-{data}", *made))
                    wanted -= 1
                    found += 1
            for number, entry in enumerate(own_tests()):
                if entry[0] == op:
                    made = attempt_own(entry, which, DATA[data])
                    runs.append((op, f"own_{op.lower()}_{number}-{which}-{data}", *made))
                    found += 1
        takes = not tests or any(narrow_names(test.model, NARROW["f16"][2])
                                 for test in tests)
        if not found and takes:
            without.append(op)
    return runs, without


def run_all(options, runs):
    """(run, record) for each run on each device."""
    os.environ.setdefault("BACKPLANE_CACHE_DIR", "-")
    for device in options.devices.split(",") if options.all else ["host"]:
        free = queue.SimpleQueue()
        runners = []
        for _ in range(options.jobs):
            runner = harness.Runner(options.tool, device)
            runner.command += ["--stored", str(UNITS)]
            runners.append(runner)
            free.put(runner)

        def ask(run):
            op, name, model, inputs, outputs = run
            runner = free.get()
            try:
                test = run_node_tests.Test(name, model, [], op, False)
                return harness.run_set([runner], test, (inputs, outputs))[0]
            finally:
                free.put(runner)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for run, record in zip(runs, pool.map(ask, runs)):
                yield device, run, record
        for runner in runners:
            runner.stop()


def outcome(op, record):
    """passed, failed or skipped; what rounds on the way is refused by the importer,
    which is a failure."""
    if record["status"] in run_node_tests.GOOD:
        return "passed"
    refused = record["status"] == harness.REFUSED and any(
        reason in record["reason"] for reason in REFUSALS)
    return "skipped" if refused or op in UNJUDGED else "failed"


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=str(ROOT / "build/bin/bp-nodes"))
    parser.add_argument("--devices", default="host,ref,vulkan")
    parser.add_argument("--only", default="", help="this op")
    parser.add_argument("--verbose", action="store_true", help="print what is skipped")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    runs, without = plans(options)
    runs = [run for run in runs if options.only in ("", run[0])]
    counts = collections.Counter()
    for op in without:
        print(f"FAILED {op}: no test of it ran on narrow floats")
        counts["failed"] += 1
    for device, (op, name, *_), record in run_all(options, runs):
        kind = outcome(op, record)
        counts[kind] += 1
        if kind == "failed":
            print(f"FAILED {device} {op} {name}: {record['status']}: {record['reason']}")
        elif options.verbose and kind == "skipped":
            print(f"skipped {device} {op} {name}: {record['reason']}")
    print(f"{len(runs)} runs of {len({run[0] for run in runs})} ops")
    print(f"{counts['passed']} passed, {counts['failed']} failed, "
          f"{counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
