# SPDX-License-Identifier: Apache-2.0
"""Rows of products, attention, softmax and norms, recurrent cells, and the same in
narrow types."""
import numpy

from shapes import CELLS, DENSE, HEADS, MATRICES, PLANES, TOKENS, WIDTHS


def transposed(rows, inner, columns):
    def build(m):
        w = m.op("Transpose", m.input(columns, inner), perm=[1, 0])
        return m.op("MatMul", m.input(rows, inner), w)
    return build


def dense(rows, inner, columns):
    def build(m):
        x = m.op("MatMul", m.input(rows, inner), m.weight(inner, columns))
        return m.op("Add", x, m.weight(columns))
    return build


def matmul(draw):
    for name, inner, columns in draw.take(DENSE, 6):
        rows = draw.one([r for r in TOKENS if r >= 49])
        yield f"{name} {rows}x{inner}x{columns}", dense(rows, inner, columns)
    for size in (draw.near(200), draw.near(700)):
        yield f"square {size}", lambda m, n=size: m.op("MatMul", m.input(n, n), m.input(n, n))
    name, inner, columns = draw.one(DENSE)
    yield f"{name} transposed 128x{inner}x{columns}", transposed(128, inner, columns)


def few_rows(draw):
    for name, inner, columns in draw.take(DENSE, 7):
        rows = draw.one([1, 1, 2, 3, 4, 7, 8, 16])
        yield f"{name} {rows}x{inner}x{columns}", dense(rows, inner, columns)


def few_columns(draw):
    for columns in draw.take([1, 1, 2, 3, 4, 5, 8, 10, 16], 6):
        rows, inner = draw.one([197, 256, 512, 1500, 4096]), draw.one(WIDTHS)
        yield f"{rows}x{inner}x{columns}", dense(rows, inner, columns)


def batched_matmul(draw):
    for name, heads, width in draw.take(HEADS, 4):
        tokens = draw.one(TOKENS[3:])
        yield (f"{name} scores {heads}x{tokens}x{width}", lambda m, h=heads, t=tokens, w=width:
               m.op("MatMul", m.input(h, t, w), m.input(h, w, t)))
    for name, heads, width in draw.take(HEADS, 4):
        tokens = draw.one(TOKENS[3:])
        yield (f"{name} values {heads}x{tokens}x{width}", lambda m, h=heads, t=tokens, w=width:
               m.op("MatMul", m.input(h, t, t), m.input(h, t, w)))


def attention(draw):
    def build(heads, tokens, width, past):
        def made(m):
            q, k, v = m.input(1, tokens, heads * width), *(m.input(1, past, heads * width)
                                                           for _ in "kv")
            parts = [m.op("Transpose", m.op("Reshape", x, m.integers(0, 0, heads, width)), perm=p)
                     for x, p in ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]), (v, [0, 2, 1, 3]))]
            scores = m.op("Mul", m.op("MatMul", *parts[:2]), m.constant(numpy.float32(width ** -.5)))
            mixed = m.op("MatMul", m.op("Softmax", scores, axis=-1), parts[2])
            mixed = m.op("Transpose", mixed, perm=[0, 2, 1, 3])
            return m.op("Reshape", mixed, m.integers(0, 0, heads * width))
        return made
    for name, heads, width in draw.take(HEADS, 4):
        tokens = draw.one(TOKENS[4:])
        yield f"{name} {heads}x{tokens}x{width}", build(heads, tokens, width, tokens)
    name, heads, width = draw.one(HEADS)
    yield f"{name} one token of 256", build(heads, 1, width, 256)


def softmax(draw):
    for _ in range(3):
        rows, width = draw.one([128, 196, 1024, 2048]), draw.one(TOKENS[5:] + WIDTHS)
        yield (f"{rows}x{width} axis -1",
               lambda m, r=rows, w=width: m.op("Softmax", m.input(r, w), axis=-1))
    heads, tokens = draw.one([3, 8, 12]), draw.one(TOKENS[6:])
    yield (f"attention {heads}x{tokens}x{tokens} masked", lambda m:
           m.op("Softmax", m.op("Add", m.input(heads, tokens, tokens), m.input(1, tokens, tokens)),
                axis=-1))
    c, h, w = draw.one([(21, 65, 65), (19, 64, 128), (8, 100, 100), (80, 40, 40)])
    yield f"channels {c}x{h}x{w}", lambda m: m.op("Softmax", m.input(1, c, h, w), axis=1)
    rows, width = draw.one(MATRICES)
    yield f"log {rows}x{width}", lambda m: m.op("LogSoftmax", m.input(rows, width), axis=-1)


def norm(draw):
    for _ in range(3):
        rows, width = draw.one(TOKENS[4:]), draw.one(WIDTHS)
        yield f"layer {rows}x{width}", lambda m, r=rows, w=width: m.op(
            "LayerNormalization", m.input(r, w), m.weight(w), m.weight(w))
    rows, width = draw.one(TOKENS[4:]), draw.one(WIDTHS)

    def rms(m):
        x = m.input(rows, width)
        mean = m.op("ReduceMean", m.op("Mul", x, x), m.integers(-1))
        root = m.op("Sqrt", m.op("Add", mean, m.constant(numpy.float32(1e-5))))
        return m.op("Mul", m.op("Div", x, root), m.weight(width))
    yield f"RMS {rows}x{width}", rms
    c, h, w = draw.one([p for p in PLANES if p[0] % 8 == 0])

    def group(m):
        """As PyTorch exports it."""
        x = m.op("Reshape", m.input(1, c, h, w), m.integers(0, 8, -1))
        ones = m.constant(numpy.ones(8, "float32"))
        x = m.op("InstanceNormalization", x, ones, m.constant(numpy.zeros(8, "float32")))
        x = m.op("Reshape", x, m.integers(1, c, h, w))
        return m.op("Add", m.op("Mul", x, m.weight(c, 1, 1)), m.weight(c, 1, 1))
    yield f"group {c}x{h}x{w}", group
    c, h, w = draw.one(PLANES)
    yield f"instance {c}x{h}x{w}", lambda m, c=c, h=h, w=w: m.op(
        "InstanceNormalization", m.input(1, c, h, w), m.weight(c), m.weight(c))
    c, h, w = draw.one(PLANES)
    yield f"batch {c}x{h}x{w}", lambda m, c=c, h=h, w=w: m.op(
        "BatchNormalization", m.input(1, c, h, w), m.weight(c), m.weight(c), m.weight(c),
        m.constant(numpy.ones(c, "float32")))
    rows, width = draw.one(MATRICES)
    yield f"L2 {rows}x{width}", lambda m: m.op("LpNormalization", m.input(rows, width), axis=-1, p=2)


def recurrent(draw):
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("LSTM", 4), ("RNN", 1)):
        tokens, inputs, state = draw.one(CELLS)
        both = draw.one([False, False, True])

        def build(m, kind=kind, gates=gates, size=(tokens, inputs, state), both=both):
            (tokens, inputs, state), ways = size, 2 if both else 1
            more = {"linear_before_reset": 1} if kind == "GRU" else {}
            x = m.input(tokens, 1, inputs)
            return m.op(kind, x, m.weight(ways, gates * state, inputs),
                        m.weight(ways, gates * state, state), m.weight(ways, 2 * gates * state),
                        hidden_size=state, direction="bidirectional" if both else "forward",
                        results=2 if kind != "LSTM" else 3, **more)[0]
        yield f"{kind} {tokens}x{inputs}x{state}{' both ways' if both else ''}", build


def quantized(draw):
    def scales(m, x, scale, zero, dtype):
        return m.op("QuantizeLinear", x, m.constant(numpy.float32(scale)), m.constant(zero, dtype))

    def dynamic(rows, inner, columns):
        def build(m):
            x, scale, zero = m.op("DynamicQuantizeLinear", m.input(rows, inner), results=3)
            w = m.constant(m.random.integers(-127, 128, (inner, columns)), "i1")
            sums = m.op("Cast", m.op("MatMulInteger", x, w, zero), to=1)
            return m.op("Mul", sums, m.op("Mul", scale, m.constant(numpy.float32(.01))))
        return build
    for name, inner, columns in draw.take(DENSE, 3):
        rows = draw.one([1, 16, 128])
        yield f"dynamic {name} {rows}x{inner}x{columns}", dynamic(rows, inner, columns)

    def weights(m, rows, inner, columns):
        w = m.constant(m.random.integers(-127, 128, (inner, columns)), "i1")
        w = m.op("DequantizeLinear", w, m.constant(numpy.float32(.01)), m.constant(0, "i1"))
        return m.op("MatMul", m.input(rows, inner), w)
    name, inner, columns = draw.one(DENSE)
    rows = draw.one([1, 64])
    yield (f"weights {name} {rows}x{inner}x{columns}",
           lambda m: weights(m, rows, inner, columns))
    c, h, w = draw.one(PLANES)
    yield f"quantize {c}x{h}x{w}", lambda m: scales(m, m.input(1, c, h, w), .02, 128, "u1")
    yield f"dequantize {c}x{h}x{w}", lambda m: m.op(
        "DequantizeLinear", m.input(1, c, h, w, dtype="u1"), m.constant(numpy.float32(.02)),
        m.constant(128, "u1"))


def half(draw):
    for name, inner, columns in draw.take(DENSE, 2):
        rows = draw.one(TOKENS[6:])
        yield f"f16 {name} {rows}x{inner}x{columns}", lambda m, r=rows, k=inner, n=columns: m.op(
            "MatMul", m.input(r, k, dtype="f2"), m.weight(k, n, dtype="f2"))
    rows, width = draw.one(MATRICES)
    yield f"f16 softmax {rows}x{width}", lambda m: m.op(
        "Softmax", m.input(rows, width, dtype="f2"), axis=-1)
    yield f"f16 sigmoid {rows}x{width}", lambda m: m.op("Sigmoid", m.input(rows, width, dtype="f2"))
    yield f"f16 to f32 {rows}x{width}", lambda m: m.op("Cast", m.input(rows, width, dtype="f2"), to=1)
    yield f"f32 to bf16 and back {rows}x{width}", lambda m: m.op(
        "Cast", m.op("Cast", m.input(rows, width), to=16), to=1)


CLASSES = {"matmul": matmul, "few-rows": few_rows, "few-columns": few_columns,
           "batched-matmul": batched_matmul, "attention": attention, "softmax": softmax, "norm": norm,
           "recurrent": recurrent, "quantized": quantized, "half": half}
