// SPDX-License-Identifier: Apache-2.0
//
// Dim.h: the size of one tensor axis, an integer expression over symbols.
//
// Dims are immutable values, kept in a canonical form: two dims that are equal
// as polynomials (with floordiv, truncdiv, min, max and select of equal
// operands as atoms) compare equal. The text form round-trips through parse.
#ifndef BACKPLANE_GRAPH_DIM_H
#define BACKPLANE_GRAPH_DIM_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace backplane {

/// Symbol values at run time, by name.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// Values from `low` to `high`, both inclusive.
struct Interval {
  int64_t low = 0;
  int64_t high = 0;
};
/// What symbols may be, by name; one that is not there may be anything.
using SymbolRanges = std::map<std::string, Interval, std::less<>>;

class Dim {
public:
  /// The constant 0.
  Dim() = default;
  Dim(int64_t value) : value_(value) {}
  /// The symbol of this name; not valid unless isSymbolName(name).
  static Dim symbol(std::string_view name);
  /// Whether a symbol may have this name: a letter or `_`, then letters, digits
  /// and `_`, at most 64; not the name of an operator or a function of dims.
  static bool isSymbolName(std::string_view name);
  /// Reads the text form: integers, symbols, + - * floordiv ceildiv mod,
  /// min(a, b), max(a, b), truncdiv(a, b), less(a, b), equal(a, b),
  /// select(condition, a, b), parentheses. Depth and length are limited, so
  /// that text from a file is safe to read.
  static Result<Dim> parse(std::string_view text);

  /// False when arithmetic overflowed 64 bits or the expression outgrew what
  /// str and parse can carry. Everything made from such a dim is such a dim,
  /// evaluate fails on it, parse refuses its text, and no graph may hold it.
  bool valid() const;
  /// Whether the form shows that no value is negative, given that no symbol
  /// is. False when it does not show it.
  bool nonNegative() const;
  /// The value, when it is a plain number.
  std::optional<int64_t> constant() const;
  /// The name, when it is a bare symbol.
  std::optional<std::string> symbolName() const;
  std::string str() const;
  /// Adds the names of all symbols used.
  void collectSymbols(std::set<std::string> &names) const;

  /// The value for these symbols. Fails on an unbound symbol, a division by
  /// zero or an overflow of 64 bits.
  Result<int64_t> evaluate(const SymbolValues &symbols) const;
  /// Where the value lies while each symbol is in its range: never too narrow,
  /// not always as narrow as can be. None when a symbol that matters has no
  /// range, a divisor may be 0 or a bound does not fit 64 bits.
  std::optional<Interval> bounds(const SymbolRanges &ranges) const;
  /// Replaces symbols by dims; others stay.
  Dim substitute(const std::map<std::string, Dim, std::less<>> &values) const;

  friend Dim operator+(const Dim &a, const Dim &b);
  friend Dim operator-(const Dim &a, const Dim &b);
  friend Dim operator*(const Dim &a, const Dim &b);
  /// Rounding down / up; a division by the constant 0 stays unevaluated and
  /// fails in evaluate. Other divisors are taken not to be 0, and those of
  /// ceilDiv to be positive. mod has the sign of its divisor.
  friend Dim floorDiv(const Dim &a, const Dim &b);
  friend Dim ceilDiv(const Dim &a, const Dim &b);
  friend Dim mod(const Dim &a, const Dim &b);
  friend Dim min(const Dim &a, const Dim &b);
  friend Dim max(const Dim &a, const Dim &b);
  /// Rounding towards zero, as C and ONNX divide; a divisor as for floorDiv.
  friend Dim truncDiv(const Dim &a, const Dim &b);
  /// 1 where a < b, else 0. A difference beyond 64 bits fails in evaluate.
  friend Dim less(const Dim &a, const Dim &b);
  /// 1 where a == b, else 0; likewise.
  friend Dim equal(const Dim &a, const Dim &b);
  /// a where the condition is not 0, else b. evaluate asks only the one that is
  /// chosen, so that the other may divide by zero.
  friend Dim select(const Dim &condition, const Dim &a, const Dim &b);
  /// Equal for every value of the symbols, as far as the canonical form shows.
  friend bool operator==(const Dim &a, const Dim &b);
  friend bool operator<(const Dim &a, const Dim &b); // for ordered containers

  struct Node; // private to Dim.cpp
private:
  explicit Dim(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  int64_t value_ = 0; ///< when node_ is null
  std::shared_ptr<const Node> node_;
};

/// Product of dims: the element count of a shape.
Dim product(const std::vector<Dim> &dims);

} // namespace backplane

#endif // BACKPLANE_GRAPH_DIM_H
