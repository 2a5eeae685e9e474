# SPDX-License-Identifier: Apache-2.0
"""Small models, drawn by a seed, whose results have sizes that data decide."""
import dataclasses

import numpy
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

DTYPES = {TensorProto.FLOAT: numpy.float32, TensorProto.INT64: numpy.int64,
          TensorProto.INT32: numpy.int32, TensorProto.UINT8: numpy.uint8,
          TensorProto.BOOL: numpy.bool_, TensorProto.DOUBLE: numpy.float64,
          TensorProto.FLOAT16: numpy.float16, TensorProto.INT8: numpy.int8}


@dataclasses.dataclass
class Case:
    model: object
    inputs: dict
    # What the reference evaluator gets wrong or leaves open, by output.
    answers: dict = dataclasses.field(default_factory=dict)

    def wanted(self):
        names = [output.name for output in self.model.graph.output]
        if self.answers:
            return self.answers
        return dict(zip(names, ReferenceEvaluator(self.model).run(names, self.inputs)))


class Builder:
    """Inputs of a model, whose sizes are now numbers and then symbols, and constants."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.inputs, self.declared, self.constants, self.nodes = {}, [], [], []

    def chance(self, part=0.5):
        return self.random.random() < part

    def pick(self, values):
        return values[int(self.random.integers(len(values)))]

    def input(self, name, value, symbols=True):
        """An input; each size is a symbol in half of the cases."""
        value = numpy.asarray(value)
        dims = [f"{name}_{axis}" if symbols and self.chance() else size
                for axis, size in enumerate(value.shape)]
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.declared.append(helper.make_tensor_value_info(name, dtype, dims))
        self.inputs[name] = value
        return name

    def either(self, name, value):
        """A constant or an input."""
        value = numpy.asarray(value)
        if self.chance():
            return self.input(name, value, symbols=False)
        return self.constant(name, value)

    def sizes(self, name, value, most=12):
        """Sizes as constants, or as data that the model bounds, all or but one of them."""
        value = numpy.asarray(value, numpy.int64)
        if self.chance(0.15):
            return self.constant(name, value)
        kind = self.pick([numpy.int64, numpy.int32])
        given = value
        parts = []
        if value.ndim and value.size > 1 and self.chance():
            given = value[1:]
            parts = [self.constant(f"{name}_known", value[:1])]
        last = self.input(f"{name}_in", given.astype(kind), symbols=False)
        if kind is numpy.int32:
            self.node("Cast", [last], [f"{name}_long"], to=TensorProto.INT64)
            last = f"{name}_long"
        if most is not None:
            self.node("Min", [last, self.constant(f"{name}_most", numpy.int64(most))],
                      [f"{name}_low"])
            last = f"{name}_low"
        if parts:
            self.node("Concat", [*parts, last], [name], axis=0)
            return name
        return last

    def constant(self, name, value):
        value = numpy.asarray(value)
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.constants.append(helper.make_tensor(name, dtype, value.shape, value.flatten()))
        return name

    def node(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))

    def case(self, outputs, **answers):
        """`outputs`: name to (dtype, rank)."""
        shown = [helper.make_tensor_value_info(name, dtype, [f"{name}_{i}" for i in range(rank)])
                 for name, (dtype, rank) in outputs.items()]
        graph = helper.make_graph(self.nodes, "g", self.declared, shown, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                  ir_version=8)
        return Case(model, self.inputs, answers)

    def shape(self, rank, most=5):
        return [int(size) for size in self.random.integers(0 if self.chance(0.15) else 1,
                                                           most + 1, rank)]

    def values(self, shape, dtype, different):
        """Few different values, so that some are equal."""
        data = self.random.integers(0, different, shape)
        if numpy.issubdtype(dtype, numpy.floating):
            data = (data - different // 2) * 0.5
            if self.chance(0.3):
                data = numpy.where(self.random.random(shape) < 0.2, -0.0, data)
        return data.astype(dtype)


def draw_non_zero(b):
    kind = b.pick(list(DTYPES))
    rank = b.pick([1, 2, 3])
    b.input("x", b.values(b.shape(rank), DTYPES[kind], 3))
    b.node("NonZero", ["x"], ["y"])
    return b.case({"y": (TensorProto.INT64, 2)})


def draw_compress(b):
    rank = b.pick([1, 2, 3])
    x = b.values(b.shape(rank), numpy.float32, 9)
    b.input("x", x)
    axis = b.pick([None, *range(-rank, rank)])
    size = x.size if axis is None else x.shape[axis]
    b.input("c", b.random.random(int(b.random.integers(0, size + 1))) < 0.5)
    b.node("Compress", ["x", "c"], ["y"], **({} if axis is None else {"axis": axis}))
    wanted = numpy.compress(b.inputs["c"], x, axis=axis)
    return b.case({"y": (TensorProto.FLOAT, 1 if axis is None else rank)}, y=wanted)


def unique(x, axis, is_sorted):
    """All four results; the evaluator's order by first occurrence has errors."""
    y, first, runs, sizes = numpy.unique(x, True, True, True, axis=axis)
    if not is_sorted:
        order = numpy.argsort(first)
        places = numpy.argsort(order)
        y = numpy.take(y, order, axis=axis or 0)
        first, sizes, runs = first[order], sizes[order], places[runs]
    runs = numpy.asarray(runs).reshape(-1)
    return {"y": y, "i": first.astype(numpy.int64), "v": runs.astype(numpy.int64),
            "c": sizes.astype(numpy.int64)}


def draw_unique(b):
    kind = b.pick(list(DTYPES))
    rank = b.pick([1, 2, 3])
    x = b.values(b.shape(rank), DTYPES[kind], b.pick([1, 2, 4, 30]))
    axis = b.pick([None, None, *range(-rank, rank)])
    if numpy.issubdtype(x.dtype, numpy.floating):
        x = x + 0  # no -0, which a structured comparison of NumPy takes for different
        if axis is None and b.chance(0.3):
            x = numpy.where(b.random.random(x.shape) < 0.2, numpy.nan, x).astype(x.dtype)
    is_sorted = b.pick([0, 1])
    b.input("x", x)
    attributes = {"sorted": is_sorted, **({} if axis is None else {"axis": axis})}
    b.node("Unique", ["x"], ["y", "i", "v", "c"], **attributes)
    long = (TensorProto.INT64, 1)
    return b.case({"y": (kind, 1 if axis is None else rank), "i": long, "v": long, "c": long},
                  **unique(x, axis, is_sorted))


def draw_boxes(b, batches, boxes, center):
    """Boxes that overlap, some of them without an area, turned around, or equal."""
    boxes = b.random.integers(0, 8, (batches, boxes, 4)).astype(numpy.float32) / b.pick([1, 3])
    if b.chance():
        boxes += b.random.random(boxes.shape).astype(numpy.float32) * 0.3
    if center and b.chance(0.7):
        boxes[..., 2:] = numpy.abs(boxes[..., 2:]) + 1
    elif not center and b.chance(0.7):
        boxes[..., 2:] += boxes[..., :2] + 1
    return boxes


def draw_non_max_suppression(b):
    batches, classes = (int(size) for size in b.random.integers(0 if b.chance(0.1) else 1, 4, 2))
    boxes = int(b.pick([0, 1, 2, 6, 13]))
    center = b.pick([0, 1])
    b.input("boxes", draw_boxes(b, batches, boxes, center))
    scores = b.values((batches, classes, boxes), numpy.float32, b.pick([1, 3, 1000]))
    names = ["boxes", b.input("scores", scores)]
    given = b.pick([0, 1, 2, 3])
    if given > 0:
        most = b.pick([-1, 0, 1, 2, 5, 100, 2**63 - 1])
        names.append(b.either("most", numpy.array([most], numpy.int64)))
    if given > 1:
        names.append(b.either("iou", numpy.array([b.pick([0, 0.2, 0.5, 1])], numpy.float32)))
    if given > 2:
        low = b.pick([-10, 0, 0.5, 200, 1e9])
        names.append(b.either("low", numpy.array([low], numpy.float32)))
        if b.chance(0.3):
            holes = b.random.random(scores.shape) < 0.3
            b.inputs["scores"] = numpy.where(holes, numpy.float32(numpy.nan), scores)
    b.node("NonMaxSuppression", names, ["y"], center_point_box=center)
    return b.case({"y": (TensorProto.INT64, 2)}, y=suppressed(b, names, center))


def suppressed(b, names, center):
    """By the evaluator, which wants the optional inputs too."""
    whole = Builder(0)
    values = [b.inputs.get(name) for name in names]
    for constant in b.constants:
        values[names.index(constant.name)] = numpy_helper.to_array(constant)
    defaults = [(0, numpy.int64), (0, numpy.float32), (-numpy.inf, numpy.float32)]
    values += [numpy.array([value], dtype) for value, dtype in defaults[len(values) - 2:]]
    values[2] = numpy.maximum(values[2], 0)  # it has no answer to less
    given = [whole.input(f"i{n}", value, symbols=False) for n, value in enumerate(values)]
    whole.node("NonMaxSuppression", given, ["y"], center_point_box=center)
    return whole.case({"y": (TensorProto.INT64, 2)}).wanted()["y"]


def draw_reshape(b):
    sizes = [size for size in b.shape(b.pick([1, 2, 3])) if size] or [4]
    count = int(numpy.prod(sizes))
    x = b.values(sizes, numpy.float32, 99)
    shape, left = [], count
    for _ in range(int(b.random.integers(0, 3))):
        shape.append(b.pick([size for size in range(1, left + 1) if left % size == 0]))
        left //= shape[-1]
    shape.insert(int(b.random.integers(0, len(shape) + 1)), left)
    for axis, size in enumerate(shape):
        if axis < len(sizes) and sizes[axis] == size and b.chance():
            shape[axis] = 0
    if b.chance():
        shape[int(b.random.integers(0, len(shape)))] = -1
    b.node("Reshape", [b.input("x", x), b.sizes("s", shape, None)], ["y"])
    return b.case({"y": (TensorProto.FLOAT, len(shape))})


def draw_expand(b):
    rank = b.pick([1, 2, 3])
    wide = b.shape(rank)
    x = b.values([size if b.chance() else 1 for size in wide][b.pick([0, rank - 1]):],
                 numpy.float32, 9)
    shape = [1 if b.chance(0.3) and axis >= rank - x.ndim and x.shape[axis - rank] == size
             else size for axis, size in enumerate(wide)]
    b.node("Expand", [b.input("x", x), b.sizes("s", shape)], ["y"])
    return b.case({"y": (TensorProto.FLOAT, rank)})


def draw_tile(b):
    rank = b.pick([1, 2, 3])
    b.input("x", b.values(b.shape(rank, 3), numpy.float32, 9))
    b.node("Tile", ["x", b.sizes("s", b.random.integers(0, 4, rank))], ["y"])
    return b.case({"y": (TensorProto.FLOAT, rank)})


def draw_constant_of_shape(b):
    rank = b.pick([1, 2, 3])
    b.node("ConstantOfShape", [b.sizes("s", b.shape(rank))], ["z"],
           value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.5]))
    b.node("Exp", ["z"], ["y"])
    return b.case({"y": (TensorProto.FLOAT, rank)})


def draw_range(b):
    delta = b.pick([1, 2, 3, -1, -2])
    start, limit = (int(value) for value in b.random.integers(-3, 12, 2))
    if b.chance():
        start = 0
    b.node("Range", [b.either("a", numpy.int64(start)), b.sizes("s", limit),
                     b.either("c", numpy.int64(delta))], ["r"])
    # Nothing but what the model declares bounds most of them.
    case = b.case({"r": (TensorProto.INT64, 1)})
    count = max(0, -((start - limit) // delta))
    case.model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = count
    return case


def draw_slice(b):
    rank = b.pick([1, 2, 3])
    sizes = b.shape(rank, 6)
    axes = list(b.random.permutation(rank)[:int(b.random.integers(1, rank + 1))])
    steps = [b.pick([1, 1, 1, 2, 3, -1, -2]) for _ in axes]
    starts, ends = [], []
    for axis, step in zip(axes, steps):
        size = sizes[axis]
        # What a start below the axis or an end behind it means for a negative
        # step, evaluators do not agree on.
        low = -size if step < 0 else -9
        starts.append(int(b.random.integers(low, 10)))
        ends.append(b.pick([int(b.random.integers(-9, max(size, 1))), -2**62])
                    if step < 0 else b.pick([int(b.random.integers(-9, 10)), 2**62]))
    b.input("x", b.values(sizes, numpy.float32, 99))
    if 0 in sizes:
        steps = [abs(step) for step in steps]
    b.node("Slice", ["x", b.sizes("s", starts, 2**63 - 1), b.sizes("e", ends, 2**63 - 1),
                     b.constant("a", numpy.array(axes, numpy.int64)),
                     b.constant("t", numpy.array(steps, numpy.int64))], ["y"])
    return b.case({"y": (TensorProto.FLOAT, rank)})


def draw_split(b):
    rank = b.pick([1, 2])
    sizes, axis = b.shape(rank), int(b.random.integers(0, rank))
    first = int(b.random.integers(0, sizes[axis] + 1))
    b.input("x", b.values(sizes, numpy.float32, 99))
    b.node("Split", ["x", b.sizes("s", [first, sizes[axis] - first])], ["y", "z"], axis=axis)
    return b.case({"y": (TensorProto.FLOAT, rank), "z": (TensorProto.FLOAT, rank)})


def draw_pad(b):
    rank = b.pick([1, 2])
    sizes = [size + 1 for size in b.shape(rank)]
    mode = b.pick(["constant", "edge", "reflect"])
    pads = [int(b.random.integers(0, min(3, sizes[i % rank]))) for i in range(2 * rank)]
    b.input("x", b.values(sizes, numpy.float32, 99))
    b.node("Pad", ["x", b.sizes("s", pads)], ["y"], mode=mode)
    return b.case({"y": (TensorProto.FLOAT, rank)})


def draw_one_hot(b):
    rank = b.pick([0, 1, 2])
    depth = int(b.random.integers(1, 6))
    b.input("x", b.random.integers(-depth, depth, b.shape(rank)))
    b.input("v", numpy.array([0.5, 2], numpy.float32))
    b.node("OneHot", ["x", b.sizes("s", numpy.array(depth)), "v"], ["y"],
           axis=int(b.random.integers(-rank - 1, rank + 1)))
    return b.case({"y": (TensorProto.FLOAT, rank + 1)})


def draw_top_k(b):
    rank = b.pick([1, 2, 3])
    sizes, axis = b.shape(rank, 7), int(b.random.integers(0, rank))
    b.input("x", b.random.permutation(int(numpy.prod(sizes))).reshape(sizes)
            .astype(numpy.float32))
    b.node("TopK", ["x", b.sizes("s", [int(b.random.integers(0, sizes[axis] + 1))])],
           ["y", "i"], axis=axis, largest=b.pick([0, 1]))
    return b.case({"y": (TensorProto.FLOAT, rank), "i": (TensorProto.INT64, rank)})


FAMILIES = (draw_reshape, draw_expand, draw_tile, draw_constant_of_shape, draw_range, draw_slice,
            draw_split, draw_pad, draw_one_hot, draw_top_k, draw_reshape, draw_slice,
            draw_non_zero, draw_compress, draw_unique, draw_unique, draw_non_max_suppression,
            draw_non_max_suppression)


def family(seed):
    return FAMILIES[seed % len(FAMILIES)]


def name(seed):
    return f"{family(seed).__name__.removeprefix('draw_')}_{seed}"


def draw(seed):
    return family(seed)(Builder(seed))
