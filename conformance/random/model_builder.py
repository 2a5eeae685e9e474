# SPDX-License-Identifier: Apache-2.0
"""Builds one small ONNX model whose shapes and choices are drawn."""
import dataclasses

import numpy
import onnx
from onnx import TensorProto, helper

FLOATS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
          "float16": TensorProto.FLOAT16}
INTEGERS = {"int64": TensorProto.INT64, "int32": TensorProto.INT32,
            "int16": TensorProto.INT16, "int8": TensorProto.INT8,
            "uint8": TensorProto.UINT8, "uint32": TensorProto.UINT32}
TYPES = {**FLOATS, **INTEGERS, "bool": TensorProto.BOOL}


@dataclasses.dataclass
class Case:
    """A model, its inputs, and the length of the longest sum in it."""
    name: str
    model: onnx.ModelProto
    inputs: dict
    terms: int


class Builder:
    """Collects nodes; every value has a known shape at generation time."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.constants, self.data = [], [], [], {}
        self.terms = 1
        self.symbols = {}
        self.tiny = False

    # ---- choices ----

    def pick(self, options):
        return options[int(self.random.integers(len(options)))]

    def size(self, limit=70):
        """Mostly small, often just beside a power of two, rarely 0."""
        if self.tiny:
            return self.pick([0, 1, 1, 2, 3])
        if self.random.random() < 0.02:
            return 0
        near = int(2 ** self.random.integers(0, 7)) + int(self.random.integers(-1, 2))
        size = self.pick([near, int(self.random.integers(1, limit))])
        return max(1, min(size, limit))

    def shape(self, rank=None, limit=70):
        rank = int(self.random.integers(0, 5)) if rank is None else rank
        shape = [self.size(limit) for _ in range(rank)]
        while numpy.prod(shape) > 60000:
            shape[shape.index(max(shape))] //= 2
        return shape

    def values(self, dtype, shape, low=-3.0, high=3.0):
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        if dtype in FLOATS:
            return self.random.uniform(low, high, shape).astype(dtype)
        return self.random.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)

    # ---- values ----

    def name(self):
        return f"v{len(self.nodes) + len(self.inputs) + len(self.constants)}"

    def input(self, dtype, shape, symbolic=(), low=-3.0, high=3.0):
        """`symbolic` axes get a name, the same for the same size."""
        name = self.name()
        dims = [self.symbols.setdefault(size, f"s{len(self.symbols)}")
                if axis in symbolic else size for axis, size in enumerate(shape)]
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], dims))
        self.data[name] = self.values(dtype, shape, low, high)
        return name

    def constant(self, array):
        name = self.name()
        self.constants.append(onnx.numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def weight(self, dtype, shape, low=-1.0, high=1.0):
        return self.constant(self.values(dtype, shape, low, high))

    def node(self, op, operands, **attributes):
        result = self.name()
        self.nodes.append(helper.make_node(op, operands, [result], name=result + "_" + op,
                                           **attributes))
        return result

    def finish(self, name, outputs):
        results = [helper.make_empty_tensor_value_info(output) for output in outputs]
        graph = helper.make_graph(self.nodes, name, self.inputs, results, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                  ir_version=9)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        return Case(name, model, self.data, self.terms)

    def some_axes(self, rank):
        return tuple(axis for axis in range(rank) if self.random.random() < 0.4)
