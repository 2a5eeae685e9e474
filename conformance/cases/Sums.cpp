// SPDX-License-Identifier: Apache-2.0
//
// Units of matmul and reduce: sizes beside tiles, data that make every order
// of summation exact, and outputs that name the element read.
#include "Maker.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

void addMatmulCases(Maker &maker) {
  for (int64_t size : {1, 7, 15, 16, 17, 31, 33, 63, 65}) {
    SymbolValues symbols = {{"k", size + 2}, {"m", size}, {"n", size + 1}};
    Depth depth = size == 17 ? Depth::Smoke : Depth::Standard;
    for (const char *data : {"integers", "one-hot", "uniform"})
      maker.addCase(depth, data, symbols);
  }
  for (int64_t k : {0, 1, 2, 127, 129, 4096})
    for (const char *data : {"integers", "one-hot", "uniform"})
      maker.addCase(Depth::Standard, data, {{"k", k}, {"m", 3}, {"n", 5}});
  maker.addCase(Depth::Standard, "uniform", {{"k", 257}, {"m", 0}, {"n", 5}});
  maker.addCase(Depth::Standard, "uniform", {{"k", 257}, {"m", 33}, {"n", 65}});
  maker.addCase(Depth::Standard, "cancel", {{"k", 64}, {"m", 7}, {"n", 13}});
  maker.addCase(Depth::Standard, "special", {{"k", 3}, {"m", 13}, {"n", 17}});
}

bool makeMatmul(const Selection &selection, const Put &put, DType dtype,
                bool transposeA, bool transposeB, bool batched) {
  std::string variant = std::string(transposeA ? "t" : "n") +
                        (transposeB ? "t" : "n") + (batched ? "-batch" : "");
  Maker maker(selection, "matmul", dtype, variant,
              {"index", "tail", "last-k", "accumulate", "stride"});
  Dim m = maker.symbol("m"), n = maker.symbol("n"), k = maker.symbol("k");
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
  ValueId x = maker.input(dtype, a, ruleA), y = maker.input(dtype, b, ruleB);
  maker.output(maker.add("matmul", {x, y},
                         {{"transpose_a", int64_t(transposeA)},
                          {"transpose_b", int64_t(transposeB)}}));
  addMatmulCases(maker);
  return maker.finish(put);
}

void addReduceCases(Maker &maker) {
  for (int64_t size : {1, 2, 7, 16, 17, 31, 65, 127})
    for (const char *data : {"integers", "uniform"})
      maker.addCase(size == 17 ? Depth::Smoke : Depth::Standard, data,
                    {{"a", 5}, {"b", size}, {"c", 3}});
  for (const char *data : {"integers", "uniform", "cancel", "equal"})
    maker.addCase(Depth::Standard, data, {{"a", 2}, {"b", 257}, {"c", 2}});
  maker.addCase(Depth::Standard, "special", {{"a", 5}, {"b", 4}, {"c", 13}});
  maker.addCase(Depth::Standard, "uniform", {{"a", 2}, {"b", 0}, {"c", 3}});
}

bool makeReduce(const Selection &selection, const Put &put, DType dtype,
                const std::string &kind, std::vector<int64_t> axes) {
  std::string variant = kind;
  for (int64_t axis : axes)
    variant += "-" + std::to_string(axis);
  Maker maker(selection, "reduce", dtype, variant,
              {"tail", "last-k", "accumulate", "nan"});
  Dims dims = {maker.symbol("a"), maker.symbol("b"), maker.symbol("c")};
  InputRule rule;
  rule.terms = product(dims);
  if (kind == "prod" && isFloat(dtype)) {
    // Hundreds of factors overflow unless they are near 1.
    rule.kind = InputRule::Kind::Range;
    rule.low = 0.97;
    rule.high = 1.03;
  }
  ValueId x = maker.input(dtype, dims, rule);
  maker.output(maker.add("reduce", {x}, {{"kind", kind}, {"axes", axes}}));
  addReduceCases(maker);
  return maker.finish(put);
}

} // namespace

bool makeSums(const Selection &selection, const Put &put) {
  for (DType dtype : dtypesOf("matmul"))
    for (int variant = 0; variant < 8; ++variant)
      if (!makeMatmul(selection, put, dtype, variant & 1, variant & 2,
                      variant & 4))
        return false;
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
        if (!makeReduce(selection, put, dtype, kind, some))
          return false;
  }
  return true;
}

} // namespace backplane::conformance
