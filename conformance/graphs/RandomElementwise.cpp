// SPDX-License-Identifier: Apache-2.0
//
// Random steps whose result i depends on element i alone.
#include "RandomGraph.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

using enum DType;
using Item = Growth::Item;

/// Arithmetic takes numbers, but not those that are only stored.
bool isNumber(DType dtype) { return contains(TypeSet::Number, dtype); }
bool isInteger(DType dtype) { return contains(TypeSet::Int, dtype); }

Item *aFloat(Growth &g) {
  return g.find([](const TensorType &type) { return isFloat(type.dtype); });
}

Item *anInteger(Growth &g) {
  return g.find([](const TensorType &type) { return isInteger(type.dtype); });
}

Item *aNumber(Growth &g) {
  return g.find([](const TensorType &type) { return isNumber(type.dtype); });
}

void function(Growth &g, const Item &x) {
  const char *op = g.dice.pick(
      {"neg",        "abs",      "sin",        "cos",     "tanh",
       "atan",       "erf",      "relu",       "sigmoid", "silu",
       "hard_swish", "softplus", "leaky_relu", "elu",     "hard_sigmoid",
       "gelu",       "softsign", "mish",       "selu",    "celu",
       "asinh",      "floor",    "sign",       "ceil",    "trunc"});
  ValueId value = g.tamed(x, 8);
  g.keep(g.s.op(op, {value}), std::max(std::min(x.magnitude, 8.0), 1.0) * 1.8);
}

/// Functions that are kept away from the ends of their domain.
void functionOfPositive(Growth &g, const Item &x) {
  ValueId positive = g.s.op("abs", {g.tamed(x, 8)});
  ValueId shifted = g.with("add", positive, 1.5);
  const char *op = g.dice.pick(
      {"sqrt", "rsqrt", "recip", "log", "log1p", "acosh", "expm1", "exp"});
  bool grows = std::string_view(op).starts_with("exp");
  g.keep(g.s.op(op, {grows ? g.with("mul", positive, -1) : shifted}), 4);
}

void functionOfSmall(Growth &g, const Item &x) {
  const char *op = g.dice.pick(
      {"asin", "acos", "atanh", "tan", "sinh", "cosh", "expm1", "exp"});
  g.keep(g.s.op(op, {g.tamed(x, 0.75)}), 3.2);
}

void integerFunction(Growth &g, const Item &x) {
  const char *op = g.dice.pick({"neg", "abs", "not", "clamp"});
  Attributes attributes;
  if (std::string_view(op) == "clamp")
    attributes = {{"low", 1.0}, {"high", 100.0}};
  g.keep(g.s.op(op, {x.id}, attributes), 1);
}

void sum(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  const char *op = g.dice.pick({"add", "sub", "min", "max"});
  g.keep(g.s.op(op, {x.id, right.id}), x.magnitude + right.magnitude);
}

void product(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  g.keep(g.s.op("mul", {x.id, right.id}), x.magnitude * right.magnitude);
}

void quotient(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  ValueId divisor = g.with("add", g.s.op("abs", {right.id}), 1);
  g.keep(g.s.op("div", {x.id, divisor}), x.magnitude);
}

void power(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  ValueId base = g.with("add", g.s.op("abs", {g.tamed(x, 2)}), 0.5);
  g.keep(g.s.op("pow", {base, g.tamed(right, 1)}), 3);
}

void ofIntegers(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  const char *op =
      g.dice.pick({"and", "or", "xor", "shl", "shr", "div", "rem"});
  std::string_view name = op;
  ValueId divisor =
      name == "div" || name == "rem" ? g.with("or", right.id, 1) : right.id;
  g.keep(g.s.op(op, {x.id, divisor}), 1);
}

void choice(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  const char *direction = g.dice.pick({"lt", "le", "gt", "ge", "eq", "ne"});
  // What is compared are inputs: no rounding decides.
  Item a = g.fresh(I32, g.type(x).dims, 1);
  ValueId condition = g.s.op("compare", {a.id, g.s.fill(2, a.id)},
                             {{"direction", std::string(direction)}});
  g.keep(g.s.op("select", {condition, x.id, right.id}),
         std::max(x.magnitude, right.magnitude));
}

void conversion(Growth &g, const Item &x) {
  DType from = g.type(x).dtype;
  DType to = isFloat(from)
                 ? g.dice.pick(std::vector{F32, F16, F64, BF16, I32})
                 : g.dice.pick(std::vector{F32, I32, I64, I8, U8, U16, F64});
  ValueId value = x.id;
  if (isFloat(from) && !isFloat(to)) // no rounding decides
    value = g.s.op("round_even", {g.fresh(from, g.type(x).dims, 4).id});
  if (!isFloat(from) && isFloat(to)) {
    ValueId number = g.s.cast(g.with("rem", value, 17), to);
    return g.keep(g.with("mul", number, 0.125), 2);
  }
  g.keep(g.s.cast(value, to), std::min(x.magnitude, 8.0));
}

void bounded(Growth &g, const Item &x) {
  g.keep(g.s.op("clamp", {x.id}, {{"low", -1.25}, {"high", 0.75}}), 1.25);
}

void sloped(Growth &g, const Item &x) {
  Item right = g.like(g.type(x));
  g.keep(g.s.op("prelu", {x.id, right.id}),
         x.magnitude * std::max(1.0, right.magnitude));
}

} // namespace

const std::vector<Step> &elementwiseSteps() {
  static const std::vector<Step> all = {from<aFloat, function>,
                                        from<aFloat, function>,
                                        from<aFloat, functionOfPositive>,
                                        from<aFloat, functionOfSmall>,
                                        from<aNumber, sum>,
                                        from<aNumber, sum>,
                                        from<aNumber, product>,
                                        from<aFloat, quotient>,
                                        from<aFloat, power>,
                                        from<anInteger, ofIntegers>,
                                        from<anInteger, integerFunction>,
                                        from<aNumber, choice>,
                                        from<aFloat, bounded>,
                                        from<aNumber, conversion>,
                                        from<aFloat, sloped>};
  return all;
}

} // namespace backplane::conformance
