// SPDX-License-Identifier: Apache-2.0
//
// Mutants 41 to 48: faults of a driver, and of kernels that depend on what ran
// before.
#include "Mutant.h"

namespace backplane::mutants {

using namespace conformance;

namespace {

std::string keyOf(const Call &call) {
  return std::to_string(reinterpret_cast<uintptr_t>(&call.op));
}

/// 43
bool keepWorkspace(const Call &call) {
  if (!call.is("matmul") && !call.is("reduce") && !call.is("conv"))
    return false;
  if (call.is("reduce") && call.op.string("kind") != "sum")
    return false;
  (void)call.run();
  std::vector<Tensor> &kept = call.memory.results[keyOf(call)];
  Tensor fresh = call.out();
  for (const Tensor &old : kept)
    for (size_t i = 0; i < std::min(old.elementCount(), fresh.elementCount());
         ++i)
      setNumber(call.out(), i, numberAt(fresh, i) + numberAt(old, i));
  kept = {fresh};
  return true;
}

/// 44
bool raceSometimes(const Call &call) {
  if (call.memory.dispatches % 500 != 499 || call.index != 0 ||
      call.results.empty() || call.out().data.empty())
    return false;
  // A copy: run writes the result.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  Tensor before = call.out();
  (void)call.run();
  size_t middle = before.data.size() / 2;
  for (size_t i = middle; i < std::min(before.data.size(), middle + 16); ++i)
    call.out().data[i] = before.data[i];
  return true;
}

/// 48: all updates are added to what was there at first; the last one stays.
bool loseUpdates(const Call &call) {
  if (!call.is("scatter") || call.op.string("combine") != "add")
    return false;
  (void)call.run();
  const Tensor &x = call.in(0), &indices = call.in(1), &updates = call.in(2);
  size_t axis = size_t(call.op.i64("axis"));
  size_t inner = countOf({x.dims.begin() + axis + 1, x.dims.end()});
  size_t outer = countOf({x.dims.begin(), x.dims.begin() + axis});
  size_t size = size_t(x.dims[axis]), count = indices.elementCount();
  for (size_t o = 0; o < outer; ++o)
    for (size_t k = 0; k < count; ++k) {
      uint64_t index = uint64_t(integerAt(indices, k));
      if (index >= size)
        continue;
      for (size_t s = 0; s < inner; ++s) {
        size_t to = (o * size + index) * inner + s;
        size_t from = (o * count + k) * inner + s;
        if (isFloat(x.dtype))
          setNumber(call.out(), to, numberAt(x, to) + numberAt(updates, from));
        else
          setInteger(call.out(), to,
                     int64_t(uint64_t(integerAt(x, to)) +
                             uint64_t(integerAt(updates, from))));
      }
    }
  return true;
}

} // namespace

Runs runtimeMutants() {
  return {{43, keepWorkspace}, {44, raceSometimes}, {48, loseUpdates}};
}

} // namespace backplane::mutants
