// SPDX-License-Identifier: Apache-2.0
//
// Normalisations.
#include "Running.h"

namespace backplane::conformance {

namespace {

/// t / sqrt(mean of t * t + epsilon) lies within sqrt(n), whatever the errors
/// of t are, which says something where the deviation may be zero.
MidRad quotient(const Arithmetic &m, const MidRad &t, const MidRad &variance,
                const MidRad &epsilon, size_t size) {
  MidRad deviation = m.sqrt(m.add(variance, epsilon));
  MidRad normal = m.div(t, deviation);
  if (std::isfinite(normal.e) || !std::isfinite(t.v) || !std::isfinite(t.e) ||
      !std::isfinite(variance.v) || !std::isfinite(variance.e))
    return normal;
  Real sum = std::max(variance.v, Real(0)) + epsilon.v;
  Real v = sum > 0 ? t.v / std::sqrt(sum) : 0;
  return {v, std::fabs(v) + 2 * std::sqrt(static_cast<Real>(size))};
}

/// x / sqrt(mean of x * x + epsilon) of `size` elements from `base` on; with
/// `isCentred` of x - mean.
std::vector<MidRad> normalised(const Step &step, const Arithmetic &m,
                               const Numbers &x, size_t base, size_t size,
                               bool isCentred) {
  MidRad number{static_cast<Real>(size), 0};
  std::vector<MidRad> terms, squares;
  for (size_t k = 0; k < size; ++k)
    terms.push_back(x[base + k]);
  MidRad mean = isCentred ? m.div(sumOf(m, terms), number) : MidRad();
  for (MidRad &term : terms) {
    if (isCentred)
      term = m.sub(term, mean);
    squares.push_back(m.mul(term, term));
  }
  MidRad epsilon = m.constant(static_cast<Real>(step.op.f64("epsilon")));
  MidRad variance = m.div(sumOf(m, squares), number);
  for (MidRad &term : terms) {
    // A factor 1 / deviation in place of the quotient rounds once more.
    MidRad normal = quotient(m, term, variance, epsilon, size);
    term = m.rounded(normal.v, normal.e, 1);
  }
  return terms;
}

/// layer_norm and rms_norm: over the last axes, which scale and bias have too.
Result<std::vector<Value>> lastAxesNorm(const Step &step) {
  bool isCentred = step.op.name == "layer_norm";
  Numbers x(step.operand(0), true), scale(step.operand(1), true),
      bias(step.operand(isCentred ? 2 : 1), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  size_t size = step.operand(1).count();
  for (size_t base = 0; size && base < result.bounded.size(); base += size) {
    auto normal = normalised(step, m, x, base, size, isCentred);
    for (size_t k = 0; k < size; ++k) {
      MidRad y = m.mul(normal[k], scale[k]);
      if (isCentred)
        y = m.add(y, bias[k]);
      result.bounded[base + k] = roundedTo(step.numerics, step.dtype, y);
    }
  }
  return one(std::move(result));
}

Result<std::vector<Value>> groupNorm(const Step &step) {
  Numbers x(step.operand(0), true), scale(step.operand(1), true),
      bias(step.operand(2), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  auto channels = static_cast<size_t>(step.dims[1]);
  auto groups = static_cast<size_t>(step.dims[0] * step.op.i64("groups"));
  size_t size = groups ? result.bounded.size() / groups : 0;
  size_t area = static_cast<size_t>(stridesOf(step.dims)[1]);
  for (size_t base = 0; size && base < result.bounded.size(); base += size) {
    auto normal = normalised(step, m, x, base, size, true);
    for (size_t k = 0; k < size; ++k) {
      size_t channel = (base + k) / area % channels;
      MidRad y = m.add(m.mul(normal[k], scale[channel]), bias[channel]);
      result.bounded[base + k] = roundedTo(step.numerics, step.dtype, y);
    }
  }
  return one(std::move(result));
}

/// Either (x - mean) / deviation * scale + bias, or x * factor + offset with
/// both of them computed before: the larger of the two bounds.
Result<std::vector<Value>> batchNorm(const Step &step) {
  Numbers x(step.operand(0), true), scale(step.operand(1), true),
      bias(step.operand(2), true), mean(step.operand(3), true),
      variance(step.operand(4), true);
  Arithmetic m = step.arithmetic(step.dtype);
  Value result = step.inexact(step.dtype);
  MidRad epsilon = m.constant(static_cast<Real>(step.op.f64("epsilon")));
  Lines lines(step.dims, 1);
  for (size_t c = 0; c < lines.size; ++c) {
    MidRad factor = m.div(scale[c], m.sqrt(m.add(variance[c], epsilon)));
    factor = m.rounded(factor.v, factor.e, 1);
    MidRad offset = m.sub(bias[c], m.mul(mean[c], factor));
    for (size_t line = 0; line < lines.count; ++line) {
      size_t i = lines.base(line) + c * lines.stride;
      MidRad folded = m.add(m.mul(x[i], factor), offset);
      MidRad direct = m.add(m.mul(m.sub(x[i], mean[c]), factor), bias[c]);
      folded.e = std::isnan(direct.e) ? direct.e : std::max(folded.e, direct.e);
      result.bounded[i] = roundedTo(step.numerics, step.dtype, folded);
    }
  }
  return one(std::move(result));
}

} // namespace

void addNormRules(Rules &rules) {
  rules["layer_norm"] = rules["rms_norm"] = lastAxesNorm;
  rules["group_norm"] = groupNorm;
  rules["batch_norm"] = batchNorm;
}

} // namespace backplane::conformance
