// SPDX-License-Identifier: Apache-2.0
//
// Value.h: a tensor inside the oracle, and the step that computes one.
//
// A value is exact (its bits are the one right answer) or bounded. An exact one
// may be bounded too: its unrounded elements, which a target that contracts or
// keeps a wider type between ops hands on instead of the rounded ones.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_VALUE_H
#define BACKPLANE_CONFORMANCE_ORACLE_VALUE_H

#include "MidRad.h"
#include "Oracle.h"

namespace backplane::conformance {

using Sizes = std::vector<int64_t>;

struct Value {
  DType dtype = DType::Invalid;
  Sizes dims;
  bool exact = true;
  bool computed = true; ///< not a mere copy: any NaN is as good as another
  std::vector<uint64_t> bits;  ///< when exact
  std::vector<MidRad> bounded; ///< when not exact, or unrounded
  std::vector<Real> sigma;
  bool biasGate = true;
  std::function<bool(size_t, int64_t)> accepts; ///< of a decision

  size_t count() const;
};

/// Product of sizes.
size_t countOf(const Sizes &sizes);
/// Row-major strides, in elements.
Sizes stridesOf(const Sizes &sizes);
/// base + sum of index times stride, for all indices of dims in order.
std::vector<size_t> affine(const Sizes &dims, int64_t base,
                           const Sizes &strides);
/// The integer that these bits encode; u64 keeps its bits.
int64_t integerOf(DType dtype, uint64_t bits);
/// Bits of an integer, wrapped.
uint64_t bitsOf(DType dtype, int64_t value);
/// Bits of an element of any dtype; integers take a number in their range.
uint64_t elementBits(DType dtype, Real value);
/// The number that an element's bits encode, any dtype.
Real numberOf(DType dtype, uint64_t bits);

/// An operand's elements as numbers. `unrounded` asks for what a contracting
/// consumer may see.
class Numbers {
public:
  Numbers(const Value &value, bool unrounded);
  MidRad operator[](size_t i) const {
    return bounded_ ? edge((*bounded_)[i])
                    : MidRad{numberOf(value_.dtype, value_.bits[i]), 0};
  }
  bool certain() const { return !bounded_; }

private:
  MidRad edge(const MidRad &x) const;
  const Value &value_;
  const std::vector<MidRad> *bounded_ = nullptr;
  Real max_ = infinity;
};

/// One op with its operands.
struct Step {
  const Op &op;
  std::vector<const Value *> operands;
  DType dtype; ///< of the first result
  Sizes dims;  ///< likewise
  const SymbolValues &symbols;
  const Declaration &declaration;
  std::string_view opClass;
  Numerics numerics; ///< of the class, and of the first operand's
                     ///< dtype or else of the result's

  const Value &operand(size_t i) const { return *operands[i]; }
  /// An exact result of dims, zeros.
  Value exact(DType type) const;
  /// A bounded result.
  Value inexact(DType type) const;
  Result<Sizes> sizes(std::string_view attribute) const;
  /// Steps in the precision of the op's class. Sums inside of composites have
  /// what sums outside of them declare, where that is more.
  Arithmetic arithmetic(DType type) const;
};

/// Rounds an interior result once to a dtype: adds its error.
MidRad roundedTo(const Numerics &numerics, DType dtype, const MidRad &x,
                 Real ulps = 0.5L);
/// Makes a bounded value of which every element is certain and representable
/// exact.
void settle(Value &value);

/// Elements of x in the order of a map, as a value of the step's dims.
Value take(const Step &step, const Value &x, const std::vector<size_t> &map);
/// Of an op with an axis and indices along it, in operands 0 and 1: the
/// elements of operand 0 that each index names, in order.
Result<std::vector<size_t>> indexedAlong(const Step &step);
/// An operand with its bits alone, or its bounds alone.
Value uniform(const Value &x, bool exact);
/// All operands one after the other, as one flat value to take from.
Value joined(const std::vector<const Value *> &operands);

using Rule = Result<std::vector<Value>> (*)(const Step &step);
using Rules = std::map<std::string_view, Rule>;
void addMovementRules(Rules &rules);
void addLayoutRules(Rules &rules);
void addUnaryRules(Rules &rules);
void addBinaryRules(Rules &rules);
void addContractionRules(Rules &rules);
void addOrderedRules(Rules &rules);
void addReductionRules(Rules &rules);
void addRandomRules(Rules &rules);
void addActivationRules(Rules &rules);
void addNormRules(Rules &rules);
void addSoftmaxRules(Rules &rules);

inline Result<std::vector<Value>> one(Value value) {
  std::vector<Value> values;
  values.push_back(std::move(value));
  return values;
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_VALUE_H
