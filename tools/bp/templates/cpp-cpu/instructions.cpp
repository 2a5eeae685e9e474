// SPDX-License-Identifier: Apache-2.0
//
// instructions.cpp: what the device computes, all of it in f32. Replace the
// functions by your hardware; the driver calls them for each work-group, on the
// threads of the host.
#include "acme.h"

#include <algorithm>
#include <bit>
#include <cstring>

// Element i of the result of an elementwise instruction, in an operand.
static float element(const Call &call, uint32_t operand, int64_t i) {
  const int64_t *size = call.parameters, *step = size + operandAt(operand);
  if (step[0] >= 0)
    return std::bit_cast<float>(uint32_t(step[0]));
  int64_t from = 0;
  for (uint32_t axis = maxAxes; axis-- > 0; i /= size[axis])
    from += i % size[axis] * step[1 + axis];
  return call.bindings[operand][from];
}

// result[i] = compute(a, b); a work-group is groupElements.
template <uint32_t operands, auto compute>
static void elementwise(const Call &call, int64_t x, int64_t) {
  const int64_t *size = call.parameters;
  const int64_t count = size[0] * size[1] * size[2] * size[3];
  const int64_t begin = x * groupElements;
  for (int64_t i = begin; i < std::min(begin + groupElements, count); ++i)
    call.bindings[operands][i] =
        compute(element(call, 0, i), operands > 1 ? element(call, 1, i) : 0);
}

static float add(float a, float b) { return a + b; }
static float sub(float a, float b) { return a - b; }
static float mul(float a, float b) { return a * b; }
// A NaN stays.
static float maximum(float a, float b) { return a > b || a != a ? a : b; }
static float first(float a, float) { return a; }

// A work-group is row x of batch y.
static void matmul(const Call &call, int64_t x, int64_t y) {
  const int64_t *size = call.parameters;
  const int64_t m = size[0], k = size[1], n = size[2];
  const int64_t *left = size + factorAt(0), *right = size + factorAt(1);
  const float *a = call.bindings[0] + y * left[2] + x * left[0];
  const float *b = call.bindings[1] + y * right[2];
  for (int64_t j = 0; j < n; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += a[i * left[1]] * b[i * right[0] + j * right[1]];
    call.bindings[2][(y * m + x) * n + j] = sum;
  }
}

// Of kernels.cpp: row x of the result. Bindings x, w, b, y; parameters k, n.
static void linear(const Call &call, int64_t x, int64_t) {
  const int64_t k = call.parameters[0], n = call.parameters[1];
  const auto [row, w, b, y] =
      std::array{call.bindings[0] + x * k, call.bindings[1], call.bindings[2],
                 call.bindings[3] + x * n};
  for (int64_t j = 0; j < n; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += row[i] * w[i * n + j];
    y[j] = sum + b[j];
  }
}

static constexpr Instruction all[] = {
    {"add", elementwise<2, add>, 3, operandAt(2)},
    {"sub", elementwise<2, sub>, 3, operandAt(2)},
    {"mul", elementwise<2, mul>, 3, operandAt(2)},
    {"max", elementwise<2, maximum>, 3, operandAt(2)},
    {"matmul", matmul, 3, factorAt(2)},
    {"broadcast", elementwise<1, first>, 2, operandAt(1)},
    {"linear", linear, 4, 2},
};
constinit const std::span<const Instruction> instructions = all;

const Instruction *findInstruction(std::string_view name) {
  for (const Instruction &one : instructions)
    if (one.name == name)
      return &one;
  return nullptr;
}

Blob blobOf(const Instruction &instruction) {
  const auto number = uint32_t(&instruction - instructions.data());
  return {"BLOB-1", number, ~number};
}

static const Instruction *instructionOf(const bp_executable_info_t &info) {
  Blob blob;
  if (view(info.format) != formatName || info.blob.size != sizeof(blob))
    return nullptr;
  std::memcpy(&blob, info.blob.data, sizeof(blob));
  if (blob.instruction >= instructions.size())
    return nullptr;
  const Instruction &found = instructions[blob.instruction];
  const Blob expected = blobOf(found);
  return std::memcmp(&blob, &expected, sizeof(blob)) == 0 ? &found : nullptr;
}

Result<const Instruction *> readBlob(const bp_executable_info_t &info) {
  const Instruction *instruction = instructionOf(info);
  const bp_entry_t *entry = info.entry_count == 1 ? info.entries[0] : nullptr;
  const char *reason = "it is damaged or of another version";
  if (instruction && entry && entry->binding_count == instruction->bindings &&
      entry->parameter_count == instruction->parameters)
    return instruction;
  if (instruction)
    reason = "its entry does not fit the instruction";
  return invalidArgument("acme cannot load a blob of " +
                         std::to_string(info.blob.size) + " bytes: " + reason +
                         "; compile the model again");
}
