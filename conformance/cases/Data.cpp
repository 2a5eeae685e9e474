// SPDX-License-Identifier: Apache-2.0
#include "Data.h"

#include "DataSets.h"
#include "Large.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <algorithm>

namespace backplane::conformance {

uint64_t hashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

bool isRandom(std::string_view dataSet) { return dataSet == "uniform"; }

bool isDataSet(std::string_view name) { return findDataSet(name) != nullptr; }

bool isExact(std::string_view dataSet) {
  return dataSet == "integers" || dataSet == "one-hot";
}

namespace {

/// In which order the indices of a data set stand.
enum class Order { Random, One, Falling, Next };

Order orderOf(std::string_view dataSet) {
  return dataSet == "one-index"         ? Order::One
         : dataSet == "falling-indices" ? Order::Falling
         : dataSet == "next-indices"    ? Order::Next
                                        : Order::Random;
}

/// Indices and divisors that are errors: some of them, or one, which is the
/// bound or -1.
enum class Errors { None, Many, End, Below };

Errors errorsOf(std::string_view dataSet) {
  return dataSet == "errors"         ? Errors::Many
         : dataSet == "errors-end"   ? Errors::End
         : dataSet == "errors-below" ? Errors::Below
                                     : Errors::None;
}

std::vector<uint64_t> specialFloats(DType dtype) {
  const FloatFormat &format = formatOf(dtype);
  std::vector<uint64_t> bits;
  uint64_t sign = uint64_t(1) << (bitWidth(dtype) - 1);
  auto both = [&](uint64_t pattern) {
    bits.push_back(pattern);
    bits.push_back(pattern ^ sign);
  };
  uint64_t largest = encode(dtype, format.max);
  uint64_t normal = encode(dtype, smallest(format, true));
  uint64_t one = encode(dtype, 1);
  for (uint64_t pattern :
       {uint64_t(0), uint64_t(1), normal - 1, normal, normal + 1, one - 1, one,
        one + 1, largest - 1, largest, largest + 1, sign - 1})
    both(pattern);
  for (Real value : {0.5L, 1.5L, 2.5L, 3.5L, 2.0L, 3.0L, 10.0L, 88.5L, 104.0L,
                     0.75L, 0.3333L, 1.5708L, 3.1416L, 255.5L, 65504.0L})
    both(encode(dtype, value));
  return bits;
}

} // namespace

std::vector<uint64_t> specialBits(DType dtype) {
  if (dtype == DType::Bool)
    return {0, 1};
  if (isFloat(dtype))
    return specialFloats(dtype);
  uint64_t mask = maskOf(dtype), top = mask ^ (mask >> 1);
  std::vector<uint64_t> bits;
  for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3),
                         uint64_t(7), mask, mask - 1, top, top - 1, top + 1})
    bits.push_back(value & mask);
  for (unsigned shift = 8; shift < bitWidth(dtype); shift *= 2)
    bits.push_back(((uint64_t(1) << shift) + 1) & mask);
  // Shifts around the width.
  for (uint64_t shift : {bitWidth(dtype) - 1, bitWidth(dtype), 64u})
    bits.push_back(shift & mask);
  return bits;
}

namespace {

/// Fills one tensor; the seed differs between the inputs of a case.
class Filler {
public:
  Filler(Tensor &tensor, const InputRule &rule, size_t input,
         const Case &testCase)
      : tensor_(tensor), rule_(rule), special_(specialBits(tensor.dtype)),
        dataSet_(findDataSet(testCase.dataSet)), input_(input),
        seed_(withInput(testCase.seed, input)),
        errors_(errorsOf(testCase.dataSet)), order_(orderOf(testCase.dataSet)),
        isRandom_(isRandom(testCase.dataSet) || order_ != Order::Random) {
    auto terms = rule.terms.evaluate(testCase.symbols);
    terms_ = std::max<int64_t>(terms.ok() ? *terms : 1, 1);
    if (rule.kind == InputRule::Kind::Index)
      bound_ = std::max<int64_t>(*rule.bound.evaluate(testCase.symbols), 1);
  }

  void run() {
    size_t count = tensor_.elementCount();
    if (count)
      wrong_ = randomBits(seed_, count) % count;
    for (size_t i = 0; dataSet_ && i < count; ++i)
      storeBits(tensor_, i, ruled(i));
  }

private:
  uint64_t ruled(size_t i) const {
    DType dtype = tensor_.dtype;
    uint64_t random = randomBits(seed_, i);
    switch (rule_.kind) {
    case InputRule::Kind::Index:
      return bitsOfNumber(dtype, static_cast<Real>(index(i, random)));
    case InputRule::Kind::Range:
      if (!isRandom_)
        return chosen(i);
      [[fallthrough]];
    case InputRule::Kind::Within:
      return bitsOfNumber(dtype, rule_.low + (rule_.high - rule_.low) *
                                                 fractionOf(random));
    case InputRule::Kind::Divisor: {
      uint64_t bits = chosen(i);
      if (isFloat(dtype))
        return bits;
      bool isZero = errors_ == Errors::Many ? random % 3 == 0 : isOneError(i);
      return isZero ? 0 : std::max<uint64_t>(bits, 1);
    }
    case InputRule::Kind::Positive:
      return chosen(i) & (maskOf(dtype) >> 1);
    case InputRule::Kind::Values:
      return chosen(i);
    }
    return 0;
  }

  /// Whether this element is the only one that is wrong.
  bool isOneError(size_t i) const {
    return (errors_ == Errors::End || errors_ == Errors::Below) && i == wrong_;
  }

  /// In the bound; for errors some are on either side of it.
  int64_t index(size_t i, uint64_t random) const {
    if (isOneError(i))
      return errors_ == Errors::End ? bound_ : -1;
    if (order_ != Order::Random)
      return ordered(static_cast<int64_t>(i));
    auto inside = static_cast<int64_t>(random % static_cast<uint64_t>(bound_));
    if (errors_ != Errors::Many)
      return inside;
    const int64_t choices[] = {inside, bound_,    -1,        inside,
                               inside, INT32_MAX, INT32_MIN, -bound_};
    return choices[(random >> 40) % std::size(choices)];
  }

  /// Some index everywhere, all of the range from its end to its beginning, or
  /// one after the other from some index on.
  int64_t ordered(int64_t i) const {
    auto count = static_cast<int64_t>(tensor_.elementCount());
    int64_t room = std::max<int64_t>(bound_ - count, 0) + 1;
    uint64_t some = randomBits(seed_, ~uint64_t(0));
    if (order_ == Order::Falling)
      return bound_ - 1 - i * bound_ / count;
    if (order_ == Order::One)
      return static_cast<int64_t>(some % static_cast<uint64_t>(bound_));
    return (static_cast<int64_t>(some % static_cast<uint64_t>(room)) + i) %
           bound_;
  }

  uint64_t chosen(size_t i) const {
    return dataSet_({tensor_, rule_, special_, terms_, input_, i, seed_,
                     randomBits(seed_, i)});
  }

  Tensor &tensor_;
  const InputRule &rule_;
  std::vector<uint64_t> special_;
  DataSet dataSet_;
  size_t input_;
  uint64_t seed_;
  Errors errors_;
  Order order_;
  bool isRandom_;
  size_t wrong_ = 0; ///< place of the only error
  int64_t terms_ = 1, bound_ = 1;
};

} // namespace

void fill(Tensor &tensor, const InputRule &rule, size_t input,
          const Case &testCase) {
  Filler(tensor, rule, input, testCase).run();
}

const Given *givenFor(const Unit &unit, const Case &testCase) {
  auto given = unit.given.find(testCase.dataSet);
  return given == unit.given.end() ? nullptr : &given->second;
}

Tensor madeInput(const TensorType &type, const InputRule &rule, size_t input,
                 const Case &testCase) {
  Tensor tensor{type.dtype, {}, {}};
  for (const Dim &dim : type.dims) {
    Result<int64_t> size = dim.evaluate(testCase.symbols);
    tensor.dims.push_back(size ? *size : 0);
  }
  tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
  fill(tensor, rule, input, testCase);
  return tensor;
}

std::vector<Tensor> inputsOf(const Unit &unit, const Case &testCase) {
  if (unit.large)
    return largeInputs(unit, testCase);
  if (const Given *given = givenFor(unit, testCase))
    return given->inputs;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < unit.graph.inputs.size(); ++i)
    tensors.push_back(madeInput(
        unit.graph.type(unit.graph.inputs[i]),
        i < unit.rules.size() ? unit.rules[i] : InputRule(), i, testCase));
  return tensors;
}

} // namespace backplane::conformance
