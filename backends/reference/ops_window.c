/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_window.c: rows of windows (window.h), and the op `pool` made of them.
 */
#include "window.h"

#include <string.h>

/* ---- Rows ---- */

void ref_window_init(ref_window_t *window, const ref_op_t *op,
                     const int64_t *size) {
  const ref_tensor_t *x = ref_operand(op, 0);
  window->rank = x->rank - 2;
  window->transposed = 0;
  window->size = size;
  window->in = x->dims + 2;
  window->out = op->result->dims + 2;
  window->strides = ref_i64s(op, "strides", 0);
  window->dilations = ref_i64s(op, "dilations", 0);
  window->low = ref_i64s(op, "low", 0);
}

/* The input coordinate that output `y` and window element `tap` meet at, or
 * -1. */
static int64_t source(const ref_window_t *window, uint32_t axis, int64_t y,
                      int64_t tap) {
  const int64_t offset = window->low[axis] - tap * window->dilations[axis];
  const int64_t stride = window->strides[axis];
  int64_t position =
      y * stride - window->low[axis] + tap * window->dilations[axis];
  if (window->transposed) {
    if (y + offset < 0 || (y + offset) % stride != 0)
      return -1;
    position = (y + offset) / stride;
  }
  return position >= 0 && position < window->in[axis] ? position : -1;
}

/* Along the last axis, element by element. */
static void load_sparse(const ref_window_t *window, const ref_tensor_t *x,
                        int64_t base, int64_t tap, int64_t y, int64_t count,
                        ref_word_t fill, ref_word_t *row, uint8_t *present) {
  int64_t i;
  for (i = 0; i < count; ++i) {
    const int64_t position = source(window, window->rank - 1, y + i, tap);
    row[i] = fill;
    present[i] = position >= 0;
    if (present[i])
      ref_load(x, base + position, 1, 1, &row[i]);
  }
}

/* Along the last axis, whose inputs are one strided run between two fills. */
static void load_dense(const ref_window_t *window, const ref_tensor_t *x,
                       int64_t base, int64_t tap, int64_t y, int64_t count,
                       ref_word_t fill, ref_word_t *row) {
  const uint32_t axis = window->rank - 1;
  const int64_t stride = window->strides[axis];
  const int64_t first =
      y * stride - window->low[axis] + tap * window->dilations[axis];
  int64_t begin = first >= 0 ? 0 : (-first + stride - 1) / stride;
  int64_t end = window->in[axis] - first;
  int64_t i;
  end = end <= 0 ? 0 : (end + stride - 1) / stride;
  if (end > count)
    end = count;
  if (begin > end)
    begin = end;
  for (i = 0; i < begin; ++i)
    row[i] = fill;
  ref_load(x, base + first + begin * stride, stride, end - begin, row + begin);
  for (i = end; i < count; ++i)
    row[i] = fill;
}

/* The element offset of the input row that output row `y` (row-major over all
 * spatial axes but the last) meets, or -1. */
static int64_t source_row(const ref_window_t *window, int64_t y, int64_t tap) {
  uint32_t axis = window->rank - 1;
  int64_t stride = window->in[axis];
  int64_t offset = 0;
  tap /= window->size[axis];
  while (axis-- > 0) {
    const int64_t position =
        source(window, axis, y % window->out[axis], tap % window->size[axis]);
    if (position < 0)
      return -1;
    offset += position * stride;
    stride *= window->in[axis];
    y /= window->out[axis];
    tap /= window->size[axis];
  }
  return offset;
}

void ref_window_load(const ref_window_t *window, const ref_tensor_t *x,
                     int64_t plane, int64_t tap, int64_t start, int64_t count,
                     ref_word_t fill, ref_word_t *row, uint8_t *present) {
  const int64_t width = window->out[window->rank - 1];
  const int64_t last_tap = tap % window->size[window->rank - 1];
  while (count > 0) {
    const int64_t y = start % width;
    const int64_t n = width - y < count ? width - y : count;
    const int64_t offset = source_row(window, start / width, tap);
    int64_t i;
    if (offset < 0)
      for (i = 0; i < n; ++i)
        row[i] = fill;
    else if (window->transposed)
      load_sparse(window, x, plane + offset, last_tap, y, n, fill, row,
                  present);
    else
      load_dense(window, x, plane + offset, last_tap, y, n, fill, row);
    if (offset < 0 && window->transposed)
      memset(present, 0, (size_t)n);
    start += n;
    count -= n;
    row += n;
    present += n;
  }
}

/* ---- pool ---- */

typedef struct pool_t {
  ref_op_t *op;
  const ref_tensor_t *x;
  const ref_scalar_t *scalar;
  ref_word_t start;
  ref_window_t window;
  int64_t taps, in_plane, out_plane, blocks;
} pool_t;

static void run_task(void *context, uint64_t index, uint32_t worker) {
  const pool_t *pool = context;
  const int64_t plane = (int64_t)index / pool->blocks;
  const int64_t from = (int64_t)index % pool->blocks * REF_BLOCK;
  const int64_t left = pool->out_plane - from;
  const int64_t count = left < REF_BLOCK ? left : REF_BLOCK;
  ref_word_t sums[REF_BLOCK], row[REF_BLOCK];
  uint8_t present[REF_BLOCK];
  int64_t tap, i;
  (void)worker;
  for (i = 0; i < count; ++i)
    sums[i] = pool->start;
  for (tap = 0; tap < pool->taps; ++tap) {
    ref_window_load(&pool->window, pool->x, plane * pool->in_plane, tap, from,
                    count, pool->start, row, present);
    for (i = 0; i < count; ++i)
      ref_combine(pool->scalar, pool->op, &sums[i], row[i]);
  }
  ref_store(pool->op->result, plane * pool->out_plane + from, count, sums,
            pool->op->dtype);
}

bp_status_t ref_pool(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  pool_t pool = {.op = op, .x = x};
  pool.scalar = ref_reduction(op, &pool.start);
  ref_window_init(&pool.window, op, ref_i64s(op, "window", 0));
  pool.taps = ref_product(pool.window.size, pool.window.rank);
  pool.in_plane = ref_product(pool.window.in, pool.window.rank);
  pool.out_plane = ref_product(pool.window.out, pool.window.rank);
  pool.blocks = pool.out_plane / REF_BLOCK + (pool.out_plane % REF_BLOCK != 0);
  if (op->result->count > 0)
    op->host->parallel_for(op->host->self,
                           (uint64_t)(ref_product(x->dims, 2) * pool.blocks),
                           run_task, &pool);
  return BP_STATUS_OK;
}
