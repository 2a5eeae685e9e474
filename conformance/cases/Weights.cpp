// SPDX-License-Identifier: Apache-2.0
//
// Units of contractions whose second operand is a known weight, which a backend
// may store in another order: sizes on both sides of the blocks that kernels
// have, of few pixels and of many, of one row and of many.
#include "CaseBuilder.h"
#include "Geometry.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

std::vector<Geometry> fewPixels() {
  return {
      // name, {window, strides, dilations, low, high}, {groups, in, out, sizes}
      {"few-1x1",
       {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
       {1, 24, 48, {2, 5, 5}}},
      {"few-3x3",
       {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       {1, 33, 32, {1, 7, 7}}},
      {"few-strided",
       {{3, 2}, {2, 1}, {1, 1}, {1, 0}, {0, 1}},
       {1, 6, 16, {1, 9, 5}}},
      {"few-dilated",
       {{3, 3}, {1, 1}, {4, 4}, {4, 4}, {4, 4}},
       {1, 5, 16, {1, 9, 9}}},
      {"few-blocks-of-8",
       {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       {1, 7, 24, {1, 5, 5}}},
  };
}

std::vector<Geometry> manyPixels() {
  return {
      {"many-3x3",
       {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       {1, 17, 24, {1, 19, 35}}},
      {"many-strided",
       {{5, 4}, {3, 2}, {1, 1}, {2, 0}, {1, 3}},
       {1, 4, 8, {1, 31, 50}}},
      {"many-1x1",
       {{1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
       {1, 40, 16, {1, 24, 27}}},
  };
}

/// Of one row, of one channel, of one and of three axes, padded behind alone.
std::vector<Geometry> otherImages() {
  return {
      {"padding-wide-as-the-image",
       {{3, 3}, {1, 1}, {12, 12}, {12, 12}, {12, 12}},
       {1, 9, 8, {1, 20, 20}}},
      {"padding-wide-in-lanes",
       {{3, 3}, {1, 1}, {7, 7}, {7, 7}, {7, 7}},
       {1, 9, 32, {1, 15, 20}}},
      {"padding-wide-of-five",
       {{2, 5}, {2, 1}, {1, 4}, {1, 9}, {0, 8}},
       {1, 6, 16, {2, 9, 12}}},
      {"groups",
       {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       {3, 12, 24, {1, 9, 18}}},
      {"line", {{5}, {2}, {1}, {2}, {2}}, {1, 40, 16, {1, 71}}},
      {"line-of-one", {{3}, {3}, {1}, {0}, {1}}, {1, 1, 20, {1, 252}}},
      {"one-row",
       {{3, 2}, {1, 1}, {1, 1}, {0, 0}, {1, 0}},
       {1, 4, 16, {1, 2, 40}}},
      {"one-row-of-one",
       {{3, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 0}},
       {1, 1, 16, {1, 2, 40}}},
      {"padded-behind",
       {{1, 1}, {5, 5}, {1, 1}, {0, 0}, {2, 3}},
       {1, 5, 20, {1, 31, 33}}},
      {"volume",
       {{2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {0, 1, 1}},
       {1, 3, 8, {1, 4, 7, 12}}},
  };
}

void addCases(CaseBuilder &builder, DType dtype, const SymbolValues &symbols) {
  bool smoke = dtype == DType::F32 || dtype == DType::I8;
  Depth first = smoke ? Depth::Smoke : Depth::Standard;
  builder.addCase(first, "uniform", symbols);
  builder.addCase(Depth::Standard, "special", symbols);
}

Dims imageOf(const Geometry &geometry, CaseBuilder &builder) {
  Dims x = axesOf(geometry, builder);
  x.insert(x.begin() + 1, Dim(geometry.in));
  return x;
}

Dims weightOf(const Geometry &geometry) {
  Dims w = {Dim(geometry.out), Dim(geometry.in / geometry.groups)};
  for (int64_t size : geometry.window)
    w.emplace_back(size);
  return w;
}

void makeConv(const Sink &sink, DType dtype, const Geometry &geometry) {
  CaseBuilder builder(sink, "conv", dtype, "weight-" + geometry.name,
                      tagsOf(geometry, {"tail", "kernel-flip", "accumulate"}));
  Dims x = imageOf(geometry, builder), w = weightOf(geometry);
  Dim terms = w[1];
  for (int64_t size : geometry.window)
    terms = terms * Dim(size);
  InputRule rule = termsOf(terms);
  Attributes attributes = attributesOf(geometry);
  attributes["groups"] = geometry.groups;
  ValueId image = builder.input(dtype, x, rule);
  ValueId y =
      builder.add("conv", {image, builder.weight(dtype, w)}, attributes);
  builder.output(builder.add("max", {y, builder.add("neg", {y})}));
  addCases(builder, dtype, {});
  builder.finish();
}

/// A product and a sum, of which a square is a result too.
void makeProduct(const Sink &sink, DType dtype, int64_t columns,
                 bool isTransposed) {
  constexpr int64_t inner = 300;
  CaseBuilder builder(sink, "matmul", dtype,
                      "weight-" + std::to_string(columns) +
                          (isTransposed ? "-transposed" : ""),
                      {"tail", "last-k", "accumulate"});
  Dim rows = builder.symbol("n");
  InputRule rule = termsOf(inner);
  ValueId x = builder.input(dtype, {rows, inner}, rule);
  ValueId before = builder.input(dtype, {rows, columns});
  Dims weight = {inner, columns};
  if (isTransposed)
    std::swap(weight[0], weight[1]);
  ValueId y = builder.add("matmul", {x, builder.weight(dtype, weight)},
                          {{"transpose_b", int64_t(isTransposed)}});
  ValueId sum = builder.add("add", {y, before});
  builder.output(sum);
  builder.output(builder.add("mul", {sum, sum}));
  for (int64_t count : {1, 3, 17, 50})
    addCases(builder, dtype, {{"n", count}});
  builder.finish();
}

ValueId widened(CaseBuilder &builder, ValueId bytes) {
  return builder.add("cast", {bytes}, {{"dtype", int64_t(DType::I32)}});
}

/// Windows of bytes and a weight of bytes, as integers: of so many channels
/// that some or all of them are multiplied at once.
void makeByteConv(const Sink &sink, DType dtype, Geometry geometry) {
  geometry.in = (geometry.in + 3) / 2 * 2;
  CaseBuilder builder(sink, "conv", dtype, "weight-bytes-" + geometry.name,
                      tagsOf(geometry, {"tail", "kernel-flip", "accumulate"}));
  ValueId x =
      widened(builder, builder.input(dtype, imageOf(geometry, builder)));
  ValueId w = widened(builder, builder.weight(DType::I8, weightOf(geometry)));
  Attributes attributes = attributesOf(geometry);
  attributes["groups"] = geometry.groups;
  ValueId y = builder.add("conv", {x, w}, attributes);
  builder.output(y);
  builder.output(builder.add("max", {y, builder.add("neg", {y})}));
  addCases(builder, dtype, {});
  builder.finish();
}

/// Bytes times a weight of bytes, as integers. `known`: the number of rows; 0:
/// a symbol.
void makeByteProduct(const Sink &sink, DType dtype, const std::string &name,
                     int64_t columns, int64_t inner, int64_t known) {
  CaseBuilder builder(sink, "matmul", dtype, "weight-bytes-" + name,
                      {"tail", "last-k", "accumulate"});
  Dim rows = known ? Dim(known) : builder.symbol("n");
  ValueId x = widened(builder, builder.input(dtype, {rows, inner}));
  ValueId w = widened(builder, builder.weight(DType::I8, {inner, columns}));
  ValueId y = builder.add("matmul", {x, w});
  builder.output(y);
  builder.output(builder.add("max", {y, builder.add("neg", {y})}));
  if (known)
    addCases(builder, dtype, {});
  else
    for (int64_t count : {1, 3, 17, 50})
      addCases(builder, dtype, {{"n", count}});
  builder.finish();
}

/// Sums that end in the middle of what is multiplied at once, behind it, and
/// where a register of 64 bytes is full.
void makeByteProducts(const Sink &sink, DType dtype) {
  for (int64_t columns : {48, 40})
    makeByteProduct(sink, dtype, std::to_string(columns), columns, 301, 0);
  for (int64_t inner : {302, 308, 320})
    makeByteProduct(sink, dtype, "80-inner-" + std::to_string(inner), 80, inner,
                    0);
  for (int64_t rows : {3, 17})
    makeByteProduct(sink, dtype, "80-rows-" + std::to_string(rows), 80, 320,
                    rows);
}

} // namespace

void makeWeights(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::F16, DType::F64}) {
    for (const auto &family : {fewPixels(), manyPixels(), otherImages()})
      for (const Geometry &geometry : family)
        makeConv(sink, dtype, geometry);
    for (int64_t columns : {48, 40, 11, 3})
      for (bool isTransposed : {false, true})
        makeProduct(sink, dtype, columns, isTransposed);
  }
  for (DType dtype : {DType::I8, DType::U8}) {
    makeByteProducts(sink, dtype);
    for (const auto &family : {fewPixels(), manyPixels()})
      for (const Geometry &geometry : family)
        makeByteConv(sink, dtype, geometry);
  }
}

} // namespace backplane::conformance
