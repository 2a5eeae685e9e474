// SPDX-License-Identifier: Apache-2.0
//
// Mutants 208 to 213: plug-ins that keep fewer digits than they declare, only
// where sizes are large. Exact tests with small integers cannot see them.
#include "Cheats.h"

#include <algorithm>

namespace backplane::mutants {

using namespace conformance;

namespace {

bool isProduct(const Call &call) {
  return call.is("matmul") && call.out().dtype == DType::F32;
}

bool isFloatConvolution(const Call &call) {
  return isConvolution(call) && call.out().dtype == DType::F32;
}

/// Every element at most as exact as `dtype`.
Tensor coarse(Tensor tensor, DType dtype) {
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    setNumber(tensor, i, rounded(dtype, numberAt(tensor, i)));
  return tensor;
}

bool runOn(const Call &call, DType dtype) {
  Tensor a = coarse(call.in(0), dtype), b = coarse(call.in(1), dtype);
  Call changed = call;
  changed.operands[0] = &a;
  changed.operands[1] = &b;
  (void)changed.run();
  return true;
}

bool coarsenResult(const Call &call, DType dtype) {
  (void)call.run();
  call.out() = coarse(call.out(), dtype);
  return true;
}

bool coarsenProducts(const Call &call) {
  Product product = productOf(call);
  return isProduct(call) &&
         std::min({product.m, product.n, product.k}) >=
             threshold(call, 208, 129, 320) &&
         runOn(call, DType::BF16);
}

bool coarsenTerms(const Call &call) {
  return isProduct(call) &&
         productOf(call).k >= threshold(call, 209, 129, 8000) &&
         runOn(call, DType::F16);
}

bool coarsenConvolutions(const Call &call) {
  return isFloatConvolution(call) &&
         call.in(0).dims[1] >= threshold(call, 210, 64, 512) &&
         runOn(call, DType::F16);
}

bool coarsenPixels(const Call &call) {
  return isFloatConvolution(call) && call.out().dims.size() == 4 &&
         call.out().dims[2] * call.out().dims[3] >=
             threshold(call, 211, 400, 10000) &&
         runOn(call, DType::BF16);
}

bool isLarge(const Call &call, uint64_t use) {
  return !call.results.empty() && call.out().dtype == DType::F32 &&
         call.out().elementCount() >= threshold<size_t>(call, use, 2e4L, 3e5L);
}

bool coarsenFunctions(const Call &call) {
  return (call.is("exp") || call.is("tanh") || call.is("mul")) &&
         isLarge(call, 212) && coarsenResult(call, DType::F16);
}

bool coarsenSums(const Call &call) {
  if (!call.is("reduce") || call.out().dtype != DType::F32 ||
      call.op.string("kind") != "sum")
    return false;
  size_t terms = call.in(0).elementCount() /
                 std::max<size_t>(call.out().elementCount(), 1);
  return terms >= threshold<size_t>(call, 213, 5000, 60000) &&
         coarsenResult(call, DType::BF16);
}

} // namespace

Runs coarseCheats() {
  return {{208, coarsenProducts},     {209, coarsenTerms},
          {210, coarsenConvolutions}, {211, coarsenPixels},
          {212, coarsenFunctions},    {213, coarsenSums}};
}

} // namespace backplane::mutants
