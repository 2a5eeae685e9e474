/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_reduce.c: reductions, and the ops that look at whole lines along one
 * axis. Elements are combined in row-major order.
 */
#include "ref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const ref_scalar_t *ref_reduction(const ref_op_t *op, ref_word_t *out_start) {
  static const char *const kinds[] = {"sum", "prod", "min", "max", "and", "or"};
  static const char *const scalars[] = {"add", "mul", "min",
                                        "max", "and", "or"};
  uint32_t kind = 0;
  while (!ref_is(op, "kind", kinds[kind]))
    ++kind;
  if (kind >= 2) /* min and "and" start high, max and "or" low */
    *out_start = ref_extreme(op->dtype, kind % 2 == 0);
  else if (ref_is_float(op->dtype))
    out_start->f = kind;
  else
    out_start->i = kind;
  return ref_scalar(bp_text(scalars[kind]));
}

/* ---- reduce ---- */

typedef struct reduction_t {
  const ref_scalar_t *scalar;
  ref_word_t *sums; /* one per result element */
} reduction_t;

static void reduce_run(const ref_walk_t *walk, int64_t to, int64_t from,
                       int64_t count) {
  const reduction_t *reduction = walk->context;
  const int64_t step = walk->to_step[walk->rank - 1];
  ref_word_t words[REF_BLOCK];
  int64_t start;
  for (start = 0; start < count; start += REF_BLOCK) {
    const int64_t n = ref_lower(count - start, REF_BLOCK);
    ref_load(walk->from, from + start, 1, n, words);
    ref_combine(reduction->scalar, walk->op,
                reduction->sums + to + start * step, step, words, n);
  }
}

/* Steps of the accumulators, which stand as the kept axes do. */
static void accumulator_steps(ref_walk_t *walk) {
  uint32_t axis = walk->from->rank;
  uint32_t left;
  const int64_t *axes = ref_i64s(walk->op, "axes", &left);
  int64_t count = 1;
  while (axis-- > 0) {
    const int reduced = left > 0 && axes[left - 1] == (int64_t)axis;
    walk->to_step[axis] = reduced ? 0 : count;
    left -= reduced ? 1 : 0;
    count *= reduced ? 1 : walk->dims[axis];
  }
}

bp_status_t ref_reduce(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t count = op->result->count;
  reduction_t reduction;
  ref_walk_t walk;
  ref_word_t first;
  int64_t i;
  reduction.scalar = ref_reduction(op, &first);
  reduction.sums = op->host->memory_allocate(
      op->host->self, (uint64_t)count * sizeof(first) + 1u, sizeof(first));
  if (!reduction.sums)
    return ref_fail(op, BP_STATUS_RESOURCE_EXHAUSTED,
                    "no memory for the accumulators");
  for (i = 0; i < count; ++i)
    reduction.sums[i] = first;
  ref_walk_init(&walk, op, x, x, x);
  walk.run = reduce_run;
  walk.context = &reduction;
  accumulator_steps(&walk);
  ref_walk(&walk);
  ref_store(op->result, 0, 1, count, reduction.sums);
  op->host->memory_free(op->host->self, reduction.sums);
  return BP_STATUS_OK;
}

/* ---- Lines ---- */

/* The lines of operand 0 along attribute `axis`: line l starts at
 * line_start(l, size) and has `inner` between its elements. */
typedef struct lines_t {
  const ref_tensor_t *x;
  int64_t size, inner, count;
} lines_t;

static lines_t lines_of(const ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const uint32_t axis = (uint32_t)ref_i64(op, "axis");
  lines_t lines = {.x = x, .size = x->dims[axis]};
  lines.inner = ref_product(x->dims + axis + 1, x->rank - axis - 1);
  lines.count = ref_product(x->dims, axis) * lines.inner;
  return lines;
}

static int64_t line_start(const lines_t *lines, int64_t line, int64_t size) {
  return line / lines->inner * size * lines->inner + line % lines->inner;
}

/* A number that is higher for a better element and equal for equal ones: the
 * bits of an integer, or of a double, whose magnitude counts down when it is
 * negative. NaN is higher than all numbers. */
static uint64_t rank_of(ref_word_t word, bp_dtype_t dtype, int largest) {
  const uint64_t sign = (uint64_t)1 << 63;
  uint64_t key = (uint64_t)word.i;
  if (ref_is_float(dtype)) {
    if (isnan(word.f))
      key = UINT64_MAX;
    else if (word.f == 0)
      key = sign;
    else
      key = key & sign ? ~key : key | sign;
  } else if (!ref_is_unsigned(dtype)) {
    key ^= sign;
  }
  return largest ? key : ~key;
}

bp_status_t ref_arg_reduce(ref_op_t *op) {
  const lines_t lines = lines_of(op);
  const int largest = ref_is(op, "kind", "max");
  const uint64_t last = ref_i64(op, "last") != 0;
  int64_t line, i;
  for (line = 0; line < lines.count; ++line) {
    const int64_t start = line_start(&lines, line, lines.size);
    ref_word_t found = {0}, word;
    uint64_t best = 0;
    for (i = 0; i < lines.size; ++i) {
      uint64_t rank;
      ref_load(lines.x, start + i * lines.inner, 1, 1, &word);
      rank = ref_is_float(op->dtype) && isnan(word.f) /* wins both kinds */
                 ? UINT64_MAX
                 : rank_of(word, op->dtype, largest);
      if (i == 0 || rank > best || (last && rank == best)) {
        best = rank;
        found.i = i;
      }
    }
    ref_store(op->result, line, 1, 1, &found);
  }
  return BP_STATUS_OK;
}

bp_status_t ref_cumulative(ref_op_t *op) {
  const lines_t lines = lines_of(op);
  const int exclusive = ref_i64(op, "exclusive") != 0;
  const int reverse = ref_i64(op, "reverse") != 0;
  ref_word_t start;
  const ref_scalar_t *scalar = ref_reduction(op, &start);
  int64_t line, i;
  for (line = 0; line < lines.count; ++line) {
    ref_word_t sum = start, before, word;
    for (i = 0; i < lines.size; ++i) {
      const int64_t at = line_start(&lines, line, lines.size) +
                         (reverse ? lines.size - 1 - i : i) * lines.inner;
      before = sum;
      ref_load(lines.x, at, 1, 1, &word);
      ref_combine(scalar, op, &sum, 0, &word, 1);
      ref_store(op->result, at, 1, 1, exclusive ? &before : &sum);
    }
  }
  return BP_STATUS_OK;
}

/* ---- top_k ---- */

typedef struct item_t {
  uint64_t rank;
  int64_t index;
} item_t;

static int best_first(const void *left, const void *right) {
  const item_t *a = left, *b = right;
  if (a->rank != b->rank)
    return a->rank > b->rank ? -1 : 1;
  return a->index < b->index ? -1 : 1;
}

/* Sorts one line into `items` and writes the first k. */
static void sort_line(ref_op_t *op, const lines_t *lines, int64_t line,
                      item_t *items) {
  const int64_t k = op->result->dims[ref_i64(op, "axis")];
  const int64_t from = line_start(lines, line, lines->size);
  const int64_t to = line_start(lines, line, k);
  const int largest = ref_i64(op, "largest") != 0;
  int64_t i;
  ref_word_t word;
  for (i = 0; i < lines->size; ++i) {
    ref_load(lines->x, from + i * lines->inner, 1, 1, &word);
    items[i].rank = rank_of(word, op->dtype, largest);
    items[i].index = i;
  }
  qsort(items, (size_t)lines->size, sizeof(*items), best_first);
  for (i = 0; i < k; ++i) {
    word.i = items[i].index;
    ref_copy(op->result, to + i * lines->inner, 1, lines->x,
             from + word.i * lines->inner, 1, 1);
    ref_store(ref_result(op, 1), to + i * lines->inner, 1, 1, &word);
  }
}

bp_status_t ref_top_k(ref_op_t *op) {
  const lines_t lines = lines_of(op);
  const bp_host_t *host = op->host;
  item_t *items;
  int64_t line;
  if (op->result->dims[ref_i64(op, "axis")] > lines.size)
    return ref_fail(op, BP_STATUS_OUT_OF_RANGE,
                    "k is above the size of the axis");
  items = host->memory_allocate(host->self,
                                (uint64_t)lines.size * sizeof(*items) + 1u, 8);
  if (!items)
    return ref_fail(op, BP_STATUS_RESOURCE_EXHAUSTED, "no memory to sort");
  for (line = 0; line < lines.count; ++line)
    sort_line(op, &lines, line, items);
  host->memory_free(host->self, items);
  return BP_STATUS_OK;
}
