// SPDX-License-Identifier: Apache-2.0
//
// Units of gather and scatter: indices of every rank and along every axis,
// colliding updates, and indices outside, which the device must report.
#include "CaseBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

ValueId gather(CaseBuilder &builder, ValueId x, ValueId indices, int64_t axis) {
  return builder.add("gather", {x, indices}, {{"axis", axis}});
}

/// Indices as models have them: padding, positions forwards and backwards.
void addOrders(CaseBuilder &builder, const SymbolValues &symbols) {
  for (const char *order : {"one-index", "falling-indices", "next-indices"})
    builder.addCase(Depth::Standard, order, symbols);
}

// ---- gather ----

/// Along the first axis, the middle one and the last one, with indices of
/// rank 0, 1 and 2.
void makeGatherAxes(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "gather", dtype, "axes",
                      {"index", "stride", "tail", "error-word"});
  Dims d = builder.symbols({"a", "b", "c"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, d);
  ValueId table = builder.input(DType::I64, {n, 2}, indexBelow(d[0]));
  ValueId single = builder.input(DType::I32, {}, indexBelow(d[1]));
  ValueId last = builder.input(DType::I32, {n}, indexBelow(d[2]));
  builder.output(gather(builder, x, table, 0));
  builder.output(gather(builder, x, single, 1));
  builder.output(gather(builder, x, last, 2));
  SymbolValues small = {{"a", 3}, {"b", 4}, {"c", 5}, {"n", 7}};
  builder.addCase(smokeOf(dtype), "bits", small);
  builder.addErrors(smokeOf(dtype), small);
  for (int64_t size : {1, 16, 17, 33})
    builder.addCase(Depth::Standard, "bits",
                    {{"a", size}, {"b", 3}, {"c", size + 1}, {"n", size}});
  small["n"] = 0;
  builder.addCase(Depth::Standard, "bits", small);
  addOrders(builder, {{"a", 67}, {"b", 5}, {"c", 71}, {"n", 33}});
  builder.finish();
}

/// Indices from -b to b - 1, wrapped by ops of the graph as importers do it.
void makeWrapped(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "gather", dtype, "negative",
                      {"index", "negative-index", "error-word"});
  Dim b = builder.symbol("b"), n = builder.symbol("n");
  auto spread = [&](ValueId value) {
    return builder.add("broadcast", {value},
                       {{"dims", Dims{n}}, {"axes", std::vector<int64_t>{0}}});
  };
  ValueId x = builder.input(dtype, {b, 3});
  ValueId raw = builder.input(DType::I64, {n}, indexBelow(b * Dim(2)));
  ValueId size = spread(builder.add("dim", {}, {{"value", Dims{b}}}));
  ValueId signedIndex = builder.add("sub", {raw, size});
  ValueId zero = builder.add("sub", {raw, raw});
  ValueId isNegative =
      builder.add("compare", {signedIndex, zero}, {{"direction", "lt"}});
  ValueId wrapped = builder.add("add", {signedIndex, size});
  ValueId index = builder.add("select", {isNegative, wrapped, signedIndex});
  builder.output(gather(builder, x, index, 0));
  builder.addCase(smokeOf(dtype), "bits", {{"b", 5}, {"n", 17}});
  builder.addErrors(smokeOf(dtype), {{"b", 5}, {"n", 17}});
  for (int64_t bound : {1, 7, 127})
    builder.addCase(Depth::Standard, "bits", {{"b", bound}, {"n", 33}});
  builder.finish();
}

void makeStaticGather(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "gather", dtype, "static",
                      {"index", "zero-size", "error-word"});
  ValueId x = builder.input(dtype, {2, 3, 2, 5, 2});
  ValueId line = builder.input(dtype, {257});
  ValueId three = builder.input(DType::I64, {2, 1, 3}, indexBelow(5));
  ValueId many = builder.input(DType::I32, {65}, indexBelow(257));
  ValueId none = builder.input(DType::I64, {0}, indexBelow(3));
  builder.output(gather(builder, x, three, 3));
  builder.output(gather(builder, line, many, 0));
  builder.output(gather(builder, x, none, 1));
  builder.addCase(smokeOf(dtype), "bits");
  builder.addErrors(smokeOf(dtype));
  builder.finish();
}

// ---- scatter ----

void addScatterCases(CaseBuilder &builder, DType dtype,
                     const std::string &combine) {
  const char *exact = combine == "none" ? "bits" : "integers";
  SymbolValues small = {{"a", 3}, {"b", 7}, {"n", 9}};
  builder.addCase(smokeOf(dtype), exact, small);
  builder.addErrors(smokeOf(dtype), small);
  if (combine != "none")
    builder.addCase(Depth::Standard, "uniform", small);
  if (combine == "min" || combine == "max")
    builder.addCase(Depth::Standard, "special", small);
  // Every update hits one of very few elements.
  for (int64_t size : {1, 2})
    builder.addCase(Depth::Standard, exact,
                    {{"a", 5}, {"b", size}, {"n", 1021}});
  for (int64_t size : {16, 17, 65})
    builder.addCase(Depth::Standard, exact,
                    {{"a", size}, {"b", 33}, {"n", size}});
  builder.addCase(Depth::Standard, exact, {{"a", 3}, {"b", 5}, {"n", 0}});
  builder.addCase(Depth::Standard, exact, {{"a", 0}, {"b", 5}, {"n", 4}});
  addOrders(builder, {{"a", 5}, {"b", 71}, {"n", 33}});
}

/// x[a, b] or x[b, a] with n updates along b.
void makeScatter(const Sink &sink, DType dtype, const std::string &combine,
                 DType indexType, int64_t axis) {
  std::string variant =
      combine + "-" + std::string(name(indexType)) + "-" + std::to_string(axis);
  CaseBuilder builder(sink, "scatter", dtype, variant,
                      {"index", "atomic", "race", "in-place", "error-word"});
  Dim a = builder.symbol("a"), b = builder.symbol("b"), n = builder.symbol("n");
  InputRule values;
  values.terms = n + 1;
  if (combine == "mul" && isFloat(dtype)) {
    values.kind = InputRule::Kind::Range;
    values.low = 0.9;
    values.high = 1.1;
  }
  Dims dims = axis ? Dims{a, b} : Dims{b, a};
  Dims updated = axis ? Dims{a, n} : Dims{n, a};
  ValueId x = builder.input(dtype, dims, values);
  ValueId indices = builder.input(indexType, {n}, indexBelow(b));
  ValueId updates = builder.input(dtype, updated, values);
  builder.output(builder.add("scatter", {x, indices, updates},
                             {{"axis", axis}, {"combine", combine}}));
  builder.output(x);
  addScatterCases(builder, dtype, combine);
  builder.finish();
}

void makeScatterRank(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "scatter", dtype, "rank3-static",
                      {"index", "atomic", "zero-size", "error-word"});
  ValueId x = builder.input(dtype, {2, 5, 3});
  ValueId table = builder.input(DType::I64, {2, 2}, indexBelow(5));
  ValueId updates = builder.input(dtype, {2, 2, 2, 3});
  ValueId single = builder.input(DType::I32, {}, indexBelow(3));
  ValueId column = builder.input(dtype, {2, 5});
  builder.output(builder.add("scatter", {x, table, updates}, {{"axis", 1}}));
  builder.output(builder.add("scatter", {x, single, column}, {{"axis", 2}}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.addErrors(smokeOf(dtype));
  builder.finish();
}

void makeScatters(const Sink &sink) {
  for (DType dtype : dtypesOf("scatter"))
    makeScatter(sink, dtype, "none", DType::I64, 0);
  for (DType dtype : dtypesOf("add"))
    makeScatter(sink, dtype, "add", DType::I64, 1);
  for (DType dtype :
       {DType::F32, DType::F16, DType::F64, DType::I64, DType::I8, DType::U8})
    for (const char *combine : {"mul", "min", "max"})
      makeScatter(sink, dtype, combine, DType::I32, 0);
  for (DType dtype : {DType::F32, DType::I4, DType::Bool}) {
    makeScatter(sink, dtype, "none", DType::I32, 1);
    makeScatterRank(sink, dtype);
  }
}

} // namespace

void makeIndexed(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I4,
                      DType::Bool, DType::F8E4M3FN}) {
    makeGatherAxes(sink, dtype);
    makeWrapped(sink, dtype);
    makeStaticGather(sink, dtype);
  }
  makeScatters(sink);
}

} // namespace backplane::conformance
