// SPDX-License-Identifier: Apache-2.0
//
// Units of matmul and reduce: sizes beside tiles, data that make every order
// of summation exact, and outputs that name the element read.
#include "CaseBuilder.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

void addMatmulCases(CaseBuilder &builder, bool isSmoke) {
  for (int64_t size : {1, 7, 15, 16, 17, 31, 33, 63, 65}) {
    SymbolValues symbols = {{"k", size + 2}, {"m", size}, {"n", size + 1}};
    Depth depth = size == 17 && isSmoke ? Depth::Smoke : Depth::Standard;
    for (const char *data : {"integers", "one-hot", "uniform"})
      builder.addCase(depth, data, symbols);
  }
  for (int64_t k : {0, 1, 2, 127, 129, 4096})
    for (const char *data : {"integers", "one-hot", "uniform"})
      builder.addCase(Depth::Standard, data, {{"k", k}, {"m", 3}, {"n", 5}});
  builder.addCase(Depth::Standard, "uniform", {{"k", 257}, {"m", 0}, {"n", 5}});
  builder.addCase(Depth::Standard, "uniform",
                  {{"k", 257}, {"m", 33}, {"n", 65}});
  for (const char *data : {"cancel", "swamping", "alternating", "sparse"})
    builder.addCase(Depth::Standard, data, {{"k", 64}, {"m", 7}, {"n", 13}});
  builder.addCase(Depth::Standard, "special", {{"k", 3}, {"m", 13}, {"n", 17}});
  for (const char *data : {"integers", "uniform"}) {
    builder.addCase(Depth::Standard, data, {{"k", 65}, {"m", 1}, {"n", 129}});
    builder.addCase(Depth::Standard, data, {{"k", 65}, {"m", 129}, {"n", 1}});
    builder.addCase(Depth::Standard, data, {{"k", 65537}, {"m", 1}, {"n", 1}});
    for (int64_t size : {32, 64, 127, 128, 129})
      builder.addCase(Depth::Full, data,
                      {{"k", size + 1}, {"m", size}, {"n", size - 1}});
    builder.addCase(Depth::Full, data, {{"k", 1024}, {"m", 63}, {"n", 257}});
    builder.addCase(Depth::Full, data, {{"k", 65537}, {"m", 5}, {"n", 17}});
  }
}

/// Ends of rows and columns in every part of a tile.
void addEnds(CaseBuilder &builder) {
  for (int64_t i = 0; i < 16; ++i)
    builder.addCase(Depth::Standard, "integers",
                    {{"k", 19}, {"m", 4 * i + 3}, {"n", 26 * i % 64 + 2}});
}

void makeMatmul(const Sink &sink, DType dtype, bool transposeA, bool transposeB,
                bool batched, bool isOfEnds = false) {
  std::string variant = std::string(transposeA ? "t" : "n") +
                        (transposeB ? "t" : "n") + (batched ? "-batch" : "") +
                        (isOfEnds ? "-ends" : "");
  CaseBuilder builder(sink, "matmul", dtype, variant,
                      {"index", "tail", "last-k", "k-boundary", "accumulate",
                       "demotion", "stride", "zero-size"});
  Dim m = builder.symbol("m"), n = builder.symbol("n"), k = builder.symbol("k");
  Dims a = transposeA ? Dims{k, m} : Dims{m, k};
  Dims b = transposeB ? Dims{n, k} : Dims{k, n};
  unsigned first = batched ? 1 : 0;
  InputRule ruleA, ruleB;
  ruleA.terms = ruleB.terms = k;
  ruleB.contracted = 1u << (first + (transposeB ? 1 : 0));
  if (batched) {
    a.insert(a.begin(), 3);
    b.insert(b.begin(), 3);
  }
  ValueId x = builder.input(dtype, a, ruleA),
          y = builder.input(dtype, b, ruleB);
  builder.output(builder.add("matmul", {x, y},
                             {{"transpose_a", int64_t(transposeA)},
                              {"transpose_b", int64_t(transposeB)}}));
  bool isFirst = transposeA == transposeB && transposeA == batched;
  if (isOfEnds)
    addEnds(builder);
  else
    addMatmulCases(builder,
                   isFirst || dtype == DType::F32 || dtype == DType::F16);
  builder.finish();
}

/// The data sets that say something about a kind.
std::vector<const char *> reduceData(const std::string &kind, DType dtype) {
  if (kind == "prod" && isFloat(dtype))
    return {"uniform", "equal"}; // others overflow
  std::vector<const char *> data = {"integers", "uniform", "equal", "cancel",
                                    "sparse"};
  if (kind == "sum")
    data.insert(data.end(), {"swamping", "alternating", "offset"});
  if (isFloat(dtype))
    data.emplace_back("corners");
  if (isFloat(dtype) && kind == "max")
    data.emplace_back("bottom");
  if (isFloat(dtype) && kind == "min")
    data.emplace_back("top");
  return data;
}

void addReduceCases(CaseBuilder &builder, const std::string &kind, DType dtype,
                    bool isSmoke) {
  for (int64_t size : {1, 2, 7, 16, 17, 31, 65, 127})
    for (const std::string data : {"integers", "uniform"}) {
      bool overflows = kind == "prod" && isFloat(dtype) && size > 2;
      if (!overflows || data == "uniform")
        builder.addCase(size == 17 && isSmoke ? Depth::Smoke : Depth::Standard,
                        data, {{"a", 5}, {"b", size}, {"c", 3}});
    }
  for (const char *data : reduceData(kind, dtype))
    builder.addCase(Depth::Standard, data, {{"a", 2}, {"b", 257}, {"c", 2}});
  builder.addCase(Depth::Standard, "special", {{"a", 5}, {"b", 4}, {"c", 13}});
  builder.addCase(Depth::Standard, "uniform", {{"a", 2}, {"b", 0}, {"c", 3}});
  for (int64_t size : {15, 33, 63, 64, 128, 129})
    builder.addCase(Depth::Full, "uniform",
                    {{"a", size + 1}, {"b", size}, {"c", 17}});
}

/// Hundreds of factors overflow unless they are near 1.
InputRule factorRule(const std::string &kind, DType dtype, Dim terms) {
  InputRule rule;
  rule.terms = std::move(terms);
  if (kind == "prod" && isFloat(dtype)) {
    rule.kind = InputRule::Kind::Range;
    rule.low = 0.97;
    rule.high = 1.03;
  }
  return rule;
}

std::vector<std::string> reduceTags() {
  return {"tail", "last-k", "k-boundary", "accumulate", "nan", "zero-size"};
}

void makeReduce(const Sink &sink, DType dtype, const std::string &kind,
                std::vector<int64_t> axes) {
  std::string variant = kind;
  for (int64_t axis : axes)
    variant += "-" + std::to_string(axis);
  CaseBuilder builder(sink, "reduce", dtype, variant, reduceTags());
  Dims dims = {builder.symbol("a"), builder.symbol("b"), builder.symbol("c")};
  ValueId x =
      builder.input(dtype, dims, factorRule(kind, dtype, product(dims)));
  builder.output(builder.add("reduce", {x}, {{"kind", kind}, {"axes", axes}}));
  bool isMiddle = axes == std::vector<int64_t>{1};
  addReduceCases(builder, kind, dtype, isMiddle || dtype == DType::F32);
  builder.finish();
}

struct StaticReduce {
  const char *name;
  Dims dims;
  std::vector<int64_t> axes;
  int64_t keep;
};

/// Long lines, other ranks, and axes that stay.
void makeStaticReduces(const Sink &sink, DType dtype, const std::string &kind) {
  for (const auto &[name, dims, axes, keep] :
       {StaticReduce{"static-1d", {65537}, {0}, 0},
        {"static-columns", {129, 33}, {0}, 1},
        {"static-rows", {17, 513}, {1}, 0},
        {"static-mixed", {3, 7, 5, 31}, {1, 3}, 1}}) {
    CaseBuilder builder(sink, "reduce", dtype, kind + "-" + name, reduceTags());
    ValueId x =
        builder.input(dtype, dims, factorRule(kind, dtype, product(dims)));
    builder.output(builder.add(
        "reduce", {x}, {{"kind", kind}, {"axes", axes}, {"keep", keep}}));
    for (const char *data : reduceData(kind, dtype))
      if (kind != "prod" || name != std::string("static-1d"))
        builder.addCase(Depth::Standard, data);
    builder.finish();
  }
}

} // namespace

void makeSums(const Sink &sink) {
  for (DType dtype : dtypesOf("matmul")) {
    for (int variant = 0; variant < 8; ++variant)
      makeMatmul(sink, dtype, variant & 1, variant & 2, variant & 4);
    for (int variant = 0; variant < 4; ++variant)
      makeMatmul(sink, dtype, variant & 1, variant & 2, false, true);
  }
  std::vector<std::vector<int64_t>> axes = {{0},    {1},    {2},      {0, 1},
                                            {0, 2}, {1, 2}, {0, 1, 2}};
  for (DType dtype : dtypesOf("reduce")) {
    if (!contains(TypeSet::Number, dtype) && dtype != DType::Bool)
      continue; // moved, not computed with
    std::vector<std::string> kinds = {"sum", "prod", "min", "max"};
    if (dtype == DType::Bool)
      kinds = {"and", "or"};
    for (const std::string &kind : kinds)
      for (const auto &some : axes)
        makeReduce(sink, dtype, kind, some);
    for (const char *kind : {"sum", "max", "prod"})
      if (dtype == DType::F32 || dtype == DType::F16 ||
          (isFloat(dtype) && kind == std::string("sum")))
        makeStaticReduces(sink, dtype, kind);
  }
}

} // namespace backplane::conformance
