// SPDX-License-Identifier: Apache-2.0
//
// Units of matmul beside those of Sums.cpp: static sizes, for which compilers
// take other paths, batches, and long sums; and matmul_integer.
#include "CaseBuilder.h"
#include "sdk/graph/Rounding.h"

namespace backplane::conformance {

namespace {

struct Product {
  std::string name;
  Dims a, b;
  Dim k;
  unsigned axisOfK; ///< of b
  Attributes attributes;
  bool isSmoke = false;
};

Product plain(std::string name, int64_t m, int64_t k, int64_t n,
              bool isSmoke = false) {
  return {std::move(name), {m, k}, {k, n}, k, 0, {}, isSmoke};
}

std::vector<Product> staticProducts() {
  Product swapped = {"static-swapped", {33, 17}, {31, 33}, 33, 1, {}, false};
  swapped.attributes = {{"transpose_a", 1}, {"transpose_b", 1}};
  return {plain("static-64x64x64", 64, 64, 64),
          plain("static-17x33x15", 17, 33, 15, true),
          plain("static-127x65x129", 127, 65, 129),
          plain("static-1xkxn", 1, 513, 130),
          plain("static-mxkx1", 130, 257, 1),
          plain("static-k1", 31, 1, 33),
          plain("static-k65537", 2, 65537, 3),
          swapped};
}

/// Sums of narrow floats in f32.
std::vector<Product> wideProducts() {
  std::vector<Product> result = {plain("wide-17x33x15", 17, 33, 15, true),
                                 plain("wide-1xkxn", 1, 513, 130)};
  for (Product &product : result)
    product.attributes = {{"wide", 1}};
  return result;
}

Product batchedProduct(CaseBuilder &builder, bool hasFourAxes) {
  Dim m = builder.symbol("m"), n = builder.symbol("n"), k = builder.symbol("k");
  Dim p = builder.symbol("p");
  if (!hasFourAxes)
    return {"shared", {p, m, k}, {k, n}, k, 0, {}, true};
  Dim q = builder.symbol("q");
  return {"four-axes", {p, q, m, k}, {p, q, k, n}, k, 2, {}, false};
}

void addData(CaseBuilder &builder, Depth first, DType dtype,
             const SymbolValues &symbols) {
  for (const char *data : {"integers", "one-hot"})
    builder.addCase(first, data, symbols);
  std::vector<const char *> others = {"uniform"};
  if (isFloat(dtype))
    others.insert(others.end(),
                  {"swamping", "alternating", "corners", "sparse", "cancel"});
  for (const char *data : others)
    builder.addCase(Depth::Standard, data, symbols);
}

std::vector<std::string> tags() {
  return {"index",      "tail",     "last-k", "k-boundary",
          "accumulate", "demotion", "stride"};
}

void addGraph(CaseBuilder &builder, DType dtype, const Product &product) {
  InputRule ruleA, ruleB;
  ruleA.terms = ruleB.terms = product.k;
  ruleB.contracted = 1u << product.axisOfK;
  ValueId a = builder.input(dtype, product.a, ruleA);
  ValueId b = builder.input(dtype, product.b, ruleB);
  builder.output(builder.add("matmul", {a, b}, product.attributes));
}

void makeStatic(const Sink &sink, DType dtype) {
  std::vector<Product> products = staticProducts();
  if (isNarrowFloat(dtype))
    for (Product &product : wideProducts())
      products.push_back(std::move(product));
  for (const Product &product : products) {
    bool isTaken = isFloat(dtype) || product.name == "static-17x33x15";
    if (!isTaken)
      continue;
    CaseBuilder builder(sink, "matmul", dtype, product.name, tags());
    addGraph(builder, dtype, product);
    bool isSmoke = product.isSmoke && isFloat(dtype);
    addData(builder, isSmoke ? Depth::Smoke : Depth::Standard, dtype, {});
    builder.finish();
  }
}

void makeBatched(const Sink &sink, DType dtype, bool hasFourAxes) {
  CaseBuilder builder(sink, "matmul", dtype,
                      hasFourAxes ? "four-axes" : "shared", tags());
  addGraph(builder, dtype, batchedProduct(builder, hasFourAxes));
  auto values = [&](int64_t m, int64_t k, int64_t n, int64_t p) {
    SymbolValues symbols = {{"k", k}, {"m", m}, {"n", n}, {"p", p}};
    if (hasFourAxes)
      symbols["q"] = 2;
    return symbols;
  };
  bool isSmoke = !hasFourAxes && dtype == DType::F32;
  addData(builder, isSmoke ? Depth::Smoke : Depth::Standard, dtype,
          values(5, 48, 17, 3));
  for (const char *data : {"integers", "uniform"}) {
    builder.addCase(Depth::Standard, data, values(1, 65, 33, 4));
    builder.addCase(Depth::Standard, data, values(31, 16, 1, 2));
    builder.addCase(Depth::Standard, data, values(16, 1, 15, 1));
    builder.addCase(Depth::Standard, data, values(3, 7, 2, 0));
  }
  builder.finish();
}

// ---- small integers ----

struct Mix {
  DType a, b;
  bool isSwapped; ///< both operands are transposed
  bool perRow;    ///< zero points of rank 1
  bool isStatic;
  bool isBatched;
};

std::string variantOf(const Mix &mix) {
  return std::string(name(mix.b)) + (mix.isSwapped ? "-tt" : "-nn") +
         (mix.perRow ? "-rows" : "") + (mix.isStatic ? "-static" : "") +
         (mix.isBatched ? "-batch" : "");
}

void makeMix(const Sink &sink, const Mix &mix) {
  CaseBuilder builder(
      sink, "matmul_integer", mix.a, variantOf(mix),
      {"zero-point", "integer-sign", "last-k", "k-boundary", "index", "tail"});
  Dim m = mix.isStatic ? Dim(17) : builder.symbol("m");
  Dim n = mix.isStatic ? Dim(33) : builder.symbol("n");
  Dim k = mix.isStatic ? Dim(65) : builder.symbol("k");
  Dims a = mix.isSwapped ? Dims{k, m} : Dims{m, k};
  Dims b = mix.isSwapped ? Dims{n, k} : Dims{k, n};
  if (mix.isBatched) {
    Dim p = builder.symbol("p");
    a.insert(a.begin(), p);
    b.insert(b.begin(), p);
  }
  std::vector<ValueId> operands = {
      builder.input(mix.a, a), builder.input(mix.b, b),
      builder.input(mix.a, mix.perRow ? Dims{m} : Dims{}),
      builder.input(mix.b, mix.perRow ? Dims{n} : Dims{})};
  builder.output(builder.add("matmul_integer", operands,
                             {{"transpose_a", int64_t(mix.isSwapped)},
                              {"transpose_b", int64_t(mix.isSwapped)}}));
  bool isSmoke = !mix.isSwapped && mix.perRow;
  SymbolValues values;
  for (const auto &[m, k, n] : {std::tuple(5, 33, 17),
                                {1, 64, 15},
                                {16, 1, 31},
                                {33, 257, 2},
                                {3, 4096, 5}}) {
    if (!mix.isStatic)
      values = {{"k", k}, {"m", m}, {"n", n}};
    if (mix.isBatched)
      values["p"] = 3;
    bool isFirst = m == 5;
    if (!isFirst && mix.isStatic)
      break;
    builder.addCase(isFirst && isSmoke ? Depth::Smoke : Depth::Standard, "bits",
                    values);
    for (const char *data : {"special", "integers"})
      if (isFirst)
        builder.addCase(Depth::Standard, data, values);
  }
  builder.finish();
}

void makeMixes(const Sink &sink) {
  for (DType a : {DType::I8, DType::U8})
    for (DType b : {DType::I8, DType::U8})
      for (const Mix &mix : {Mix{a, b, false, false, false, false},
                             Mix{a, b, false, true, false, false},
                             Mix{a, b, true, true, false, false},
                             Mix{a, b, false, true, true, false},
                             Mix{a, b, true, false, false, true}})
        makeMix(sink, mix);
}

} // namespace

void makeProducts(const Sink &sink) {
  for (DType dtype : dtypesOf("matmul")) {
    makeStatic(sink, dtype);
    for (bool hasFourAxes : {false, true})
      if (isFloat(dtype))
        makeBatched(sink, dtype, hasFourAxes);
  }
  makeMixes(sink);
}

} // namespace backplane::conformance
