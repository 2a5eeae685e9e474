# SPDX-License-Identifier: Apache-2.0
"""What each kernel is called with, and what NumPy says that it must give. Bounds follow from the
dtypes: of a sum of K products, K roundings of sums as large as the sum of magnitudes, and the
rounding of the result."""
import dataclasses

import ml_dtypes
import numpy

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
UNIT = {numpy.dtype("f8"): 2.0**-53, numpy.dtype("f4"): 2.0**-24, numpy.dtype("f2"): 2.0**-11,
        numpy.dtype(BF16): 2.0**-8}
TF32_UNIT = 2.0**-10  # of factors whose lower bits are cut off


@dataclasses.dataclass
class Described:
    """A matrix that a kernel takes as a tensor map."""
    values: numpy.ndarray


@dataclasses.dataclass
class Case:
    """A launch; `expected` maps the place of an argument to its values afterwards and a bound of
    the error of each, 0 where they must be the same."""
    grid: tuple
    arguments: list
    expected: dict


def draw(shape, dtype, seed):
    """Values between -2 and 2, some of them zero."""
    source = numpy.random.default_rng(seed)
    values = source.uniform(-2, 2, shape)
    values[source.random(shape) < 0.05] = 0
    return values.astype(dtype)


def bits(shape, seed):
    return numpy.random.default_rng(seed).integers(-2**31, 2**31, shape).astype("i4")


def rounded(values, dtype):
    """Values in a dtype, and the bound of that rounding."""
    unit = UNIT[numpy.dtype(dtype)]
    return numpy.abs(values) * unit + (2.0**-25 if numpy.dtype(dtype) == "f2" else 0)


def vector_add():
    a, b = draw(1000, "f4", 1), draw(1000, "f4", 2)
    return Case((4,), [a, b, numpy.zeros(1000, "f4"), 1000], {2: (a + b, 0)})


def elementwise():
    a, b = draw(1000, "f4", 3), draw(1000, "f4", 4)
    x, y = a.astype("f8"), b.astype("f8")
    from math import erf
    gelu = 0.5 * x * (1 + numpy.vectorize(erf)(x * 0.70710678))
    value = gelu + numpy.tanh(y) + numpy.sqrt(abs(y)) + numpy.exp(-abs(x)) + numpy.sin(y)
    return Case((4,), [a, b, numpy.zeros(1000, "f4"), 1000], {2: (value, 16 * 2.0**-22)})


def softmax():
    rows, columns = 5, 781
    a = draw((rows, columns), "f4", 5) * numpy.float32(4)
    e = numpy.exp(a.astype("f8") - a.max(1, keepdims=True))
    value = e / e.sum(1, keepdims=True)
    # exp of up to 16 loses 16 roundings of its argument, and ex2.approx two units.
    return Case((rows,), [a, numpy.zeros_like(a), columns],
                {1: (value, value * (columns + 2 * 16 + 8) * 2.0**-24)})


def layer_norm():
    rows, columns = 6, 500
    a = draw((rows, columns), "f2", 6)
    scale, bias = draw(columns, "f4", 7), draw(columns, "f4", 8)
    x = a.astype("f8")
    y = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
    value = y * scale + bias
    inside = (abs(y * scale) + abs(bias)) * columns * 2.0**-23
    return Case((rows,), [a, scale, bias, numpy.zeros_like(a), columns],
                {3: (value, inside + rounded(value, "f2"))})


def product(element, result, blocks, sizes=(100, 96, 112), transposed=False, total="f4",
            factor_unit=0.0, seed=10):
    rows, columns, depth = sizes
    if numpy.dtype(element) == "i1":
        source = numpy.random.default_rng(seed)
        a = source.integers(-128, 128, (rows, depth)).astype("i1")
        b = source.integers(-128, 128, (depth, columns)).astype("i1")
    else:
        a, b = draw((rows, depth), element, seed), draw((depth, columns), element, seed + 1)
    x, y = a.astype("f8"), b.astype("f8")
    value, most = x @ y, abs(x) @ abs(y)
    bound = 0
    if numpy.dtype(result) != "i4":
        bound = most * (depth * UNIT[numpy.dtype(total)] + 2 * factor_unit) + rounded(value, result)
    grid = (-(-rows // blocks[0]), -(-columns // blocks[1]))
    there = numpy.ascontiguousarray(b.T) if transposed else b
    return Case(grid, [a, there, numpy.zeros((rows, columns), result), rows, columns, depth],
                {2: (value, bound)})


def matmul_split():
    case = product("f2", "f4", (32, 32), sizes=(64, 96, 160))
    case.grid = (2, 3, 3)
    return case


def gram():
    depth, size = 96, 128
    a = draw((depth, size), "f2", 19)
    x = a.astype("f8")
    value = x.T @ x
    return Case((2, 2), [a, numpy.zeros((size, size), "f4"), size, depth],
                {1: (value, abs(x).T @ abs(x) * depth * 2.0**-24)})


def attention(dtype, block, head):
    heads, length, scale = 2, 128, 0.125
    q, k, v = (draw((heads, length, head), dtype, seed) for seed in (20, 21, 22))
    x, y, z = (one.astype("f8") for one in (q, k, v))
    scores = x @ y.transpose(0, 2, 1) * scale
    scores[:, ~numpy.tri(length, dtype=bool)] = -numpy.inf
    p = numpy.exp(scores - scores.max(2, keepdims=True))
    p /= p.sum(2, keepdims=True)
    value, most = p @ z, p @ abs(z)
    # P is rounded to the dtype before it is multiplied; the sum that divides it is not.
    bound = most * (UNIT[numpy.dtype(dtype)] + (length + 4 * head) * 2.0**-23)
    return Case((length // block, heads), [q, k, v, numpy.zeros_like(q), length, scale],
                {3: (value, bound + rounded(value, dtype))})


def reductions():
    rows, columns = 7, 200
    a = bits((rows, columns), 30)
    a[:, 60] = a[:, 61] = a[:, 190] = 2**31 - 1  # the first of equal ones is taken
    out = [numpy.zeros(rows, "i4") for _ in range(4)]
    return Case((2,), [a, *out, rows, columns],
                {1: (a.sum(1, dtype="i4"), 0), 2: (a.max(1), 0), 3: (a.argmax(1), 0),
                 4: (numpy.bitwise_xor.reduce(a, 1), 0)})


def scans():
    rows, columns = 3, 500
    a = draw((rows, columns), "f4", 31)
    x = a.astype("f8")
    # What lies behind the columns is zero, and so are at least its maxima.
    tops = numpy.maximum(numpy.maximum.accumulate(a[:, ::-1], 1)[:, ::-1], 0)
    return Case((rows,), [a, numpy.zeros_like(a), numpy.zeros_like(a), columns],
                {1: (x.cumsum(1), abs(x).cumsum(1) * columns * 2.0**-24), 2: (tops, 0)})


def gather_scatter():
    n = 70000  # places beyond 16 bits
    a = draw(n, "f4", 32)
    places = numpy.random.default_rng(33).permutation(n).astype("i4")
    return Case((274,), [a, places, numpy.zeros(n, "f4"), n], {2: (a[::-1], 0)})


def atomics():
    n = 1000
    a = bits(n, 34)
    mixed = [numpy.bitwise_xor.reduce(a[i::4]) for i in range(4)]
    return Case((4,), [a, numpy.zeros(16, "i4"), numpy.zeros(2, "i4"), numpy.zeros(4, "i4"), n],
                {1: (numpy.bincount(a & 15, minlength=16), 0), 2: ([a.max(), a.min()], 0),
                 3: (mixed, 0)})


def lock():
    n = 1000
    a = numpy.arange(n, dtype="i4")
    return Case((4,), [a, numpy.zeros(1, "i4"), numpy.zeros(1, "i4"), n],
                {1: ([0], 0), 2: ([a.sum()], 0)})


def philox(counter, key):
    """Philox4x32-10 of Salmon et al., its first word; `counter` are those of the first place."""
    mask = numpy.uint64(0xffffffff)
    c = [counter.astype("u8"), *(numpy.zeros_like(counter, "u8") for _ in range(3))]
    k = [numpy.uint64(key), numpy.uint64(0)]
    for _ in range(10):
        low, high = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(high >> numpy.uint64(32)) ^ c[1] ^ k[0], high & mask,
             (low >> numpy.uint64(32)) ^ c[3] ^ k[1], low & mask]
        k = [(k[0] + numpy.uint64(0x9E3779B9)) & mask, (k[1] + numpy.uint64(0xBB67AE85)) & mask]
    return c[0].astype("u4")


def dropout():
    n, seed = 1000, 1234
    assert philox(numpy.zeros(1, "u4"), 0)[0] == 0x6627e8d5  # a published answer
    a = draw(n, "f4", 35)
    x = philox(numpy.arange(n, dtype="u4"), seed).view("i4")
    uniform = numpy.where(x < 0, ~x, x).astype("f4") * numpy.float32(4.6566127342e-10)
    return Case((2,), [a, numpy.zeros_like(a), n, seed],
                {1: (numpy.where(uniform > 0.5, a * 2, 0), 0)})


def sort():
    a = draw((3, 256), "f4", 36)
    return Case((3,), [a, numpy.zeros_like(a)], {1: (numpy.sort(a, 1), 0)})


def transpose():
    a = draw((50, 70), "f2", 37)
    return Case((2, 3), [a, numpy.zeros((70, 50), "f2"), 50, 70], {1: (a.T, 0)})


def casts():
    n = 1000
    a = draw(n, "f4", 38) * numpy.float32(50)
    out = [numpy.zeros(n, dtype) for dtype in ("f4", BF16, "f2", "i1")]
    return Case((4,), [a, *out, n],
                {1: (a.astype(E5M2).astype("f4"), 0), 2: (a.astype(BF16), 0),
                 3: (a.astype("f2"), 0), 4: (a.astype("i1"), 0)})


def counted():
    a = draw(256, "f4", 39)
    places = numpy.random.default_rng(40).integers(0, 256, 256).astype("i4")
    return Case((1,), [a, places, numpy.zeros(256, "f4"), numpy.zeros(32, "i4")],
                {2: (a[places], 0), 3: (numpy.bincount(places % 32, minlength=32), 0)})


def integers():
    n = 1000
    a, b = bits(n, 41), bits(n, 42)
    b[::3] >>= 20
    b[b == 0] = 3
    x, y = a.astype("i8"), b.astype("i8")
    quotient = (abs(x) // abs(y)) * numpy.sign(x) * numpy.sign(y)  # towards zero
    high = (a.view("u4").astype("u8") * b.view("u4").astype("u8")) >> numpy.uint64(32)
    value = (quotient ^ (x - quotient * y) ^ (x << (y & 31)) ^ (x >> (y & 7)) ^ high.astype("i8"))
    wide = x * y
    wide = (abs(wide) // 1000003) * numpy.sign(wide)
    return Case((4,), [a, b, numpy.zeros(n, "i4"), n],
                {2: (((value + wide) & 0xffffffff).astype("u4").view("i4"), 0)})


def matmul_described():
    case = product("f2", "f2", (64, 64), sizes=(100, 80, 144))
    a, b, out = (Described(one) for one in case.arguments[:3])
    return Case(case.grid, [a, b, out, 144], case.expected)


CASES = {
    "vector_add": vector_add, "elementwise": elementwise, "softmax": softmax,
    "layer_norm": layer_norm,
    "matmul_f32": lambda: product("f4", "f4", (32, 32)),
    "matmul_tf32": lambda: product("f4", "f4", (64, 64), factor_unit=TF32_UNIT),
    "matmul_f16": lambda: product("f2", "f2", (64, 64)),
    "matmul_f16_transposed": lambda: product("f2", "f4", (64, 64), transposed=True),
    "matmul_f16_in_f16": lambda: product("f2", "f2", (64, 64), total="f2"),
    "matmul_f16_narrow": lambda: product("f2", "f4", (64, 16)),
    "matmul_f16_shallow": lambda: product("f2", "f4", (64, 32)),
    "matmul_bf16": lambda: product(BF16, BF16, (128, 64)),
    "matmul_i8": lambda: product("i1", "i4", (64, 64), transposed=True),
    "matmul_e4m3": lambda: product(E4M3, "f4", (64, 64), transposed=True),
    "matmul_e5m2": lambda: product(E5M2, "f4", (64, 64), transposed=True),
    "matmul_wide": lambda: product("f2", "f4", (128, 128), sizes=(200, 144, 208)),
    "matmul_f64": lambda: product("f8", "f8", (32, 32), total="f8"),
    "matmul_split": matmul_split, "gram": gram,
    "attention_f16": lambda: attention("f2", 64, 64),
    "attention_bf16": lambda: attention(BF16, 64, 32),
    "reductions": reductions, "scans": scans, "gather_scatter": gather_scatter,
    "atomics": atomics, "lock": lock, "dropout": dropout, "sort": sort, "transpose": transpose,
    "casts": casts, "counted": counted, "integers": integers,
    "matmul_described": matmul_described,
}
