// SPDX-License-Identifier: Apache-2.0
#include "Compare.h"

#include "Elements.h"
#include "SelfCheck.h"
#include "Tolerance.h"
#include "sdk/support/Tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace backplane::conformance {

namespace {

constexpr Real infinite = std::numeric_limits<Real>::infinity();

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

size_t bin(Real ulps) {
  constexpr Real ends[] = {0, 0.5L, 1, 2, 4, 16, 256};
  size_t index = 0;
  while (index < std::size(ends) && !(ulps <= ends[index]))
    ++index;
  return index;
}

/// What one element shows.
struct Finding {
  Real used = 0;  ///< share of the limit; above 1 is wrong
  Real error = 0; ///< got - want; NaN when one of them is no number
  Real limit = 0;
  Real ulps = 0;
};

/// Walks over the elements of one output.
class Comparison {
public:
  Comparison(const Expected &expected, const Tensor &got,
             const Numerics &numerics, const Weakness &weakness)
      : expected_(expected), got_(got), numerics_(numerics),
        weakness_(weakness), isFloat_(isFloat(expected.dtype)) {}

  Verdict run() {
    if (std::string wrong = wrongForm(); !wrong.empty()) {
      verdict_.pass = weakness_.passesWhatItSkips;
      verdict_.reason = wrong;
      verdict_.limitUsed = verdict_.pass ? 0 : static_cast<double>(infinite);
      return verdict_;
    }
    size_t count = std::min(expected_.bits.size(), weakness_.onlyFirst);
    verdict_.elements = count;
    for (size_t i = 0; i < count; ++i)
      note(i, judge(i));
    finish();
    return verdict_;
  }

private:
  /// Why the tensor cannot be compared at all, or nothing.
  std::string wrongForm() const {
    if (got_.dtype != expected_.dtype)
      return "has dtype " + std::string(name(got_.dtype)) + ", needs " +
             std::string(name(expected_.dtype));
    if (got_.dims != expected_.dims)
      return "has dims " + shapeText(got_.dims) + ", needs " +
             shapeText(expected_.dims);
    size_t count = got_.elementCount();
    size_t bytes = packedBytes(got_.dtype, count);
    if (got_.data.size() != bytes)
      return "has " + std::to_string(got_.data.size()) + " bytes, needs " +
             std::to_string(bytes);
    bool isLimit = expected_.match == Match::Limit;
    if (expected_.bits.size() != count ||
        (isLimit && (expected_.value.size() != count ||
                     expected_.error.size() != count)) ||
        (!expected_.sigma.empty() && expected_.sigma.size() != count) ||
        (expected_.match == Match::Decision && !expected_.accepts))
      return "the oracle's answer is incomplete";
    return {};
  }

  Finding judge(size_t i) const {
    uint64_t bits = loadBits(got_, i);
    switch (expected_.match) {
    case Match::Bits:
      return exact(i, bits == expected_.bits[i]);
    case Match::Value:
      return exact(i, isSameValue(i, bits));
    case Match::Decision:
      return exact(i, expected_.accepts(i, integerOf(expected_.dtype, bits)));
    case Match::Limit:
      return limited(i, bits);
    }
    return exact(i, false);
  }

  Real gotNumber(size_t i) const {
    return numberOf(got_.dtype, loadBits(got_, i));
  }

  bool isNan(Real got, Real want) const {
    return std::isnan(weakness_.comparesExpectedWithItself ? want : got);
  }

  bool isSameValue(size_t i, uint64_t bits) const {
    if (bits == expected_.bits[i])
      return true;
    if (!isFloat_)
      return false;
    Real want = decode(expected_.dtype, expected_.bits[i]), got = gotNumber(i);
    if (std::isnan(want))
      return isNan(got, want);
    const FloatFormat &format = formatOf(expected_.dtype);
    return got == 0 && mayFlush(format, want, 0, numerics_) && want != 0;
  }

  /// An element that is right or wrong.
  Finding exact(size_t i, bool isRight) const {
    Finding finding;
    if (expected_.match != Match::Decision)
      finding = measured(i, numberOf(expected_.dtype, expected_.bits[i]), 0);
    finding.used = isRight ? 0 : infinite;
    if (isRight)
      finding.ulps = 0;
    return finding;
  }

  Finding limited(size_t i, uint64_t bits) const {
    Real want = expected_.value[i];
    Real limit =
        expected_.error[i] * static_cast<Real>(weakness_.toleranceFactor);
    Finding finding = measured(i, want, limit);
    // A number beyond the largest one rounds to infinity.
    bool isRoundedAway =
        bits == expected_.bits[i] && std::isinf(numberOf(got_.dtype, bits));
    if (isRoundedAway)
      finding.used = finding.ulps = 0;
    else if (bits == expected_.bits[i] && !std::isnan(want))
      finding.used = std::isfinite(limit) && limit > 0
                         ? std::min(std::fabs(finding.error) / limit, Real(1))
                         : 0;
    else
      finding.used = share(numberOf(got_.dtype, bits), want, limit);
    if (std::isnan(finding.used))
      finding.used = 0; // infinity that equals infinity
    return finding;
  }

  /// Whether a right result may lie beyond the largest number of this sign.
  bool reaches(bool isNegative, Real want, Real limit) const {
    return isFloat_ && mayOverflow(formatOf(expected_.dtype),
                                   isNegative ? -want : want, limit);
  }

  /// Error as a share of the limit, by the rules for NaN, overflow and
  /// flushing.
  Real share(Real got, Real want, Real limit) const {
    if (std::isnan(limit))
      return 0; // anything at all is right (MidRad.h)
    if (std::isnan(want))
      return isNan(got, want) ? 0 : infinite;
    if (std::isnan(got)) {
      bool isOverflow =
          isFloat_ && !formatOf(expected_.dtype).hasInfinity &&
          (reaches(false, want, limit) || reaches(true, want, limit));
      return isOverflow ? 0 : infinite;
    }
    if (std::isinf(limit) || got == want)
      return 0;
    if (std::isinf(got))
      return reaches(std::signbit(got), want, limit) ? 0 : infinite;
    if (std::isinf(want))
      return infinite;
    Real error = std::fabs(got - want);
    if (error > limit && got == 0 && isFloat_ &&
        mayFlush(formatOf(expected_.dtype), want, limit, numerics_))
      return 0;
    return limit > 0 ? error / limit : infinite;
  }

  Finding measured(size_t i, Real want, Real limit) const {
    Finding finding;
    finding.limit = limit;
    finding.error = gotNumber(i) - want;
    if (std::isnan(want) && std::isnan(gotNumber(i)))
      finding.ulps = 0;
    else if (!std::isfinite(finding.error))
      finding.ulps = gotNumber(i) == want ? 0 : infinite;
    else if (isFloat_)
      finding.ulps =
          std::fabs(finding.error) / ulp(formatOf(expected_.dtype), want);
    else
      finding.ulps = std::fabs(finding.error);
    return finding;
  }

  void note(size_t i, const Finding &finding) {
    if (i == 0 || finding.used > worst_.used) {
      worst_ = finding;
      verdict_.worst = i;
    }
    wrong_ += !(finding.used <= 1);
    verdict_.unbounded +=
        !std::isfinite(finding.limit) && !std::isnan(expected_.value[i]);
    ++verdict_.ulps[bin(finding.ulps)];
    if (expected_.sigma.empty() || !(expected_.sigma[i] > 0) ||
        !std::isfinite(finding.error) || !std::isfinite(finding.limit))
      return;
    double scaled = static_cast<double>(finding.error / expected_.sigma[i]);
    squares_ += scaled * scaled;
    sum_ += scaled;
    ++samples_;
  }

  void finish() {
    verdict_.limitUsed = static_cast<double>(worst_.used);
    verdict_.limit = static_cast<double>(worst_.limit);
    if (verdict_.elements > 0)
      describeWorst();
    verdict_.pass = wrong_ == 0;
    if (wrong_ != 0)
      verdict_.reason = std::to_string(wrong_) + " of " +
                        std::to_string(verdict_.elements) +
                        " elements are wrong, the worst is element " +
                        std::to_string(verdict_.worst) + ": " + verdict_.got +
                        ", needs " + verdict_.want;
    checkStatistics();
  }

  void describeWorst() {
    verdict_.got = textOf(got_.dtype, loadBits(got_, verdict_.worst));
    verdict_.want = textOf(expected_.dtype, expected_.bits[verdict_.worst]);
    if (expected_.match == Match::Limit)
      verdict_.want += " +- " + number(verdict_.limit);
  }

  void checkStatistics() {
    if (samples_ == 0)
      return;
    double count = static_cast<double>(samples_);
    verdict_.rms = std::sqrt(squares_ / count);
    verdict_.bias = sum_ / count;
    if (samples_ < statisticsFrom)
      return;
    double largestRms = rmsLimit * weakness_.toleranceFactor;
    if (verdict_.rms > largestRms)
      refuse("the errors have an RMS of " + number(verdict_.rms) +
             " sigma, at most " + number(largestRms) + " is right");
    double largestBias =
        biasLimit(verdict_.rms, samples_) * weakness_.toleranceFactor;
    if (expected_.biasGate && std::fabs(verdict_.bias) > largestBias)
      refuse("the errors have a mean of " + number(verdict_.bias) +
             " sigma, at most " + number(largestBias) + " is right");
  }

  void refuse(const std::string &why) {
    verdict_.pass = false;
    verdict_.reason += (verdict_.reason.empty() ? "" : "; ") + why;
  }

  const Expected &expected_;
  const Tensor &got_;
  const Numerics &numerics_;
  const Weakness &weakness_;
  bool isFloat_;
  Verdict verdict_;
  Finding worst_;
  uint64_t wrong_ = 0, samples_ = 0;
  double squares_ = 0, sum_ = 0;
};

} // namespace

Verdict compareWeakly(const Expected &expected, const Tensor &got,
                      const Numerics &numerics, const Weakness &weakness) {
  return Comparison(expected, got, numerics, weakness).run();
}

Verdict compare(const Expected &expected, const Tensor &got,
                const Numerics &numerics) {
  return compareWeakly(expected, got, numerics, {});
}

} // namespace backplane::conformance
