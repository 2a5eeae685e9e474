// SPDX-License-Identifier: Apache-2.0
//
// Units of ops that move elements, choose them, or work along one axis.
#include "CaseBuilder.h"
#include "Rules.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

/// One operand of dims [a, b, c].
void makeUnary(const Sink &sink, const std::string &op, DType dtype,
               const std::string &variant, const Attributes &attributes) {
  CaseBuilder builder(sink, op, dtype, variant,
                      {"index", "tail", "stride", "nan"});
  Dims dims = {builder.symbol("a"), builder.symbol("b"), builder.symbol("c")};
  builder.output(builder.add(op, {builder.input(dtype, dims)}, attributes));
  bool isFunction = op == "softmax" || op == "log_softmax";
  builder.addCase(isFunction ? Depth::Smoke : smokeOf(dtype), "special",
                  {{"a", 3}, {"b", 5}, {"c", 7}});
  for (int64_t size : {1, 15, 17, 33, 65})
    for (const char *data : {"uniform", "bits"})
      builder.addCase(Depth::Standard, data,
                      {{"a", 4}, {"b", size}, {"c", size + 1}});
  builder.finish();
}

void makeGather(const Sink &sink, DType dtype, DType indexType) {
  CaseBuilder builder(sink, "gather", dtype, std::string(name(indexType)),
                      {"index", "tail", "error-word"});
  Dim a = builder.symbol("a"), b = builder.symbol("b"), n = builder.symbol("n");
  InputRule rule = indexBelow(b);
  ValueId x = builder.input(dtype, {a, b});
  ValueId indices = builder.input(indexType, {n}, rule);
  builder.output(builder.add("gather", {x, indices}, {{"axis", 1}}));
  for (int64_t size : {1, 7, 17, 65, 257})
    builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"a", 5}, {"b", size}, {"n", size + 2}});
  builder.addErrors(smokeOf(dtype), {{"a", 3}, {"b", 7}, {"n", 9}});
  builder.addCase(Depth::Standard, "errors", {{"a", 3}, {"b", 0}, {"n", 9}});
  builder.finish();
}

void makeJoined(const Sink &sink, DType dtype) {
  CaseBuilder concat(sink, "concat", dtype, "axis1", {"index", "tail"});
  Dim a = concat.symbol("a"), b = concat.symbol("b"), c = concat.symbol("c");
  ValueId x = concat.input(dtype, {a, b}), y = concat.input(dtype, {a, c});
  concat.output(concat.add("concat", {x, y}, {{"axis", 1}}));
  CaseBuilder select(sink, "select", dtype, "n", {"tail", "nan"});
  Dim n = select.symbol("n");
  ValueId condition = select.input(DType::Bool, {n});
  ValueId left = select.input(dtype, {n}), right = select.input(dtype, {n});
  select.output(select.add("select", {condition, left, right}));
  for (int64_t size : {0, 1, 15, 17, 65, 127}) {
    Depth depth = size == 17 ? smokeOf(dtype) : Depth::Standard;
    concat.addCase(depth, "bits", {{"a", 3}, {"b", size}, {"c", size + 1}});
    select.addCase(depth, "bits", {{"n", size}});
  }
  concat.finish();
  select.finish();
}

using Axes = std::vector<int64_t>;

} // namespace

void makeMovement(const Sink &sink) {
  for (DType dtype : dtypesOf("transpose")) {
    for (const auto &[variant, axes] : {std::pair("021", Axes{0, 2, 1}),
                                        {"102", {1, 0, 2}},
                                        {"120", {1, 2, 0}},
                                        {"201", {2, 0, 1}},
                                        {"210", {2, 1, 0}}})
      makeUnary(sink, "transpose", dtype, variant, {{"permutation", axes}});
    for (const auto &[variant, axes] :
         {std::pair("0", Axes{0}), {"2", {2}}, {"012", {0, 1, 2}}})
      makeUnary(sink, "reverse", dtype, variant, {{"axes", axes}});
    {
      makeGather(sink, dtype, DType::I64);
      makeGather(sink, dtype, DType::I32);
      makeJoined(sink, dtype);
    }
  }
  for (int64_t axis : {0, 1, 2}) {
    std::string variant = "axis" + std::to_string(axis);
    for (const char *op : {"softmax", "log_softmax"})
      for (DType dtype : dtypesOf(op))
        makeUnary(sink, op, dtype, variant, {{"axis", axis}});
    for (DType dtype : dtypesOf("arg_reduce"))
      for (const char *kind : {"min", "max"})
        makeUnary(sink, "arg_reduce", dtype, variant + "-" + kind,
                  {{"axis", axis}, {"kind", std::string(kind)}});
  }
}

} // namespace backplane::conformance
