/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_movement.c: constants and the ops that move elements without looking at
 * them. Most are one copy of a box whose two sides have strides of their own.
 */
#include "ref.h"

#include <string.h>

/* ---- Copying boxes ---- */

/* dims[rank] elements of `size` bytes; strides are in elements. */
typedef struct box_t {
  uint32_t rank;
  int64_t size;
  const int64_t *dims;
  int64_t to[REF_MAX_RANK];
  int64_t from[REF_MAX_RANK];
} box_t;

#define COPY_ROW(SIZE)                                                         \
  {                                                                            \
    for (i = 0; i < count; ++i)                                                \
      memcpy(to + i * to_step * SIZE, from + i * from_step * SIZE, SIZE);      \
    break;                                                                     \
  }

static void copy_row(int64_t size, int64_t count, char *to, int64_t to_step,
                     const char *from, int64_t from_step) {
  int64_t i;
  if (to_step == 1 && from_step == 1) {
    memcpy(to, from, (size_t)(count * size));
    return;
  }
  switch (size) {
  case 1:
    COPY_ROW(1)
  case 2:
    COPY_ROW(2)
  case 4:
    COPY_ROW(4)
  default:
    COPY_ROW(8)
  }
}

static void copy_axis(const box_t *box, uint32_t axis, char *to,
                      const char *from) {
  int64_t i;
  if (box->rank == 0) {
    memcpy(to, from, (size_t)box->size);
  } else if (axis + 1 == box->rank) {
    copy_row(box->size, box->dims[axis], to, box->to[axis], from,
             box->from[axis]);
  } else {
    for (i = 0; i < box->dims[axis]; ++i)
      copy_axis(box, axis + 1, to + i * box->to[axis] * box->size,
                from + i * box->from[axis] * box->size);
  }
}

/* Copies `dims` elements, starting at an element offset of each side. Nothing
 * is touched when a dim is 0. */
static void copy_box(box_t *box, const int64_t *dims, const ref_tensor_t *to,
                     int64_t to_offset, const ref_tensor_t *from,
                     int64_t from_offset) {
  box->rank = to->rank;
  box->dims = dims;
  box->size = ref_size(to->dtype);
  if (ref_product(dims, box->rank) > 0)
    copy_axis(box, 0, (char *)to->data + to_offset * box->size,
              (const char *)from->data + from_offset * box->size);
}

/* ---- Constants ---- */

bp_status_t ref_constant(ref_op_t *op) {
  const ref_tensor_t *result = op->result;
  const uint64_t size = (uint64_t)ref_size(result->dtype);
  bp_attribute_t value;
  ref_tensor_t element = *result;
  box_t box;
  memset(&box, 0, sizeof(box)); /* all strides of the one element are 0 */
  op->table->attribute(op->graph, op->index, ref_string("value"), &value);
  if (value.bytes.size == size * (uint64_t)result->count) {
    if (value.bytes.size)
      memcpy(result->data, value.bytes.data, value.bytes.size);
    return BP_STATUS_OK;
  }
  if (value.bytes.size != size)
    return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                    "value has neither one element nor those of dims");
  element.data = (void *)value.bytes.data;
  ref_strides(result, box.to);
  copy_box(&box, result->dims, result, 0, &element, 0);
  return BP_STATUS_OK;
}

bp_status_t ref_iota(ref_op_t *op) {
  const ref_tensor_t *result = op->result;
  int64_t strides[REF_MAX_RANK];
  const int64_t axis = ref_i64(op, "axis");
  int64_t i;
  ref_strides(result, strides);
  for (i = 0; i < result->count; ++i) {
    ref_word_t word;
    word.i = i / strides[axis] % result->dims[axis];
    ref_store(result, i, 1, &word, BP_DTYPE_I64);
  }
  return BP_STATUS_OK;
}

bp_status_t ref_dim(ref_op_t *op) {
  return ref_dims(op, "value", op->result->data, (uint32_t)op->result->count);
}

/* ---- Boxes ---- */

bp_status_t ref_broadcast(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *axes = ref_i64s(op, "axes", 0);
  int64_t strides[REF_MAX_RANK];
  uint32_t i;
  box_t box;
  memset(&box, 0, sizeof(box));
  ref_strides(x, strides);
  ref_strides(op->result, box.to);
  for (i = 0; i < x->rank; ++i) {
    box.from[axes[i]] = x->dims[i] == 1 ? 0 : strides[i];
  }
  copy_box(&box, op->result->dims, op->result, 0, x, 0);
  return BP_STATUS_OK;
}

bp_status_t ref_reshape(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  if (x->count != op->result->count)
    return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                    "the dims hold another number of elements");
  memcpy(op->result->data, x->data, (size_t)(x->count * ref_size(x->dtype)));
  return BP_STATUS_OK;
}

bp_status_t ref_transpose(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *permutation = ref_i64s(op, "permutation", 0);
  int64_t strides[REF_MAX_RANK];
  uint32_t i;
  box_t box;
  ref_strides(x, strides);
  ref_strides(op->result, box.to);
  for (i = 0; i < x->rank; ++i)
    box.from[i] = strides[permutation[i]];
  copy_box(&box, op->result->dims, op->result, 0, x, 0);
  return BP_STATUS_OK;
}

bp_status_t ref_slice(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int64_t *steps = ref_i64s(op, "strides", 0);
  int64_t starts[REF_MAX_RANK];
  int64_t offset = 0;
  uint32_t i;
  box_t box;
  bp_status_t status = ref_dims(op, "starts", starts, REF_MAX_RANK);
  if (status)
    return status;
  ref_strides(x, box.from);
  ref_strides(op->result, box.to);
  for (i = 0; i < x->rank; ++i) {
    const int64_t size = op->result->dims[i];
    if (starts[i] < 0 || starts[i] > x->dims[i] ||
        (size > 0 && (starts[i] == x->dims[i] ||
                      (x->dims[i] - 1 - starts[i]) / steps[i] < size - 1)))
      return ref_fail(op, BP_STATUS_OUT_OF_RANGE,
                      "the box reaches outside the operand");
    offset += starts[i] * box.from[i];
    /* with at most one element the step is never taken, and may be huge */
    box.from[i] = size > 1 ? box.from[i] * steps[i] : 0;
  }
  copy_box(&box, op->result->dims, op->result, 0, x, offset);
  return BP_STATUS_OK;
}

bp_status_t ref_reverse(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  uint32_t count, i;
  const int64_t *axes = ref_i64s(op, "axes", &count);
  int64_t offset = 0;
  box_t box;
  ref_strides(x, box.from);
  ref_strides(op->result, box.to);
  for (i = 0; i < count; ++i) {
    offset += (x->dims[axes[i]] - 1) * box.from[axes[i]];
    box.from[axes[i]] = -box.from[axes[i]];
  }
  copy_box(&box, op->result->dims, op->result, 0, x, offset);
  return BP_STATUS_OK;
}

bp_status_t ref_concat(ref_op_t *op) {
  const int64_t axis = ref_i64(op, "axis");
  int64_t position = 0;
  uint32_t i;
  box_t box;
  ref_strides(op->result, box.to);
  for (i = 0; i < op->operand_count; ++i) {
    const ref_tensor_t *x = ref_operand(op, i);
    ref_strides(x, box.from);
    copy_box(&box, x->dims, op->result, position * box.to[axis], x, 0);
    position += x->dims[axis];
  }
  return BP_STATUS_OK;
}

/* ---- Padding ---- */

typedef struct pad_t {
  const ref_tensor_t *x, *result;
  const int64_t *low;
  int reflect;
  int64_t from[REF_MAX_RANK], to[REF_MAX_RANK];
} pad_t;

/* Which element of an axis of size `n` (at least 1) stands at index `i`. */
static int64_t pad_source(const pad_t *pad, int64_t i, int64_t n) {
  if (!pad->reflect)
    return i < 0 ? 0 : i < n ? i : n - 1;
  if (n == 1)
    return 0;
  i %= 2 * (n - 1); /* the pattern repeats */
  if (i < 0)
    i = -i;
  return i < n ? i : 2 * (n - 1) - i;
}

static void pad_axis(const pad_t *pad, uint32_t axis, int64_t to,
                     int64_t from) {
  const int64_t size = ref_size(pad->x->dtype);
  int64_t i;
  if (axis == pad->x->rank) {
    memcpy((char *)pad->result->data + to * size,
           (const char *)pad->x->data + from * size, (size_t)size);
    return;
  }
  for (i = 0; i < pad->result->dims[axis]; ++i)
    pad_axis(pad, axis + 1, to + i * pad->to[axis],
             from + pad->from[axis] * pad_source(pad, i - pad->low[axis],
                                                 pad->x->dims[axis]));
}

static void pad_constant(const ref_op_t *op, const int64_t *low) {
  const ref_tensor_t *x = ref_operand(op, 0);
  int64_t offset = 0;
  uint32_t i;
  box_t box;
  memset(&box, 0, sizeof(box));
  ref_strides(op->result, box.to);
  copy_box(&box, op->result->dims, op->result, 0, ref_operand(op, 1), 0);
  ref_strides(x, box.from);
  for (i = 0; i < x->rank; ++i)
    offset += low[i] * box.to[i];
  copy_box(&box, x->dims, op->result, offset, x, 0);
}

bp_status_t ref_pad(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const int constant = ref_is(op, "mode", "constant");
  int64_t low[REF_MAX_RANK];
  uint32_t i;
  pad_t pad;
  bp_status_t status = ref_dims(op, "low", low, REF_MAX_RANK);
  if (status)
    return status;
  for (i = 0; i < x->rank; ++i) {
    if (low[i] < 0 || low[i] > op->result->dims[i] - x->dims[i])
      return ref_fail(op, BP_STATUS_OUT_OF_RANGE, "padding is negative");
    if (!constant && x->dims[i] == 0 && op->result->count > 0)
      return ref_fail(op, BP_STATUS_INVALID_ARGUMENT,
                      "an empty axis has no element to pad with");
  }
  if (constant) {
    pad_constant(op, low);
    return BP_STATUS_OK;
  }
  pad.x = x;
  pad.result = op->result;
  pad.low = low;
  pad.reflect = ref_is(op, "mode", "reflect");
  ref_strides(x, pad.from);
  ref_strides(op->result, pad.to);
  pad_axis(&pad, 0, 0, 0);
  return BP_STATUS_OK;
}

/* ---- Choices ---- */

bp_status_t ref_gather(ref_op_t *op) {
  const ref_tensor_t *x = ref_operand(op, 0);
  const ref_tensor_t *indices = ref_operand(op, 1);
  const uint32_t axis = (uint32_t)ref_i64(op, "axis");
  const int64_t outer = ref_product(x->dims, axis);
  const int64_t size = x->dims[axis];
  const int64_t inner =
      ref_product(x->dims + axis + 1, x->rank - axis - 1) * ref_size(x->dtype);
  const char *from = x->data;
  char *to = op->result->data;
  int64_t o, i;
  for (o = 0; o < outer; ++o)
    for (i = 0; i < indices->count; ++i, to += inner) {
      ref_word_t index;
      ref_load(indices, i, 1, 1, &index);
      if (index.i >= 0 && index.i < size) {
        memcpy(to, from + (o * size + index.i) * inner, (size_t)inner);
      } else {
        memset(to, 0, (size_t)inner);
        op->error = BP_KERNEL_ERROR_INDEX;
      }
    }
  return BP_STATUS_OK;
}

bp_status_t ref_select(ref_op_t *op) {
  const ref_tensor_t *condition = ref_operand(op, 0);
  const ref_tensor_t *a = ref_operand(op, 1);
  const ref_tensor_t *b = ref_operand(op, 2);
  const int64_t size = ref_size(a->dtype);
  const int64_t count = op->result->count;
  const char *holds = condition->data;
  int64_t i;
  for (i = 0; i < count; ++i)
    copy_row(size, 1, (char *)op->result->data + i * size, 1,
             (const char *)(holds[i] ? a : b)->data + i * size, 1);
  return BP_STATUS_OK;
}
