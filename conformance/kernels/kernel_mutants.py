# SPDX-License-Identifier: Apache-2.0
"""The changes that run_kernel_mutants.py makes: name, text of the source, what stands in its place.

Of the set of oneDNN also the file and the kernel that is judged.
"""

ACME = [
    ("scale-ignored", "scale = sizes[3] ? *(const float *)call->bindings[3] : 1.0f",
     "scale = 1.0f"),
    ("absent-scale-read", "scale = sizes[3] ? *(const float *)call->bindings[3] : 1.0f",
     "scale = *(const float *)call->bindings[3]"),
    ("scale-squared", "row[j] *= scale;", "row[j] *= scale * scale;"),
    ("scale-first", "= q[r * d + i];", "= q[r * d + i] * 0.125f;"),
    ("no-maximum", "row[j] = exp_of(row[j] - greatest);", "row[j] = exp_of(row[j]);"),
    ("first-score-not-in-maximum", "for (int64_t j = 0; j < keys; ++j)\n    greatest =",
     "for (int64_t j = 1; j < keys; ++j)\n    greatest ="),
    ("earlier-values-not-scaled", "block->sums[r][i] *= earlier;", "(void)0;"),
    ("earlier-total-not-scaled", "block->total[r] * earlier + total", "block->total[r] + total"),
    ("earlier-total-lost", "block->total[r] * earlier + total", "total"),
    ("maximum-not-kept", "block->greatest[r] = greatest;", "(void)0;"),
    ("nan-lost", "return x != x ? x : y;", "return x != x ? 0.0f : y;"),
    ("subnormals-flushed", "x < -104.0f", "x < -87.0f"),
    ("exponential-coarse", "5.0000001201e-1f", "4.9990001201e-1f"),
    ("tail-rows-lost", "for (int64_t r = 0; r < rows; r += ROWS)\n    end(",
     "for (int64_t r = 0; r + ROWS <= rows; r += ROWS)\n    end("),
    ("tail-group-lost", 'TEXT("m ceildiv 48")', 'TEXT("m floordiv 48")'),
    ("one-group", 'TEXT("m ceildiv 48")', 'TEXT("min(m, 1)")'),
    ("tail-keys-lost", "for (int64_t j = 0; j < n; j += KEYS)",
     "for (int64_t j = 0; j + KEYS <= n; j += KEYS)"),
    ("tail-columns-lost", "for (int64_t i = 0; i < d; i += WIDE)",
     "for (int64_t i = 0; i + WIDE <= d; i += WIDE)"),
    ("tail-scores-lost", "for (int64_t j = 0; j < keys; j += WIDE)",
     "for (int64_t j = 0; j + WIDE <= keys; j += WIDE)"),
    ("last-key-lost", "n - j < KEYS ? n - j : KEYS", "n - j < KEYS ? n - j - (n > 1) : KEYS"),
    ("scores-not-cleared", "memset(s->scores, 0, sizeof(s->scores));", ""),
    ("columns-not-transposed", "s->columns[i][j] = k[j * d + i];",
     "s->columns[i][j] = k[i * keys + j];"),
    ("wrong-head", "head = y;", "head = 0;"),
    ("keys-by-rows", "call->bindings[1] + head * n * d", "call->bindings[1] + head * m * d"),
    ("values-by-rows", "call->bindings[2] + head * n * d", "call->bindings[2] + head * m * d"),
    ("wrong-group", "(int64_t)x * ROWS * BLOCKS, head", "(int64_t)x * ROWS, head"),
    ("d-too-small", "MOST_D = 256", "MOST_D = 240"),
    ("not-normalised", "block->sums[r][i] / block->total[r]", "block->sums[r][i]"),
    ("no-keys-no-output", "o[r * d + i] = n ? block->sums[r][i] / block->total[r] : 0;",
     "if (n) o[r * d + i] = block->sums[r][i] / block->total[r];"),
    ("no-keys-divided", "n ? block->sums[r][i] / block->total[r] : 0",
     "block->sums[r][i] / block->total[r]"),
    ("scratch-shared", "scratch_t *s = call->workspace;",
     "static scratch_t shared;\n  scratch_t *s = &shared;"),
    ("nan-check-gone", "return x != x ? x : y;", "return y;"),
    ("columns-not-cleared", "memset(s->columns, 0, sizeof(s->columns));", "(void)0;"),
    ("weights-not-cleared", "memset(s->weights, 0, sizeof(s->weights));", ""),
    ("values-not-cleared", "memset(s->values, 0, sizeof(s->values));", ""),
]
SMALL = [
    ("product-tail-lost", 'TEXT("n ceildiv 8")', 'TEXT("n floordiv 8")'),
    ("product-tail-overrun", "first + LANES < sizes[0] ? first + LANES : sizes[0]",
     "first + LANES"),
    ("product-off-by-one", "i < end; ++i) {\n    float sum", "i < end - 1; ++i) {\n    float sum"),
    ("product-optional-ignored", "if (sizes[1])\n      sum += c[i];", "(void)c;"),
    ("product-optional-always", "if (sizes[1])\n", "if (1)\n"),
    ("product-nan-lost", "sum > 0 || sum != sum ? sum : 0;", "sum > 0 ? sum : 0;"),
    ("product-minus-zero", "sum > 0 || sum != sum ? sum : 0;", "sum < 0 ? 0 : sum;"),
    ("product-no-relu", "out[i] = sum > 0 || sum != sum ? sum : 0;", "out[i] = sum;"),
    ("softmax-no-maximum", "greatest = row[i] > greatest ? row[i] : greatest;",
     "greatest = 0 * row[i];"),
    ("softmax-in-f32", "double total = 0;", "float total = 0; n > 40 ? total += 1e-3f : 0;"),
    ("softmax-wrong-axis", "call->bindings[0] + r * n;", "call->bindings[0] + r * m;"),
    ("softmax-tail-rows", 'TEXT("m ceildiv 4")', 'TEXT("m floordiv 4")'),
    ("softmax-row-of-one", "float greatest = -INFINITY;",
     "float greatest = -INFINITY;\n    if (n == 1) {\n      out[0] = 0;\n      continue;\n    }"),
    ("linear-not-transposed", "packed[j * K + i] = w[i * N + j];",
     "packed[j * K + i] = w[j * K + i];"),
    ("linear-not-packed", "for (int64_t j = 0; j < N; ++j)\n    for",
     "for (int64_t j = 0; j < N - 1; ++j)\n    for"),
    ("linear-last-term", "for (int64_t i = 0; i < K; ++i)\n      sum",
     "for (int64_t i = 0; i < K - 1; ++i)\n      sum"),
    ("linear-persistent-small", "sizeof(float) * K * N", "sizeof(float) * K * (N - 1)"),
    ("rows-wrong-index", "table + which[x] * d", "table + x * d"),
    ("rows-as-32-bits", "const int64_t *which", "const int32_t *which"),
    ("rows-first-only", "(size_t)d * sizeof(int32_t));", "(size_t)(d > 1 ? d - 1 : d) * 4);"),
]
# One choice: all of them take minutes.
LINEAR = "linear_relu/f32/with-b"
ONEDNN = [
    ("relu-nan-lost-in-tail", "x <= 0 ? 0.0f : x", "x > 0 ? x : 0.0f", "Transpose.cpp", LINEAR),
    ("relu-nan-lost", "_CMP_NLE_UQ", "_CMP_GT_OQ", "Transpose.cpp", LINEAR),
]
EQUIVALENT = {
    "nan-check-gone": "the polynomial is NaN where x is",
    "columns-not-cleared": "scores of keys that are not there are computed and never read",
    "weights-not-cleared": "weights of rows that are not there go into sums that are never written",
    "values-not-cleared": "columns from d on are summed up and never written",
}
# These are wrong, and results do not show it.
MISSED = {
    "nan-lost": "data sets have NaN in the first input, where the sum of the weights is 0 and the "
                "result NaN all the same, or in all inputs, where the values give it",
    "linear-persistent-small": "behind the memory that stays for a session lies no guard, so that "
                               "a set that asks for too little writes where nobody looks",
}
