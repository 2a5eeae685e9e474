// SPDX-License-Identifier: Apache-2.0
//
// Division of dims. Everything that divides evenly leaves the floordiv, so that
// sizes which are equal compare equal: (2*n) floordiv 2 is n, and the size
// after two convolutions of stride 2 is one floordiv by 4.
#include "DimNode.h"

#include <algorithm>
#include <numeric>

namespace backplane {

using Node = Dim::Node;

namespace {

Dim floorDivPositive(const Dim &a, int64_t divisor);

/// floor((floor(x / e) + y) / d) is floor((x + e * y) / (e * d)): merges the
/// one term x floordiv e among `rest`, if there is exactly one.
std::optional<Dim> mergeNested(const std::vector<Term> &rest, int64_t divisor) {
  const Atom *nested = nullptr;
  for (const Term &term : rest)
    for (const AtomPtr &atom : term.atoms)
      if (atom->kind == AtomKind::FloorDiv) {
        if (nested || term.factor != 1 || term.atoms.size() != 1)
          return std::nullopt;
        nested = atom.get();
      }
  if (!nested)
    return std::nullopt;
  int64_t inner = nested->operands[1].constant().value_or(0), outer = 0;
  if (inner <= 0 || __builtin_mul_overflow(inner, divisor, &outer))
    return std::nullopt;
  Dim others = fromTerms(rest) - makeFloorDiv(nested->operands[0], inner);
  Dim merged =
      floorDivPositive(nested->operands[0] + Dim(inner) * others, outer);
  return merged.valid() ? std::optional(merged) : std::nullopt;
}

/// Divides factors and divisor by what they share; a constant in [0, divisor)
/// is rounded down.
void cancelFactors(std::vector<Term> &rest, int64_t &divisor) {
  int64_t shared = divisor;
  for (const Term &term : rest)
    if (!term.atoms.empty())
      shared = std::gcd(shared, term.factor);
  for (Term &term : rest)
    term.factor /= shared;
  divisor /= shared;
}

Dim floorDivPositive(const Dim &a, int64_t divisor) {
  if (divisor == 1 || !a.valid())
    return a;
  std::vector<Term> quotient, rest;
  for (const Term &term : Node::termsOf(a)) {
    int64_t whole = floorQuotient(term.factor, divisor);
    quotient.push_back({whole, term.atoms, term.key});
    int64_t left = term.factor % divisor;
    left += left < 0 ? divisor : 0;
    if (left != 0)
      rest.push_back({left, term.atoms, term.key});
  }
  Dim result = fromTerms(quotient);
  bool isNumber = std::all_of(rest.begin(), rest.end(),
                              [](const Term &t) { return t.atoms.empty(); });
  if (isNumber)
    return result;
  cancelFactors(rest, divisor);
  if (divisor == 1)
    return result + fromTerms(rest);
  if (std::optional<Dim> merged = mergeNested(rest, divisor))
    return result + *merged;
  return result + makeFloorDiv(fromTerms(rest), divisor);
}

Dim floorDivConstant(const Dim &a, int64_t divisor) {
  if (divisor == 0 || divisor == INT64_MIN)
    return makeFloorDiv(a, divisor);
  return divisor > 0 ? floorDivPositive(a, divisor)
                     : floorDivPositive(Dim(0) - a, -divisor);
}

/// term / by, when it divides evenly.
std::optional<Term> divideTerm(const Term &term, const Term &by) {
  if (by.factor == -1 ? term.factor == INT64_MIN : term.factor % by.factor != 0)
    return std::nullopt;
  if (!std::includes(term.atoms.begin(), term.atoms.end(), by.atoms.begin(),
                     by.atoms.end(), atomLess))
    return std::nullopt;
  Term quotient;
  quotient.factor = term.factor / by.factor;
  std::set_difference(term.atoms.begin(), term.atoms.end(), by.atoms.begin(),
                      by.atoms.end(), std::back_inserter(quotient.atoms),
                      atomLess);
  return quotient;
}

/// What all terms share: a positive number and atoms.
Term commonTerm(const std::vector<Term> &terms) {
  Term common{0, terms[0].atoms, ""};
  for (const Term &term : terms) {
    common.factor = std::gcd(common.factor, term.factor);
    std::vector<AtomPtr> both;
    std::set_intersection(common.atoms.begin(), common.atoms.end(),
                          term.atoms.begin(), term.atoms.end(),
                          std::back_inserter(both), atomLess);
    common.atoms = std::move(both);
  }
  return common;
}

Dim divideAll(const Dim &dim, const Term &by) {
  std::vector<Term> quotients;
  for (const Term &term : Node::termsOf(dim))
    quotients.push_back(divideTerm(term, by).value_or(Term{}));
  return fromTerms(quotients);
}

/// a / b, when polynomial division leaves nothing.
std::optional<Dim> divideExactly(Dim a, const Dim &b) {
  Dim quotient;
  const Term lead = Node::termsOf(b)[0];
  for (int step = 0; step < 64 && a.valid(); ++step) {
    std::vector<Term> left = Node::termsOf(a);
    if (left.empty())
      return quotient;
    std::optional<Term> part = divideTerm(left[0], lead);
    if (!part)
      return std::nullopt;
    Dim next = fromTerms({*part});
    quotient = quotient + next;
    a = a - next * b;
  }
  return std::nullopt;
}

/// Splits a into the terms that one term divides, over it, and the others.
std::pair<Dim, Dim> splitByTerm(const Dim &a, const Term &by) {
  std::vector<Term> quotients, others;
  for (const Term &term : Node::termsOf(a)) {
    if (std::optional<Term> quotient = divideTerm(term, by))
      quotients.push_back(*quotient);
    else
      others.push_back(term);
  }
  return {fromTerms(quotients), fromTerms(others)};
}

/// {q, r} with a == q * b + r, moving what divides evenly to q.
std::pair<Dim, Dim> splitMultiples(const Dim &a, const Dim &b) {
  std::vector<Term> terms = Node::termsOf(b);
  if (terms.size() == 1)
    return splitByTerm(a, terms[0]);
  if (std::optional<Dim> quotient = divideExactly(a, b))
    return {*quotient, Dim(0)};
  return {Dim(0), a};
}

} // namespace

std::optional<Dim> exactQuotient(const Dim &a, const Dim &b) {
  auto [quotient, rest] = splitMultiples(a, b);
  return rest == Dim(0) ? std::optional(quotient) : std::nullopt;
}

Dim floorDiv(const Dim &a, const Dim &b) {
  if (!a.valid() || !b.valid())
    return makeFloorDiv(a, b);
  if (std::optional<int64_t> divisor = b.constant())
    return floorDivConstant(a, *divisor);
  auto [quotient, rest] = splitMultiples(a, b);
  std::vector<Term> terms = Node::termsOf(rest);
  if (terms.empty())
    return quotient;
  if (rest.constant() == INT64_MIN)
    return quotient + makeFloorDiv(rest, b);
  std::vector<Term> divisors = Node::termsOf(b);
  terms.insert(terms.end(), divisors.begin(), divisors.end());
  Term common = commonTerm(terms);
  if (common.factor > 1 || !common.atoms.empty())
    return quotient + floorDiv(divideAll(rest, common), divideAll(b, common));
  return quotient + makeFloorDiv(rest, b);
}

Dim ceilDiv(const Dim &a, const Dim &b) {
  if (b.constant() || !a.valid() || !b.valid())
    return b.constant().value_or(1) > 0 ? floorDiv(a + b - Dim(1), b)
                                        : Dim(0) - floorDiv(a, Dim(0) - b);
  auto [quotient, rest] = splitMultiples(a, b);
  if (rest == Dim(0))
    return quotient;
  return quotient + Dim(1) + floorDiv(rest - Dim(1), b);
}

Dim mod(const Dim &a, const Dim &b) {
  if (b == Dim(0))
    return floorDiv(a, b);
  return a - b * floorDiv(a, b);
}

} // namespace backplane
