/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_reduce.c: reductions. Accumulators are 64-bit words, one per result
 * element, and elements are combined in row-major order.
 */
#include "ref.h"

#include <math.h>

const ref_scalar_t *ref_reduction(const ref_op_t *op, ref_word_t *out_start) {
  static const char *const kinds[] = {"sum", "prod", "min", "max", "and", "or"};
  static const char *const scalars[] = {"add", "mul", "min",
                                        "max", "and", "or"};
  uint32_t kind = 0;
  while (!ref_is(op, "kind", kinds[kind]))
    ++kind;
  if (kind >= 2) { /* min and "and" start high, max and "or" low */
    *out_start = ref_extreme(op->dtype, kind % 2 == 0);
  } else if (ref_is_float(op->dtype)) {
    out_start->f = kind;
  } else {
    out_start->i = kind;
  }
  return ref_scalar_find(ref_string(scalars[kind]));
}

/* ---- reduce ---- */

typedef struct reduction_t {
  ref_op_t *op;
  const ref_tensor_t *x;
  const ref_scalar_t *scalar;
  int64_t from[REF_MAX_RANK];
  int64_t to[REF_MAX_RANK]; /* 0 for reduced axes */
} reduction_t;

static void reduce_row(const reduction_t *reduction, int64_t from,
                       int64_t count, int64_t step, ref_word_t *sums) {
  ref_word_t words[REF_BLOCK];
  int64_t start, i;
  for (start = 0; start < count; start += REF_BLOCK) {
    const int64_t left = count - start;
    const int64_t n = left < REF_BLOCK ? left : REF_BLOCK;
    ref_load(reduction->x, from + start, 1, n, words);
    for (i = 0; i < n; ++i)
      ref_combine(reduction->scalar, reduction->op, &sums[(start + i) * step],
                  words[i]);
  }
}

static void reduce_axis(const reduction_t *reduction, uint32_t axis,
                        int64_t from, ref_word_t *sums) {
  const ref_tensor_t *x = reduction->x;
  int64_t i;
  if (x->rank == 0)
    reduce_row(reduction, 0, 1, 0, sums);
  else if (axis + 1 == x->rank)
    reduce_row(reduction, from, x->dims[axis], reduction->to[axis], sums);
  else
    for (i = 0; i < x->dims[axis]; ++i)
      reduce_axis(reduction, axis + 1, from + i * reduction->from[axis],
                  sums + i * reduction->to[axis]);
}

/* Strides of the accumulators, which stand as the kept axes do. */
static void accumulator_strides(reduction_t *reduction) {
  const ref_tensor_t *x = reduction->x;
  uint32_t axis = x->rank;
  uint32_t left;
  const int64_t *axes = ref_i64s(reduction->op, "axes", &left);
  int64_t count = 1;
  while (axis-- > 0) {
    if (left > 0 && axes[left - 1] == (int64_t)axis) {
      reduction->to[axis] = 0;
      --left;
    } else {
      reduction->to[axis] = count;
      count *= x->dims[axis];
    }
  }
}

bp_status_t ref_reduce(ref_op_t *op) {
  const int64_t count = op->result->count;
  reduction_t reduction = {.op = op, .x = ref_operand(op, 0)};
  ref_word_t first;
  ref_word_t *sums;
  int64_t i;
  reduction.scalar = ref_reduction(op, &first);
  ref_strides(reduction.x, reduction.from);
  accumulator_strides(&reduction);
  sums = op->host->memory_allocate(
      op->host->self, (uint64_t)count * sizeof(*sums) + 1u, sizeof(*sums));
  if (!sums)
    return ref_fail(op, BP_STATUS_RESOURCE_EXHAUSTED,
                    "no memory for the accumulators");
  for (i = 0; i < count; ++i)
    sums[i] = first;
  if (reduction.x->count > 0)
    reduce_axis(&reduction, 0, 0, sums);
  ref_store(op->result, 0, count, sums, op->dtype);
  op->host->memory_free(op->host->self, sums);
  return BP_STATUS_OK;
}

/* ---- arg_reduce ---- */

typedef struct decision_t {
  ref_op_t *op;
  const ref_scalar_t *better; /* lt or gt */
  int last;
} decision_t;

/* Whether `word` takes the place of `best`, which stands before it. */
static int replaces(const decision_t *decision, ref_word_t word,
                    ref_word_t best) {
  ref_word_t outcome = word;
  if (!ref_is_float(decision->op->dtype)) {
    if (word.i == best.i)
      return decision->last;
    ref_combine(decision->better, decision->op, &outcome, best);
    return outcome.i != 0;
  }
  if (isnan(best.f))
    return isnan(word.f) && decision->last;
  if (isnan(word.f))
    return 1;
  if (word.f == best.f)
    return decision->last;
  ref_combine(decision->better, decision->op, &outcome, best);
  return outcome.f != 0;
}

/* The index of the best of `size` elements, 0 when there is none. */
static int64_t decide(const decision_t *decision, const ref_tensor_t *x,
                      int64_t from, int64_t size, int64_t step) {
  ref_word_t words[REF_BLOCK], best = {0};
  int64_t start, i, found = 0;
  for (start = 0; start < size; start += REF_BLOCK) {
    const int64_t left = size - start;
    const int64_t n = left < REF_BLOCK ? left : REF_BLOCK;
    ref_load(x, from + start * step, step, n, words);
    for (i = 0; i < n; ++i)
      if (start + i == 0 || replaces(decision, words[i], best)) {
        best = words[i];
        found = start + i;
      }
  }
  return found;
}

bp_status_t ref_arg_reduce(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const uint32_t axis = (uint32_t)ref_i64(op, "axis");
  const int64_t outer = ref_product(x->dims, axis);
  const int64_t inner = ref_product(x->dims + axis + 1, x->rank - axis - 1);
  const int64_t size = x->dims[axis];
  decision_t decision;
  int64_t i;
  decision.op = op;
  decision.last = ref_i64(op, "last") != 0;
  decision.better =
      ref_scalar_find(ref_string(ref_is(op, "kind", "min") ? "lt" : "gt"));
  for (i = 0; i < outer * inner; ++i) {
    ref_word_t word;
    word.i =
        decide(&decision, x, i / inner * size * inner + i % inner, size, inner);
    ref_store(op->result, i, 1, &word, BP_DTYPE_I64);
  }
  return BP_STATUS_OK;
}
