// SPDX-License-Identifier: Apache-2.0
//
// Cases with values that models have, for the units of all families.
#include "CaseBuilder.h"
#include "PatternData.h"
#include "ValueData.h"
#include "Work.h"
#include "conformance/cases/Judge.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

/// Elements of the largest tensor, and multiply-adds.
constexpr double wanted = 2000, most = 20000;
constexpr uint64_t maxWork = 2000000;

/// Whether no input and no output is empty.
bool isWhole(const Unit &unit, const SymbolValues &symbols) {
  auto isFull = [&](ValueId value) {
    auto count = unit.graph.type(value).elementCount().evaluate(symbols);
    return count.ok() && *count > 0;
  };
  return std::ranges::all_of(unit.graph.inputs, isFull) &&
         std::ranges::all_of(unit.graph.outputs, isFull, &GraphOutput::value);
}

/// The sizes that are nearest to the number of elements that is wanted; none
/// where all are too large or empty.
std::optional<SymbolValues> sizesFor(const Unit &unit) {
  std::optional<SymbolValues> best;
  double least = std::log2(most);
  for (const Case &testCase : unit.cases) {
    Work work = workOf(unit.graph, testCase.symbols);
    auto elements = static_cast<double>(work.elements);
    double distance = std::fabs(std::log2(elements / wanted));
    if (testCase.depth > Depth::Standard || elements < 1 || elements > most ||
        work.macs > maxWork || !isWhole(unit, testCase.symbols) ||
        distance >= least)
      continue;
    least = distance;
    best = testCase.symbols;
  }
  return best;
}

/// A product of many numbers overflows whatever they are.
bool isProduct(const Unit &unit) {
  return (unit.op == "reduce" || unit.op == "cumulative") &&
         !unit.graph.ops.empty() && unit.graph.ops[0].string("kind") == "prod";
}

bool isLeftOut(const Unit &unit) {
  const bool isAsked =
      unit.layer == 3 || (unit.layer == 4 && isFloat(unit.dtype));
  return !isAsked || unit.check || isProbe(unit) || !unit.given.empty() ||
         !unit.graph.variables.empty() || unit.graph.inputs.empty() ||
         unit.op == "while" || isProduct(unit);
}

/// Whether each element of a result comes from few elements of the operands.
bool isComputedAlone(const Unit &unit) {
  const OpSpec *spec = findOp(unit.op);
  return !spec || spec->elementwise ||
         (spec->numericClass == "EXACT" && !unit.op.ends_with("_integer"));
}

/// The one axis of a unit whose tensors are all lines of one size.
bool isLine(const Unit &unit) {
  return unit.graph.symbols.size() == 1 &&
         std::ranges::all_of(unit.graph.inputs, [&](ValueId input) {
           const Dims &dims = unit.graph.type(input).dims;
           return dims.size() == 1 &&
                  dims[0] == Dim::symbol(unit.graph.symbols[0].name);
         });
}

std::vector<const char *> dataSetsFor(const Unit &unit) {
  // What is fused to another op loses NaN most often: a ReLU that is a maximum.
  if (unit.layer == 4)
    return {"nans"};
  if (isComputedAlone(unit))
    return {"mixture"};
  if (!isFloat(unit.dtype))
    return {"mixture", "rails"};
  // Scores that are far apart admit every mean of the values.
  if (unit.op == "attention")
    return {"outliers", "subnormals", "nans", "zeros"};
  return {"magnitudes", "large", "scaled", "outliers",
          "subnormals", "nans",  "zeros",  "cancellation"};
}

} // namespace

void addValueCases(const Selection &selection, Unit &unit) {
  if (selection.depth < Depth::Standard || isLeftOut(unit))
    return;
  std::optional<SymbolValues> symbols = sizesFor(unit);
  if (isComputedAlone(unit) && isLine(unit))
    symbols = {{unit.graph.symbols[0].name, 8191}};
  if (!symbols)
    return;
  unit.tags.emplace_back("values");
  for (const char *dataSet : dataSetsFor(unit))
    unit.cases.push_back(
        makeCase(selection, unit.id, Depth::Standard, dataSet, *symbols));
  // What is to spread there leaves nothing to compare of other patterns.
  if (unit.layer == 3 && !std::ranges::count(unit.tags, "reach"))
    addPatternCases(selection, unit, *symbols, isComputedAlone(unit));
}

} // namespace backplane::conformance
