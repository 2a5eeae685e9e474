/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instructions.c: what the device computes, all of it in f32. Replace the
 * functions by your hardware; the driver calls them for each work-group, on the
 * threads of the host.
 */
#include "acme.h"

#include <string.h>

static const int64_t *parameters(const bp_cpu_call_t *call, uint32_t bindings) {
  return call->bindings[bindings];
}

/* Element i of the result of an elementwise instruction, in an operand. */
static float element(const bp_cpu_call_t *call, const int64_t *size,
                     uint32_t operand, int64_t i) {
  const float *values = call->bindings[operand];
  const int64_t *step = size + OPERAND(operand);
  const uint32_t bits = (uint32_t)step[0];
  int64_t from = 0, axis;
  float value;
  memcpy(&value, &bits, sizeof(value));
  if (step[0] >= 0)
    return value;
  for (axis = MAX_AXES - 1; axis >= 0; --axis) {
    from += i % size[axis] * step[1 + axis];
    i /= size[axis];
  }
  return values[from];
}

/* result[i] = EXPRESSION of elements a and b; a work-group is GROUP_ELEMENTS.
 */
#define ELEMENTWISE(name, operands, expression)                                \
  static void name(const bp_cpu_call_t *call, uint32_t x, uint32_t y,          \
                   uint32_t z) {                                               \
    const int64_t *size = parameters(call, (operands) + 1);                    \
    const int64_t count = size[0] * size[1] * size[2] * size[3];               \
    const int64_t end = ((int64_t)x + 1) * GROUP_ELEMENTS;                     \
    float *result = call->bindings[operands];                                  \
    int64_t i;                                                                 \
    (void)y, (void)z;                                                          \
    for (i = end - GROUP_ELEMENTS; i < end && i < count; ++i) {                \
      const float a = element(call, size, 0, i);                               \
      const float b = (operands) > 1 ? element(call, size, 1, i) : 0;          \
      (void)b;                                                                 \
      result[i] = (expression);                                                \
    }                                                                          \
  }
ELEMENTWISE(add, 2, a + b)
ELEMENTWISE(sub, 2, a - b)
ELEMENTWISE(mul, 2, (a * b))
ELEMENTWISE(max, 2, a > b || a != a ? a : b) /* a NaN stays */
ELEMENTWISE(broadcast, 1, a)

/* A work-group is row x of batch y. */
static void matmul(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                   uint32_t z) {
  const int64_t *size = parameters(call, 3);
  const int64_t m = size[0], k = size[1], n = size[2];
  const int64_t *left = size + FACTOR(0), *right = size + FACTOR(1);
  const float *a = (const float *)call->bindings[0] + y * left[2] + x * left[0];
  const float *b = (const float *)call->bindings[1] + y * right[2];
  float *result = (float *)call->bindings[2] + (y * m + x) * n;
  int64_t i, j;
  (void)z;
  for (j = 0; j < n; ++j) {
    float sum = 0;
    for (i = 0; i < k; ++i)
      sum += a[i * left[1]] * b[i * right[0] + j * right[1]];
    result[j] = sum;
  }
}

/* Of kernels.c: row x of the result. Bindings x, w, b, y; parameters k, n. */
static void linear(const bp_cpu_call_t *call, uint32_t x, uint32_t y,
                   uint32_t z) {
  const int64_t *size = parameters(call, 4);
  const int64_t k = size[0], n = size[1];
  const float *row = (const float *)call->bindings[0] + x * k;
  const float *w = call->bindings[1], *b = call->bindings[2];
  float *result = (float *)call->bindings[3] + x * n;
  int64_t i, j;
  (void)y, (void)z;
  for (j = 0; j < n; ++j) {
    float sum = 0;
    for (i = 0; i < k; ++i)
      sum += row[i] * w[i * n + j];
    result[j] = sum + b[j];
  }
}

const instruction_t instructions[] = {
    {"add", add, 3, OPERAND(2)},      {"sub", sub, 3, OPERAND(2)},
    {"mul", mul, 3, OPERAND(2)},      {"max", max, 3, OPERAND(2)},
    {"matmul", matmul, 3, FACTOR(2)}, {"broadcast", broadcast, 2, OPERAND(1)},
    {"linear", linear, 4, 2},
};
const uint32_t instruction_count =
    sizeof(instructions) / sizeof(instructions[0]);

uint32_t find_instruction(bp_string_t name) {
  uint32_t i = 0;
  while (i < instruction_count && !equal(name, instructions[i].name))
    ++i;
  return i;
}

blob_t blob_of(bp_string_t name) {
  const uint32_t found = find_instruction(name);
  const blob_t blob = {BLOB_MAGIC, found, ~found};
  return blob;
}
