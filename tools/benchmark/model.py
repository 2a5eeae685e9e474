# SPDX-License-Identifier: Apache-2.0
"""A row of the benchmark while its ONNX model is made."""
import dataclasses

import numpy
import onnx
from onnx import helper, numpy_helper, shape_inference

OPSET = 21
KINDS = {"f4": "float32", "f2": "float16", "i8": "int64", "u1": "uint8", "i1": "int8", "b1": "bool"}


@dataclasses.dataclass
class Input:
    """What a model is called with: normal numbers, or integers below `limit`."""
    name: str
    shape: tuple
    dtype: str
    limit: int = 100

    def array(self, random):
        kind = KINDS[self.dtype]
        if self.dtype.startswith("f"):
            return random.standard_normal(self.shape, "float32").astype(kind)
        if self.dtype == "b1":
            return random.integers(0, 2, self.shape).astype(kind)
        return random.integers(0, self.limit, self.shape).astype(kind)


class Model:
    """Nodes, constants and inputs; every op gives the names of its results."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.inputs, self.nodes, self.constants = [], [], []
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def input(self, *shape, dtype="f4"):
        self.inputs.append(Input(f"x{len(self.inputs)}", tuple(shape), dtype))
        return self.inputs[-1].name

    def constant(self, data, dtype=None):
        array = numpy.asarray(data, KINDS[dtype] if dtype else None)
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape, dtype="f4"):
        """Normal numbers whose sums of products stay near 1."""
        size = max(1, int(numpy.prod(shape[1:])))
        data = self.random.standard_normal(shape, "float32") / numpy.sqrt(size)
        return self.constant(data.astype(KINDS[dtype]))

    def integers(self, *values):
        return self.constant(numpy.array(values, "int64").reshape(-1))

    def op(self, kind, *operands, results=1, **attributes):
        names = [self.name("v") for _ in range(results)]
        self.nodes.append(helper.make_node(kind, list(operands), names, **attributes))
        return names[0] if results == 1 else names

    def finish(self, *outputs):
        """The model, whose outputs have the types that ONNX infers."""
        inputs = [helper.make_tensor_value_info(
            i.name, helper.np_dtype_to_tensor_dtype(numpy.dtype(KINDS[i.dtype])), i.shape)
            for i in self.inputs]
        graph = helper.make_graph(self.nodes, "row", inputs,
                                  [helper.make_empty_tensor_value_info(o) for o in outputs],
                                  self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 10
        model = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        del model.graph.value_info[:]
        onnx.checker.check_model(model)
        return model
