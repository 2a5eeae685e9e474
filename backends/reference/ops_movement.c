/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_movement.c: the walk over the indices of a box, and the ops that move
 * elements with it. They differ in where an index of the result lies in the
 * operand.
 */
#include "ref.h"

#include <string.h>

/* ---- Walking ---- */

static void copy_run(const ref_walk_t *walk, int64_t to, int64_t from,
                     int64_t count) {
  const uint32_t last = walk->rank - 1;
  ref_copy(walk->to, to, walk->to_step[last], walk->from, from,
           walk->from_step[last], count);
}

void ref_walk_init(ref_walk_t *walk, ref_op_t *op, const ref_tensor_t *box,
                   const ref_tensor_t *to, const ref_tensor_t *from) {
  memset(walk, 0, sizeof(*walk));
  walk->op = op;
  walk->to = to;
  walk->from = from;
  walk->run = copy_run;
  walk->rank = box->rank ? box->rank : 1; /* a scalar is an axis of size 1 */
  walk->dims[0] = 1;
  memcpy(walk->dims, box->dims, box->rank * sizeof(int64_t));
  ref_strides(to, walk->to_step);
  if (from->rank == box->rank)
    ref_strides(from, walk->from_step);
}

static void walk_axis(const ref_walk_t *walk, uint32_t axis, int64_t to,
                      int64_t from) {
  const int mapped = walk->mapped >> axis & 1u;
  const int last = axis + 1 == walk->rank;
  int64_t i;
  if (last && !mapped) {
    walk->run(walk, to, from, walk->dims[axis]);
    return;
  }
  for (i = 0; i < walk->dims[axis]; ++i) {
    const int64_t source = mapped ? walk->source(walk, axis, i) : i;
    const int64_t next_to = to + i * walk->to_step[axis];
    if (source < 0)
      continue;
    if (last)
      walk->run(walk, next_to, from + source * walk->from_step[axis], 1);
    else
      walk_axis(walk, axis + 1, next_to, from + source * walk->from_step[axis]);
  }
}

void ref_walk(const ref_walk_t *walk) {
  if (ref_product(walk->dims, walk->rank) > 0)
    walk_axis(walk, 0, walk->to_start, walk->from_start);
}

/* Every element of the result becomes the one element of `from`. */
static void fill(ref_op_t *op, const ref_tensor_t *from) {
  ref_walk_t walk;
  ref_walk_init(&walk, op, op->result, op->result, from);
  memset(walk.from_step, 0, sizeof(walk.from_step));
  ref_walk(&walk);
}

/* A walk that copies operand 0 of the shape of the result. */
static void copy_of_operand(ref_walk_t *walk, ref_op_t *op) {
  ref_walk_init(walk, op, op->result, op->result, ref_operand(op, 0));
}

/* ---- Constants ---- */

bp_status_t ref_constant(ref_op_t *op) {
  ref_tensor_t value = {.dtype = op->result->dtype, .count = 1};
  bp_attribute_t attribute;
  op->table->attribute(op->graph, op->index, bp_text("value"), &attribute);
  value.data = (void *)attribute.bytes.data;
  if (attribute.bytes.size == (uint64_t)ref_bytes(op->result)) {
    if (attribute.bytes.size)
      memcpy(op->result->data, value.data, attribute.bytes.size);
    return BP_STATUS_OK;
  }
  if (attribute.bytes.size != (uint64_t)ref_bytes(&value))
    return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                    "value has neither one element nor those of dims");
  fill(op, &value);
  return BP_STATUS_OK;
}

bp_status_t ref_iota(ref_op_t *op) {
  const ref_tensor_t *result = op->result;
  const int64_t axis = ref_i64(op, "axis");
  int64_t strides[REF_MAX_RANK];
  int64_t i;
  ref_strides(result, strides);
  for (i = 0; i < result->count; ++i) {
    ref_word_t word;
    word.i = i / strides[axis] % result->dims[axis];
    ref_convert(&word, 1, BP_DTYPE_I64, result->dtype);
    ref_store(result, i, 1, 1, &word);
  }
  return BP_STATUS_OK;
}

bp_status_t ref_dim(ref_op_t *op) {
  return ref_dims(op, "value", op->result->data, (uint32_t)op->result->count);
}

/* ---- Strided boxes ---- */

bp_status_t ref_broadcast(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *axes = ref_i64s(op, "axes", 0);
  int64_t strides[REF_MAX_RANK];
  ref_walk_t walk;
  uint32_t i;
  copy_of_operand(&walk, op);
  memset(walk.from_step, 0, sizeof(walk.from_step));
  ref_strides(x, strides);
  for (i = 0; i < x->rank; ++i)
    walk.from_step[axes[i]] = x->dims[i] == 1 ? 0 : strides[i];
  ref_walk(&walk);
  return BP_STATUS_OK;
}

bp_status_t ref_reshape(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  if (x->count != op->result->count)
    return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                    "the dims hold another number of elements");
  memcpy(op->result->data, x->data, (size_t)ref_bytes(x));
  return BP_STATUS_OK;
}

bp_status_t ref_transpose(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *permutation = ref_i64s(op, "permutation", 0);
  int64_t strides[REF_MAX_RANK];
  ref_walk_t walk;
  uint32_t i;
  copy_of_operand(&walk, op);
  ref_strides(x, strides);
  for (i = 0; i < x->rank; ++i)
    walk.from_step[i] = strides[permutation[i]];
  ref_walk(&walk);
  return BP_STATUS_OK;
}

bp_status_t ref_slice(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *steps = ref_i64s(op, "strides", 0);
  int64_t starts[REF_MAX_RANK];
  ref_walk_t walk;
  uint32_t i;
  bp_status_t status = ref_dims(op, "starts", starts, REF_MAX_RANK);
  if (status)
    return status;
  copy_of_operand(&walk, op);
  for (i = 0; i < x->rank; ++i) {
    const int64_t size = walk.dims[i];
    if (starts[i] < 0 || starts[i] > x->dims[i] ||
        (size > 0 && (starts[i] == x->dims[i] ||
                      (x->dims[i] - 1 - starts[i]) / steps[i] < size - 1)))
      return ref_fail(op, BP_STATUS_OUT_OF_RANGE,
                      "the box reaches outside the operand");
    walk.from_start += starts[i] * walk.from_step[i];
    /* with at most one element the step is never taken, and may be huge */
    walk.from_step[i] = size > 1 ? walk.from_step[i] * steps[i] : 0;
  }
  ref_walk(&walk);
  return BP_STATUS_OK;
}

bp_status_t ref_reverse(ref_op_t *op) {
  uint32_t count, i;
  const int64_t *axes = ref_i64s(op, "axes", &count);
  ref_walk_t walk;
  copy_of_operand(&walk, op);
  for (i = 0; i < count; ++i) {
    int64_t *step = &walk.from_step[axes[i]];
    walk.from_start += (walk.dims[axes[i]] - 1) * *step;
    *step = -*step;
  }
  ref_walk(&walk);
  return BP_STATUS_OK;
}

bp_status_t ref_concat(ref_op_t *op) {
  const int64_t axis = ref_i64(op, "axis");
  int64_t position = 0;
  uint32_t i;
  for (i = 0; i < op->info.operand_count; ++i) {
    const ref_tensor_t *x = ref_operand(op, i);
    ref_walk_t walk;
    ref_walk_init(&walk, op, x, op->result, x);
    walk.to_start = position * walk.to_step[axis];
    ref_walk(&walk);
    position += x->dims[axis];
  }
  return BP_STATUS_OK;
}

/* ---- Padding ---- */

static int64_t edge(const ref_walk_t *walk, uint32_t axis, int64_t i) {
  const int64_t n = walk->from->dims[axis];
  i -= ((const int64_t *)walk->context)[axis];
  return i < 0 ? 0 : i < n ? i : n - 1;
}

static int64_t reflect(const ref_walk_t *walk, uint32_t axis, int64_t i) {
  const int64_t n = walk->from->dims[axis];
  if (n == 1)
    return 0;
  i -= ((const int64_t *)walk->context)[axis];
  i %= 2 * (n - 1); /* the pattern repeats */
  if (i < 0)
    i = -i;
  return i < n ? i : 2 * (n - 1) - i;
}

bp_status_t ref_pad(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int constant = ref_is(op, "mode", "constant");
  int64_t low[REF_MAX_RANK];
  ref_walk_t walk;
  uint32_t i;
  bp_status_t status = ref_dims(op, "low", low, REF_MAX_RANK);
  if (status)
    return status;
  ref_walk_init(&walk, op, constant ? x : op->result, op->result, x);
  walk.source = ref_is(op, "mode", "reflect") ? reflect : edge;
  walk.context = low;
  for (i = 0; i < x->rank; ++i) {
    const int64_t more = op->result->dims[i] - x->dims[i];
    if (low[i] < 0 || low[i] > more)
      return ref_fail(op, BP_STATUS_OUT_OF_RANGE, "padding is negative");
    if (!constant && x->dims[i] == 0 && op->result->count > 0)
      return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                      "an empty axis has no element to pad with");
    if (constant)
      walk.to_start += low[i] * walk.to_step[i];
    else if (more > 0)
      walk.mapped |= 1u << i;
  }
  if (constant)
    fill(op, ref_operand(op, 1));
  ref_walk(&walk);
  return BP_STATUS_OK;
}

/* ---- Choices ---- */

/* Element i of the indices, or -1 when it is not below `size`. */
static int64_t index_at(ref_op_t *op, int64_t i, int64_t size) {
  ref_word_t word;
  ref_load(ref_operand(op, 1), i, 1, 1, &word);
  if (word.i >= 0 && word.i < size)
    return word.i;
  ref_fail(op, BP_STATUS_OUT_OF_RANGE, "an index lies outside its dimension");
  return -1;
}

static int64_t chosen(const ref_walk_t *walk, uint32_t axis, int64_t i) {
  return index_at(walk->op, i, walk->from->dims[axis]);
}

/* `tensor` as [outer, `size`, inner] around `axis`. */
static ref_tensor_t lines(const ref_tensor_t *tensor, const ref_tensor_t *x,
                          uint32_t axis, int64_t size) {
  ref_tensor_t view = *tensor;
  view.rank = 3;
  view.dims[0] = ref_product(x->dims, axis);
  view.dims[1] = size;
  view.dims[2] = ref_product(x->dims + axis + 1, x->rank - axis - 1);
  return view;
}

bp_status_t ref_gather(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const uint32_t axis = (uint32_t)ref_i64(op, "axis");
  const ref_tensor_t from = lines(x, x, axis, x->dims[axis]);
  const ref_tensor_t to = lines(op->result, x, axis, ref_operand(op, 1)->count);
  ref_walk_t walk;
  memset(to.data, 0, (size_t)ref_bytes(&to)); /* for bad indices */
  ref_walk_init(&walk, op, &to, &to, &from);
  walk.source = chosen;
  walk.mapped = 1u << 1;
  ref_walk(&walk);
  return BP_STATUS_OK;
}

bp_status_t ref_select(ref_op_t *op) {
  const ref_tensor_t *condition = ref_operand(op, 0);
  const int64_t count = op->result->count;
  const char *holds = condition->data;
  int64_t start, end;
  for (start = 0; start < count; start = end) { /* a run of one choice */
    const ref_tensor_t *from = ref_operand(op, holds[start] ? 1 : 2);
    for (end = start + 1; end < count && !holds[end] == !holds[start];)
      ++end;
    ref_copy(op->result, start, 1, from, start, 1, end - start);
  }
  return BP_STATUS_OK;
}

/* What updates go to. Narrow floats are held as words until all updates are in,
 * so that sums and products are rounded once. */
typedef struct scatter_t {
  ref_op_t *op;
  const ref_scalar_t *scalar; /* none: an update replaces */
  ref_word_t *words;          /* of the whole result, or NULL */
} scatter_t;

/* target[o, indices[i], s] = scalar(it, updates[o, i, s]), or without a scalar
 * the update itself. */
static void combine_slice(const scatter_t *scatter, int64_t to, int64_t from,
                          int64_t count) {
  ref_op_t *op = scatter->op;
  ref_word_t block[REF_BLOCK], updates[REF_BLOCK];
  int64_t n;
  if (!scatter->scalar)
    ref_copy(op->result, to, 1, ref_operand(op, 2), from, 1, count);
  for (; scatter->scalar && count > 0; count -= n, to += n, from += n) {
    ref_word_t *sums = scatter->words ? scatter->words + to : block;
    n = ref_lower(count, REF_BLOCK);
    if (!scatter->words)
      ref_load(op->result, to, 1, n, sums);
    ref_load(ref_operand(op, 2), from, 1, n, updates);
    ref_combine(scatter->scalar, op, sums, 1, updates, n);
    if (!scatter->words)
      ref_store(op->result, to, 1, n, sums);
  }
}

/* All updates, in row-major order of the indices. */
static void put_updates(const scatter_t *scatter, const ref_tensor_t *view) {
  const int64_t size = view->dims[1], inner = view->dims[2];
  const int64_t count = ref_operand(scatter->op, 1)->count;
  int64_t o, i;
  for (o = 0; o < view->dims[0]; ++o)
    for (i = 0; i < count; ++i) {
      const int64_t index = index_at(scatter->op, i, size);
      if (index >= 0)
        combine_slice(scatter, (o * size + index) * inner,
                      (o * count + i) * inner, inner);
    }
}

bp_status_t ref_scatter(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const uint32_t axis = (uint32_t)ref_i64(op, "axis");
  const ref_tensor_t view = lines(x, x, axis, x->dims[axis]);
  scatter_t scatter = {.op = op};
  bp_attribute_t combine;
  op->table->attribute(op->graph, op->index, bp_text("combine"), &combine);
  /* none is the name of no function */
  scatter.scalar = ref_scalar(combine.string);
  memcpy(op->result->data, x->data, (size_t)ref_bytes(x));
  if (!scatter.scalar || !ref_is_float(op->dtype) || ref_bits(op->dtype) > 16) {
    put_updates(&scatter, &view);
    return BP_STATUS_OK;
  }
  scatter.words = op->host->memory_allocate(
      op->host->self, (uint64_t)x->count * sizeof(ref_word_t) + 1u,
      sizeof(ref_word_t));
  if (!scatter.words)
    return ref_fail(op, BP_STATUS_RESOURCE_EXHAUSTED,
                    "no memory for the accumulators");
  ref_load(x, 0, 1, x->count, scatter.words);
  put_updates(&scatter, &view);
  ref_store(op->result, 0, 1, x->count, scatter.words);
  op->host->memory_free(op->host->self, scatter.words);
  return BP_STATUS_OK;
}
