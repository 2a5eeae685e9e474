// SPDX-License-Identifier: Apache-2.0
#include "SelfCheck.h"

#include "conformance/oracle/Format.h"

#include <cmath>
#include <limits>

namespace backplane::conformance {

namespace {

constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real infinity = std::numeric_limits<Real>::infinity();

Tensor tensorOf(DType dtype, const std::vector<Real> &values) {
  Tensor tensor{dtype, {static_cast<int64_t>(values.size())}, {}};
  tensor.data.resize(values.size() * bitWidth(dtype) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(tensor, i, encode(dtype, values[i]));
  return tensor;
}

Expected expect(Match match, const std::vector<Real> &values, Real error) {
  Expected expected;
  expected.dtype = DType::F32;
  expected.dims = {static_cast<int64_t>(values.size())};
  expected.match = match;
  for (Real value : values)
    expected.bits.push_back(encode(DType::F32, value));
  expected.value = values;
  expected.error.assign(values.size(), error);
  return expected;
}

/// Runs checks on one comparator and keeps the names of those that fail.
class Checker {
public:
  explicit Checker(const Comparator &comparator) : compare_(comparator) {}

  std::vector<std::string> run() {
    checkNumbers();
    checkLimits();
    checkPositions();
    checkForm();
    checkBits();
    checkStatistics();
    return std::move(failed_);
  }

private:
  void check(const char *name, bool shouldPass, const Expected &expected,
             const Tensor &got) {
    if (compare_(expected, got, {}).pass != shouldPass)
      failed_.push_back(name);
  }

  void checkOne(const char *name, bool shouldPass, Match match, Real want,
                Real got) {
    check(name, shouldPass, expect(match, {want}, 0.5L),
          tensorOf(DType::F32, {got}));
  }

  void checkNumbers() {
    for (Match match : {Match::Limit, Match::Value}) {
      checkOne("nan-for-nan", true, match, nan, nan);
      checkOne("number-for-nan", false, match, nan, 1);
      checkOne("nan-for-number", false, match, 1, nan);
      checkOne("infinity-for-number", false, match, 1, infinity);
      checkOne("infinity-of-other-sign", false, match, -infinity, infinity);
      checkOne("number-for-infinity", false, match, infinity, 1);
    }
  }

  void checkLimits() {
    checkOne("half-of-the-limit", true, Match::Limit, 1, 1.25L);
    checkOne("just-above-the-limit", false, Match::Limit, 1, 1.51L);
    checkOne("twice-the-limit", false, Match::Limit, 1, 2);
    checkOne("zero-for-number", false, Match::Limit, 1, 0);
    check("any-error-where-none-is-right", false, expect(Match::Limit, {1}, 0),
          tensorOf(DType::F32, {1.0000002L}));
  }

  /// One wrong element, at each of some places of a long tensor.
  void checkPositions() {
    std::vector<Real> values(4099, 1);
    Expected limit = expect(Match::Limit, values, 0.5L);
    Expected value = expect(Match::Value, values, 0);
    for (size_t at : {0, 1, 7, 63, 64, 1023, 1024, 4095, 4098}) {
      std::vector<Real> wrong = values;
      wrong[at] = 3;
      check("one-wrong-element", false, limit, tensorOf(DType::F32, wrong));
      check("one-other-element", false, value, tensorOf(DType::F32, wrong));
    }
  }

  void checkForm() {
    Expected expected = expect(Match::Limit, {1, 2}, 0.5L);
    Tensor right = tensorOf(DType::F32, {1, 2});
    check("equal", true, expected, right);
    check("missing-output", false, expected, Tensor());
    Tensor shorter = right;
    shorter.data.resize(4);
    check("missing-bytes", false, expected, shorter);
    check("other-dtype", false, expected, tensorOf(DType::F64, {1, 2}));
    Tensor turned = right;
    turned.dims = {2, 1};
    check("other-dims", false, expected, turned);
    Tensor none = right;
    none.dims = {0};
    none.data.clear();
    check("no-elements", false, expected, none);
  }

  void checkBits() {
    checkOne("minus-zero-for-zero", false, Match::Value, 0, -0.0L);
    Expected bits = expect(Match::Bits, {nan}, 0);
    Tensor payload = tensorOf(DType::F32, {nan});
    storeBits(payload, 0, bits.bits[0] ^ 1);
    check("other-nan-payload", false, bits, payload);
    bits.match = Match::Value;
    check("any-nan-for-nan", true, bits, payload);
    Expected truth;
    truth.dtype = DType::Bool;
    truth.dims = {1};
    truth.bits = {1};
    check("two-for-true", false, truth, Tensor{DType::Bool, {1}, {2}});
    Expected index = truth;
    index.dtype = DType::I64;
    index.match = Match::Decision;
    index.accepts = [](size_t, int64_t got) { return got == 3; };
    check("right-index", true, index,
          Tensor{DType::I64, {1}, {3, 0, 0, 0, 0, 0, 0, 0}});
    check("wrong-index", false, index,
          Tensor{DType::I64, {1}, {1, 0, 0, 0, 0, 0, 0, 0}});
  }

  /// 2048 elements that are all within the limit and off by `scale` sigma.
  void checkStatistics() {
    std::vector<Real> values(2048, 1);
    Expected expected = expect(Match::Limit, values, 0.5L);
    expected.sigma.assign(values.size(), 0.001L);
    auto offBy = [&](Real scale, bool alternating) {
      std::vector<Real> got = values;
      for (size_t i = 0; i < got.size(); ++i)
        got[i] += (alternating && i % 2 ? -1 : 1) * scale * 0.001L;
      return tensorOf(DType::F32, got);
    };
    check("small-symmetric-errors", true, expected, offBy(0.4L, true));
    check("large-symmetric-errors", false, expected, offBy(4, true));
    check("errors-of-one-sign", false, expected, offBy(1, false));
  }

  const Comparator &compare_;
  std::vector<std::string> failed_;
};

} // namespace

std::vector<std::string> failedSelfChecks(const Comparator &comparator) {
  return Checker(comparator).run();
}

Status checkComparator(const Comparator &comparator) {
  std::string names;
  for (const std::string &name : failedSelfChecks(comparator))
    if (names.find(name) == std::string::npos)
      names += (names.empty() ? "" : ", ") + name;
  if (names.empty())
    return {};
  return internalError("the comparator answers wrongly on " + names +
                       "; no result of this run means anything");
}

} // namespace backplane::conformance
