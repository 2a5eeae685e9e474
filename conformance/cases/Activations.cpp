// SPDX-License-Identifier: Apache-2.0
//
// Units of activations that have attributes or a second operand; the plain ones
// are in Elementwise.cpp.
#include "CaseBuilder.h"
#include "Data.h"

#include <cmath>

namespace backplane::conformance {

namespace {

struct Activation {
  std::string op, variant;
  Attributes attributes;
  std::vector<std::string> tags;
  bool hasSlope = false; ///< a second operand
  bool isSmoke = false;
};

std::vector<Activation> activations() {
  return {
      {"clamp", "six", {{"low", 0.0}, {"high", 6.0}}, {"nan"}, false, true},
      {"clamp", "inside", {{"low", 2.0}, {"high", 5.0}}, {"nan", "wrap"}},
      {"clamp", "above", {{"low", 1.0}, {"high", HUGE_VAL}}, {"nan"}},
      {"clamp", "below", {{"low", -HUGE_VAL}, {"high", 3.0}}, {"nan"}},
      {"leaky_relu", "steep", {{"alpha", 0.3}}, {"nan", "cse"}, false, true},
      {"leaky_relu", "rising", {{"alpha", -1.5}}, {"nan", "cse"}},
      {"elu", "steep", {{"alpha", 2.5}}, {"cse"}, false, true},
      {"selu", "plain", {}, {"bias"}, false, true},
      {"selu", "custom", {{"alpha", 1.1}, {"gamma", 2.0}}, {"cse"}},
      {"celu", "plain", {}, {"bias"}, false, true},
      {"celu", "steep", {{"alpha", 0.25}}, {"reciprocal"}},
      {"hard_sigmoid", "custom", {{"alpha", 0.125}, {"beta", 0.625}}, {"cse"}},
      {"gelu",
       "tanh",
       {{"approximate", "tanh"}},
       {"gelu", "bias"},
       false,
       true},
      {"prelu", "n", {}, {"nan", "wrap", "integer-sign"}, true, true},
  };
}

void addCases(CaseBuilder &builder, DType dtype, bool hasSlope, bool isSmoke) {
  auto specials = static_cast<int64_t>(specialBits(dtype).size());
  builder.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "special",
                  {{"n", hasSlope ? specials * specials : specials}});
  for (int64_t n : {0, 1, 15, 33, 257, 1021})
    builder.addCase(Depth::Standard, "uniform", {{"n", n}});
  builder.addCase(Depth::Standard, "bits", {{"n", 4099}});
  if (isFloat(dtype))
    builder.addCase(Depth::Standard, "wide", {{"n", 1021}});
  unsigned patterns = bitWidth(dtype) * (hasSlope ? 2 : 1);
  if (patterns <= 16)
    builder.addCase(Depth::Standard, "exhaustive",
                    {{"n", int64_t(1) << patterns}});
}

void makeActivation(const Sink &sink, DType dtype,
                    const Activation &activation) {
  std::vector<std::string> tags = activation.tags;
  tags.emplace_back("tail");
  CaseBuilder builder(sink, activation.op, dtype, activation.variant, tags);
  Dim n = builder.symbol("n");
  std::vector<ValueId> operands = {builder.input(dtype, {n})};
  if (activation.hasSlope)
    operands.push_back(builder.input(dtype, {n}));
  builder.output(builder.add(activation.op, operands, activation.attributes));
  bool isSmoke = activation.isSmoke && dtype == DType::F32;
  addCases(builder, dtype, activation.hasSlope, isSmoke);
  builder.finish();
}

/// Open ends of clamp differ little between the integers.
bool isTaken(const Activation &activation, DType dtype) {
  bool isOpen = activation.variant == "above" || activation.variant == "below";
  return !isOpen || dtype == DType::F32 || dtype == DType::F16 ||
         dtype == DType::I8 || dtype == DType::U32;
}

} // namespace

void makeActivations(const Sink &sink) {
  for (const Activation &activation : activations())
    for (DType dtype : dtypesOf(activation.op))
      if (isTaken(activation, dtype))
        makeActivation(sink, dtype, activation);
}

} // namespace backplane::conformance
