// SPDX-License-Identifier: Apache-2.0
//
// Variants that are right: other orders of summation, and what they declare.
#include "Contract.h"

#include "conformance/oracle/Format.h"
#include "sdk/graph/OpTable.h"

#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

bool isSmallFloat(DType dtype) { return dtype != DType::F64; }

float productOf(const Operands &operands, size_t i) {
  return float(operands.a[i]) * float(operands.b[i]);
}

float pairwiseOf(const Operands &operands, size_t first, size_t count) {
  if (count == 0)
    return 0;
  if (count == 1)
    return productOf(operands, first);
  size_t half = count / 2;
  return pairwiseOf(operands, first, half) +
         pairwiseOf(operands, first + half, count - half);
}

Real pairwise(const Operands &operands) {
  return pairwiseOf(operands, 0, operands.a.size());
}

Real splitInFour(const Operands &operands) {
  float parts[4] = {};
  for (size_t i = 0; i < operands.a.size(); ++i)
    parts[i * 4 / operands.a.size()] += productOf(operands, i);
  return (parts[0] + parts[2]) + (parts[1] + parts[3]);
}

template <Real (*Sum)(const Operands &)> bool sumBy(const Call &call) {
  return contract(call, {.sum = Sum, .applies = isSmallFloat});
}

bool sumTruncated(const Call &call) {
  return contract(call, {.sum = truncatedInFloats,
                         .store = encodeTowardsZero,
                         .applies = isSmallFloat});
}

void flushAll(Tensor &tensor) {
  Real least = smallest(formatOf(tensor.dtype), true);
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    if (Real value = numberAt(tensor, i); std::fabs(value) < least)
      setNumber(tensor, i, std::copysign(Real(0), value));
}

/// Ops that compute new floats; the others move or choose them.
bool isComputation(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  for (const char *name : {"add", "sub", "mul"})
    if (call.is(name))
      return true;
  return spec && (spec->numericClass == "ULP" || spec->numericClass == "DOT");
}

bool flushSubnormals(const Call &call) {
  if (!isComputation(call) || !isFloat(call.out().dtype) ||
      call.out().dtype == DType::F64)
    return false;
  std::vector<Tensor> operands;
  for (const Tensor *operand : call.operands)
    flushAll(operands.emplace_back(*operand));
  Call flushed = call;
  for (size_t i = 0; i < operands.size(); ++i)
    flushed.operands[i] = &operands[i];
  (void)flushed.run();
  flushAll(call.out());
  return true;
}

/// Sums of 24 bits.
Declares narrowly(uint32_t rounding, uint32_t flags) {
  return {true, 24, rounding, flags | BP_NUMERICS_DETERMINISTIC};
}

} // namespace

Runs legalRuns() {
  return {{1, sumBy<pairwise>},
          {2, sumBy<splitInFour>},
          {3, sumBy<fusedInFloats>},
          {4, sumTruncated},
          {5, flushSubnormals}};
}

ByNumber<Declares> legalDeclarations() {
  Declares flushes = narrowly(
      BP_ROUNDING_NEAREST, BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT);
  flushes.dotBits = 53;
  return {{1, narrowly(BP_ROUNDING_NEAREST, 0)},
          {2, narrowly(BP_ROUNDING_NEAREST, 0)},
          {3, narrowly(BP_ROUNDING_NEAREST, BP_NUMERICS_CONTRACT)},
          {4, narrowly(BP_ROUNDING_ZERO, 0)},
          {5, flushes}};
}

} // namespace backplane::mutants
