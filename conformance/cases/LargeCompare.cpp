// SPDX-License-Identifier: Apache-2.0
#include "LargeCompare.h"

#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <cmath>
#include <limits>

namespace backplane::conformance {

namespace {

/// Wrong elements after which counting stops.
constexpr size_t maxWrong = 1000;

/// Numbers of a float dtype of at most 16 bits, by their bits.
std::vector<double> tableOf(DType dtype) {
  std::vector<double> table;
  if (!isFloat(dtype) || bitWidth(dtype) > 16)
    return table;
  for (uint64_t bits = 0; bits < uint64_t(1) << bitWidth(dtype); ++bits)
    table.push_back(static_cast<double>(decode(dtype, bits)));
  return table;
}

/// Elements of a tensor as bits and, of floats, as numbers.
class ElementReader {
public:
  explicit ElementReader(const Tensor &tensor)
      : tensor_(tensor), bytes_(bitWidth(tensor.dtype) / 8),
        table_(tableOf(tensor.dtype)) {}

  uint64_t bits(size_t i) const {
    if (bytes_ == 0)
      return loadBits(tensor_, i);
    return loadBytes(tensor_.data.data() + i * bytes_, bytes_);
  }
  double number(uint64_t bits) const {
    if (!table_.empty())
      return table_[bits];
    if (bytes_ == 8)
      return std::bit_cast<double>(bits);
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  }

private:
  const Tensor &tensor_;
  size_t bytes_;
  std::vector<double> table_;
};

/// Numbers that are right beyond doubt; low > high: none; NaN: any NaN.
struct Interval {
  double low = 1, high = 0;
};

/// Rounded inwards, so that the range never says more than the limit.
Interval rangeOf(const Expected &answers, size_t i) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  bool isLimit = answers.match == Match::Limit;
  Real value =
      isLimit ? answers.value[i] : decode(answers.dtype, answers.bits[i]);
  if (std::isnan(value))
    return {NAN, NAN};
  Real error = isLimit ? answers.error[i] : -1;
  Real low = value - error, high = value + error;
  if (!std::isfinite(low) || !std::isfinite(high))
    return {};
  return {std::nextafter(static_cast<double>(low), infinite),
          std::nextafter(static_cast<double>(high), -infinite)};
}

std::vector<Interval> rangesOf(const Expected &answers) {
  std::vector<Interval> ranges(answers.bits.size());
  bool isNumber = isFloat(answers.dtype) && (answers.match == Match::Limit ||
                                             answers.match == Match::Value);
  for (size_t i = 0; i < ranges.size() && isNumber; ++i)
    ranges[i] = rangeOf(answers, i);
  return ranges;
}

/// The answer for one element.
Expected answerAt(const Expected &answers, size_t i) {
  Expected one;
  one.dtype = answers.dtype;
  one.match = answers.match;
  one.bits = {answers.bits[i]};
  if (answers.match == Match::Limit) {
    one.value = {answers.value[i]};
    one.error = {answers.error[i]};
  }
  if (answers.accepts)
    one.accepts = [&answers, i](size_t, int64_t got) {
      return answers.accepts(i, got);
    };
  return one;
}

class Walk {
public:
  Walk(const Expected &answers, const Tensor &got, const Numerics &numerics)
      : answers_(answers), got_(got), numerics_(numerics), reader_(got),
        ranges_(rangesOf(answers)),
        isDecision_(answers.match == Match::Decision) {}

  void line(size_t base, const std::vector<size_t> &offsets) {
    for (size_t offset : offsets) {
      size_t element = next_++;
      if (wrong < maxWrong && !isRight(base + offset, reader_.bits(element)))
        refuse(element, base + offset);
    }
  }

  size_t wrong = 0, first = 0;
  Verdict worst; ///< of the first wrong element

private:
  bool isRight(size_t answer, uint64_t bits) const {
    if (isDecision_)
      return answers_.accepts(answer, integerOf(got_.dtype, bits));
    if (bits == answers_.bits[answer])
      return true;
    const Interval &range = ranges_[answer];
    if (range.low > range.high)
      return false;
    double number = reader_.number(bits);
    if (std::isnan(range.low))
      return std::isnan(number);
    return range.low <= number && number <= range.high;
  }

  /// What is not plainly right is judged by the rules.
  void refuse(size_t element, size_t answer) {
    Tensor one{got_.dtype, {}, Bytes(packedBytes(got_.dtype, 1))};
    storeBits(one, 0, reader_.bits(element));
    Verdict verdict = compare(answerAt(answers_, answer), one, numerics_);
    if (verdict.pass)
      return;
    if (wrong++ == 0) {
      first = element;
      worst = std::move(verdict);
    }
  }

  const Expected &answers_;
  const Tensor &got_;
  const Numerics &numerics_;
  ElementReader reader_;
  std::vector<Interval> ranges_;
  bool isDecision_;
  size_t next_ = 0;
};

/// The elements in which each answer occurs first.
Tensor cornerOf(const Expected &answers, const std::vector<int64_t> &dims,
                const Tensor &got) {
  Tensor corner{got.dtype, answers.dims, {}};
  corner.data.resize(packedBytes(got.dtype, corner.elementCount()));
  AxisMaps maps(dims.size());
  size_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    for (int64_t i = 0; i < answers.dims[axis]; ++i)
      maps[axis].push_back(static_cast<size_t>(i) * stride);
    stride *= static_cast<size_t>(dims[axis]);
  }
  size_t next = 0;
  forEachLine(maps, [&](size_t base, const std::vector<size_t> &offsets) {
    for (size_t offset : offsets)
      storeBits(corner, next++, loadBits(got, base + offset));
  });
  return corner;
}

} // namespace

Verdict compareRepeated(const Expected &answers,
                        const std::vector<int64_t> &dims, const AxisMaps &maps,
                        const Tensor &got, const Numerics &numerics) {
  bool isWhole = got.dtype == answers.dtype && got.dims == dims &&
                 got.data.size() == packedBytes(got.dtype, got.elementCount());
  if (!isWhole) {
    Expected form = answers;
    form.dims = dims;
    return compare(form, got, numerics);
  }
  Verdict verdict = compare(answers, cornerOf(answers, dims, got), numerics);
  Walk walk(answers, got, numerics);
  forEachLine(maps, [&](size_t base, const std::vector<size_t> &offsets) {
    walk.line(base, offsets);
  });
  verdict.elements = got.elementCount();
  if (walk.wrong == 0)
    return verdict;
  std::string many = walk.wrong < maxWrong ? "" : "at least ";
  verdict.pass = false;
  verdict.reason = many + std::to_string(walk.wrong) + " of " +
                   std::to_string(verdict.elements) +
                   " elements are wrong, the first is element " +
                   std::to_string(walk.first) + ": " + walk.worst.got +
                   ", needs " + walk.worst.want;
  verdict.worst = walk.first;
  verdict.got = walk.worst.got;
  verdict.want = walk.worst.want;
  verdict.limit = walk.worst.limit;
  verdict.limitUsed = walk.worst.limitUsed;
  return verdict;
}

} // namespace backplane::conformance
