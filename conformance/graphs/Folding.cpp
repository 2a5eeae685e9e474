// SPDX-License-Identifier: Apache-2.0
//
// Constants that a compiler may work out itself, in the dtype of the graph:
// integers wrap, floats round at each step. Each result meets an input, so that
// something is left to run.
#include "Graphs.h"
#include "Sketch.h"

#include <cmath>

namespace backplane::conformance {

namespace {

using enum DType;

constexpr DType integers[] = {I64, I32, I8, U64, U16, U8};
constexpr DType floats[] = {F64, F32, F16, BF16};

/// Near the ends of the type, so that sums and products wrap.
std::vector<double> wide(DType dtype) {
  double top = std::ldexp(1.0, static_cast<int>(bitWidth(dtype)) -
                                   (isSignedInteger(dtype) ? 1 : 0));
  top = bitWidth(dtype) == 64 ? top - 2048 : top - 1;
  return {top, top / 2, 7, 3, isSignedInteger(dtype) ? -top : top - 2, 1};
}

/// Meets an input of six elements.
void meet(Sketch &s, ValueId constant) {
  ValueId x = s.in({s.symbol("n"), 6});
  ValueId repeated = s.broadcast(constant, s.type(x).dims, {1});
  s.out(s.op(isFloat(s.dtype) ? "add" : "xor", {x, repeated}));
}

std::function<void(Sketch &)> wrapping(const char *name) {
  return [name](Sketch &s) {
    ValueId a = s.constant(s.dtype, {6}, wide(s.dtype));
    ValueId b = s.constant(s.dtype, {6}, {3, 5, 2, 1, 7, 6});
    meet(s, s.op(name, {a, b}));
  };
}

/// Sums and casts that need more than the type holds on the way.
void wrappingChain(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, wide(s.dtype));
  ValueId sum = s.op("add", {a, a});
  meet(s, s.op("div", {sum, s.constant(s.dtype, {6}, {2, 2, 2, 2, 2, 2})}));
}

void narrowedAndBack(Sketch &s) {
  DType narrow = isSignedInteger(s.dtype) ? U8 : I8;
  ValueId a = s.constant(s.dtype, {6}, wide(s.dtype));
  meet(s, s.cast(s.cast(a, narrow), s.dtype));
}

void reducedConstant(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, wide(s.dtype));
  ValueId sum = s.reduce(a, "sum", {0});
  meet(s, s.broadcast(sum, {6}, {}));
}

void comparedConstants(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, wide(s.dtype));
  ValueId b = s.constant(s.dtype, {6}, {3, 5, 2, 7, 7, 1});
  ValueId less = s.op("compare", {a, b}, {{"direction", "lt"}});
  meet(s, s.op("select", {less, a, b}));
}

std::vector<double> fractions() {
  return {1.0 / 3, 2049.5, 0.1, 3.7e-4, -5.3, 257};
}

/// Each step is rounded to the dtype: in a wider one the result is another.
void roundedSteps(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, fractions());
  ValueId large = s.constant(s.dtype, {6}, {4096, 4096, 256, 64, 512, 32768});
  meet(s, s.op("sub", {s.op("add", {a, large}), large}));
}

/// Beyond the largest number of f16, not of f32.
void overflowing(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, {300, -300, 256, 255, 2, 1});
  ValueId square = s.op("mul", {a, a});
  meet(s, s.op("div", {square, a}));
}

void throughNarrow(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, fractions());
  meet(s, s.cast(s.cast(a, s.dtype == F16 ? BF16 : F16), s.dtype));
}

void toIntegerAndBack(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, {1e3, -1e3, 2.5, -2.5, 300.7, -0.9});
  meet(s, s.cast(s.cast(a, I8), s.dtype));
}

void functions(Sketch &s) {
  ValueId a = s.constant(s.dtype, {6}, {0.5, 1.5, 0.1, 3, 2, 0.25});
  meet(s, s.op("sub", {s.op("exp", {a}), s.op("log", {a})}));
}

void productOfWeights(Sketch &s) {
  ValueId product = s.matmul(s.weight({6, 9}), s.weight({9, 6}));
  ValueId x = s.in({s.symbol("n"), 6});
  s.out(s.matmul(x, s.op("mul", {product, s.fill(0.25, product)})));
}

void scaledConv(Sketch &s) {
  ValueId x = s.in({1, 3, s.symbol("n"), 6});
  ValueId w = s.weight({4, 3, 3, 3});
  ValueId scale = s.weight({4}, 0.5, 1.5), dims = s.conv(x, w, 1, 1);
  Dims all = s.type(dims).dims;
  ValueId scaled = s.op("mul", {dims, s.broadcast(scale, all, {1})});
  s.out(s.op("add", {scaled, s.broadcast(s.weight({4}), all, {1})}));
}

void normAfterConv(Sketch &s) {
  ValueId x = s.in({1, 3, s.symbol("n"), 6});
  ValueId y = s.conv(x, s.weight({4, 3, 3, 3}), 1, 1);
  y = s.op("batch_norm", {y, s.weight({4}, 0.5, 1.5), s.weight({4}),
                          s.weight({4}), s.weight({4}, 0.5, 2)});
  s.out(s.op("relu", {y}));
}

using Named = std::pair<const char *, std::function<void(Sketch &)>>;

std::vector<Pattern> patternsOf(std::vector<Named> all,
                                const std::vector<DType> &dtypes) {
  std::vector<Pattern> patterns;
  for (auto &[name, build] : all)
    patterns.push_back({name,
                        {"fold", "wrap", "cast-rounding"},
                        dtypes,
                        std::move(build),
                        {{{"n", 3}}, {{"n", 17}}}});
  return patterns;
}

} // namespace

void makeFolding(const Sink &sink) {
  auto exact = patternsOf({{"add", wrapping("add")},
                           {"mul", wrapping("mul")},
                           {"shl", wrapping("shl")},
                           {"shr", wrapping("shr")},
                           {"div", wrapping("div")},
                           {"chain", wrappingChain},
                           {"narrowed", narrowedAndBack},
                           {"reduced", reducedConstant},
                           {"compared", comparedConstants}},
                          {std::begin(integers), std::end(integers)});
  auto rounded = patternsOf({{"steps", roundedSteps},
                             {"overflow", overflowing},
                             {"narrow", throughNarrow},
                             {"to-integer", toIntegerAndBack},
                             {"functions", functions},
                             {"weights", productOfWeights},
                             {"conv-scale", scaledConv},
                             {"conv-norm", normAfterConv}},
                            {std::begin(floats), std::end(floats)});
  makePatterns(sink, "folded", exact);
  makePatterns(sink, "folded", rounded);
}

} // namespace backplane::conformance
