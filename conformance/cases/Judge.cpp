// SPDX-License-Identifier: Apache-2.0
#include "Judge.h"

#include "Data.h"
#include "Large.h"
#include "Probes.h"
#include "conformance/compare/Envelope.h"
#include "conformance/oracle/Format.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

bool isSum(const Unit &unit) {
  return unit.op == "matmul" ||
         (unit.op == "reduce" && unit.graph.ops[0].string("kind") == "sum");
}

/// Whether the rules for graphs hold.
bool isGraph(const Unit &unit) {
  return (unit.judgedAs ? unit.judgedAs : unit.layer) >= 4;
}

/// Whether results change so much with the inputs of a data set that roundings
/// which were tried say little about others.
bool isIll(std::string_view dataSet) {
  constexpr std::string_view sets[] = {"offset",     "distant",      "large",
                                       "magnitudes", "cancellation", "mixture",
                                       "outliers",   "cancel",       "special"};
  return std::ranges::find(sets, dataSet) != std::end(sets);
}

/// Zero error where the exact value can be stored, that of one correct
/// rounding elsewhere.
void makeExact(Expected &expected) {
  if (expected.match != Match::Limit || !isFloat(expected.dtype))
    return;
  for (size_t i = 0; i < expected.bits.size(); ++i)
    if (std::isfinite(expected.value[i]))
      expected.error[i] = std::fabs(decode(expected.dtype, expected.bits[i]) -
                                    expected.value[i]);
}

/// Stored limits are those of 24 bits; they grow with u where sums have less.
void widenStored(const Declaration &declaration, Expected &expected) {
  int bits = declaration.of("DOT", expected.dtype).accumulatorBits;
  if (bits == 0 || bits >= 24)
    return;
  Real factor = std::ldexp(Real(1), 24 - bits);
  for (auto *limits : {&expected.error, &expected.sigma})
    for (Real &limit : *limits)
      limit *= factor;
}

} // namespace

Numerics numericsFor(const Unit &unit, const Declaration &declaration) {
  const OpSpec *spec = findOp(unit.op);
  return declaration.of(spec ? spec->numericClass : "DOT", unit.dtype);
}

std::vector<Verdict> judge(const Unit &unit, const Case &testCase,
                           const std::vector<Expected> &expected,
                           const std::vector<Tensor> &outputs,
                           const Declaration &declaration) {
  if (isProbe(unit))
    return {judgeProbe(unit, testCase, outputs, declaration)};
  if (unit.large)
    return judgeLarge(unit, testCase, outputs, declaration);
  Numerics numerics = numericsFor(unit, declaration);
  bool isWide = numerics.accumulatorBits == 0 || numerics.accumulatorBits >= 24;
  std::vector<Expected> answers = expected;
  const Given *given = givenFor(unit, testCase);
  bool isStored = given && !given->expected.empty();
  for (Expected &answer : answers)
    if (isStored)
      widenStored(declaration, answer);
    else if (!isRandom(testCase.dataSet))
      answer.sigma.clear();
  bool isTried = unit.kernel.empty() || !isIll(testCase.dataSet);
  if (isGraph(unit) && !isStored && isTried)
    tightenLoose(unit.graph, inputsOf(unit, testCase), declaration,
                 &unit.weights, testCase.seed, answers);
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < answers.size(); ++i) {
    Expected &answer = answers[i];
    if (isExact(testCase.dataSet) && isSum(unit) && isWide &&
        !numerics.roundsToZero && !numerics.operandBits)
      makeExact(answer);
    verdicts.push_back(
        compare(answer, i < outputs.size() ? outputs[i] : Tensor(), numerics));
  }
  return verdicts;
}

Declaration declarationFor(const Unit &unit, const Declaration &declared) {
  Declaration result = declared;
  for (const auto &[key, numerics] : declared.all()) {
    DType dtype = key.second;
    if (!isGraph(unit) || !isFloat(dtype))
      continue;
    Numerics capped = numerics;
    int most = std::max(24, formatOf(dtype).precision);
    capped.accumulatorBits = std::min(capped.accumulatorBits, most);
    result.set(key.first, dtype, capped);
  }
  return result;
}

bool isProbe(const Unit &unit) { return unit.op == "numerics"; }

bool expectsError(const Case &testCase) {
  return testCase.dataSet.starts_with("errors");
}

} // namespace backplane::conformance
