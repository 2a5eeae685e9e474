// SPDX-License-Identifier: Apache-2.0
#include "ExactProduct.h"

#include "Data.h"
#include "Integers.h"

namespace backplane::conformance {

void reduceAll(Integers &numbers) {
  for (int64_t &x : numbers)
    x = modulo(x);
}

Integers coefficients(size_t count, uint64_t seed) {
  Integers r(count);
  for (size_t i = 0; i < count; ++i)
    r[i] = 1 + static_cast<int64_t>(randomBits(seed, i) % (freivaldsPrime - 1));
  return r;
}

/// Subtracts zero points of one per index along an axis, or one for all.
static void subtract(Integers &values, const std::vector<int64_t> &dims,
                     size_t axis, const Integers &zeros) {
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i)
    inner *= static_cast<size_t>(dims[i]);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] -= zeros[zeros.size() == 1 ? 0 : i / inner % zeros.size()];
}

/// Operand 0 or 1 as integers, without its zero points.
static Integers operandOf(const Op &op, const std::vector<Tensor> &inputs,
                          size_t i) {
  const std::vector<int64_t> &dims = inputs[i].dims;
  Integers numbers = allIntegers(inputs[i]);
  if (!op.name.ends_with("_integer"))
    return numbers;
  // The axis of m or n; of the images, or of the output channels.
  bool isA = i == 0;
  size_t fromEnd =
      isA ? (op.i64("transpose_a") ? 1 : 2) : (op.i64("transpose_b") ? 2 : 1);
  size_t axis = op.name.starts_with("matmul") ? dims.size() - fromEnd : 0;
  subtract(numbers, dims, axis, allIntegers(inputs[i + 2]));
  return numbers;
}

ExactProduct::ExactProduct(const Op &op, const std::vector<Tensor> &inputs,
                           const Tensor &y, uint64_t seed)
    : op_(op), xDims_(inputs[0].dims), wDims_(inputs[1].dims), y_(y),
      seed_(seed), x_(operandOf(op, inputs, 0)), w_(operandOf(op, inputs, 1)) {}

bool ExactProduct::line(size_t first, size_t count, Integers &values,
                        std::optional<WrongElement> &fault) const {
  size_t bad = 0;
  values.resize(count);
  if (readIntegers(y_, first, count, values.data(), bad))
    return true;
  fault = WrongElement{first + bad, std::nullopt};
  return false;
}

} // namespace backplane::conformance
