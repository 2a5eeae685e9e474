# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton's language, written for this test, and how each is compiled. generate.py makes
PTX of them; cases.py says what each must give."""
import dataclasses

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vector_add(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(a + at, mask) + tl.load(b + at, mask), mask)


@triton.jit
def elementwise(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(a + at, mask)
    y = tl.load(b + at, mask)
    gelu = 0.5 * x * (1 + tl.erf(x * 0.70710678))
    value = gelu + libdevice.tanh(y) + tl.sqrt(tl.abs(y)) + tl.exp(-tl.abs(x)) + tl.sin(y)
    tl.store(out + at, value, mask)


@triton.jit
def softmax(a, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(a + row * columns + at, at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * columns + at, e / tl.sum(e, 0), at < columns)


@triton.jit
def layer_norm(a, scale, bias, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(a + row * columns + at, mask, other=0).to(tl.float32)
    mean = tl.sum(x, 0) / columns
    x = tl.where(mask, x - mean, 0)
    y = x / tl.sqrt(tl.sum(x * x, 0) / columns + 1e-5)
    y = y * tl.load(scale + at, mask) + tl.load(bias + at, mask)
    tl.store(out + row * columns + at, y, mask)


@triton.jit
def matmul(a, b, out, M, N, K, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr,
           TRANSPOSED: tl.constexpr, PRECISION: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    columns = tl.program_id(1) * N_BLOCK + tl.arange(0, N_BLOCK)
    depth = tl.arange(0, K_BLOCK)
    sums = tl.zeros((M_BLOCK, N_BLOCK), SUM)
    for k in range(0, K, K_BLOCK):
        at = k + depth
        x = tl.load(a + rows[:, None] * K + at[None, :],
                    (rows[:, None] < M) & (at[None, :] < K), other=0.0)
        if TRANSPOSED:
            y = tl.load(b + columns[None, :] * K + at[:, None],
                        (columns[None, :] < N) & (at[:, None] < K), other=0.0)
        else:
            y = tl.load(b + at[:, None] * N + columns[None, :],
                        (columns[None, :] < N) & (at[:, None] < K), other=0.0)
        sums = tl.dot(x, y, sums, input_precision=PRECISION, out_dtype=SUM)
    where = out + rows[:, None] * N + columns[None, :]
    tl.store(where, sums.to(out.dtype.element_ty), (rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def matmul_split(a, b, out, M, N, K, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(tl.program_id(2) * BLOCK, K, BLOCK * SPLIT):
        at = k + tl.arange(0, BLOCK)
        sums = tl.dot(tl.load(a + rows[:, None] * K + at[None, :]),
                      tl.load(b + at[:, None] * N + columns[None, :]), sums)
    tl.atomic_add(out + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def gram(a, out, M, K, BLOCK: tl.constexpr, K_BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, K_BLOCK):
        at = k + tl.arange(0, K_BLOCK)
        x = tl.load(a + at[:, None] * M + rows[None, :])
        y = tl.load(a + at[:, None] * M + columns[None, :])
        sums = tl.dot(tl.trans(x), y, sums)
    tl.store(out + rows[:, None] * M + columns[None, :], sums)


@triton.jit
def attention(q, k, v, out, length, scale, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr,
              HEAD: tl.constexpr):
    rows = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    head = tl.arange(0, HEAD)
    base = tl.program_id(1) * length * HEAD
    x = tl.load(q + base + rows[:, None] * HEAD + head[None, :])
    top = tl.full((M_BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((M_BLOCK,), tl.float32)
    sums = tl.zeros((M_BLOCK, HEAD), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * M_BLOCK, N_BLOCK):
        at = start + tl.arange(0, N_BLOCK)
        y = tl.load(k + base + at[None, :] * HEAD + head[:, None])
        scores = tl.dot(x, y) * scale
        scores = tl.where(rows[:, None] >= at[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(p, 1)
        z = tl.load(v + base + at[:, None] * HEAD + head[None, :])
        sums = tl.dot(p.to(z.dtype), z, sums * shrink[:, None])
        top = higher
    tl.store(out + base + rows[:, None] * HEAD + head[None, :],
             (sums / total[:, None]).to(out.dtype.element_ty))


@triton.jit
def reductions(a, sums, tops, where, bits, rows, columns, R_BLOCK: tl.constexpr,
               C_BLOCK: tl.constexpr):
    at = tl.program_id(0) * R_BLOCK + tl.arange(0, R_BLOCK)
    column = tl.arange(0, C_BLOCK)
    mask = (at[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(a + at[:, None] * columns + column[None, :], mask, other=0)
    tl.store(sums + at, tl.sum(x, 1), at < rows)
    low = tl.where(mask, x, -2147483648)
    tl.store(tops + at, tl.max(low, 1), at < rows)
    tl.store(where + at, tl.argmax(low, 1), at < rows)
    tl.store(bits + at, tl.xor_sum(x, 1), at < rows)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def scans(a, sums, tops, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(a + row * columns + at, mask, other=0)
    tl.store(sums + row * columns + at, tl.cumsum(x, 0), mask)
    tl.store(tops + row * columns + at, tl.associative_scan(x, 0, larger, reverse=True), mask)


@triton.jit
def gather_scatter(a, places, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = tl.load(places + at, at < n, other=0)
    tl.store(out + to, tl.load(a + n - 1 - to, at < n), at < n)


@triton.jit
def atomics(a, counts, extremes, mixed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(a + at, mask, other=0)
    tl.atomic_add(counts + (x & 15), 1, mask)
    tl.atomic_max(extremes + 0 * at, x, mask)
    tl.atomic_min(extremes + 1 + 0 * at, x, mask)
    tl.atomic_xor(mixed + (at & 3), x, mask)


@triton.jit
def lock(a, guard, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(a + at, at < n, other=0), 0)
    while tl.atomic_cas(guard, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + total)
    tl.debug_barrier()
    tl.atomic_xchg(guard, 0)


@triton.jit
def dropout(a, out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at, at < n)
    keep = tl.rand(seed, at) > 0.5
    tl.store(out + at, tl.where(keep, x * 2, 0.0), at < n)


@triton.jit
def sort(a, out, columns: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, columns)
    tl.store(out + at, tl.sort(tl.load(a + at)))


@triton.jit
def transpose(a, out, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i[:, None] * columns + j[None, :],
                (i[:, None] < rows) & (j[None, :] < columns))
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(x),
             (j[:, None] < columns) & (i[None, :] < rows))


@triton.jit
def casts(a, tiny, brain, half, byte, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(a + at, mask)
    tl.store(tiny + at, x.to(tl.float8e5).to(tl.float32), mask)
    tl.store(brain + at, x.to(tl.bfloat16), mask)
    tl.store(half + at, x.to(tl.float16), mask)
    tl.store(byte + at, x.to(tl.int8), mask)


@triton.jit
def counted(a, places, picked, counts, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(a + at)
    index = tl.load(places + at)
    tl.store(picked + at, tl.gather(x, index, 0))
    tl.store(counts + tl.arange(0, BINS), tl.histogram(index % BINS, BINS))


@triton.jit
def integers(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(a + at, mask, other=1)
    y = tl.load(b + at, mask, other=1)
    high = tl.umulhi(x.to(tl.uint32), y.to(tl.uint32)).to(tl.int32)
    value = (x // y) ^ (x % y) ^ (x << (y & 31)) ^ (x >> (y & 7)) ^ high
    wide = x.to(tl.int64) * y.to(tl.int64)
    tl.store(out + at, value + (wide // 1000003).to(tl.int32), mask)


@triton.jit
def matmul_described(a, b, out, K, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr,
                     K_BLOCK: tl.constexpr):
    row = tl.program_id(0) * M_BLOCK
    column = tl.program_id(1) * N_BLOCK
    sums = tl.zeros((M_BLOCK, N_BLOCK), tl.float32)
    for k in range(0, K, K_BLOCK):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums)
    out.store([row, column], sums.to(tl.float16))


@dataclasses.dataclass
class Variant:
    """How a kernel is compiled; `types` are those of its arguments that are no constants, `sixteens`
    the integers that are multiples of 16. All pointers are. `stored` are the capabilities whose PTX
    is kept: none where code of NVIDIA's libdevice is in it."""
    kernel: object
    types: list
    constants: dict
    warps: int = 4
    stages: int = 3
    capabilities: tuple = (80, 90)
    sixteens: tuple = ()
    stored: tuple = (80,)


def product(element, result, blocks=(64, 64, 32), transposed=False, precision="ieee",
            total=tl.float32, **rest):
    return Variant(matmul, [f"*{element}", f"*{element}", f"*{result}", "i32", "i32", "i32"],
                   {"M_BLOCK": blocks[0], "N_BLOCK": blocks[1], "K_BLOCK": blocks[2],
                    "TRANSPOSED": transposed, "PRECISION": precision, "SUM": total},
                   sixteens=("N", "K"), stored=(80, 90), **rest)


VARIANTS = {
    "vector_add": Variant(vector_add, ["*fp32", "*fp32", "*fp32", "i32"], {"BLOCK": 256}),
    "elementwise": Variant(elementwise, ["*fp32", "*fp32", "*fp32", "i32"], {"BLOCK": 256}, stored=()),
    "softmax": Variant(softmax, ["*fp32", "*fp32", "i32"], {"BLOCK": 1024}),
    "layer_norm": Variant(layer_norm, ["*fp16", "*fp32", "*fp32", "*fp16", "i32"],
                          {"BLOCK": 512}),
    "matmul_f32": product("fp32", "fp32", (32, 32, 16)),
    "matmul_tf32": product("fp32", "fp32", precision="tf32"),
    "matmul_f16": product("fp16", "fp16"),
    "matmul_f16_transposed": product("fp16", "fp32", transposed=True, warps=8),
    "matmul_f16_in_f16": product("fp16", "fp16", total=tl.float16),
    "matmul_f16_narrow": product("fp16", "fp32", (64, 16, 16), capabilities=(90,)),
    "matmul_f16_shallow": product("fp16", "fp32", (64, 32, 16), capabilities=(90,)),
    "matmul_bf16": product("bf16", "bf16", (128, 64, 32), stages=4),
    "matmul_i8": product("i8", "i32", (64, 64, 64), transposed=True, total=tl.int32),
    "matmul_e4m3": product("fp8e4nv", "fp32", (64, 64, 64), transposed=True, capabilities=(90,)),
    "matmul_e5m2": product("fp8e5", "fp32", (64, 64, 64), transposed=True, capabilities=(90,)),
    "matmul_wide": product("fp16", "fp32", (128, 128, 64), warps=8, capabilities=(90,)),
    "matmul_f64": product("fp64", "fp64", (32, 32, 16), total=tl.float64),
    "matmul_split": Variant(matmul_split, ["*fp16", "*fp16", "*fp32", "i32", "i32", "i32"],
                            {"BLOCK": 32, "SPLIT": 3}, sixteens=("N", "K")),
    "gram": Variant(gram, ["*fp16", "*fp32", "i32", "i32"], {"BLOCK": 64, "K_BLOCK": 32},
                    sixteens=("M", "K"), stored=(80, 90)),
    "attention_f16": Variant(attention, ["*fp16", "*fp16", "*fp16", "*fp16", "i32", "fp32"],
                             {"M_BLOCK": 64, "N_BLOCK": 64, "HEAD": 64}, stored=(80, 90)),
    "attention_bf16": Variant(attention, ["*bf16", "*bf16", "*bf16", "*bf16", "i32", "fp32"],
                              {"M_BLOCK": 64, "N_BLOCK": 32, "HEAD": 32}, stages=2, stored=(80, 90)),
    "reductions": Variant(reductions, ["*i32", "*i32", "*i32", "*i32", "*i32", "i32", "i32"],
                          {"R_BLOCK": 4, "C_BLOCK": 256}),
    "scans": Variant(scans, ["*fp32", "*fp32", "*fp32", "i32"], {"BLOCK": 512}),
    "gather_scatter": Variant(gather_scatter, ["*fp32", "*i32", "*fp32", "i32"], {"BLOCK": 256}),
    "atomics": Variant(atomics, ["*i32", "*i32", "*i32", "*i32", "i32"], {"BLOCK": 256}),
    "lock": Variant(lock, ["*i32", "*i32", "*i32", "i32"], {"BLOCK": 256}),
    "dropout": Variant(dropout, ["*fp32", "*fp32", "i32", "i32"], {"BLOCK": 512}),
    "sort": Variant(sort, ["*fp32", "*fp32"], {"columns": 256}),
    "transpose": Variant(transpose, ["*fp16", "*fp16", "i32", "i32"], {"BLOCK": 32}),
    "casts": Variant(casts, ["*fp32", "*fp32", "*bf16", "*fp16", "*i8", "i32"], {"BLOCK": 256}),
    "counted": Variant(counted, ["*fp32", "*i32", "*fp32", "*i32"], {"BLOCK": 256, "BINS": 32}),
    "integers": Variant(integers, ["*i32", "*i32", "*i32", "i32"], {"BLOCK": 256}),
    "matmul_described": Variant(
        matmul_described,
        ["tensordesc<fp16[64, 64]>", "tensordesc<fp16[64, 64]>", "tensordesc<fp16[64, 64]>",
         "i32"], {"M_BLOCK": 64, "N_BLOCK": 64, "K_BLOCK": 64}, capabilities=(90,), stored=(90,)),
}
