# SPDX-License-Identifier: Apache-2.0
"""Rows of small tensors, where a call costs more than its arithmetic."""
import numpy


def small(draw):
    width = draw.one([10, 32, 64, 100])
    yield f"Add {width}", lambda m: m.op("Add", m.input(width), m.input(width))
    yield f"dense 1x{width}x{width}", lambda m: m.op(
        "Gemm", m.input(1, width), m.weight(width, width), m.weight(width))
    yield f"softmax 1x{width}", lambda m: m.op("Softmax", m.input(1, width), axis=-1)
    yield f"mean 4x{width}", lambda m: m.op("ReduceMean", m.input(4, width), m.integers(1))
    size = draw.one([4, 5, 7, 8])
    yield f"conv 3x3 8-16 {size}²", lambda m: m.op(
        "Conv", m.input(1, 8, size, size), m.weight(16, 8, 3, 3), pads=[1] * 4)
    yield f"layer norm 1x{width}", lambda m: m.op(
        "LayerNormalization", m.input(1, width), m.weight(width), m.weight(width))
    yield f"transpose {size}x{width}", lambda m: m.op(
        "Transpose", m.input(size, width), perm=[1, 0])

    def perceptron(m):
        x = m.input(1, width)
        for _ in range(6):
            x = m.op("Relu", m.op("Gemm", x, m.weight(width, width), m.weight(width)))
        return x
    yield f"six layers of {width}", perceptron

    def excite(m):
        x = m.op("GlobalAveragePool", m.input(1, 96, size, size))
        x = m.op("Relu", m.op("Conv", x, m.weight(4, 96, 1, 1), m.weight(4)))
        return m.op("Sigmoid", m.op("Conv", x, m.weight(96, 4, 1, 1), m.weight(96)))
    yield f"squeeze and excite 96 {size}²", excite

    def pairs(m):
        x, y = m.input(32, 1), m.input(1, 32)
        distance = m.op("Sub", x, y)
        return m.op("ReduceSum", m.op("Mul", distance, distance), m.integers(0),
                    keepdims=0)
    yield "distances 32x32", pairs
    yield "scalar arithmetic", lambda m: m.op(
        "Mul", m.op("Add", m.input(1), m.input(1)), m.constant(numpy.float32(2)))


CLASSES = {"small": small}
