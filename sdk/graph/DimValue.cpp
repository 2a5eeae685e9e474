// SPDX-License-Identifier: Apache-2.0
//
// Numbers and dims in place of symbols.
#include "DimNode.h"

#include <algorithm>

namespace backplane {

namespace {

Status overflow(const Dim &dim) {
  return Status(BP_STATUS_OUT_OF_RANGE,
                "value of \"" + dim.str() + "\" does not fit 64 bits");
}

Result<int64_t> divide(const Dim &dim, AtomKind kind, int64_t a, int64_t b) {
  if (b == 0)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "division by zero in \"" + dim.str() + "\"");
  if (a == INT64_MIN && b == -1)
    return overflow(dim);
  return kind == AtomKind::FloorDiv ? floorQuotient(a, b) : a / b;
}

/// Only the choice that is taken.
Result<int64_t> choose(const Atom &atom, const SymbolValues &symbols) {
  Result<int64_t> condition = atom.operands[0].evaluate(symbols);
  if (!condition)
    return condition;
  return atom.operands[*condition != 0 ? 1 : 2].evaluate(symbols);
}

Result<int64_t> evaluateAtom(const Dim &dim, const Atom &atom,
                             const SymbolValues &symbols) {
  if (atom.kind == AtomKind::Symbol) {
    auto it = symbols.find(atom.text);
    if (it == symbols.end())
      return invalidArgument("symbol " + atom.text + " of \"" + dim.str() +
                             "\" has no value");
    return it->second;
  }
  if (atom.kind == AtomKind::Select)
    return choose(atom, symbols);
  std::vector<int64_t> values;
  for (const Dim &operand : atom.operands) {
    Result<int64_t> value = operand.evaluate(symbols);
    if (!value)
      return value;
    values.push_back(*value);
  }
  if (atom.kind == AtomKind::FloorDiv || atom.kind == AtomKind::TruncDiv)
    return divide(dim, atom.kind, values[0], values[1]);
  return atom.kind == AtomKind::Min
             ? *std::min_element(values.begin(), values.end())
             : *std::max_element(values.begin(), values.end());
}

} // namespace

Result<int64_t> Dim::evaluate(const SymbolValues &symbols) const {
  if (!node_)
    return value_;
  if (!node_->valid)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "dim overflowed 64 bits or is too complex");
  int64_t sum = 0;
  for (const Term &term : node_->terms) {
    int64_t value = term.factor;
    for (const AtomPtr &atom : term.atoms) {
      Result<int64_t> factor = evaluateAtom(*this, *atom, symbols);
      if (!factor)
        return factor;
      if (__builtin_mul_overflow(value, *factor, &value))
        return overflow(*this);
    }
    if (__builtin_add_overflow(sum, value, &sum))
      return overflow(*this);
  }
  return sum;
}

namespace {

using Bounds = std::optional<Interval>;

Bounds hull(std::initializer_list<int64_t> values) {
  return Interval{std::min(values), std::max(values)};
}

Bounds multiply(Interval a, Interval b) {
  int64_t corners[4];
  if (__builtin_mul_overflow(a.low, b.low, &corners[0]) ||
      __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
      __builtin_mul_overflow(a.high, b.low, &corners[2]) ||
      __builtin_mul_overflow(a.high, b.high, &corners[3]))
    return std::nullopt;
  return hull({corners[0], corners[1], corners[2], corners[3]});
}

/// A quotient is monotonic in each operand while the divisor keeps its sign.
Bounds divide(AtomKind kind, Interval a, Interval b) {
  if ((b.low <= 0 && b.high >= 0) || a.low == INT64_MIN)
    return std::nullopt;
  auto quotient = [kind](int64_t x, int64_t y) {
    return kind == AtomKind::FloorDiv ? floorQuotient(x, y) : x / y;
  };
  return hull({quotient(a.low, b.low), quotient(a.low, b.high),
               quotient(a.high, b.low), quotient(a.high, b.high)});
}

/// Of both choices, or of the one that the condition leaves.
Bounds boundsOfSelect(const Atom &atom, const SymbolRanges &ranges) {
  Bounds condition = atom.operands[0].bounds(ranges);
  if (condition && (condition->low > 0 || condition->high < 0))
    return atom.operands[1].bounds(ranges);
  if (condition && condition->low == 0 && condition->high == 0)
    return atom.operands[2].bounds(ranges);
  Bounds a = atom.operands[1].bounds(ranges),
         b = atom.operands[2].bounds(ranges);
  if (!a || !b)
    return std::nullopt;
  return Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
}

Bounds boundsOf(const Atom &atom, const SymbolRanges &ranges) {
  if (atom.kind == AtomKind::Symbol) {
    auto range = ranges.find(atom.text);
    return range == ranges.end() ? std::nullopt : Bounds(range->second);
  }
  if (atom.kind == AtomKind::Select)
    return boundsOfSelect(atom, ranges);
  Bounds result = atom.operands[0].bounds(ranges);
  for (size_t i = 1; i < atom.operands.size() && result; ++i) {
    Bounds next = atom.operands[i].bounds(ranges);
    if (!next)
      return std::nullopt;
    if (atom.kind == AtomKind::FloorDiv || atom.kind == AtomKind::TruncDiv)
      result = divide(atom.kind, *result, *next);
    else if (atom.kind == AtomKind::Min)
      result = Interval{std::min(result->low, next->low),
                        std::min(result->high, next->high)};
    else
      result = Interval{std::max(result->low, next->low),
                        std::max(result->high, next->high)};
  }
  return result;
}

Bounds multiplyAll(Interval value, const std::vector<AtomPtr> &atoms,
                   const SymbolRanges &ranges) {
  Bounds product = value;
  for (const AtomPtr &atom : atoms) {
    Bounds factor = product ? boundsOf(*atom, ranges) : std::nullopt;
    product = factor ? multiply(*product, *factor) : std::nullopt;
  }
  return product;
}

/// d of a quotient x floordiv max(d, 1), when it is one term.
std::optional<Term> partsOf(const Atom &quotient) {
  const Atom *least = quotient.kind == AtomKind::FloorDiv
                          ? Dim::Node::soleAtom(quotient.operands[1])
                          : nullptr;
  if (!least || least->kind != AtomKind::Max || least->operands.size() != 2)
    return std::nullopt;
  bool first = least->operands[0] == Dim(1);
  if (!first && least->operands[1] != Dim(1))
    return std::nullopt;
  std::vector<Term> terms = Dim::Node::termsOf(least->operands[first ? 1 : 0]);
  if (terms.size() != 1 || terms[0].factor < 1)
    return std::nullopt;
  return terms[0];
}

/// A product with d and x floordiv max(d, 1): these two give x at most.
Bounds boundsOfShared(const Term &term, const Atom &quotient,
                      const SymbolRanges &ranges) {
  std::optional<Term> parts = partsOf(quotient);
  if (!parts ||
      !std::includes(term.atoms.begin(), term.atoms.end(), parts->atoms.begin(),
                     parts->atoms.end(), atomLess))
    return std::nullopt;
  Bounds whole = quotient.operands[0].bounds(ranges);
  Bounds divisor = multiplyAll({1, 1}, parts->atoms, ranges);
  if (!whole || whole->low < 0 || !divisor || divisor->low < 0)
    return std::nullopt;
  std::vector<AtomPtr> rest;
  std::set_difference(term.atoms.begin(), term.atoms.end(),
                      parts->atoms.begin(), parts->atoms.end(),
                      std::back_inserter(rest), atomLess);
  rest.erase(std::find_if(rest.begin(), rest.end(), [&](const AtomPtr &atom) {
    return atom.get() == &quotient;
  }));
  Bounds scaled =
      multiply({term.factor, term.factor}, {0, whole->high / parts->factor});
  return scaled ? multiplyAll(*scaled, rest, ranges) : std::nullopt;
}

Bounds boundsOfTerm(const Term &term, const SymbolRanges &ranges) {
  for (const AtomPtr &atom : term.atoms)
    if (Bounds shared = boundsOfShared(term, *atom, ranges))
      return shared;
  return multiplyAll({term.factor, term.factor}, term.atoms, ranges);
}

} // namespace

std::optional<Interval> Dim::bounds(const SymbolRanges &ranges) const {
  if (!node_)
    return Interval{value_, value_};
  if (!node_->valid)
    return std::nullopt;
  Interval sum;
  for (const Term &term : node_->terms) {
    Bounds value = boundsOfTerm(term, ranges);
    if (!value)
      return std::nullopt;
    if (__builtin_add_overflow(sum.low, value->low, &sum.low) ||
        __builtin_add_overflow(sum.high, value->high, &sum.high))
      return std::nullopt;
  }
  return sum;
}

namespace {

Dim substituteAtom(const AtomPtr &atom,
                   const std::map<std::string, Dim, std::less<>> &values) {
  if (atom->kind == AtomKind::Symbol) {
    auto it = values.find(atom->text);
    return it == values.end() ? Dim::symbol(atom->text) : it->second;
  }
  Dim result = atom->operands[0].substitute(values);
  if (atom->kind == AtomKind::Select)
    return select(result, atom->operands[1].substitute(values),
                  atom->operands[2].substitute(values));
  for (size_t i = 1; i < atom->operands.size(); ++i) {
    Dim next = atom->operands[i].substitute(values);
    if (atom->kind == AtomKind::FloorDiv)
      result = floorDiv(result, next);
    else if (atom->kind == AtomKind::TruncDiv)
      result = truncDiv(result, next);
    else
      result =
          atom->kind == AtomKind::Min ? min(result, next) : max(result, next);
  }
  return result;
}

} // namespace

Dim Dim::substitute(
    const std::map<std::string, Dim, std::less<>> &values) const {
  if (!node_ || !node_->valid)
    return *this;
  Dim sum;
  for (const Term &term : node_->terms) {
    Dim value = term.factor;
    for (const AtomPtr &atom : term.atoms)
      value = value * substituteAtom(atom, values);
    sum = sum + value;
  }
  return sum;
}

} // namespace backplane
