/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_contract.c: matmul, conv, conv_transpose and pool, which are one loop.
 * Each is a batch of result[m, n] = combination over k of a[m, k] and b[k, n].
 * For a convolution a is the weights, k runs over channels and window elements,
 * n over output positions, and rows of b are gathered from windows; a matmul
 * has a window of one element, a pool no a. A task computes REF_ROWS x
 * REF_BLOCK results: for each k it loads a row of b and adds multiples of it.
 */
#include "ref.h"

#include <math.h>

#define REF_ROWS 16

/* One spatial axis. Output coordinate y and window element t meet at the input
 * coordinate (y * stride + t * dilation - low) / spread where that is whole and
 * inside. One of stride and spread is 1. */
typedef struct axis_t {
  int64_t size, in, out, stride, dilation, low, spread;
} axis_t;

typedef struct contraction_t {
  ref_op_t *op;
  const ref_tensor_t *a, *b;
  const ref_scalar_t *scalar; /* of a pool */
  ref_word_t start;           /* of sums, and what lies outside of b */
  int64_t m, n, k, batches;
  /* a[m, k] stands at (batch % a_batches) * a_batch + m * a_m +
   * k / taps * a_channel + k % taps. */
  int64_t a_batches, a_batch, a_m, a_channel, taps;
  /* Planes of b, and the distance of elements along the last axis. */
  int64_t b_batch, b_channel, b_n;
  uint32_t rank; /* of the window */
  axis_t axes[REF_MAX_RANK];
} contraction_t;

/* Quotient rounded up, for a > 0 or a / b > -1. */
static int64_t ceil_div(int64_t a, int64_t b) {
  return a <= 0 ? 0 : (a - 1) / b + 1;
}

/* ---- Rows of b ---- */

/* The element offset of the input row that output row `y` (row-major over all
 * spatial axes but the last) meets, or -1. */
static int64_t source_row(const contraction_t *c, int64_t y, int64_t tap) {
  uint32_t i = c->rank - 1;
  int64_t stride = c->axes[i].in;
  int64_t offset = 0;
  while (i-- > 0) {
    const axis_t *axis = &c->axes[i];
    const int64_t at = y % axis->out * axis->stride +
                       tap % axis->size * axis->dilation - axis->low;
    if (at < 0 || at % axis->spread != 0 || at / axis->spread >= axis->in)
      return -1;
    offset += at / axis->spread * stride;
    stride *= axis->in;
    y /= axis->out;
    tap /= axis->size;
  }
  return offset;
}

/* Loads what `count` outputs from `y` on meet along the last axis, whose row
 * starts at `base`. `present` says where something is. */
static void load_run(const contraction_t *c, int64_t base, int64_t tap,
                     int64_t y, int64_t count, ref_word_t *row,
                     uint8_t *present) {
  const axis_t *axis = &c->axes[c->rank - 1];
  int64_t at = y * axis->stride + tap * axis->dilation - axis->low;
  int64_t first = at < 0 ? ceil_div(-at, axis->stride) : 0;
  int64_t hits = 0, i;
  ref_word_t words[REF_BLOCK];
  if (base >= 0 && first < count) {
    int64_t skip;
    at += first * axis->stride;
    skip = (axis->spread - at % axis->spread) % axis->spread;
    first += skip;
    at = (at + skip) / axis->spread;
    hits = ref_lower(ceil_div(count - first, axis->spread),
                     ceil_div(axis->in - at, axis->stride));
  }
  for (i = 0; i < count; ++i)
    present[i] = hits == count;
  for (i = 0; i < count && hits < count; ++i)
    row[i] = c->start;
  if (hits > 0)
    ref_load(c->b, base + at * c->b_n, axis->stride * c->b_n, hits,
             hits == count ? row : words);
  if (hits < count)
    for (i = 0; i < hits; ++i) {
      row[first + i * axis->spread] = words[i];
      present[first + i * axis->spread] = 1;
    }
}

/* Loads b[k, n .. n + count). */
static void load_row(const contraction_t *c, int64_t batch, int64_t k,
                     int64_t n, int64_t count, ref_word_t *row,
                     uint8_t *present) {
  const axis_t *last = &c->axes[c->rank - 1];
  const int64_t plane = batch * c->b_batch + k / c->taps * c->b_channel;
  const int64_t tap = k % c->taps;
  while (count > 0) {
    const int64_t y = n % last->out;
    const int64_t run = ref_lower(last->out - y, count);
    const int64_t offset = source_row(c, n / last->out, tap / last->size);
    load_run(c, offset < 0 ? -1 : plane + offset, tap % last->size, y, run, row,
             present);
    n += run;
    count -= run;
    row += run;
    present += run;
  }
}

/* ---- Tasks ---- */

/* sums += factor * row. With `present`, elements that are not there add
 * nothing, not even when the factor is infinite or NaN. */
static void add_multiple(ref_word_t *sums, ref_word_t factor, int floats,
                         const ref_word_t *row, const uint8_t *present,
                         int64_t count) {
  int64_t i;
  if (!floats)
    for (i = 0; i < count; ++i)
      sums[i].i = (int64_t)((uint64_t)sums[i].i +
                            (uint64_t)factor.i * (uint64_t)row[i].i);
  else if (!present || isfinite(factor.f))
    for (i = 0; i < count; ++i)
      sums[i].f += factor.f * row[i].f;
  else
    for (i = 0; i < count; ++i)
      sums[i].f += present[i] ? factor.f * row[i].f : 0;
}

static void run_task(void *context, uint64_t index, uint32_t worker) {
  const contraction_t *c = context;
  const int64_t m_blocks = ceil_div(c->m, REF_ROWS);
  const int64_t n_blocks = ceil_div(c->n, REF_BLOCK);
  const int64_t n = (int64_t)index % n_blocks * REF_BLOCK;
  const int64_t m = (int64_t)index / n_blocks % m_blocks * REF_ROWS;
  const int64_t batch = (int64_t)index / n_blocks / m_blocks;
  const int64_t columns = ref_lower(REF_BLOCK, c->n - n);
  const int64_t rows = ref_lower(REF_ROWS, c->m - m);
  const int64_t a = batch % c->a_batches * c->a_batch + m * c->a_m;
  const int floats = ref_is_float(c->op->dtype);
  const int sparse = c->axes[c->rank - 1].dilation < 0;
  ref_word_t sums[REF_ROWS][REF_BLOCK], row[REF_BLOCK], factors[REF_ROWS];
  uint8_t present[REF_BLOCK];
  int64_t k, i;
  (void)worker;
  for (i = 0; i < rows * REF_BLOCK; ++i)
    sums[i / REF_BLOCK][i % REF_BLOCK] = c->start;
  for (k = 0; k < c->k; ++k) {
    load_row(c, batch, k, n, columns, row, present);
    if (c->scalar) {
      ref_combine(c->scalar, c->op, sums[0], 1, row, columns);
      continue;
    }
    ref_load(c->a, a + k / c->taps * c->a_channel + k % c->taps, c->a_m, rows,
             factors);
    for (i = 0; i < rows; ++i)
      add_multiple(sums[i], factors[i], floats, row, sparse ? present : 0,
                   columns);
  }
  for (i = 0; i < rows; ++i)
    ref_store(c->op->result, (batch * c->m + m + i) * c->n + n, 1, columns,
              sums[i]);
}

static bp_status_t contract(contraction_t *c) {
  if (c->op->result->count > 0)
    ref_parallel(c->op,
                 c->batches * ceil_div(c->m, REF_ROWS) *
                     ceil_div(c->n, REF_BLOCK),
                 run_task, c);
  return BP_STATUS_OK;
}

/* ---- The ops ---- */

bp_status_t ref_matmul(ref_op_t *op) {
  const ref_tensor_t *a = ref_operand(op, 0), *b = ref_operand(op, 1);
  const int64_t *a_dims = a->dims + a->rank - 2,
                *b_dims = b->dims + b->rank - 2;
  const int ta = ref_i64(op, "transpose_a") != 0;
  const int tb = ref_i64(op, "transpose_b") != 0;
  contraction_t c = {.op = op, .a = a, .b = b, .taps = 1, .rank = 1};
  const axis_t axis = {1, b_dims[!tb], b_dims[!tb], 1, 0, 0, 1};
  c.axes[0] = axis;
  c.m = a_dims[ta];
  c.k = a_dims[!ta];
  c.n = b_dims[!tb];
  c.batches = c.a_batches = ref_product(a->dims, a->rank - 2);
  c.a_batch = c.m * c.k;
  c.a_m = ta ? 1 : c.k;
  c.a_channel = ta ? c.m : 1;
  c.b_channel = tb ? 1 : c.n;
  c.b_n = tb ? c.k : 1;
  c.b_batch = b->rank == 2 ? 0 : c.k * c.n;
  return contract(&c);
}

/* What the ops with a window of these sizes over operand 0 have in common. */
static contraction_t windowed(ref_op_t *op, const int64_t *sizes,
                              int transposed) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *strides = ref_i64s(op, "strides", 0);
  const int64_t *dilations = ref_i64s(op, "dilations", 0);
  const int64_t *low = ref_i64s(op, "low", 0);
  contraction_t c = {.op = op, .b = x, .b_n = 1, .rank = x->rank - 2};
  uint32_t i;
  for (i = 0; i < c.rank; ++i) {
    const axis_t axis = {sizes[i],   x->dims[i + 2], op->result->dims[i + 2],
                         strides[i], dilations[i],   low[i],
                         1};
    const axis_t back = {sizes[i],  x->dims[i + 2], op->result->dims[i + 2],
                         1,         -dilations[i],  -low[i],
                         strides[i]};
    c.axes[i] = transposed ? back : axis;
  }
  c.taps = ref_product(sizes, c.rank);
  c.n = ref_product(op->result->dims + 2, c.rank);
  c.b_channel = ref_product(x->dims + 2, c.rank);
  return c;
}

/* `outputs` and `inputs` are the channels of a group, which w has in its two
 * orders of axes. */
static bp_status_t convolve(ref_op_t *op, int transposed) {
  const ref_tensor_t *x = ref_operand(op, 0), *w = ref_operand(op, 1);
  const int64_t groups = ref_i64(op, "groups");
  const int64_t outputs = transposed ? w->dims[1] : w->dims[0] / groups;
  const int64_t inputs = transposed ? w->dims[0] / groups : w->dims[1];
  contraction_t c = windowed(op, w->dims + 2, transposed);
  c.a = w;
  c.m = outputs;
  c.k = inputs * c.taps;
  c.batches = x->dims[0] * groups;
  c.a_batches = groups;
  c.a_batch = outputs * inputs * c.taps;
  c.a_m = transposed ? c.taps : inputs * c.taps;
  c.a_channel = transposed ? outputs * c.taps : c.taps;
  c.b_batch = inputs * c.b_channel;
  return contract(&c);
}

bp_status_t ref_conv(ref_op_t *op) { return convolve(op, 0); }

bp_status_t ref_conv_transpose(ref_op_t *op) { return convolve(op, 1); }

bp_status_t ref_pool(ref_op_t *op) {
  contraction_t c = windowed(op, ref_i64s(op, "window", 0), 0);
  c.scalar = ref_reduction(op, &c.start);
  c.m = c.a_batches = 1;
  c.k = c.taps;
  c.batches = ref_product(op->result->dims, 2);
  c.b_batch = c.b_channel;
  return contract(&c);
}
