// SPDX-License-Identifier: Apache-2.0
//
// Units of ops in which the order along an axis matters: arg_reduce with ties,
// top_k, cumulative.
#include "CaseBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

using Names = std::vector<const char *>;

void addOrderedCases(CaseBuilder &builder, DType dtype, const Names &data) {
  for (const char *some : data) {
    bool isFirst = some == data.front();
    builder.addCase(isFirst ? smokeOf(dtype) : Depth::Standard, some,
                    {{"a", 3}, {"b", 17}, {"c", 5}});
    for (int64_t size : {1, 16, 65, 257})
      if (isFirst || size == 65)
        builder.addCase(Depth::Standard, some,
                        {{"a", 2}, {"b", size}, {"c", 3}});
  }
}

// ---- arg_reduce ----

/// Ties: few different numbers, all equal, zeros of both signs, NaN.
void makeArgReduce(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "arg_reduce", dtype, "ties",
                      {"ties", "nan", "negative-zero", "tail", "integer-sign"});
  ValueId x = builder.input(dtype, builder.symbols({"a", "b", "c"}));
  for (int64_t choice = 0; choice < 4; ++choice)
    builder.output(
        builder.add("arg_reduce", {x},
                    {{"kind", std::string(choice & 1 ? "max" : "min")},
                     {"axis", 1},
                     {"last", choice >> 1},
                     {"keep", choice & 1}}));
  addOrderedCases(builder, dtype,
                  {"integers", "equal", "sparse", "special", "corners"});
  if (isFloat(dtype))
    for (const char *data : {"bottom", "top"})
      builder.addCase(Depth::Standard, data, {{"a", 3}, {"b", 33}, {"c", 5}});
  builder.finish();
}

// ---- top_k ----

ValueId topK(CaseBuilder &builder, ValueId x, Dim k, bool largest,
             int64_t axis) {
  ValueId values = builder.add("top_k", {x},
                               {{"k", Dims{std::move(k)}},
                                {"axis", axis},
                                {"largest", int64_t(largest)}});
  builder.output(values);
  builder.output(values + 1);
  return values;
}

void makeTopK(const Sink &sink, DType dtype) {
  CaseBuilder builder(
      sink, "top_k", dtype, "both-ends",
      {"ties", "nan", "negative-zero", "index", "integer-sign"});
  Dims d = builder.symbols({"a", "b", "c"});
  ValueId x = builder.input(dtype, d);
  topK(builder, x, 1, true, 1);
  topK(builder, x, d[1], false, 1);
  addOrderedCases(builder, dtype,
                  {"integers", "uniform", "equal", "special", "corners"});
  builder.finish();
}

void makeTopKAxes(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "top_k", dtype, "axes",
                      {"ties", "index", "zero-size", "stride"});
  Dims d = builder.symbols({"a", "b"});
  ValueId x = builder.input(dtype, d);
  topK(builder, x, floorDiv(d[0], 2), true, 0);
  topK(builder, x, 3, true, 1);
  topK(builder, x, 0, false, 1);
  topK(builder, builder.input(dtype, {257}), 100, true, 0);
  for (int64_t size : {5, 0, 1, 33})
    builder.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"a", size}, {"b", 7}});
  builder.finish();
}

// ---- cumulative ----

/// The four directions of one kind.
void makeCumulative(const Sink &sink, DType dtype, const std::string &kind) {
  CaseBuilder builder(sink, "cumulative", dtype, kind,
                      {"accumulate", "last-k", "k-boundary", "tail", "wrap"});
  InputRule rule;
  Dims d = builder.symbols({"a", "b", "c"});
  rule.terms = d[1];
  if (kind == "prod" && isFloat(dtype)) {
    rule.kind = InputRule::Kind::Range;
    rule.low = 0.97;
    rule.high = 1.03;
  }
  ValueId x = builder.input(dtype, d, rule);
  for (int64_t choice = 0; choice < 4; ++choice)
    builder.output(builder.add("cumulative", {x},
                               {{"kind", kind},
                                {"axis", 1},
                                {"exclusive", choice & 1},
                                {"reverse", choice >> 1}}));
  Names data = {"integers", "uniform"};
  if (kind == "sum")
    data = {"integers", "uniform", "swamping", "alternating"};
  if (kind == "min" || kind == "max")
    data = {"uniform", "special", "corners", "sparse"};
  addOrderedCases(builder, dtype, data);
  builder.addCase(Depth::Standard, "uniform", {{"a", 2}, {"b", 0}, {"c", 3}});
  builder.finish();
}

void makeCumulativeAxes(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "cumulative", dtype, "axes",
                      {"index", "stride", "k-boundary"});
  Dims d = builder.symbols({"a", "b"});
  InputRule rule = termsOf(max(d[0], d[1]));
  ValueId x = builder.input(dtype, d, rule);
  for (int64_t axis : {0, 1})
    builder.output(
        builder.add("cumulative", {x}, {{"kind", "sum"}, {"axis", axis}}));
  for (int64_t size : {5, 1, 16, 129})
    builder.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "integers",
                    {{"a", size}, {"b", 7}});
  builder.finish();
}

} // namespace

void makeOrdered(const Sink &sink) {
  for (DType dtype : dtypesOf("top_k")) {
    makeArgReduce(sink, dtype);
    makeTopK(sink, dtype);
    makeCumulative(sink, dtype, "sum");
  }
  for (DType dtype : {DType::F32, DType::F16, DType::I64, DType::I8, DType::U8})
    for (const char *kind : {"prod", "min", "max"})
      makeCumulative(sink, dtype, kind);
  for (DType dtype : {DType::F32, DType::BF16, DType::I32}) {
    makeTopKAxes(sink, dtype);
    makeCumulativeAxes(sink, dtype);
  }
}

} // namespace backplane::conformance
