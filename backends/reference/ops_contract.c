/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_contract.c: matmul, conv and conv_transpose, which are one loop. Each is
 * a batch of products result[m, n] = sum over k of a[m, k] * b[k, n]; for a
 * convolution a is the weights, k runs over channels and window elements, n
 * over output positions, and rows of b are gathered by ops_window.c. A task
 * computes REF_ROWS x REF_BLOCK results: for each k it loads a row of b and
 * adds multiples of it to its sums.
 */
#include "window.h"

#include <math.h>
#include <string.h>

#define REF_ROWS 16

typedef struct contraction_t {
  const ref_tensor_t *a, *b, *result;
  int64_t m, n, k, batches;
  /* a[m, k] stands at (batch % a_batches) * a_batch + m * a_m +
   * k / taps * a_channel + k % taps. */
  int64_t a_batches, a_batch, a_m, a_channel, taps;
  /* matmul: b[k, n] stands at batch * b_batch + k * b_k + n * b_n. For a
   * window, b_batch and b_k are those of planes. */
  int64_t b_batch, b_k, b_n;
  const ref_window_t *window; /* NULL: matmul */
  int64_t m_blocks, n_blocks;
} contraction_t;

static int64_t lower(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t blocks(int64_t count, int64_t size) {
  return count / size + (count % size != 0);
}

/* sums += factor * row. Elements that are not there add nothing, not even
 * when the factor is infinite or NaN. */
static void add_floats(ref_word_t *sums, double factor, const ref_word_t *row,
                       const uint8_t *present, int64_t count) {
  int64_t i;
  if (!present || isfinite(factor))
    for (i = 0; i < count; ++i)
      sums[i].f += factor * row[i].f;
  else
    for (i = 0; i < count; ++i)
      sums[i].f += present[i] ? factor * row[i].f : 0;
}

static void add_integers(ref_word_t *sums, int64_t factor,
                         const ref_word_t *row, int64_t count) {
  int64_t i;
  for (i = 0; i < count; ++i)
    sums[i].i =
        (int64_t)((uint64_t)sums[i].i + (uint64_t)factor * (uint64_t)row[i].i);
}

/* Loads b[k, n .. n + count). */
static void load_row(const contraction_t *c, int64_t batch, int64_t k,
                     int64_t n, int64_t count, ref_word_t *row,
                     uint8_t *present) {
  const ref_word_t zero = {0};
  if (c->window)
    ref_window_load(c->window, c->b, batch * c->b_batch + k / c->taps * c->b_k,
                    k % c->taps, n, count, zero, row, present);
  else
    ref_load(c->b, batch * c->b_batch + k * c->b_k + n * c->b_n, c->b_n, count,
             row);
}

static void run_task(void *context, uint64_t index, uint32_t worker) {
  const contraction_t *c = context;
  const int64_t task = (int64_t)index;
  const int64_t n = task % c->n_blocks * REF_BLOCK;
  const int64_t m = task / c->n_blocks % c->m_blocks * REF_ROWS;
  const int64_t batch = task / c->n_blocks / c->m_blocks;
  const int64_t columns = lower(REF_BLOCK, c->n - n);
  const int64_t rows = lower(REF_ROWS, c->m - m);
  const int64_t a = batch % c->a_batches * c->a_batch + m * c->a_m;
  const int floats = ref_is_float(c->result->dtype);
  ref_word_t sums[REF_ROWS][REF_BLOCK], row[REF_BLOCK], factors[REF_ROWS];
  uint8_t present[REF_BLOCK];
  const int sparse = c->window && c->window->transposed;
  int64_t k, i;
  (void)worker;
  memset(sums, 0, sizeof(sums));
  for (k = 0; k < c->k; ++k) {
    load_row(c, batch, k, n, columns, row, present);
    ref_load(c->a, a + k / c->taps * c->a_channel + k % c->taps, c->a_m, rows,
             factors);
    for (i = 0; i < rows; ++i)
      if (floats)
        add_floats(sums[i], factors[i].f, row, sparse ? present : 0, columns);
      else
        add_integers(sums[i], factors[i].i, row, columns);
  }
  for (i = 0; i < rows; ++i)
    ref_store(c->result, (batch * c->m + m + i) * c->n + n, columns, sums[i],
              c->result->dtype);
}

static bp_status_t contract(ref_op_t *op, contraction_t *c) {
  c->result = op->result;
  c->m_blocks = blocks(c->m, REF_ROWS);
  c->n_blocks = blocks(c->n, REF_BLOCK);
  if (op->result->count > 0)
    op->host->parallel_for(op->host->self,
                           (uint64_t)(c->batches * c->m_blocks * c->n_blocks),
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
  contraction_t c = {.a = a, .b = b, .taps = 1};
  c.m = a_dims[ta];
  c.k = a_dims[!ta];
  c.n = b_dims[!tb];
  c.batches = ref_product(a->dims, a->rank - 2);
  c.a_batches = c.batches;
  c.a_batch = c.m * c.k;
  c.a_m = ta ? 1 : c.k;
  c.a_channel = ta ? c.m : 1;
  c.b_k = tb ? 1 : c.n;
  c.b_n = tb ? c.k : 1;
  c.b_batch = b->rank == 2 ? 0 : c.k * c.n;
  return contract(op, &c);
}

/* conv and conv_transpose: `outputs` and `inputs` are the channels of a group
 * that w has in its two orders of axes. */
static bp_status_t convolve(ref_op_t *op, int transposed) {
  const ref_tensor_t *x = ref_operand(op, 0), *w = ref_operand(op, 1);
  const int64_t groups = ref_i64(op, "groups");
  const int64_t outputs = transposed ? w->dims[1] : w->dims[0] / groups;
  const int64_t inputs = transposed ? w->dims[0] / groups : w->dims[1];
  ref_window_t window;
  contraction_t c = {.a = w, .b = x, .window = &window};
  ref_window_init(&window, op, w->dims + 2);
  window.transposed = transposed;
  c.taps = ref_product(w->dims + 2, w->rank - 2);
  c.m = outputs;
  c.n = ref_product(window.out, window.rank);
  c.k = inputs * c.taps;
  c.batches = x->dims[0] * groups;
  c.a_batches = groups;
  c.a_batch = outputs * inputs * c.taps;
  c.a_m = transposed ? c.taps : inputs * c.taps;
  c.a_channel = transposed ? outputs * c.taps : c.taps;
  c.b_k = ref_product(window.in, window.rank);
  c.b_batch = inputs * c.b_k;
  return contract(op, &c);
}

bp_status_t ref_conv(ref_op_t *op) { return convolve(op, 0); }

bp_status_t ref_conv_transpose(ref_op_t *op) { return convolve(op, 1); }
