// SPDX-License-Identifier: Apache-2.0
//
// Units of reach: NaN and infinities in single elements of one operand, where
// only some results are made of them. What multiplies by padding, by the zeros
// between spread elements or by a mask carries them into the others.
#include "CaseBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

struct Use {
  const char *op, *variant;
  std::vector<Dims> operands;
  Attributes attributes;
  size_t specials = 1;   ///< so many operands have a case each
  bool isWeight = false; ///< the second operand is a weight of finite numbers
};

Attributes window(Axes strides, Axes dilations, Axes low, Axes high) {
  return {{"strides", std::move(strides)},
          {"dilations", std::move(dilations)},
          {"low", std::move(low)},
          {"high", std::move(high)}};
}

Attributes with(Attributes attributes, const char *name, Attribute value) {
  attributes[name] = std::move(value);
  return attributes;
}

std::vector<Use> transposes() {
  auto spread = [](Attributes attributes, Axes padding, int64_t groups) {
    attributes["output_padding"] = std::move(padding);
    attributes["groups"] = groups;
    return attributes;
  };
  Dims image = {2, 4, 5, 6};
  Attributes two = spread(window({2, 3}, {1, 1}, {1, 0}, {0, 1}), {1, 2}, 1);
  Attributes one = spread(window({1, 1}, {1, 1}, {0, 0}, {0, 0}), {0, 0}, 1);
  Attributes wide = spread(window({3, 2}, {2, 3}, {2, 1}, {1, 2}), {0, 1}, 1);
  Attributes grouped =
      spread(window({2, 2}, {1, 1}, {0, 1}, {1, 0}), {0, 0}, 2);
  Attributes alone = spread(window({2, 1}, {1, 2}, {1, 0}, {1, 0}), {1, 0}, 4);
  Attributes line = spread(window({4}, {1}, {0}, {0}), {3}, 1);
  return {
      {"conv_transpose", "stride", {image, {4, 3, 3, 4}}, two, 2},
      {"conv_transpose", "border", {image, {4, 3, 3, 3}}, one, 2},
      {"conv_transpose", "dilated", {image, {4, 3, 3, 2}}, wide, 2},
      {"conv_transpose", "groups", {image, {4, 2, 3, 3}}, grouped, 2},
      {"conv_transpose", "depthwise", {image, {4, 1, 3, 3}}, alone, 2},
      {"conv_transpose", "line", {{1, 7, 9}, {7, 5, 3}}, line, 2},
      {"conv_transpose", "weight", {image, {4, 3, 3, 4}}, two, 1, true},
      {"conv_transpose",
       "weight-groups",
       {image, {4, 2, 3, 3}},
       grouped,
       1,
       true},
  };
}

std::vector<Use> contractions() {
  Dims image = {2, 4, 9, 8};
  Attributes padded = window({1, 2}, {2, 1}, {2, 1}, {1, 3});
  Attributes depthwise = with(padded, "groups", int64_t(4));
  Attributes pool = with(padded, "window", Axes{3, 3});
  return {
      {"matmul", "tall", {{37, 19}, {19, 5}}, {}, 2},
      {"matmul", "wide", {{5, 17}, {17, 41}}, {}, 2},
      {"matmul", "batch", {{3, 7, 9}, {3, 9, 18}}, {}, 2},
      {"conv", "padded", {image, {5, 4, 3, 3}}, padded, 2},
      {"conv", "depthwise", {image, {4, 1, 3, 3}}, depthwise, 2},
      {"pool", "sum", {image}, with(pool, "kind", std::string("sum"))},
      {"pool", "max", {image}, with(pool, "kind", std::string("max"))},
      {"avg_pool", "own", {image}, pool},
      {"avg_pool", "counted", {image}, with(pool, "count_padding", int64_t(1))},
  };
}

std::vector<Use> lines() {
  Attributes sum = {{"kind", "sum"}};
  Attributes row = {{"axis", 1}};
  Dims wide = {19, 33};
  return {
      {"reduce", "rows", {wide}, with(sum, "axes", Axes{1})},
      {"reduce", "columns", {wide}, with(sum, "axes", Axes{0})},
      {"cumulative", "rows", {wide}, with(sum, "axis", int64_t(1))},
      {"softmax", "rows", {wide}, row},
      {"layer_norm", "rows", {wide, {33}, {33}}, row, 3},
      {"rms_norm", "rows", {wide, {33}}, row, 2},
      {"batch_norm", "channels", {{3, 40, 5}, {40}, {40}, {40}, {40}}, {}, 3},
      {"group_norm", "groups", {{2, 40, 5}, {40}, {40}}, {{"groups", 20}}, 3},
      {"pad",
       "constant",
       {{7, 9}, {}},
       {{"low", Dims{2, 1}}, {"high", Dims{1, 3}}}},
      {"concat", "rows", {{7, 9}, {5, 9}}, {{"axis", 0}}, 2},
      {"mul", "elements", {{257}, {257}}, {}, 2},
  };
}

void makeReachOf(const Sink &sink, DType dtype, const Use &use) {
  CaseBuilder builder(sink, use.op, dtype, std::string("reach-") + use.variant,
                      {"reach", "nan"});
  std::vector<ValueId> operands;
  for (const Dims &dims : use.operands)
    operands.push_back(use.isWeight && operands.size() == 1
                           ? builder.weight(dtype, dims)
                           : builder.input(dtype, dims));
  builder.output(builder.add(use.op, operands, use.attributes));
  for (size_t input = 0; input < use.specials; ++input)
    builder.addCase(Depth::Standard, "reach-" + std::to_string(input));
  builder.finish();
}

/// Rows that indices choose, and rows that updates meet.
void makeReachByIndex(const Sink &sink, DType dtype) {
  InputRule rule = indexBelow(11);
  CaseBuilder rows(sink, "gather", dtype, "reach-rows", {"reach", "index"});
  ValueId x = rows.input(dtype, {11, 9}),
          at = rows.input(DType::I64, {5}, rule);
  rows.output(rows.add("gather", {x, at}, {{"axis", 0}}));
  rows.addCase(Depth::Standard, "reach-0");
  CaseBuilder sums(sink, "scatter", dtype, "reach-add", {"reach", "index"});
  x = sums.input(dtype, {11, 9});
  at = sums.input(DType::I64, {5}, rule);
  ValueId updates = sums.input(dtype, {5, 9});
  sums.output(
      sums.add("scatter", {x, at, updates}, {{"axis", 0}, {"combine", "add"}}));
  for (const char *data : {"reach-0", "reach-2"})
    sums.addCase(Depth::Standard, data);
  CaseBuilder chosen(sink, "select", dtype, "reach-either", {"reach", "nan"});
  ValueId a = chosen.input(dtype, {257}), b = chosen.input(dtype, {257});
  ValueId zero = chosen.input(dtype, {257});
  ValueId isLess = chosen.add("compare", {zero, chosen.add("neg", {zero})},
                              {{"direction", "lt"}});
  chosen.output(chosen.add("select", {isLess, a, b}));
  for (const char *data : {"reach-0", "reach-1"})
    chosen.addCase(Depth::Standard, data);
  rows.finish();
  sums.finish();
  chosen.finish();
}

} // namespace

void makeReach(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::F16, DType::F64}) {
    for (const auto &family : {transposes(), contractions(), lines()})
      for (const Use &use : family)
        makeReachOf(sink, dtype, use);
    makeReachByIndex(sink, dtype);
  }
}

} // namespace backplane::conformance
