// SPDX-License-Identifier: Apache-2.0
//
// Units of ops in which the order along an axis matters: arg_reduce with ties,
// top_k, cumulative.
#include "Maker.h"

namespace backplane::conformance {

namespace {

using Names = std::vector<const char *>;

void addOrderedCases(Maker &maker, DType dtype, const Names &data) {
  for (const char *some : data) {
    bool isFirst = some == data.front();
    maker.addCase(isFirst ? smokeOf(dtype) : Depth::Standard, some,
                  {{"a", 3}, {"b", 17}, {"c", 5}});
    for (int64_t size : {1, 16, 65, 257})
      if (isFirst || size == 65)
        maker.addCase(Depth::Standard, some, {{"a", 2}, {"b", size}, {"c", 3}});
  }
}

// ---- arg_reduce ----

/// Ties: few different numbers, all equal, zeros of both signs, NaN.
bool makeArgReduce(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "arg_reduce", dtype, "ties",
              {"ties", "nan", "negative-zero", "tail", "integer-sign"});
  ValueId x = maker.input(dtype, maker.symbols({"a", "b", "c"}));
  for (int64_t choice = 0; choice < 4; ++choice)
    maker.output(maker.add("arg_reduce", {x},
                           {{"kind", std::string(choice & 1 ? "max" : "min")},
                            {"axis", int64_t(1)},
                            {"last", choice >> 1},
                            {"keep", choice & 1}}));
  addOrderedCases(maker, dtype,
                  {"integers", "equal", "sparse", "special", "corners"});
  return maker.finish(put);
}

// ---- top_k ----

ValueId topK(Maker &maker, ValueId x, Dim k, bool largest, int64_t axis) {
  ValueId values = maker.add("top_k", {x},
                             {{"k", Dims{std::move(k)}},
                              {"axis", axis},
                              {"largest", int64_t(largest)}});
  maker.output(values);
  maker.output(values + 1);
  return values;
}

bool makeTopK(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "top_k", dtype, "both-ends",
              {"ties", "nan", "negative-zero", "index", "integer-sign"});
  Dims d = maker.symbols({"a", "b", "c"});
  ValueId x = maker.input(dtype, d);
  topK(maker, x, 1, true, 1);
  topK(maker, x, d[1], false, 1);
  addOrderedCases(maker, dtype,
                  {"integers", "uniform", "equal", "special", "corners"});
  return maker.finish(put);
}

bool makeTopKAxes(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "top_k", dtype, "axes",
              {"ties", "index", "zero-size", "stride"});
  Dims d = maker.symbols({"a", "b"});
  ValueId x = maker.input(dtype, d);
  topK(maker, x, floorDiv(d[0], 2), true, 0);
  topK(maker, x, 3, true, 1);
  topK(maker, x, 0, false, 1);
  topK(maker, maker.input(dtype, {257}), 100, true, 0);
  for (int64_t size : {5, 0, 1, 33})
    maker.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"a", size}, {"b", 7}});
  return maker.finish(put);
}

// ---- cumulative ----

/// The four directions of one kind.
bool makeCumulative(const Selection &selection, const Put &put, DType dtype,
                    const std::string &kind) {
  Maker maker(selection, "cumulative", dtype, kind,
              {"accumulate", "last-k", "k-boundary", "tail", "wrap"});
  InputRule rule;
  Dims d = maker.symbols({"a", "b", "c"});
  rule.terms = d[1];
  if (kind == "prod" && isFloat(dtype)) {
    rule.kind = InputRule::Kind::Range;
    rule.low = 0.97;
    rule.high = 1.03;
  }
  ValueId x = maker.input(dtype, d, rule);
  for (int64_t choice = 0; choice < 4; ++choice)
    maker.output(maker.add("cumulative", {x},
                           {{"kind", kind},
                            {"axis", int64_t(1)},
                            {"exclusive", choice & 1},
                            {"reverse", choice >> 1}}));
  Names data = {"integers", "uniform"};
  if (kind == "sum")
    data = {"integers", "uniform", "swamping", "alternating"};
  if (kind == "min" || kind == "max")
    data = {"uniform", "special", "corners", "sparse"};
  addOrderedCases(maker, dtype, data);
  maker.addCase(Depth::Standard, "uniform", {{"a", 2}, {"b", 0}, {"c", 3}});
  return maker.finish(put);
}

bool makeCumulativeAxes(const Selection &selection, const Put &put,
                        DType dtype) {
  Maker maker(selection, "cumulative", dtype, "axes",
              {"index", "stride", "k-boundary"});
  Dims d = maker.symbols({"a", "b"});
  InputRule rule;
  rule.terms = max(d[0], d[1]);
  ValueId x = maker.input(dtype, d, rule);
  for (int64_t axis : {0, 1})
    maker.output(maker.add("cumulative", {x},
                           {{"kind", std::string("sum")}, {"axis", axis}}));
  for (int64_t size : {5, 1, 16, 129})
    maker.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "integers",
                  {{"a", size}, {"b", 7}});
  return maker.finish(put);
}

} // namespace

bool makeOrdered(const Selection &selection, const Put &put) {
  for (DType dtype : dtypesOf("top_k"))
    if (!makeArgReduce(selection, put, dtype) ||
        !makeTopK(selection, put, dtype) ||
        !makeCumulative(selection, put, dtype, "sum"))
      return false;
  for (DType dtype : {DType::F32, DType::F16, DType::I64, DType::I8, DType::U8})
    for (const char *kind : {"prod", "min", "max"})
      if (!makeCumulative(selection, put, dtype, kind))
        return false;
  for (DType dtype : {DType::F32, DType::BF16, DType::I32})
    if (!makeTopKAxes(selection, put, dtype) ||
        !makeCumulativeAxes(selection, put, dtype))
      return false;
  return true;
}

} // namespace backplane::conformance
