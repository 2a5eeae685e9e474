/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processor.c: what a chip does with a program. Nothing in a program is
 * believed: an index that would leave its memory is found before a loop runs.
 */
#include "npu.h"

#include <math.h>
#include <string.h>

/* A NaN stays one. */
#define CHOOSE(test) (isnan(x) || isnan(y) ? x + y : (test) ? x : y)
/* clang-format off */
#define FUNCTIONS(F)                                                           \
  F(copy, 1, x, 0)         F(add, 2, x + y, 0)        F(sub, 2, x - y, 0)      \
  F(mul, 2, x * y, 1)      F(div, 2, x / y, 0)        F(neg, 1, -x, 0)         \
  F(max, 2, CHOOSE(x > y), -INFINITY)                                          \
  F(min, 2, CHOOSE(x < y), INFINITY)                                           \
  F(abs, 1, fabs(x), 0)    F(recip, 1, 1 / x, 0)      F(sqrt, 1, sqrt(x), 0)   \
  F(rsqrt, 1, 1 / sqrt(x), 0)                         F(exp, 1, exp(x), 0)     \
  F(log, 1, log(x), 0)     F(tanh, 1, tanh(x), 0)     F(erf, 1, erf(x), 0)
/* clang-format on */
#define DEFINE(name, operands, expression, start)                              \
  static double run_##name(double x, double y) {                               \
    (void)y;                                                                   \
    return expression;                                                         \
  }
#define LIST(name, operands, expression, start)                                \
  {#name, operands, run_##name, start},
FUNCTIONS(DEFINE)
const npu_function_t npu_functions[] = {FUNCTIONS(LIST)};
const uint32_t npu_function_count =
    sizeof(npu_functions) / sizeof(npu_functions[0]);

uint32_t npu_find_function(bp_string_t name) {
  uint32_t i = 0;
  while (i < npu_function_count && !npu_equal(name, npu_functions[i].name))
    ++i;
  return i;
}

/* ---- Programs ---- */

static int are_sizes(const npu_header_t *header, const int32_t *dims,
                     uint32_t count) {
  while (count-- > 0)
    if (dims[count] < 0 && -1 - (int64_t)dims[count] >= header->parameters)
      return 0;
  return 1;
}

const char *npu_read(const void *blob, uint64_t size, bp_executable_t *out) {
  const npu_header_t *header = blob;
  uint32_t i, k;
  if (size < sizeof(*header) || memcmp(header->magic, NPU_MAGIC, 8) != 0)
    return "it is none of this NPU";
  if (header->instructions > NPU_INSTRUCTIONS || header->values > NPU_VALUES ||
      header->slots > NPU_VALUES || header->data_bytes > size ||
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
    if (value->place >= NPU_PLACES || value->rank > NPU_RANK ||
        (value->place == NPU_BINDING && value->index >= header->bindings) ||
        (value->place == NPU_SLOT && value->index >= header->slots) ||
        !are_sizes(header, value->dims, value->rank))
      return "a value of it is nowhere";
  }
  for (i = 0; i < header->instructions; ++i) {
    const npu_instruction_t *one = &out->instructions[i];
    if (one->function >= npu_function_count ||
        one->combine >= npu_function_count || one->loops > NPU_LOOPS ||
        one->outer > one->loops || one->operands[2].value < 0 ||
        !are_sizes(header, one->dims, one->loops))
      return "an instruction of it is none";
    for (k = 0; k < 3 * NPU_RANK; ++k) {
      const npu_operand_t *operand = &one->operands[k / NPU_RANK];
      const npu_axis_t *axis = &operand->axes[k % NPU_RANK];
      if (operand->value >= (int64_t)header->values || axis->factor[0] < 0 ||
          axis->factor[1] < 0 || (uint32_t)axis->loop[0] >= NPU_LOOPS ||
          (uint32_t)axis->loop[1] >= NPU_LOOPS)
        return "an operand of it is no value";
    }
  }
  return NULL;
}

/* ---- Running ---- */

/* A value in a call; steps and counts are in elements. */
typedef struct tensor_t {
  float *data;
  int64_t dims[NPU_RANK], steps[NPU_RANK], count;
} tensor_t;

/* An operand of a loop nest that runs. */
typedef struct cursor_t {
  const float *data;
  int64_t at, steps[NPU_LOOPS];
  int is_padded; /* an index may lie outside */
} cursor_t;

/* 0: an index is beyond any memory. */
static int set_cursor(const npu_operand_t *operand, const npu_value_t *value,
                      const tensor_t *tensor, const int64_t *dims,
                      uint32_t loops, cursor_t *out) {
  uint32_t i, k;
  memset(out, 0, sizeof(*out));
  if (operand->value < 0) {
    out->data = &operand->number;
    return 1;
  }
  out->data = tensor->data;
  for (i = 0; i < value->rank; ++i) {
    const npu_axis_t *axis = &operand->axes[i];
    int64_t last = axis->offset;
    for (k = 0; k < 2; ++k)
      if (axis->factor[k]) {
        if ((uint32_t)axis->loop[k] >= loops)
          return 0;
        last += axis->factor[k] * (dims[axis->loop[k]] - 1);
        out->steps[axis->loop[k]] += axis->factor[k] * tensor->steps[i];
      }
    out->at += axis->offset * tensor->steps[i];
    out->is_padded |= axis->offset < 0 || last >= tensor->dims[i];
  }
  return 1;
}

/* Whether the turn `index` reads inside of the operand. */
static int is_inside(const npu_operand_t *operand, uint32_t rank,
                     const tensor_t *tensor, const int64_t *index) {
  uint32_t i;
  for (i = 0; i < rank; ++i) {
    const npu_axis_t *axis = &operand->axes[i];
    const int64_t at = axis->offset + axis->factor[0] * index[axis->loop[0]] +
                       axis->factor[1] * index[axis->loop[1]];
    if (at < 0 || at >= tensor->dims[i])
      return 0;
  }
  return 1;
}

/* The next turn of loops [first, end). 0: there is none, and it starts anew. */
static int advance(uint32_t first, uint32_t end, const int64_t *dims,
                   int64_t *index, cursor_t *cursors) {
  uint32_t k;
  while (end-- > first) {
    const int64_t turns = ++index[end] < dims[end] ? 1 : 1 - dims[end];
    for (k = 0; k < 3; ++k)
      cursors[k].at += turns * cursors[k].steps[end];
    if (turns == 1)
      return 1;
    index[end] = 0;
  }
  return 0;
}

static const char *run(const bp_executable_t *program,
                       const npu_instruction_t *one, const tensor_t *tensors,
                       const int64_t *parameters) {
  const npu_function_t *function = &npu_functions[one->function];
  const npu_function_t *combine = &npu_functions[one->combine];
  const tensor_t *of[3];
  uint32_t ranks[3], i, k;
  int64_t dims[NPU_LOOPS] = {0}, index[NPU_LOOPS] = {0};
  int is_empty = 0;
  cursor_t at[3];
  for (i = 0; i < one->loops; ++i) {
    dims[i] = one->dims[i] < 0 ? parameters[-1 - one->dims[i]] : one->dims[i];
    is_empty |= i < one->outer && dims[i] <= 0;
  }
  for (k = 0; k < 3; ++k) {
    const int32_t number = one->operands[k].value;
    of[k] = &tensors[number < 0 ? 0 : number];
    ranks[k] = number < 0 ? 0 : program->values[number].rank;
    if (!set_cursor(&one->operands[k],
                    &program->values[number < 0 ? 0 : number], of[k], dims,
                    one->loops, &at[k]))
      return "npu: a loop of an instruction is missing";
  }
  if (is_empty)
    return NULL;
  if (at[2].is_padded)
    return "npu: a result is larger than its memory";
  do {
    double sum = combine->start;
    int more = 1;
    for (i = one->outer; i < one->loops; ++i)
      more &= dims[i] > 0;
    while (more) {
      int inside = 1;
      for (k = 0; k < 2; ++k)
        inside &= !at[k].is_padded ||
                  is_inside(&one->operands[k], ranks[k], of[k], index);
      if (inside) {
        const double value =
            function->run(at[0].data[at[0].at], at[1].data[at[1].at]);
        sum = one->loops == one->outer ? value : combine->run(sum, value);
      }
      more = advance(one->outer, one->loops, dims, index, at);
    }
    ((float *)at[2].data)[at[2].at] = (float)sum;
  } while (advance(0, one->outer, dims, index, at));
  return NULL;
}

/* Finds the memory of each value in a call. */
static const char *place(const bp_executable_t *program,
                         const npu_memory_t *memory, const int64_t *parameters,
                         tensor_t *tensors) {
  const npu_memory_t data = {(char *)program->data, program->header.data_bytes};
  static uint64_t slots[NPU_VALUES]; /* where each starts, and 1 */
  uint64_t used = 0, bytes, offset;
  uint32_t i, axis;
  memset(slots, 0, sizeof(slots));
  for (i = 0; i < program->header.values; ++i) {
    const npu_value_t *value = &program->values[i];
    tensor_t *tensor = &tensors[i];
    const npu_memory_t *from =
        value->place == NPU_DATA
            ? &data
            : &memory[value->place == NPU_SLOT ? program->header.bindings
                                               : value->index];
    tensor->count = 1;
    for (axis = value->rank; axis-- > 0;) {
      const int32_t dim = value->dims[axis];
      tensor->dims[axis] = dim < 0 ? parameters[-1 - dim] : dim;
      tensor->steps[axis] = tensor->count;
      if (tensor->dims[axis] < 0 ||
          tensor->dims[axis] > INT32_MAX / (tensor->count | 1))
        return "npu: a value is too large";
      tensor->count *= tensor->dims[axis];
    }
    bytes = (uint64_t)tensor->count * sizeof(float);
    offset = value->place == NPU_DATA ? value->offset : 0;
    if (value->place == NPU_SLOT && !slots[value->index]) {
      slots[value->index] = used + 1;
      used += (bytes + NPU_ALIGNMENT - 1) / NPU_ALIGNMENT * NPU_ALIGNMENT;
    }
    if (value->place == NPU_SLOT)
      offset = slots[value->index] - 1;
    if (offset % sizeof(float) || offset > from->size ||
        bytes > from->size - offset)
      return "npu: a value lies outside of its memory";
    tensor->data = (float *)(from->data + offset);
  }
  return NULL;
}

const char *npu_run(const bp_executable_t *program, const npu_memory_t *memory,
                    const int64_t *parameters) {
  static tensor_t tensors[NPU_VALUES]; /* the device has one processor */
  const char *problem = place(program, memory, parameters, tensors);
  uint32_t i;
  for (i = 0; i < program->header.instructions && !problem; ++i)
    problem = run(program, &program->instructions[i], tensors, parameters);
  return problem;
}
