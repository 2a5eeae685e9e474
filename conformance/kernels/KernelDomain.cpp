// SPDX-License-Identifier: Apache-2.0
#include "KernelDomain.h"

#include "conformance/graphs/RandomGraph.h"
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/FixSize.h"

#include <algorithm>

namespace backplane::conformance {
namespace {

constexpr size_t triesOfEdges = 400, jointDraws = 400;
/// Of a symbol without a limit; the budget of work is less.
constexpr int64_t largestSize = int64_t(1) << 20;

/// Whether ranges and divisors of the symbols prove a condition, as for the
/// compiler (sdk/kernels/MatchChecks.cpp).
bool isProved(const KernelText &text, const Dim &holds) {
  std::map<std::string, Dim, std::less<>> multiples;
  SymbolRanges ranges;
  for (const Symbol &symbol : text.symbols) {
    const int64_t d = symbol.divisor;
    multiples[symbol.name] = Dim(d) * Dim::symbol(symbol.name);
    ranges[symbol.name] = {(symbol.minimum + d - 1) / d, symbol.maximum / d};
  }
  Dim free = holds.substitute(multiples);
  if (auto value = free.constant())
    return *value != 0;
  auto bounds = free.bounds(ranges);
  return bounds && (bounds->low > 0 || bounds->high < 0);
}

/// "k == 2*n": a symbol that others decide.
struct Equation {
  std::string symbol;
  Dim value;
};

std::optional<Equation> equationOf(const KernelText &text,
                                   const KernelPredicate &predicate) {
  size_t at = predicate.text.find("==");
  if (at == std::string::npos)
    return std::nullopt;
  auto left = Dim::parse(predicate.text.substr(0, at)),
       right = Dim::parse(predicate.text.substr(at + 2));
  if (!left || !right)
    return std::nullopt;
  for (const auto &[one, other] : {std::pair(*left, *right), {*right, *left}})
    for (const Symbol &symbol : text.symbols) {
      std::set<std::string> used;
      other.collectSymbols(used);
      if (one == Dim::symbol(symbol.name) && !used.contains(symbol.name))
        return Equation{symbol.name, other};
    }
  return std::nullopt;
}

/// The values that are looked at of one symbol, interesting ones first.
std::vector<int64_t> valuesOf(const Symbol &symbol, int64_t limit) {
  const int64_t d = symbol.divisor;
  const int64_t low = (symbol.minimum + d - 1) / d * d,
                high = std::min(symbol.maximum, limit) / d * d;
  std::vector<int64_t> values;
  auto add = [&](int64_t value) {
    bool isIn = value >= low && value <= high;
    if (isIn && std::ranges::find(values, value) == values.end())
      values.push_back(value);
  };
  auto addMultiples = [&](int64_t number) {
    add(number / d * d);
    add((number + d - 1) / d * d);
  };
  for (int64_t value : {low, high, low + d, high - d})
    add(value);
  for (int64_t value : {1, 3, 2, 5, 7, 11, 13})
    add(value * d);
  for (int64_t power = 4; power <= high + 1; power *= 2)
    for (int64_t value : {power, power + 1, power - 1})
      addMultiples(value);
  for (int64_t value : {6, 37, 97, 48, 49, 96, 251})
    addMultiples(value);
  return values;
}

/// Draws sizes that are allowed.
class Domain {
public:
  Domain(const KernelText &text, const Graph &graph,
         const std::set<std::string> &fixed, const DomainOptions &options)
      : text_(text), graph_(graph), fixed_(fixed), options_(options),
        dice_(options.seed) {
    for (const KernelPredicate &predicate : text.where)
      if (auto equation = equationOf(text, predicate))
        equations_.push_back(std::move(*equation));
    for (const Symbol &symbol : text.symbols)
      values_.push_back(valuesOf(symbol, limitOf(symbol)));
  }

  std::vector<SymbolValues> run() {
    size_t rounds = 0;
    for (const auto &values : values_)
      rounds = std::max(rounds, values.size());
    for (size_t rank = 0; rank < rounds; ++rank)
      for (size_t i = 0; i < values_.size(); ++i)
        if (rank < values_[i].size())
          addEdge(i, values_[i][rank]);
    if (edges_.empty())
      addAny();
    for (size_t i = 0; i < jointDraws && joint_.size() < maxJoint(); ++i)
      addJoint();
    for (size_t i = 0; i < values_.size(); ++i) {
      addPair(i);
      addLarge(i);
      if (i > 0)
        addLargeTogether(i - 1, i);
    }
    return merged();
  }

private:
  size_t maxJoint() const { return options_.maxSizes / 5; }

  /// The greatest value that the budget allows while the others are least.
  int64_t limitOf(const Symbol &symbol) const {
    return greatest({&symbol}, minSizes(), options_.edges);
  }

  /// The greatest value that symbols may have at once, or their greatest one
  /// where that is less, with which the sizes are within limits.
  int64_t greatest(std::initializer_list<const Symbol *> symbols,
                   SymbolValues sizes, const Limits &limits) const {
    int64_t low = INT64_MAX, high = 0;
    for (const Symbol *symbol : symbols) {
      low = std::min(low, symbol->minimum);
      high = std::max(high, std::min(symbol->maximum, largestSize));
    }
    while (low < high) {
      int64_t middle = low + (high - low + 1) / 2;
      for (const Symbol *symbol : symbols)
        sizes[symbol->name] = std::min(middle, symbol->maximum);
      if (isWithin(limits, graph_, sizes))
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  /// None of them 0, which would hide the work of the others.
  SymbolValues minSizes() const {
    SymbolValues sizes;
    for (const Symbol &symbol : text_.symbols)
      sizes[symbol.name] = std::max(symbol.minimum, symbol.divisor);
    return sizes;
  }

  bool take(SymbolValues sizes, const Limits &limits,
            std::vector<SymbolValues> &into) {
    // Twice: an equation may stand on another one.
    for (size_t round = 0; round < 2; ++round)
      for (const Equation &equation : equations_)
        if (auto value = equation.value.evaluate(sizes))
          sizes[equation.symbol] = *value;
    // A size of 0 hides what others make.
    SymbolValues costly = sizes;
    for (auto &[symbol, value] : costly)
      value = std::max<int64_t>(value, 1);
    // With a number of 0 nothing is left of the graph that a kernel could be.
    for (const std::string &symbol : fixed_)
      if (sizes.at(symbol) == 0)
        return false;
    if (!isAllowed(text_, graph_, sizes) || !isWithin(limits, graph_, costly))
      return false;
    if (seen_.insert(sizes).second)
      into.push_back(std::move(sizes));
    return true;
  }

  /// A value of a symbol, others as the budget lets them be.
  void addEdge(size_t which, int64_t value) {
    for (size_t attempt = 0; attempt < triesOfEdges; ++attempt) {
      SymbolValues sizes = smallSizes(attempt);
      sizes[text_.symbols[which].name] = value;
      // An equation must not change what this is about.
      if (take(sizes, options_.edges, edges_))
        return;
    }
  }

  /// Small numbers that differ, then smaller and smaller ones.
  SymbolValues smallSizes(size_t attempt) {
    SymbolValues sizes;
    const auto most = int64_t(attempt < 8     ? 19
                              : attempt < 32  ? 9
                              : attempt < 200 ? 3
                                              : 40);
    for (const Symbol &symbol : text_.symbols) {
      int64_t d = symbol.divisor;
      int64_t low = std::max<int64_t>((symbol.minimum + d - 1) / d, 1);
      auto draw = int64_t(dice_.below(size_t(most)));
      sizes[symbol.name] = std::min((low + draw) * d, symbol.maximum / d * d);
    }
    return sizes;
  }

  /// Where one symbol after another finds nothing: all of them at random.
  void addAny() {
    for (size_t attempt = 0; attempt < 50000 && edges_.size() < 20; ++attempt)
      take(randomSizes(), options_.edges, edges_);
  }

  SymbolValues randomSizes() {
    SymbolValues sizes;
    for (size_t i = 0; i < values_.size(); ++i)
      sizes[text_.symbols[i].name] = values_[i].empty()
                                         ? text_.symbols[i].minimum
                                         : dice_.pick(values_[i]);
    return sizes;
  }

  /// Values that are large together: one by one they become smaller until the
  /// budget is kept.
  void addJoint() {
    SymbolValues sizes = randomSizes();
    for (size_t step = 0; step < 24; ++step) {
      if (take(sizes, options_.joint, joint_))
        return;
      size_t i = dice_.below(values_.size());
      if (values_.empty() || values_[i].empty())
        return;
      int64_t &value = sizes[text_.symbols[i].name];
      int64_t other = dice_.pick(values_[i]);
      value = std::min(value, other);
    }
  }

  /// Two tuples that differ in one symbol: what a kernel keeps for the sizes of
  /// one call must not serve the other.
  void addPair(size_t which) {
    const Symbol &symbol = text_.symbols[which];
    for (size_t attempt = 0; attempt < triesOfEdges; ++attempt) {
      std::vector<SymbolValues> pair;
      SymbolValues sizes = smallSizes(attempt);
      const bool isFirst = take(sizes, options_.joint, pair);
      sizes[symbol.name] += symbol.divisor * (1 + int64_t(dice_.below(9)));
      if (isFirst && take(sizes, options_.joint, pair)) {
        pairs_.insert(pairs_.end(), pair.begin(), pair.end());
        return;
      }
    }
  }

  /// One symbol as large as the budget allows, or a little less, while others
  /// are 1 or 2.
  void addLarge(size_t which) {
    constexpr size_t tries = 40;
    const Symbol &symbol = text_.symbols[which];
    for (size_t attempt = 0; attempt < tries; ++attempt) {
      SymbolValues sizes = minSizes();
      for (const Symbol &other : text_.symbols)
        if (dice_.below(4) == 0)
          sizes[other.name] += other.divisor;
      int64_t most = greatest({&symbol}, sizes, options_.large);
      most -= int64_t(dice_.below(size_t(most / 16 + 1)));
      sizes[symbol.name] = most / symbol.divisor * symbol.divisor;
      if (take(sizes, options_.large, large_))
        return;
    }
  }

  /// Two symbols that the text declares in a row, often the axes of a plane, as
  /// large as the budget allows together, while others are least. Both are odd
  /// where their divisors let them be, so that equal parts leave a remainder.
  void addLargeTogether(size_t one, size_t other) {
    constexpr size_t tries = 40;
    const SymbolValues least = minSizes();
    const int64_t largest = greatest(
        {&text_.symbols[one], &text_.symbols[other]}, least, options_.large);
    for (size_t attempt = 0; attempt < tries; ++attempt) {
      int64_t most = largest - int64_t(dice_.below(size_t(largest / 8 + 1)));
      SymbolValues sizes = least;
      for (size_t i : {one, other}) {
        const Symbol &symbol = text_.symbols[i];
        int64_t count = std::min(most, symbol.maximum) / symbol.divisor;
        sizes[symbol.name] = std::max(
            symbol.minimum, (count - (count + 1) % 2) * symbol.divisor);
      }
      if (take(sizes, options_.large, large_))
        return;
    }
  }

  /// Three edges, then one joint tuple, and so on, up to the counts asked for;
  /// then what is large and the pairs, all of them.
  std::vector<SymbolValues> merged() const {
    std::vector<SymbolValues> all;
    std::set<SymbolValues> fixed;
    auto add = [&](const std::vector<SymbolValues> &from, size_t i) {
      if (i >= from.size() || all.size() >= options_.maxSizes)
        return;
      SymbolValues values;
      for (const std::string &symbol : fixed_)
        values[symbol] = from[i].at(symbol);
      if (!fixed.contains(values) && fixed.size() >= options_.maxFixed)
        return;
      fixed.insert(values);
      all.push_back(from[i]);
    };
    for (size_t i = 0; i < edges_.size() + joint_.size(); ++i) {
      for (size_t edge = 3 * i; edge < 3 * i + 3; ++edge)
        add(edges_, edge);
      add(joint_, i);
    }
    all.insert(all.end(), large_.begin(), large_.end());
    all.insert(all.end(), pairs_.begin(), pairs_.end());
    return all;
  }

  const KernelText &text_;
  const Graph &graph_;
  const std::set<std::string> &fixed_;
  const DomainOptions &options_;
  Dice dice_;
  std::vector<Equation> equations_;
  std::vector<std::vector<int64_t>> values_; ///< of each symbol
  std::set<SymbolValues> seen_;
  std::vector<SymbolValues> edges_, joint_, large_, pairs_;
};

} // namespace

std::set<std::string> fixedSymbols(const KernelText &text,
                                   const KernelGraph &graph,
                                   const std::set<uint32_t> &weights) {
  std::set<std::string> fixed;
  for (const KernelPredicate &predicate : text.where)
    if (!isProved(text, predicate.holds))
      predicate.holds.collectSymbols(fixed);
  auto keepNone = [](const Op &) { return false; };
  if (auto primitives = decompose(graph.graph, keepNone))
    if (auto computed = computedSymbol(*primitives))
      fixed.insert(*computed);
  for (uint32_t weight : weights)
    if (graph.bindings[weight] >= 0)
      for (const Dim &dim :
           graph.graph.type(graph.graph.inputs[size_t(graph.bindings[weight])])
               .dims)
        dim.collectSymbols(fixed);
  return fixed;
}

bool isAllowed(const KernelText &text, const Graph &graph,
               const SymbolValues &sizes) {
  for (const Symbol &symbol : text.symbols) {
    int64_t size = sizes.at(symbol.name);
    if (size < symbol.minimum || size > symbol.maximum ||
        size % symbol.divisor != 0)
      return false;
  }
  for (const KernelPredicate &predicate : text.where)
    if (auto holds = predicate.holds.evaluate(sizes); !holds || *holds == 0)
      return false;
  return fits(graph, sizes);
}

std::vector<SymbolValues> drawDomain(const KernelText &text, const Graph &graph,
                                     const std::set<std::string> &fixed,
                                     const DomainOptions &options) {
  return Domain(text, graph, fixed, options).run();
}

} // namespace backplane::conformance
