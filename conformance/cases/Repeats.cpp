// SPDX-License-Identifier: Apache-2.0
#include "Repeats.h"

#include "Data.h"
#include "Judge.h"
#include "LargeCompare.h"
#include "Sizes.h"
#include "conformance/compare/Elements.h"

#include <algorithm>
#include <cstring>

namespace backplane::conformance {

namespace {

/// Multiply-adds, or elements of all values, that the oracle may have to do
/// with at one case.
constexpr double maxWork = 1 << 22;
/// The most distinct slices along one axis.
constexpr int64_t maxDistinct = 4096;

size_t at(int64_t value) { return static_cast<size_t>(value); }

template <size_t Bytes>
void copyElements(const uint8_t *from, const std::vector<size_t> &map,
                  uint8_t *to) {
  for (size_t offset : map) {
    std::memcpy(to, from + offset, Bytes);
    to += Bytes;
  }
}

/// Gathers along all axes; offsets and `block`, what is copied at once, are in
/// bytes.
struct Gather {
  std::vector<std::vector<size_t>> maps;
  size_t block;

  void run(const uint8_t *from, size_t axis, uint8_t *&to) const {
    if (axis == maps.size()) {
      std::memcpy(to, from, block);
      to += block;
    } else if (axis + 1 == maps.size()) {
      last(from, maps[axis], to);
      to += maps[axis].size() * block;
    } else {
      for (size_t offset : maps[axis])
        run(from + offset, axis + 1, to);
    }
  }

private:
  void last(const uint8_t *from, const std::vector<size_t> &map,
            uint8_t *to) const {
    switch (block) {
    case 1:
      return copyElements<1>(from, map, to);
    case 2:
      return copyElements<2>(from, map, to);
    case 4:
      return copyElements<4>(from, map, to);
    case 8:
      return copyElements<8>(from, map, to);
    default:
      for (size_t i = 0; i < map.size(); ++i)
        std::memcpy(to + i * block, from + map[i], block);
    }
  }
};

/// Sizes with as many distinct slices as the oracle can answer for.
SymbolValues smallSizes(const Large &large, SymbolValues sizes) {
  const Limits limits = {maxWork, maxWork / 4};
  for (const std::string &symbol : large.repeated)
    sizes[symbol] = std::min(sizes[symbol], maxDistinct);
  while (!isWithin(limits, large.model, sizes)) {
    auto most = std::ranges::max_element(
        large.repeated, {}, [&](const auto &symbol) { return sizes[symbol]; });
    if (most == large.repeated.end() || sizes[*most] <= 2)
      break;
    sizes[*most] = std::max<int64_t>(sizes[*most] / 2, 2);
  }
  return sizes;
}

} // namespace

Repeats::Repeats(const Unit &unit, const Case &testCase)
    : unit_(unit), case_(testCase),
      small_(smallSizes(*unit.large, testCase.symbols)) {}

std::vector<Tensor> Repeats::inputs() const {
  Case small = case_;
  small.symbols = small_;
  std::vector<Tensor> tensors;
  const Graph &model = unit_.large->model;
  for (size_t i = 0; i < model.inputs.size(); ++i)
    tensors.push_back(
        madeInput(model.type(model.inputs[i]), unit_.rules[i], i, small));
  return tensors;
}

/// Slices of the small tensor along one axis.
std::vector<size_t> Repeats::map(const Dim &dim, int64_t size) const {
  std::vector<size_t> map(at(size));
  auto symbol = dim.symbolName();
  bool isRepeated =
      symbol && std::ranges::count(unit_.large->repeated, *symbol);
  size_t distinct = isRepeated ? at(small_.at(*symbol)) : map.size();
  uint64_t seed = case_.seed ^ hashText(symbol.value_or(""));
  for (size_t i = 0; i < map.size(); ++i)
    map[i] = i < distinct ? i : randomBits(seed, i) % distinct;
  return map;
}

/// Offsets in the small tensor, in multiples of `unit`, by axis.
std::vector<std::vector<size_t>>
Repeats::maps(const Dims &dims, const std::vector<int64_t> &smallDims,
              size_t unit) const {
  std::vector<std::vector<size_t>> all(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    auto size = dims[axis].evaluate(case_.symbols);
    all[axis] = map(dims[axis], size ? *size : 0);
    for (size_t &offset : all[axis])
      offset *= unit;
    unit *= at(smallDims[axis]);
  }
  return all;
}

Tensor Repeats::enlarge(const Tensor &small, const Dims &dims) const {
  Tensor large{small.dtype, {}, {}};
  unsigned bits = bitWidth(small.dtype);
  auto offsets = maps(dims, small.dims, bits < 8 ? 1 : bits / 8);
  for (const auto &map : offsets)
    large.dims.push_back(static_cast<int64_t>(map.size()));
  size_t count = large.elementCount();
  large.data.resize(packedBytes(small.dtype, count));
  if (count == 0)
    return large;
  if (bits < 8) {
    size_t next = 0;
    forEachLine(offsets, [&](size_t base, const std::vector<size_t> &line) {
      for (size_t offset : line)
        storeBits(large, next++, loadBits(small, base + offset));
    });
    return large;
  }
  // Axes at the end that are not repeated are copied as one block.
  size_t block = bits / 8;
  while (!offsets.empty() &&
         at(small.dims[offsets.size() - 1]) == offsets.back().size()) {
    block *= offsets.back().size();
    offsets.pop_back();
  }
  uint8_t *to = large.data.data();
  Gather{std::move(offsets), block}.run(small.data.data(), 0, to);
  return large;
}

Verdict Repeats::compareAll(const Expected &small, const Dims &dims,
                            const Tensor &got, const Numerics &numerics) const {
  auto offsets = maps(dims, small.dims, 1);
  std::vector<int64_t> wanted;
  for (const auto &map : offsets)
    wanted.push_back(static_cast<int64_t>(map.size()));
  return compareRepeated(small, wanted, offsets, got, numerics);
}

std::vector<Tensor> repeatedInputs(const Unit &unit, const Case &testCase) {
  Repeats repeats(unit, testCase);
  const Graph &model = unit.large->model;
  std::vector<Tensor> tensors = repeats.inputs();
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] = repeats.enlarge(tensors[i], model.type(model.inputs[i]).dims);
  return tensors;
}

std::vector<Verdict> judgeRepeats(const Unit &unit, const Case &testCase,
                                  const std::vector<Tensor> &outputs,
                                  const Declaration &declaration) {
  Repeats repeats(unit, testCase);
  const Graph &model = unit.large->model;
  auto expected = evaluate(model, repeats.inputs(), declaration);
  if (!expected) {
    Verdict verdict;
    verdict.reason = "the oracle: " + expected.message();
    return {verdict};
  }
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < expected->size(); ++i) {
    Expected &answer = (*expected)[i];
    if (!isRandom(testCase.dataSet))
      answer.sigma.clear();
    verdicts.push_back(
        repeats.compareAll(answer, model.type(model.outputs[i].value).dims,
                           i < outputs.size() ? outputs[i] : Tensor(),
                           numericsFor(unit, declaration)));
  }
  return verdicts;
}

} // namespace backplane::conformance
