// SPDX-License-Identifier: Apache-2.0
//
// Mutants 41 to 48: faults of a driver, and of kernels that depend on what ran
// before.
#include "Mutant.h"

#include <cmath>

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

Mutant faulty(int number, std::string_view title, std::string_view description,
              std::vector<std::string_view> tags, Fault fault) {
  return {.number = number,
          .family = Family::Runtime,
          .title = title,
          .description = description,
          .tags = std::move(tags),
          .fault = fault};
}

} // namespace

std::vector<Mutant> runtimeMutants() {
  constexpr Family family = Family::Runtime;
  return {
      faulty(41, "fence early",
             "work is reported as done before its last dispatch has run",
             {"fence", "last-k"}, Fault::FenceEarly),
      faulty(42, "copy ignores offset",
             "copies read from the start of their source", {"offset"},
             Fault::CopyNoOffset),
      {43,
       family,
       "stale workspace",
       "sums start from the results of the run before",
       {"workspace"},
       {"matmul", "reduce"},
       keepWorkspace},
      {44,
       family,
       "race 1 in 500",
       "one dispatch in 500 leaves 16 bytes of its result unwritten",
       {"race", "last-k"},
       {},
       raceSometimes},
      faulty(45, "leak on error", "each failed call keeps 64 KiB of memory",
             {"leak"}, Fault::LeakOnError),
      faulty(46, "crash without memory",
             "an allocation that fails is written to all the same", {"oom"},
             Fault::OomCrash),
      faulty(47, "struct overrun",
             "the query writes a whole struct into one of any size",
             {"struct-size"}, Fault::StructOverrun),
      {48,
       family,
       "updates lost",
       "of updates that scatter adds to one element only the last counts",
       {"atomic"},
       {"scatter"},
       loseUpdates},
      faulty(65, "fills repeat one byte",
             "fills use the first byte of a pattern of 2 or 4", {"offset"},
             Fault::FillOneByte),
      faulty(66, "loads anything",
             "damaged blobs are loaded, and do nothing when they run",
             {"error-word"}, Fault::LoadAnything),
      faulty(67, "errors dropped",
             "work whose data were bad completes with success", {"error-word"},
             Fault::BadStatusDropped),
      faulty(68, "completes twice", "the completion is called a second time",
             {"fence"}, Fault::CompletesTwice),
      faulty(69, "empty work is lost",
             "work without commands is taken and never completes", {"fence"},
             Fault::LoseEmptySubmit),
  };
}

} // namespace backplane::mutants
