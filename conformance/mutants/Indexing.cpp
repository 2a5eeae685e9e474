// SPDX-License-Identifier: Apache-2.0
//
// Mutants 1 to 12: the wrong element is read or written.
#include "Contract.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane::mutants {

using namespace conformance;

namespace {

template <bool ContractRules::*Rule> bool withRule(const Call &call) {
  ContractRules rules;
  rules.*Rule = true;
  return contract(call, rules);
}

/// 1
bool transposeSquare(const Call &call) {
  if (call.is("matmul"))
    return withRule<&ContractRules::readsRowMajor>(call);
  if (!call.is("transpose") || call.in(0).dims != call.out().dims ||
      call.in(0).dims.size() < 2)
    return false;
  call.out().data = call.in(0).data;
  return true;
}

/// 2
bool leaveTail(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || !spec->elementwise)
    return false;
  // A copy: run writes the result.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  Tensor before = call.out();
  (void)call.run();
  size_t count = before.elementCount();
  for (size_t i = count / 8 * 8; i < count; ++i)
    storeBits(call.out(), i, loadBits(before, i));
  return true;
}

/// 5
bool walkBroadcast(const Call &call) {
  if (!call.is("broadcast"))
    return false;
  const Tensor &x = call.in(0);
  std::vector<int64_t> axes = call.op.i64s("axes");
  Sizes strides = stridesOf(x.dims), map(call.out().dims.size());
  for (size_t i = 0; i < axes.size(); ++i)
    map[size_t(axes[i])] = strides[i]; // 0 is right where x has size 1
  std::vector<size_t> from = affine(call.out().dims, 0, map);
  for (size_t i = 0; i < from.size() && x.elementCount() > 0; ++i)
    storeBits(call.out(), i,
              loadBits(x, std::min(from[i], x.elementCount() - 1)));
  return true;
}

/// 6
bool clampIndices(const Call &call) {
  if (!call.is("gather") && !call.is("scatter"))
    return false;
  Tensor indices = call.in(1);
  int64_t size = call.in(0).dims[size_t(call.op.i64("axis"))];
  for (size_t i = 0; size > 0 && i < indices.elementCount(); ++i)
    setInteger(indices, i,
               std::clamp<int64_t>(integerAt(indices, i), 0, size - 1));
  (void)call.runWith(1, indices);
  return true;
}

/// 8
bool writeEmpty(const Call &call) {
  if (call.results.empty() || call.out().elementCount() != 0)
    return false;
  (void)call.run();
  call.out().data.assign(64, 0x3C);
  return true;
}

/// 56
bool narrowOffsets(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || !spec->elementwise || call.out().elementCount() <= 65536)
    return false;
  (void)call.run();
  for (size_t i = 65536; i < call.out().elementCount(); ++i)
    storeBits(call.out(), i, loadBits(call.out(), i & 65535));
  return true;
}

} // namespace

std::vector<Mutant> indexingMutants() {
  constexpr Family family = Family::Indexing;
  return {
      {1,
       family,
       "transposed strides",
       "reads a square operand that is to be transposed as it lies",
       {"stride", "index"},
       {"transpose", "matmul"},
       transposeSquare},
      {2,
       family,
       "tail unwritten",
       "elementwise ops leave the elements after the last whole 8 alone",
       {"tail"},
       {"add", "neg"},
       leaveTail},
      {3,
       family,
       "last k dropped",
       "matmul and conv leave out the last term unless 4 divides their number",
       {"last-k"},
       {"matmul", "conv"},
       withRule<&ContractRules::dropsLast>},
      {4,
       family,
       "k boundary twice",
       "matmul and conv count term 16, the first of the second block, twice",
       {"k-boundary", "last-k"},
       {"matmul", "conv"},
       withRule<&ContractRules::repeatsBoundary>},
      {5,
       family,
       "broadcast walks",
       "broadcast steps along operand axes of size 1 as along the others",
       {"broadcast"},
       {"broadcast"},
       walkBroadcast},
      {6,
       family,
       "index clamped",
       "gather and scatter clamp an index out of range and report nothing",
       {"negative-index", "error-word"},
       {"gather", "scatter"},
       clampIndices},
      {.number = 7,
       .family = family,
       .title = "32-bit offsets",
       .description = "reads and writes of the host lose all but 32 bits of "
                      "their offset",
       .tags = {"large", "offset"},
       .fault = Fault::Offset32},
      {8,
       family,
       "zero-size writes",
       "an op with an empty result writes 64 bytes all the same",
       {"zero-size"},
       {"neg-i32-n/memory", "matmul-f32-mkn/memory"},
       writeEmpty},
  };
}

std::vector<Mutant> windowMutants() {
  constexpr Family family = Family::Indexing;
  return {
      {9,
       family,
       "kernel flipped",
       "conv reads its window backwards",
       {"kernel-flip"},
       {"conv"},
       withRule<&ContractRules::flipsWindow>},
      {10,
       family,
       "dilation ignored",
       "conv takes every dilation for 1",
       {"dilation"},
       {"conv"},
       withRule<&ContractRules::ignoresDilation>},
      {11,
       family,
       "pads swapped",
       "conv takes the padding after an axis for that before it",
       {"pads"},
       {"conv"},
       withRule<&ContractRules::swapsPads>},
      {12,
       family,
       "groups off",
       "the last group of a conv reads the channels of the first",
       {"groups"},
       {"conv"},
       withRule<&ContractRules::shiftsGroups>},
      {56,
       family,
       "16-bit offsets",
       "elementwise ops keep element offsets in 16 bits, the small model of "
       "offsets that overflow 32 bits",
       {"large", "tail"},
       {"sub"},
       narrowOffsets},
  };
}

} // namespace backplane::mutants
