// SPDX-License-Identifier: Apache-2.0
#include "RandomGraph.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

using enum DType;

DType dtypeOfSeed(uint64_t seed) {
  static constexpr DType all[] = {F32, F32, F16, F32, I32, F32, BF16, F64, F32,
                                  I64, F16, F32, I8,  F32, U8,  F32,  I16, U32};
  return all[seed % std::size(all)];
}

namespace {

uint64_t mixed(uint64_t seed) {
  return hashText("graph") ^ (seed * 0x9e3779b97f4a7c15u);
}

} // namespace

Growth::Growth(Sketch &sketch, uint64_t seed) : s(sketch), dice(mixed(seed)) {
  chooseSymbols();
  firstInput();
}

void Growth::chooseSymbols() {
  static constexpr int64_t first[] = {1, 2, 3, 5, 7, 9, 13, 16, 17, 31, 33, 64};
  calls_.resize(2);
  size_t symbols = dice.below(4);
  for (size_t i = 0; i < symbols; ++i) {
    std::string name(1, static_cast<char>('a' + i));
    for (SymbolValues &call : calls_)
      call[name] = first[dice.below(std::size(first))];
    dims_.push_back(s.symbol(name));
  }
  if (symbols == 0)
    calls_.resize(1);
  for (int i = 0; i < 3; ++i)
    dims_.push_back(first[dice.below(9)]);
  if (calls_.front() == calls_.back())
    calls_.resize(1);
}

void Growth::firstInput() {
  Dims dims;
  size_t rank = 1 + dice.below(4);
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(anyDim());
  while (!isSmall(dims))
    dims.pop_back();
  items_.push_back({s.in(dims, -2, 2), 2});
  // Every symbol is the whole size of some axis of an input.
  for (const Dim &dim : dims_)
    if (!dim.constant() &&
        std::find(dims.begin(), dims.end(), dim) == dims.end())
      items_.push_back({s.in({dim}, -2, 2), 2});
}

std::vector<int64_t> Growth::sizes(const Dims &dims, size_t call) const {
  std::vector<int64_t> sizes;
  for (const Dim &dim : dims) {
    auto size = dim.evaluate(calls_[call]);
    sizes.push_back(size ? *size : -1);
  }
  return sizes;
}

int64_t Growth::count(const Dims &dims) const {
  int64_t largest = 0;
  for (size_t call = 0; call < calls_.size(); ++call) {
    int64_t count = 1;
    for (int64_t size : sizes(dims, call))
      count = size < 0 || count > 1000000 ? 1000000 : count * size;
    largest = std::max(largest, count);
  }
  return largest;
}

Dim Growth::anyDim() { return dice.pick(dims_); }

Growth::Item Growth::fresh(DType dtype, const Dims &dims, double magnitude) {
  bool isStatic = std::all_of(dims.begin(), dims.end(),
                              [](const Dim &dim) { return dim.constant(); });
  bool isWide = isFloat(dtype);
  double high = isWide ? magnitude : 10;
  double low = isUnsignedInteger(dtype) ? 0 : -high;
  ValueId id =
      isStatic && dice.chance(50)
          ? s.builder.weight(dtype, dims, low, high)
          : s.builder.input(
                dtype, dims,
                {.kind = InputRule::Kind::Range, .low = low, .high = high});
  return {id, magnitude};
}

Growth::Item *
Growth::find(const std::function<bool(const TensorType &)> &wanted) {
  std::vector<Item *> found;
  for (Item &item : items_)
    if (wanted(type(item)))
      found.push_back(&item);
  if (found.empty())
    return nullptr;
  // The last ones make the graph deep, the first ones make it wide.
  size_t back = std::min(dice.below(3), found.size() - 1);
  Item *item = dice.chance(70) ? found[found.size() - 1 - back]
                               : found[dice.below(found.size())];
  item->used = true;
  return item;
}

Growth::Item Growth::like(const TensorType &wanted) {
  Item *found =
      dice.chance(65)
          ? find([&](const TensorType &type) { return type == wanted; })
          : nullptr;
  return found ? *found : fresh(wanted.dtype, wanted.dims, 2);
}

void Growth::keep(ValueId value, double magnitude) {
  if (value >= s.builder.graph().values.size())
    return;
  Item item{value, magnitude};
  if (isFloat(type(item).dtype) && magnitude > 8) {
    item.id = tamed(item, 4);
    item.magnitude = 4;
  }
  items_.push_back(item);
}

ValueId Growth::tamed(const Item &item, double limit) {
  if (!isFloat(type(item).dtype) || item.magnitude <= limit)
    return item.id;
  return with("mul", item.id,
              std::exp2(-std::ceil(std::log2(item.magnitude / limit))));
}

void Growth::run() {
  size_t steps = 3 + dice.below(12);
  for (size_t i = 0; i < steps; ++i) {
    size_t kind = dice.below(10);
    const std::vector<Step> &family = kind < 4   ? elementwiseSteps()
                                      : kind < 7 ? movingSteps()
                                                 : combiningSteps();
    dice.pick(family)(*this);
  }
  addOutputs();
}

/// The values that nobody used, the last ones first, and one that was used.
void Growth::addOutputs() {
  size_t left = 5;
  for (size_t i = items_.size(); i-- > 0 && left > 0;)
    if (!items_[i].used) {
      s.out(items_[i].id);
      --left;
    }
  if (dice.chance(30) || left == 5)
    s.out(items_[items_.size() - 1 - dice.below(items_.size())].id);
}

} // namespace backplane::conformance
