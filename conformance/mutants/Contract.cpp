// SPDX-License-Identifier: Apache-2.0
#include "Contract.h"

#include "conformance/oracle/Format.h"

#include <cmath>

namespace backplane::mutants {

using namespace conformance;

namespace {

/// Where the two operands of a term are; `nowhere` in the padding.
constexpr size_t nowhere = SIZE_MAX;
using Terms = std::vector<std::pair<size_t, size_t>>;

class Contraction {
public:
  Contraction(const Call &call, const ContractRules &rules)
      : call_(call), rules_(rules), a_(call.in(0)), b_(call.in(1)),
        out_(call.out()) {}

  void run() {
    Sizes index(out_.dims.size());
    for (size_t i = 0; i < out_.elementCount(); ++i) {
      Terms terms = call_.is("matmul") ? matmulTerms(index) : convTerms(index);
      choose(terms);
      store(i, terms);
      advance(index, out_.dims);
    }
  }

private:
  static void advance(Sizes &index, const Sizes &dims) {
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis])
        return;
      index[axis] = 0;
    }
  }

  Terms matmulTerms(const Sizes &index) const {
    size_t rank = out_.dims.size();
    int64_t m = index[rank - 2], n = index[rank - 1];
    bool ta = call_.op.i64("transpose_a"), tb = call_.op.i64("transpose_b");
    size_t ra = a_.dims.size(), rb = b_.dims.size();
    int64_t ka = a_.dims[ra - 2], kb = a_.dims[ra - 1];
    int64_t terms = ta ? ka : kb;
    if (rules_.readsRowMajor && ka == kb)
      ta = false;
    if (rules_.readsRowMajor && b_.dims[rb - 2] == b_.dims[rb - 1])
      tb = false;
    int64_t batch = 0;
    for (size_t axis = 0; axis + 2 < rank; ++axis)
      batch = batch * out_.dims[axis] + index[axis];
    int64_t baseA = batch * ka * kb;
    int64_t baseB = rb > 2 ? batch * b_.dims[rb - 2] * b_.dims[rb - 1] : 0;
    Terms list;
    for (int64_t k = 0; k < terms; ++k)
      list.emplace_back(
          baseA + (ta ? k * a_.dims[ra - 1] + m : m * a_.dims[ra - 1] + k),
          baseB + (tb ? n * b_.dims[rb - 1] + k : k * b_.dims[rb - 1] + n));
    return list;
  }

  Terms convTerms(const Sizes &index) const {
    int64_t groups = call_.op.i64("groups", 1);
    int64_t channels = b_.dims[1];
    int64_t group = index[1] / (out_.dims[1] / groups);
    if (rules_.shiftsGroups && group == groups - 1)
      group = 0;
    Sizes window(b_.dims.begin() + 2, b_.dims.end());
    size_t count = countOf(window);
    Terms list;
    for (int64_t c = 0; c < channels; ++c) {
      Sizes tap(window.size());
      for (size_t i = 0; i < count; ++i) {
        int64_t a = index[0] * a_.dims[1] + group * channels + c;
        int64_t b = index[1] * channels + c;
        if (place(index, tap, a, b))
          list.emplace_back(a, b);
        else if (rules_.padsRaw)
          list.emplace_back(nowhere, b);
        advance(tap, window);
      }
    }
    return list;
  }

  /// Adds the spatial axes to the positions; false in the padding.
  bool place(const Sizes &index, const Sizes &tap, int64_t &a,
             int64_t &b) const {
    const Op &op = call_.op;
    auto strides = op.i64s("strides"), dilations = op.i64s("dilations");
    auto low = op.i64s(rules_.swapsPads ? "high" : "low");
    bool isInside = true;
    for (size_t s = 0; s < tap.size(); ++s) {
      int64_t dilation = rules_.ignoresDilation ? 1 : dilations[s];
      int64_t at = index[2 + s] * strides[s] + tap[s] * dilation - low[s];
      int64_t size = a_.dims[2 + s], width = b_.dims[2 + s];
      isInside &= at >= 0 && at < size;
      a = a * size + at;
      b = b * width + (rules_.flipsWindow ? width - 1 - tap[s] : tap[s]);
    }
    return isInside;
  }

  void choose(Terms &terms) const {
    if (rules_.repeatsBoundary && terms.size() > 16)
      terms.insert(terms.begin() + 16, terms[16]);
    if (rules_.dropsLast && terms.size() % 4 != 0)
      terms.pop_back();
  }

  /// Zero points of operands 0 and 1, for output channel `channel`.
  int64_t zeroPoint(size_t operand, size_t channel) const {
    if (call_.operands.size() < 4)
      return 0;
    const Tensor &zero = call_.in(2 + operand);
    return integerAt(zero, zero.dims.empty() ? 0 : channel);
  }

  void storeInteger(size_t i, const Terms &terms) const {
    size_t inner = countOf({out_.dims.begin() + 2, out_.dims.end()});
    size_t channel = out_.dims.size() > 2
                         ? i / inner % static_cast<size_t>(out_.dims[1])
                         : 0;
    int64_t zeroA = zeroPoint(0, 0), zeroB = zeroPoint(1, channel);
    uint64_t sum = 0;
    for (auto [a, b] : terms)
      sum += uint64_t((a == nowhere ? 0 : integerAt(a_, a)) - zeroA) *
             uint64_t(integerAt(b_, b) - zeroB);
    setInteger(out_, i, int64_t(sum));
  }

  void store(size_t i, const Terms &terms) const {
    if (!isFloat(out_.dtype))
      return storeInteger(i, terms);
    Operands operands;
    for (auto [a, b] : terms) {
      operands.a.push_back(changed(numberAt(a_, a)));
      operands.b.push_back(changed(numberAt(b_, b)));
    }
    Real sum = rules_.sum ? rules_.sum(operands) : inDoubles(operands);
    storeBits(out_, i,
              rules_.store ? rules_.store(out_.dtype, sum)
                           : encode(out_.dtype, sum));
  }

  Real changed(Real value) const {
    return rules_.operand ? rules_.operand(a_.dtype, value) : value;
  }

  /// As the reference backend sums.
  static Real inDoubles(const Operands &operands) {
    double sum = 0;
    for (size_t i = 0; i < operands.a.size(); ++i) {
      volatile double product = double(operands.a[i]) * double(operands.b[i]);
      sum += product;
    }
    return sum;
  }

  const Call &call_;
  const ContractRules &rules_;
  const Tensor &a_, &b_;
  Tensor &out_;
};

} // namespace

Real fusedInFloats(const Operands &operands) {
  float sum = 0;
  for (size_t i = 0; i < operands.a.size(); ++i)
    sum = std::fma(float(operands.a[i]), float(operands.b[i]), sum);
  return sum;
}

Real truncatedInFloats(const Operands &operands) {
  Real sum = 0;
  for (size_t i = 0; i < operands.a.size(); ++i)
    sum = decode(
        DType::F32,
        encodeTowardsZero(DType::F32, sum + operands.a[i] * operands.b[i]));
  return sum;
}

bool contract(const Call &call, const ContractRules &rules) {
  if (!call.is("matmul") && !call.is("conv") && !call.is("conv_integer"))
    return false;
  DType dtype = call.in(0).dtype;
  if ((rules.sum || rules.store || rules.operand) && !isFloat(dtype))
    return false;
  if (rules.applies && !rules.applies(dtype))
    return false;
  Contraction(call, rules).run();
  return true;
}

} // namespace backplane::mutants
