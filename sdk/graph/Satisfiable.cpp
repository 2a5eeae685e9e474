// SPDX-License-Identifier: Apache-2.0
//
// Branch and prune: a box of symbol ranges goes when interval arithmetic shows
// that an assertion holds nowhere in it, else it is cut in two, the part of the
// small sizes first.
#include "Satisfiable.h"

#include <algorithm>

namespace backplane {

namespace {

/// More than any tensor has elements.
constexpr int64_t kMostSize = int64_t(1) << 46;
/// Boxes of the search for one assertion, and questions of that for all.
constexpr size_t kBoxes = 500, kQuestions = 5000;

using Assertions = std::vector<const DimAssertion *>;

SymbolRanges rangesOf(const Graph &graph, const Assertions &assertions) {
  std::set<std::string> used;
  for (const DimAssertion *assertion : assertions)
    for (const Dim *dim : {&assertion->lhs, &assertion->rhs})
      dim->collectSymbols(used);
  SymbolRanges ranges;
  for (const std::string &name : used)
    ranges[name] = {0, kMostSize};
  for (const Symbol &symbol : graph.symbols)
    if (auto range = ranges.find(symbol.name); range != ranges.end())
      range->second = {
          symbol.minimum,
          std::max(symbol.minimum, std::min(symbol.maximum, kMostSize))};
  return ranges;
}

bool isPoint(const SymbolRanges &box) {
  return std::all_of(box.begin(), box.end(), [](const auto &range) {
    return range.second.low == range.second.high;
  });
}

bool holdsAt(const DimAssertion &assertion, const SymbolRanges &point) {
  SymbolValues values;
  for (const auto &[name, range] : point)
    values[name] = range.low;
  Result<int64_t> lhs = assertion.lhs.evaluate(values),
                  rhs = assertion.rhs.evaluate(values);
  return lhs.ok() && rhs.ok() && *lhs == *rhs;
}

/// Whether the assertion holds nowhere in the box.
bool isRefuted(const DimAssertion &assertion, const SymbolRanges &box) {
  if (isPoint(box))
    return !holdsAt(assertion, box);
  auto lhs = assertion.lhs.bounds(box), rhs = assertion.rhs.bounds(box);
  if (lhs && rhs && (lhs->low > rhs->high || rhs->low > lhs->high))
    return true;
  auto apart = (assertion.lhs - assertion.rhs).bounds(box);
  return apart && (apart->low > 0 || apart->high < 0);
}

/// Cuts the range with most values; small ones are cut off one by one.
std::pair<SymbolRanges, SymbolRanges> cut(const SymbolRanges &box) {
  auto widest = std::max_element(
      box.begin(), box.end(), [](const auto &a, const auto &b) {
        return a.second.high - a.second.low < b.second.high - b.second.low;
      });
  auto [low, high] = widest->second;
  int64_t end = low < 2 ? low : low + (high - low) / 2;
  SymbolRanges first = box, second = box;
  first[widest->first] = {low, end};
  second[widest->first] = {end + 1, high};
  return {first, second};
}

bool divides(const Graph &graph, const SymbolRanges &point) {
  return std::all_of(
      graph.symbols.begin(), graph.symbols.end(), [&](const Symbol &symbol) {
        auto range = point.find(symbol.name);
        return range == point.end() || range->second.low % symbol.divisor == 0;
      });
}

/// The assertion that shows last that there are no such sizes; null when there
/// are some, or that is not decided.
const DimAssertion *refute(const Graph &graph, const Assertions &assertions) {
  std::vector<SymbolRanges> boxes{rangesOf(graph, assertions)};
  const DimAssertion *last = nullptr;
  size_t budget = assertions.size() == 1 ? kBoxes : kQuestions;
  for (size_t asked = 0; !boxes.empty(); asked += assertions.size()) {
    SymbolRanges box = std::move(boxes.back());
    boxes.pop_back();
    auto refuting = std::find_if(
        assertions.begin(), assertions.end(),
        [&](const DimAssertion *each) { return isRefuted(*each, box); });
    if (refuting != assertions.end()) {
      last = *refuting;
      continue;
    }
    if (asked > budget || (isPoint(box) && divides(graph, box)))
      return nullptr;
    if (isPoint(box))
      continue;
    auto [first, second] = cut(box);
    boxes.push_back(std::move(second));
    boxes.push_back(std::move(first));
  }
  return last;
}

} // namespace

Status checkSatisfiable(const Graph &graph) {
  Assertions all;
  for (const DimAssertion &assertion : graph.assertions) {
    all.push_back(&assertion);
    if (refute(graph, {&assertion}))
      return invalidArgument(assertion.message + ": no sizes that the model " +
                             "allows make " + assertion.lhs.str() + " equal " +
                             assertion.rhs.str());
  }
  if (const DimAssertion *last = refute(graph, all))
    return invalidArgument(last->message + ": no sizes that the model allows " +
                           "make " + last->lhs.str() + " equal " +
                           last->rhs.str() + " and fit all other ops");
  return {};
}

} // namespace backplane
