/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processor.c: what a chip does with a program. An instruction computes one
 * value, element by element. Nothing in a program is believed: all indices are
 * checked against the sizes of their value.
 */
#include "npu.h"

#include <math.h>

/* A value in a call; axes that it does not have are of size 1. */
typedef struct tensor_t {
  float *data;
  uint32_t rank;
  int64_t dims[NPU_RANK], count;
} tensor_t;

/* An instruction in a call, at one element of its result. */
typedef struct work_t {
  const struct op_t *op;
  const int32_t *settings;
  const tensor_t *x, *y, *result;
  int64_t at, index[NPU_RANK];
  int is_bad; /* an index was outside of its value */
} work_t;

/* The element at an index; along an axis of size 1 there is only one. */
static double load(work_t *work, const tensor_t *from, const int64_t *index) {
  int64_t at = 0;
  uint32_t i;
  for (i = 0; i < from->rank; ++i) {
    const int64_t here = from->dims[i] == 1 ? 0 : index[i];
    if (here < 0 || here >= from->dims[i]) {
      work->is_bad = 1;
      return 0;
    }
    at = at * from->dims[i] + here;
  }
  return from->data[at];
}

/* ---- Ops ---- */

typedef struct op_t {
  const char *name;
  uint32_t least_rank;
  double (*element)(work_t *work);
  double (*function)(double x, double y); /* of elements */
} op_t;

/* Axis i of x lies along axis settings[i]. */
static double broadcast(work_t *work) {
  int64_t from[NPU_RANK];
  uint32_t i;
  for (i = 0; i < work->x->rank; ++i) {
    const uint32_t along = (uint32_t)work->settings[i];
    from[i] = along < NPU_RANK ? work->index[along] : -1;
  }
  return load(work, work->x, from);
}

static double reshape(work_t *work) {
  work->is_bad |= work->at >= work->x->count && work->x->rank > 0;
  return work->is_bad ? 0 : work->x->data[work->x->rank ? work->at : 0];
}

static double matmul(work_t *work) {
  const uint32_t last = work->result->rank - 1, row = work->y->rank - 2;
  int64_t x[NPU_RANK], y[NPU_RANK], k;
  double sum = 0;
  memcpy(x, work->index, sizeof(x));
  memcpy(y, work->index, sizeof(y));
  y[row + 1] = work->index[last];
  for (k = 0; k < work->x->dims[last] && !work->is_bad; ++k) {
    x[last] = y[row] = k;
    sum += load(work, work->x, x) * load(work, work->y, y);
  }
  return sum;
}

/* settings: groups, then stride, dilation and padding of each axis */
static double conv(work_t *work) {
  const int32_t *rows = &work->settings[1], *columns = &work->settings[4];
  const int32_t groups = work->settings[0] > 0 ? work->settings[0] : 1;
  const int64_t *dims = work->x->dims, *window = work->y->dims;
  const int64_t of_group = (work->result->dims[1] + groups - 1) / groups;
  int64_t x[NPU_RANK] = {work->index[0]}, w[NPU_RANK] = {work->index[1]};
  double sum = 0;
  for (w[1] = 0; w[1] < window[1]; ++w[1])
    for (w[2] = 0; w[2] < window[2]; ++w[2])
      for (w[3] = 0; w[3] < window[3]; ++w[3]) {
        x[1] = work->index[1] / of_group * window[1] + w[1];
        x[2] = work->index[2] * rows[0] + w[2] * rows[1] - rows[2];
        x[3] = work->index[3] * columns[0] + w[3] * columns[1] - columns[2];
        if (x[2] < 0 || x[2] >= dims[2] || x[3] < 0 || x[3] >= dims[3])
          continue; /* padding */
        sum += load(work, work->x, x) * load(work, work->y, w);
      }
  return sum;
}

static double elements(work_t *work) {
  return work->op->function(load(work, work->x, work->index),
                            load(work, work->y, work->index));
}

static double add(double x, double y) { return x + y; }
static double mul(double x, double y) { return x * y; }
/* A NaN stays one. */
static double larger(double x, double y) { return isnan(x) || x > y ? x : y; }
static double smaller(double x, double y) { return isnan(x) || x < y ? x : y; }
static double tangent(double x, double y) {
  (void)y;
  return tanh(x);
}

static const op_t ops[NPU_OPS] = {
    {"broadcast", 0, broadcast, NULL}, {"reshape", 0, reshape, NULL},
    {"matmul", 2, matmul, NULL},       {"conv", 3, conv, NULL},
    {"add", 0, elements, add},         {"mul", 0, elements, mul},
    {"max", 0, elements, larger},      {"min", 0, elements, smaller},
    {"tanh", 0, elements, tangent},
};

const char *npu_op_name(uint32_t op) { return ops[op].name; }

uint32_t npu_find_op(bp_string_t name) {
  uint32_t op = 0;
  while (op < NPU_OPS && !bp_text_is(name, ops[op].name))
    ++op;
  return op;
}

/* ---- Programs ---- */

const char *npu_read(const void *blob, uint64_t size, bp_executable_t *out) {
  const npu_header_t *header = blob;
  uint32_t i, k;
  if (size < sizeof(*header) || memcmp(header->magic, NPU_MAGIC, 8) != 0)
    return "it is none of this NPU";
  if (header->instructions > NPU_INSTRUCTIONS || header->values > NPU_VALUES ||
      header->bindings > NPU_VALUES || header->bindings == 0 ||
      header->parameters > BP_MAX_PARAMETERS || header->data_bytes > size ||
      sizeof(*header) + header->values * sizeof(npu_value_t) +
              header->instructions * sizeof(npu_instruction_t) +
              header->data_bytes !=
          size)
    return "it is cut off, or longer than the program memory";
  out->header = *header;
  out->values = (const void *)(header + 1);
  out->instructions = (const void *)(out->values + header->values);
  out->data = (const void *)(out->instructions + header->instructions);
  for (i = 0; i < header->values; ++i) {
    const npu_value_t *value = &out->values[i];
    if (value->place > NPU_DATA || value->rank > NPU_RANK ||
        (value->place == NPU_BINDING && value->index >= header->bindings))
      return "a value of it is nowhere";
    for (k = 0; k < value->rank; ++k)
      if (-1 - (int64_t)value->dims[k] >= header->parameters)
        return "a size of it is no parameter";
  }
  for (i = 0; i < header->instructions; ++i) {
    const npu_instruction_t *one = &out->instructions[i];
    const uint32_t all[] = {one->operands[0], one->operands[1], one->result};
    for (k = 0; k < 3; ++k)
      if (one->op >= NPU_OPS || all[k] >= header->values ||
          out->values[all[k]].rank < ops[one->op].least_rank)
        return "an instruction of it is none";
    if (out->values[one->result].place == NPU_DATA)
      return "an instruction of it changes the program";
  }
  return NULL;
}

/* ---- Running ---- */

/* Finds the memory of a value. `used`: of the scratch memory, in bytes. */
static const char *place(const bp_executable_t *program,
                         const npu_value_t *value, const bp_binding_t *bindings,
                         const int64_t *parameters, uint64_t *used,
                         tensor_t *out) {
  const bp_binding_t *from = &bindings[program->header.bindings - 1];
  const char *start;
  uint64_t bytes, size, offset = 0;
  uint32_t i;
  out->rank = value->rank;
  out->count = 1;
  for (i = 0; i < NPU_RANK; ++i) {
    const int32_t dim = i < value->rank ? value->dims[i] : 1;
    out->dims[i] = dim < 0 ? parameters[-1 - dim] : dim;
    if (out->dims[i] < 0 || out->dims[i] > INT32_MAX / (out->count | 1))
      return "npu: a value is too large";
    out->count *= out->dims[i];
  }
  bytes = (uint64_t)out->count * sizeof(float);
  if (value->place == NPU_BINDING)
    from = &bindings[value->index];
  start = (const char *)from->buffer + from->offset;
  size = from->length;
  if (value->place == NPU_SCRATCH) {
    offset = *used;
    *used += bytes;
  } else if (value->place == NPU_DATA) {
    start = program->data;
    size = program->header.data_bytes;
    offset = value->index;
  }
  if (offset % sizeof(float) || offset > size || bytes > size - offset)
    return "npu: a value lies outside of its memory";
  out->data = (float *)(start + offset);
  return NULL;
}

const char *npu_run(const bp_executable_t *program,
                    const bp_binding_t *bindings, const int64_t *parameters) {
  tensor_t tensors[NPU_VALUES];
  const char *problem = NULL;
  uint64_t used = 0;
  uint32_t i, axis;
  for (i = 0; i < program->header.values && !problem; ++i)
    problem = place(program, &program->values[i], bindings, parameters, &used,
                    &tensors[i]);
  for (i = 0; i < program->header.instructions && !problem; ++i) {
    const npu_instruction_t *one = &program->instructions[i];
    const tensor_t *result = &tensors[one->result];
    work_t work = {.op = &ops[one->op], .settings = one->settings};
    work.x = &tensors[one->operands[0]];
    work.y = &tensors[one->operands[1]];
    work.result = result;
    for (; work.at < result->count && !work.is_bad; ++work.at) {
      result->data[work.at] = (float)work.op->element(&work);
      for (axis = result->rank; axis-- > 0; work.index[axis] = 0)
        if (++work.index[axis] < result->dims[axis])
          break;
    }
    if (work.is_bad)
      problem = "npu: an instruction reads outside of a value";
  }
  return problem;
}
