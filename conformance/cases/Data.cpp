// SPDX-License-Identifier: Apache-2.0
#include "Data.h"

#include "Patterns.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

uint64_t randomBits(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t hashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

bool isRandom(std::string_view dataSet) { return dataSet == "uniform"; }

bool isExact(std::string_view dataSet) {
  return dataSet == "integers" || dataSet == "one-hot";
}

namespace {

uint64_t maskOf(DType dtype) {
  return bitWidth(dtype) == 64 ? ~uint64_t(0)
                               : (uint64_t(1) << bitWidth(dtype)) - 1;
}

uint64_t bitsOf(DType dtype, Real value) {
  if (isFloat(dtype))
    return encode(dtype, value);
  if (dtype == DType::Bool)
    return value != 0;
  return static_cast<uint64_t>(static_cast<int64_t>(value)) & maskOf(dtype);
}

/// In [0, 1), with 53 bits.
double unit(uint64_t bits) {
  return std::ldexp(static_cast<double>(bits >> 11), -53);
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
  return bits;
}

namespace {

/// Fills one tensor; `seed` differs between the inputs of a case.
class Filler {
public:
  Filler(Tensor &tensor, const InputRule &rule, size_t input,
         const Case &testCase)
      : tensor_(tensor), rule_(rule), input_(input), case_(testCase),
        seed_(testCase.seed ^ hashText("input") * (input + 1)),
        special_(specialBits(tensor.dtype)) {
    terms_ = std::max<int64_t>(rule.terms.evaluate(testCase.symbols).ok()
                                   ? *rule.terms.evaluate(testCase.symbols)
                                   : 1,
                               1);
    if (rule.kind == InputRule::Kind::Index)
      bound_ = std::max<int64_t>(*rule.bound.evaluate(testCase.symbols), 1);
  }

  void run() {
    size_t count = tensor_.elementCount();
    for (size_t i = 0; i < count; ++i)
      storeBits(tensor_, i, ruled(i));
  }

private:
  uint64_t ruled(size_t i) const {
    DType dtype = tensor_.dtype;
    switch (rule_.kind) {
    case InputRule::Kind::Index:
      return bitsOf(dtype, static_cast<Real>(randomBits(seed_, i) %
                                             static_cast<uint64_t>(bound_)));
    case InputRule::Kind::Range:
      if (!isRandom(case_.dataSet))
        return chosen(i);
      return bitsOf(dtype, rule_.low + (rule_.high - rule_.low) *
                                           unit(randomBits(seed_, i)));
    case InputRule::Kind::Divisor: {
      uint64_t bits = chosen(i);
      return bits == 0 && !isFloat(dtype) ? 1 : bits;
    }
    case InputRule::Kind::Positive:
      return chosen(i) & (maskOf(dtype) >> 1);
    case InputRule::Kind::Values:
      return chosen(i);
    }
    return 0;
  }

  uint64_t chosen(size_t i) const {
    DType dtype = tensor_.dtype;
    if (case_.dataSet == "special")
      return special_[place(i, special_.size()) % special_.size()];
    if (case_.dataSet == "exhaustive")
      return (i >> (bitWidth(dtype) * input_)) & maskOf(dtype);
    if (case_.dataSet == "bits")
      return dtype == DType::Bool ? randomBits(seed_, i) & 1
                                  : randomBits(seed_, i) & maskOf(dtype);
    return bitsOf(dtype, number(i));
  }

  /// All combinations of the special values of all inputs.
  size_t place(size_t i, size_t count) const {
    for (size_t input = 0; input < input_; ++input)
      i /= count;
    return i;
  }

  Real number(size_t i) const {
    uint64_t random = randomBits(seed_, i);
    if (auto value = patternOf(case_.dataSet, tensor_, input_, i, random))
      return *value;
    if (case_.dataSet == "integers")
      return small(random);
    if (case_.dataSet == "one-hot")
      return rule_.contracted != 0 ? hot(i) : Real(1 + random % 113);
    if (case_.dataSet == "equal")
      return isFloat(tensor_.dtype) ? 0.3L : 3;
    if (case_.dataSet == "cancel")
      return (i % 2 ? -1 : 1) * (1 + Real(i / 2 % 5)) * 100;
    return isFloat(tensor_.dtype) ? 8 * unit(random) - 4 : integer(random);
  }

  Real integer(uint64_t random) const {
    bool isSigned = isSignedInteger(tensor_.dtype);
    Real limit = bitWidth(tensor_.dtype) == 4 ? 7 : 9;
    Real value = static_cast<Real>(random % static_cast<uint64_t>(limit + 1));
    return isSigned && (random >> 32) % 2 ? -value : value;
  }

  /// Integers of at most 7 and few enough bits that terms_ products of two
  /// stay below 2^24.
  Real small(uint64_t random) const {
    uint64_t limit = terms_ * 49 <= (int64_t(1) << 24) ? 7 : 1;
    Real value = static_cast<Real>(random % (limit + 1));
    bool isNegative = (random >> 32) % 2 && !isUnsignedInteger(tensor_.dtype);
    return isNegative ? -value : value;
  }

  /// One 1 along the contracted axes of each line.
  Real hot(size_t i) const {
    uint64_t along = 0, lengths = 1, line = 0, lines = 1, rest = i;
    for (size_t axis = tensor_.dims.size(); axis-- > 0;) {
      uint64_t size = static_cast<uint64_t>(tensor_.dims[axis]);
      bool isContracted = rule_.contracted >> axis & 1;
      uint64_t &position = isContracted ? along : line;
      uint64_t &stride = isContracted ? lengths : lines;
      position += rest % size * stride;
      stride *= size;
      rest /= size;
    }
    return along == randomBits(seed_, line) % lengths;
  }

  Tensor &tensor_;
  const InputRule &rule_;
  size_t input_;
  const Case &case_;
  uint64_t seed_;
  std::vector<uint64_t> special_;
  int64_t terms_ = 1, bound_ = 1;
};

} // namespace

void fill(Tensor &tensor, const InputRule &rule, size_t input,
          const Case &testCase) {
  Filler(tensor, rule, input, testCase).run();
}

std::vector<Tensor> inputsOf(const Unit &unit, const Case &testCase) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < unit.graph.inputs.size(); ++i) {
    const TensorType &type = unit.graph.type(unit.graph.inputs[i]);
    Tensor tensor{type.dtype, {}, {}};
    for (const Dim &dim : type.dims) {
      Result<int64_t> size = dim.evaluate(testCase.symbols);
      tensor.dims.push_back(size ? *size : 0);
    }
    tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
    fill(tensor, i < unit.rules.size() ? unit.rules[i] : InputRule(), i,
         testCase);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace backplane::conformance
