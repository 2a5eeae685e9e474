# SPDX-License-Identifier: Apache-2.0
"""Rows of reductions, elementwise ops, and of what moves data."""
import numpy

from shapes import HEADS, MATRICES, PLANES, TABLES, TOKENS

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare"]


def text(shape):
    return "x".join(map(str, shape))


def reduction(shape, axes, kind):
    return (f"{kind} {text(shape)} over {text(axes).replace('x', ', ')}",
            lambda m: m.op(kind, m.input(*shape), m.integers(*axes), keepdims=0))


def reduce_inner(draw):
    for shape in draw.take(MATRICES, 4):
        yield reduction(shape, [1], draw.one(REDUCTIONS))
    yield reduction(draw.one(PLANES), [1, 2], draw.one(REDUCTIONS))


def reduce_outer(draw):
    for shape in draw.take(MATRICES, 3):
        yield reduction(shape, [0], draw.one(REDUCTIONS))
    yield reduction(draw.one(PLANES), [0], "ReduceMean")
    yield reduction(draw.one(PLANES), [0, 1], draw.one(REDUCTIONS))


def reduce_middle(draw):
    for shape in draw.take(PLANES, 2):
        yield reduction(shape, [1], draw.one(REDUCTIONS))
    tokens, (_, heads, width) = draw.one(TOKENS[6:]), draw.one(HEADS)
    yield reduction((heads, tokens, width), [1], "ReduceMean")
    yield reduction((8, tokens, 768), [1], "ReduceMax")


def reduce_several(draw):
    for shape in draw.take(PLANES, 2):
        yield reduction((4, *shape), [0, 2, 3], draw.one(REDUCTIONS))
    shape = draw.one(PLANES)
    yield reduction(shape, [0, 2], draw.one(REDUCTIONS))
    yield reduction(shape, [0, 1, 2], "ReduceSum")


def arg_reduce(draw):
    rows, width = draw.one(MATRICES)
    yield f"ArgMax {rows}x{width} inner", lambda m: m.op(
        "ArgMax", m.input(rows, width), axis=1, keepdims=0)
    c, h, w = draw.one([(21, 65, 65), (19, 64, 128), (80, 40, 40)])
    yield f"ArgMax {c}x{h}x{w} channels", lambda m: m.op(
        "ArgMax", m.input(1, c, h, w), axis=1, keepdims=0)
    yield f"ArgMin {rows}x{width} outer", lambda m: m.op("ArgMin", m.input(rows, width), axis=0)


def transpose(draw):
    for rows, columns in draw.take(MATRICES, 3):
        yield f"{rows}x{columns}", lambda m, r=rows, c=columns: m.op(
            "Transpose", m.input(r, c), perm=[1, 0])
    c, h, w = draw.one(PLANES)
    yield f"to channels last {c}x{h}x{w}", lambda m, s=(c, h, w): m.op(
        "Transpose", m.input(1, *s), perm=[0, 2, 3, 1])
    c, h, w = draw.one(PLANES)
    yield f"to channels first {h}x{w}x{c}", lambda m, s=(h, w, c): m.op(
        "Transpose", m.input(1, *s), perm=[0, 3, 1, 2])
    tokens, (_, heads, width) = draw.one(TOKENS[6:]), draw.one(HEADS)
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 3, 1, 2]):
        yield f"heads {tokens}x{heads}x{width} {perm}", lambda m, p=perm: m.op(
            "Transpose", m.input(1, tokens, heads, width), perm=p)
    yield f"shuffle {c}x{h}x{w}", lambda m: m.op(
        "Transpose", m.input(4, c, h * w), perm=[1, 0, 2])
    shape = [draw.near(n) for n in (24, 12, 20, 16)]
    perm = draw.one([[3, 2, 1, 0], [2, 3, 0, 1], [1, 3, 0, 2], [3, 0, 2, 1]])
    yield f"{text(shape)} {perm}", lambda m: m.op("Transpose", m.input(*shape), perm=perm)


def chain(draw):
    binary = ["Add", "Mul", "Sub", "Max", "Min"]
    unary = ["Relu", "Neg", "Abs", "Sigmoid", "Tanh", "Exp", "Sqrt", "Floor"]
    for shape in draw.take(MATRICES + PLANES, 5):
        first, second = draw.one(binary), draw.one(binary)
        middle, last = draw.one(unary[:5]), draw.one(unary[:5])

        def build(m, shape=shape, ops=(first, middle, second, last)):
            x, y = m.input(*shape), m.input(*shape)
            x = m.op(ops[1], m.op(ops[0], x, y))
            return m.op(ops[3], m.op(ops[2], x, m.constant(numpy.float32(.5))))
        yield f"{first} {middle} {second} {last} {text(shape)}", build
    rows, width = draw.one(MATRICES)

    def gated(m):
        x = m.input(rows, width)
        return m.op("Mul", m.op("Mul", x, m.op("Sigmoid", x)), m.input(rows, width))
    yield f"SwiGLU {rows}x{width}", gated

    def outputs(m):
        x = m.op("Add", m.input(rows, width), m.input(rows, width))
        return [m.op("Relu", x), m.op("Mul", x, x)]
    yield f"two outputs {rows}x{width}", outputs


def activation(draw):
    kinds = ["Relu", "Sigmoid", "Tanh", "Gelu", "Gelu tanh", "Erf", "Exp", "Log", "Sqrt", "HardSwish",
             "HardSigmoid", "LeakyRelu", "Elu", "Softplus", "Mish", "Selu", "Sin", "Cos", "Celu"]
    for kind in draw.take(kinds, 10):
        shape = draw.one(MATRICES + PLANES)
        name, *rest = kind.split()
        more = {"approximate": rest[0]} if rest else {}

        def build(m, kind=name, shape=shape, more=more):
            x = m.input(*shape)
            return m.op(kind, m.op("Abs", x) if kind in ("Log", "Sqrt") else x, **more)
        yield f"{kind} {text(shape)}", build


def broadcast(draw):
    def two(kind, a, b):
        return (f"{kind} {text(a)} and {text(b)}",
                lambda m: m.op(kind, m.input(*a), m.input(*b)))
    rows, width = draw.one(MATRICES)
    yield two("Add", (rows, width), (width,))
    yield two("Mul", (rows, width), (rows, 1))
    c, h, w = draw.one(PLANES)
    yield two("Mul", (1, c, h, w), (1, c, 1, 1))
    yield two("Add", (1, c, h, w), (1, 1, h, w))
    tokens = draw.one(TOKENS[5:10])
    yield two("Sub", (tokens, 1, 64), (1, tokens, 64))
    yield two("Less", (tokens, 1), (1, tokens))
    yield f"Expand {c}x1x1 to {h}x{w}", lambda m: m.op(
        "Expand", m.input(c, 1, 1), m.integers(c, h, w))
    yield f"Where {rows}x{width}", lambda m: m.op(
        "Where", m.input(rows, 1, dtype="b1"), m.input(rows, width), m.constant(numpy.float32(-1e9)))


def join_split(draw):
    c, h, w = draw.one(PLANES)
    yield f"Concat channels {c}x{h}x{w}", lambda m: m.op(
        "Concat", m.input(1, c, h, w), m.input(1, 2 * c, h, w), axis=1)
    rows, width = draw.one(MATRICES)
    yield f"Concat inner {rows}x{width}", lambda m: m.op(
        "Concat", *(m.input(rows, width) for _ in range(3)), axis=1)
    tokens, (_, heads, size) = draw.one(TOKENS[6:]), draw.one(HEADS)
    yield f"Concat past {heads}x{tokens}x{size}", lambda m: m.op(
        "Concat", m.input(1, heads, tokens, size), m.input(1, heads, 1, size), axis=2)
    yield f"Split QKV {tokens}x{3 * heads * size}", lambda m: m.op(
        "Split", m.input(1, tokens, 3 * heads * size), axis=2, num_outputs=3, results=3)
    c, h, w = draw.one(PLANES)
    yield f"Slice every other {c}x{h}x{w}", lambda m, c=c, h=h, w=w: m.op(
        "Slice", m.input(1, c, h, w), m.integers(0, 0), m.integers(h, w), m.integers(2, 3),
        m.integers(2, 2))
    yield f"Slice inside {rows}x{width}", lambda m: m.op(
        "Slice", m.input(rows, width), m.integers(1, 5), m.integers(rows - 1, width - 3))
    yield f"Slice backwards {rows}x{width}", lambda m: m.op(
        "Slice", m.input(rows, width), m.integers(-1), m.integers(-width - 1), m.integers(1),
        m.integers(-1))
    for mode in ("constant", "reflect", "edge"):
        yield f"Pad {mode} {c}x{h}x{w}", lambda m, k=mode, c=c, h=h, w=w: m.op(
            "Pad", m.input(1, c, h, w), m.integers(0, 0, 2, 3, 0, 0, 2, 3), mode=k)
    yield f"Tile {tokens}x{size}", lambda m: m.op("Tile", m.input(tokens, size), m.integers(2, 3))
    blocks = draw.one([(64, 40, 40), (128, 20, 20), (32, 64, 64)])
    yield f"DepthToSpace {text(blocks)}", lambda m: m.op(
        "DepthToSpace", m.input(1, *blocks), blocksize=2)
    yield f"SpaceToDepth {text(blocks)}", lambda m: m.op(
        "SpaceToDepth", m.input(1, *blocks), blocksize=2)


def gather_scatter(draw):
    (words, width), tokens = draw.one(TABLES), draw.one(TOKENS[6:])
    yield f"embedding {words}x{width} {tokens}", lambda m: m.op(
        "Gather", m.weight(words, width), m.input(1, tokens, dtype="i8"))
    yield f"columns {tokens} of {width}", lambda m: m.op(
        "Gather", m.input(tokens, max(width, 100)), m.input(64, dtype="i8"), axis=1)
    yield f"GatherElements {tokens}x128", lambda m: m.op(
        "GatherElements", m.input(max(tokens, 100), 128), m.input(tokens, 128, dtype="i8"), axis=0)
    yield f"GatherND {tokens} of 100x100x64", lambda m: m.op(
        "GatherND", m.input(100, 100, 64), m.input(tokens, 2, dtype="i8"))
    rows = draw.one([256, 1024, 4096])

    def scatter_rows(m):
        where = m.constant(m.random.permutation(rows)[:tokens // 2].reshape(-1, 1))
        return m.op("ScatterND", m.input(rows, 128), where, m.input(tokens // 2, 128))
    yield f"ScatterND {min(rows, tokens // 2)} of {rows}x128", scatter_rows

    def scatter_elements(m):
        where = numpy.argsort(m.random.random((64, 256)), axis=1)[:, :128]
        return m.op("ScatterElements", m.input(64, 256), m.constant(where), m.input(64, 128), axis=1)
    yield "ScatterElements 64x128 of 64x256", scatter_elements
    yield f"OneHot {tokens}x100", lambda m: m.op(
        "OneHot", m.input(tokens, dtype="i8"), m.integers(100),
        m.constant(numpy.array([0, 1], "float32")), axis=-1)


def sort(draw):
    for rows, width in ((1, 8400), (draw.one([16, 64]), 1000), (128, draw.one([32, 80]))):
        few = draw.one([1, 5, 10])
        yield f"TopK {few} of {rows}x{width}", lambda m, r=rows, w=width, k=few: m.op(
            "TopK", m.input(r, w), m.integers(k), results=2)
    rows, width = draw.one([(1, 1000), (8, 300), (16, 256)])
    yield f"sort {rows}x{width}", lambda m: m.op(
        "TopK", m.input(rows, width), m.integers(width), results=2)
    yield f"TopK outer {width}x{rows * 16}", lambda m: m.op(
        "TopK", m.input(width, rows * 16), m.integers(5), axis=0, results=2)


def scan(draw):
    rows, width = draw.one([(128, 768), (100, 4096), (1000, 1000)])
    yield f"CumSum {rows}x{width} inner", lambda m: m.op(
        "CumSum", m.input(rows, width), m.integers(1))
    yield f"CumSum {rows}x{width} outer", lambda m: m.op(
        "CumSum", m.input(rows, width), m.integers(0))
    yield f"CumSum {rows}x{width} reverse", lambda m: m.op(
        "CumSum", m.input(rows, width), m.integers(1), reverse=1)
    yield "CumSum mask 1x512", lambda m: m.op(
        "CumSum", m.input(1, 512, dtype="i8"), m.integers(1), exclusive=1)


CLASSES = {"reduce-inner": reduce_inner, "reduce-outer": reduce_outer,
           "reduce-middle": reduce_middle, "reduce-several": reduce_several,
           "arg-reduce": arg_reduce, "transpose": transpose, "chain": chain, "activation": activation,
           "broadcast": broadcast, "join-split": join_split, "gather-scatter": gather_scatter,
           "sort": sort, "scan": scan}
