// SPDX-License-Identifier: Apache-2.0
#include "Probes.h"

#include "CaseBuilder.h"
#include "ProbeData.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

constexpr int64_t terms = probe::terms;

// ---- units ----

std::vector<std::string> tagsOf(const std::string &opClass) {
  if (opClass == "DOT")
    return {"accumulate", "demotion", "ftz"};
  if (opClass == "RUNNING")
    return {"accumulate"};
  return opClass == "REDUCE" ? std::vector<std::string>{"accumulate", "ftz"}
                             : std::vector<std::string>{"ftz"};
}

/// The op that represents its class, on lines or on pairs of numbers.
void addGraph(CaseBuilder &builder, const std::string &opClass, DType dtype) {
  Dim b = builder.symbol("b");
  InputRule left, right;
  if (opClass == "DOT") {
    left.contracted = 4;
    right.contracted = 2;
    ValueId x = builder.input(dtype, {b, 1, terms}, left);
    ValueId y = builder.input(dtype, {b, terms, 1}, right);
    builder.output(builder.add("matmul", {x, y}));
  } else if (opClass == "REDUCE") {
    builder.output(
        builder.add("reduce", {builder.input(dtype, {b, terms})},
                    {{"kind", "sum"}, {"axes", std::vector<int64_t>{1}}}));
  } else if (opClass == "RUNNING") {
    using List = std::vector<int64_t>;
    builder.output(builder.add("avg_pool",
                               {builder.input(dtype, {b, 1, terms})},
                               {{"window", List{terms}},
                                {"strides", List{1}},
                                {"dilations", List{1}},
                                {"low", List{0}},
                                {"high", List{0}}}));
  } else {
    right.kind =
        opClass == "ULP" ? InputRule::Kind::Divisor : InputRule::Kind::Values;
    ValueId x = builder.input(dtype, {b}), y = builder.input(dtype, {b}, right);
    builder.output(builder.add(opClass == "ULP" ? "div" : "mul", {x, y}));
  }
}

void addCases(CaseBuilder &builder, const std::string &opClass, DType dtype) {
  Depth depth = dtype == DType::F32 ? Depth::Smoke : Depth::Standard;
  auto add = [&](const char *property, size_t lines) {
    builder.addCase(depth, property, {{"b", static_cast<int64_t>(lines)}});
  };
  size_t lines = probe::placements *
                 static_cast<size_t>(probe::shapeOf(opClass, dtype).largest);
  bool isSum = opClass == "DOT" || opClass == "REDUCE";
  if (isSum || opClass == "RUNNING")
    add("probe-accumulator", lines);
  if (isSum)
    add("probe-rounding", lines);
  if (opClass == "EXACT")
    add("probe-rounding", terms);
  if (opClass == "DOT")
    add("probe-operands", probe::linesOfWidth);
  size_t narrow = probe::narrowWidths(dtype).size();
  if (opClass == "DOT" && narrow)
    add("probe-narrow-operands", narrow * probe::linesOfWidth);
  if (opClass == "RUNNING")
    return;
  add("probe-flush-input", terms);
  add("probe-flush-output", terms);
}

void makeProbe(const Sink &sink, DType dtype, const std::string &opClass) {
  CaseBuilder builder(sink, "numerics", dtype, opClass, tagsOf(opClass));
  addGraph(builder, opClass, dtype);
  addCases(builder, opClass, dtype);
  builder.finish();
}

void makeContraction(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "numerics", dtype, "EXACT-chain", {"fold"});
  Dim b = builder.symbol("b");
  ValueId x = builder.input(dtype, {b}), y = builder.input(dtype, {b}),
          z = builder.input(dtype, {b});
  builder.output(builder.add("add", {builder.add("mul", {x, y}), z}));
  builder.addCase(dtype == DType::F32 ? Depth::Smoke : Depth::Standard,
                  "probe-contraction", {{"b", terms}});
  builder.finish();
}

/// Long sums, which a device may split between threads.
void makeRepeats(const Sink &sink, DType dtype) {
  Depth depth = dtype == DType::F32 ? Depth::Smoke : Depth::Standard;
  CaseBuilder product(sink, "numerics", dtype, "DOT-repeat", {"race"});
  ValueId x = product.input(dtype, {65, 4099}),
          y = product.input(dtype, {4099, 33});
  product.output(product.add("matmul", {x, y}));
  product.addCase(depth, "uniform");
  CaseBuilder sum(sink, "numerics", dtype, "REDUCE-repeat", {"race"});
  sum.output(sum.add("reduce", {sum.input(dtype, {100003})},
                     {{"kind", "sum"}, {"axes", std::vector<int64_t>{0}}}));
  sum.addCase(depth, "uniform");
  product.finish();
  sum.finish();
}

// ---- judgement ----

struct Finding {
  std::string got, want;
  bool holds;
};

/// The outputs of one case.
struct Outputs {
  const Tensor &tensor;
  std::string opClass;
  Numerics declared;

  DType dtype() const { return tensor.dtype; }
  size_t count() const { return tensor.elementCount(); }
  Real at(size_t i) const { return decode(dtype(), loadBits(tensor, i)); }
  /// Line `line` of a sum, in units.
  Real inUnits(size_t line) const {
    Real mean = opClass == "RUNNING" ? Real(terms) : 1;
    return std::ldexp(at(line) * mean, -probe::shapeOf(opClass, dtype()).unit);
  }
};

std::string bitsText(int bits) { return std::to_string(bits) + " bits"; }

Finding findAccumulator(const Outputs &outputs) {
  int largest = probe::shapeOf(outputs.opClass, outputs.dtype()).largest;
  auto isExact = [&](int bits) {
    size_t first = static_cast<size_t>(bits - 1) * probe::placements;
    for (size_t line = first; line < first + probe::placements; ++line)
      if (outputs.inUnits(line) != Real(terms - 2))
        return false;
    return true;
  };
  int width = 1;
  while (width <= largest && isExact(width))
    ++width;
  int declared = outputs.declared.accumulatorBits;
  if (declared == 0)
    declared = formatOf(outputs.dtype()).precision;
  return {(width > largest ? "at least " : "") + bitsText(width),
          bitsText(declared), width >= std::min(declared, largest + 1)};
}

/// Where large numbers first swallow something, nearest rounding gives 2 in
/// place of 1.5, in some orders of summation.
bool sumsRoundToZero(const Outputs &outputs) {
  for (size_t line = 0; line < outputs.count(); ++line) {
    if (outputs.inUnits(line) == 1.5L)
      continue;
    size_t first = line / probe::placements * probe::placements;
    for (size_t i = first; i < first + probe::placements; ++i)
      if (outputs.inUnits(i) != 1.5L && outputs.inUnits(i) != 2)
        return true;
    return false;
  }
  return false;
}

Finding findRounding(const Outputs &outputs) {
  Real unit = std::ldexp(Real(1), 1 - formatOf(outputs.dtype()).precision);
  bool isZero = outputs.opClass == "EXACT" ? outputs.at(0) != 1.75L + 2 * unit
                                           : sumsRoundToZero(outputs);
  const char *names[] = {"to nearest", "to zero"};
  return {names[isZero], names[outputs.declared.roundsToZero],
          !isZero || outputs.declared.roundsToZero};
}

/// Whether the sums of these lines show a number of so many bits.
bool keepsBits(const Outputs &outputs, size_t first, size_t count, int bits) {
  Real expected = 1 + std::ldexp(Real(1), 1 - bits);
  for (size_t i = first; i < first + count; ++i)
    if (outputs.at(i) != expected)
      return false;
  return true;
}

Finding findOperands(const Outputs &outputs) {
  int precision = formatOf(outputs.dtype()).precision;
  bool isWhole = keepsBits(outputs, 0, outputs.count(), precision);
  int declared = outputs.declared.operandBits;
  return {isWhole ? "all bits" : "fewer bits",
          declared ? bitsText(declared) : "all bits", isWhole || declared};
}

/// The most of these bits that are kept, with all that are fewer.
Finding findNarrowOperands(const Outputs &outputs) {
  std::vector<int> widths = probe::narrowWidths(outputs.dtype());
  int found = 0;
  for (size_t i = widths.size(); i-- > 0;) {
    if (!keepsBits(outputs, i * probe::linesOfWidth, probe::linesOfWidth,
                   widths[i]))
      break;
    found = widths[i];
  }
  int declared = outputs.declared.operandBits;
  int least = declared ? std::min(declared, widths.front()) : widths.front();
  return {found ? "at least " + bitsText(found) : "fewer bits",
          declared ? bitsText(declared) : "all bits", found >= least};
}

Finding findFlush(const Outputs &outputs, bool isInput) {
  bool flushes = false;
  for (size_t i = 0; i < outputs.count(); ++i)
    flushes |= outputs.at(i) == 0;
  bool declared =
      isInput ? outputs.declared.flushesInput : outputs.declared.flushesOutput;
  const char *names[] = {"subnormals kept", "subnormals flushed"};
  return {names[flushes], names[declared], !flushes || declared};
}

/// Narrow types may be computed with in f32, so only others need a declaration.
Finding findContraction(const Outputs &outputs) {
  bool isFused = false;
  for (size_t i = 0; i < outputs.count(); ++i)
    isFused |= outputs.at(i) != 0;
  bool mayFuse = outputs.declared.contracts || bitWidth(outputs.dtype()) <= 16;
  const char *names[] = {"a * b + c rounds twice", "a * b + c rounds once"};
  return {names[isFused], names[outputs.declared.contracts],
          !isFused || mayFuse};
}

Finding find(const std::string &property, const Outputs &outputs) {
  if (property == "probe-accumulator")
    return findAccumulator(outputs);
  if (property == "probe-rounding")
    return findRounding(outputs);
  if (property == "probe-operands")
    return findOperands(outputs);
  if (property == "probe-narrow-operands")
    return findNarrowOperands(outputs);
  if (property == "probe-flush-input" || property == "probe-flush-output")
    return findFlush(outputs, property == "probe-flush-input");
  if (property == "probe-contraction")
    return findContraction(outputs);
  // The runner compares two runs.
  const char *names[] = {"may differ", "the same each time"};
  return {"the same twice", names[outputs.declared.deterministic], true};
}

/// The number of elements that the output must have.
size_t countOf(const Unit &unit, const Case &testCase) {
  size_t count = 1;
  for (const Dim &dim : unit.graph.type(unit.graph.outputs[0].value).dims)
    count *= static_cast<size_t>(dim.evaluate(testCase.symbols).ok()
                                     ? *dim.evaluate(testCase.symbols)
                                     : 0);
  return count;
}

} // namespace

void makeProbes(const Sink &sink) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    for (const char *opClass : {"DOT", "REDUCE", "RUNNING", "ULP", "EXACT"})
      makeProbe(sink, dtype, opClass);
    {
      makeContraction(sink, dtype);
      makeRepeats(sink, dtype);
    }
  }
}

std::string numericClassOf(const Unit &unit) {
  if (const OpSpec *spec = findOp(unit.op))
    return std::string(spec->numericClass);
  std::string last = unit.id.substr(unit.id.rfind('/') + 1);
  return last.substr(0, last.find('-'));
}

Verdict judgeProbe(const Unit &unit, const Case &testCase,
                   const std::vector<Tensor> &outputs,
                   const Declaration &declaration) {
  Verdict verdict;
  size_t count = countOf(unit, testCase);
  if (outputs.size() != 1 || outputs[0].dtype != unit.dtype ||
      outputs[0].elementCount() != count ||
      outputs[0].data.size() < packedBytes(unit.dtype, count)) {
    verdict.reason = "the output is missing, or has other dims or another "
                     "dtype than the graph";
    return verdict;
  }
  std::string opClass = numericClassOf(unit);
  Finding finding =
      find(testCase.dataSet,
           {outputs[0], opClass, declaration.of(opClass, unit.dtype)});
  verdict.pass = finding.holds;
  verdict.got = finding.got;
  verdict.want = finding.want;
  verdict.elements = count;
  if (!finding.holds)
    verdict.reason = opClass + " of " + std::string(name(unit.dtype)) +
                     " declares: " + finding.want + ", found: " + finding.got;
  return verdict;
}

} // namespace backplane::conformance
