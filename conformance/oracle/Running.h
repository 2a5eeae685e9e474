// SPDX-License-Identifier: Apache-2.0
//
// Running.h: steps that the running error analysis of composites shares.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_RUNNING_H
#define BACKPLANE_CONFORMANCE_ORACLE_RUNNING_H

#include "UlpTable.h"
#include "Value.h"

namespace backplane::conformance {

/// A monotone function with the limit of its table entry.
template <typename F>
MidRad call(const Arithmetic &m, std::string_view op, F f, const MidRad &x) {
  MidRad y = monotone(f, x);
  return m.rounded(y.v, y.e, ulpsOf(op, m.limits, m.strict));
}

inline MidRad exponential(const Arithmetic &m, const MidRad &x) {
  return call(m, "exp", [](Real z) { return std::exp(z); }, x);
}

/// The larger of two numbers; NaN stays NaN.
inline Real largerOf(Real z, Real bound) {
  return std::isnan(z) ? z : std::max(z, bound);
}

/// The bound of a sum of bounded terms in any order.
MidRad sumOf(const Arithmetic &m, const std::vector<MidRad> &terms);

/// The largest of the terms as they are, without their errors; NaN where one
/// is, -infinity of nothing. A shift by it cancels, so its error does not
/// count.
Real topOf(const std::vector<MidRad> &terms);

/// The elements that each element of the result of a reduction combines.
using Groups = std::vector<std::vector<size_t>>;
Groups reduceGroups(const Step &step, const std::vector<int64_t> &axes);

/// The lines of a tensor along an axis. Index of element `k` of a line: base +
/// k * stride.
struct Lines {
  Lines(const Sizes &dims, size_t axis) {
    size = static_cast<size_t>(dims[axis]);
    stride = static_cast<size_t>(stridesOf(dims)[axis]);
    count = size == 0 ? 0 : countOf(dims) / size;
  }
  size_t base(size_t line) const {
    return line / stride * stride * size + line % stride;
  }
  size_t size, stride, count;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_RUNNING_H
