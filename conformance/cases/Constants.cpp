// SPDX-License-Identifier: Apache-2.0
//
// Units of ops that make tensors: constant, iota, dim, weight. Each result is
// used by another op and is an output of the graph itself.
#include "CaseBuilder.h"
#include "Data.h"
#include "conformance/compare/Elements.h"

namespace backplane::conformance {

namespace {

/// The special values of a dtype, `count` of them, packed.
Bytes specialBytes(DType dtype, int64_t count) {
  Tensor tensor{dtype, {count}, {}};
  tensor.data.resize(packedBytes(dtype, tensor.elementCount()));
  fill(tensor, {}, 0, {.dataSet = "special"});
  return tensor.data;
}

Attributes constantOf(DType dtype, Dims dims, int64_t count) {
  return {{"dtype", static_cast<int64_t>(dtype)},
          {"dims", std::move(dims)},
          {"value", specialBytes(dtype, count)}};
}

void makeConstant(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "constant", dtype, "all-and-one",
                      {"fold", "cse", "index", "nan", "negative-zero"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n, 5});
  ValueId all = builder.add("constant", {}, constantOf(dtype, {3, 5}, 15));
  ValueId one = builder.add("constant", {}, constantOf(dtype, {n, 5}, 1));
  ValueId scalar = builder.add("constant", {}, constantOf(dtype, {}, 1));
  builder.output(builder.add("concat", {all, x, one}, {{"axis", 0}}));
  builder.output(all);
  builder.output(one);
  builder.output(scalar);
  for (int64_t size : {4, 0, 1, 17, 63})
    builder.addCase(size == 4 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

void makeLargeConstant(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "constant", dtype, "4096-bytes", {"fold", "index"});
  int64_t count = 4096 * 8 / bitWidth(dtype);
  ValueId x = builder.input(dtype, {count / 32, 32});
  ValueId all =
      builder.add("constant", {}, constantOf(dtype, {count / 32, 32}, count));
  builder.output(builder.add("concat", {x, all}, {{"axis", 1}}));
  builder.addCase(Depth::Standard, "bits");
  builder.finish();
}

void makeIota(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "iota", dtype, "axes",
                      {"index", "stride", "wrap", "cast-rounding"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n});
  auto iota = [&](Dims dims, int64_t axis) {
    return builder.add("iota", {},
                       {{"dtype", static_cast<int64_t>(dtype)},
                        {"dims", std::move(dims)},
                        {"axis", axis}});
  };
  builder.output(builder.add("concat", {x, iota({n}, 0)}, {{"axis", 0}}));
  builder.output(iota({n, 3}, 0));
  builder.output(iota({3, n}, 1));
  builder.output(iota({2, n, 3}, 1));
  builder.output(iota({7, 7}, 1));
  for (int64_t size : {17, 0, 1, 15, 300, 2100, 70000})
    if (size < 70000 || bitWidth(dtype) == 16)
      builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "uniform",
                      {{"n", size}});
  builder.finish();
}

void makeDim(const Sink &sink) {
  CaseBuilder builder(sink, "dim", DType::I64, "expressions",
                      {"index", "fold"});
  Dim n = builder.symbol("n"), m = builder.symbol("m");
  ValueId x = builder.input(DType::I64, {n, m});
  builder.output(builder.add("reshape", {x}, {{"dims", Dims{n * m}}}));
  builder.output(builder.add(
      "dim", {},
      {{"value", Dims{n, m, n * m, n + m * Dim(3), n - m, floorDiv(n, 3),
                      ceilDiv(m, 4), mod(n, 7), min(n, m), max(n, m), 42}}}));
  builder.output(builder.add("dim", {}, {{"value", Dims{}}}));
  builder.addCase(Depth::Smoke, "uniform", {{"n", 10}, {"m", 3}});
  for (int64_t size : {0, 1, 7, 31, 127})
    builder.addCase(Depth::Standard, "uniform", {{"n", size}, {"m", 5}});
  builder.finish();
}

/// Weights of odd sizes between others, so that few starts are aligned.
void makeWeight(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "weight", dtype, "odd",
                      {"offset", "index", "nibbles", "workspace"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n, 7});
  InputRule rule{.kind = InputRule::Kind::Index, .bound = 5};
  ValueId indices = builder.input(DType::I64, {n}, rule);
  double high = bitWidth(dtype) == 4 || dtype == DType::Bool ? 2 : 100;
  ValueId three = builder.weight(dtype, {3}, 0, high);
  ValueId table = builder.weight(dtype, {5, 7}, 0, high);
  ValueId other = builder.weight(dtype, {1, 7}, 0, high);
  ValueId scalar = builder.weight(dtype, {}, 0, high);
  builder.output(builder.add("concat", {x, table, other}, {{"axis", 0}}));
  builder.output(builder.add("gather", {table, indices}, {{"axis", 0}}));
  builder.output(
      builder.add("broadcast", {scalar},
                  {{"dims", Dims{n}}, {"axes", std::vector<int64_t>()}}));
  builder.output(three);
  for (int64_t size : {5, 0, 1, 33})
    builder.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

void makeLargeWeight(const Sink &sink) {
  CaseBuilder builder(sink, "weight", DType::F32, "large", {"offset", "tail"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(DType::F32, {n, 129});
  ValueId narrow = builder.weight(DType::I8, {127}, -100, 100);
  ValueId wide = builder.weight(DType::F32, {257, 129});
  ValueId bytes = builder.weight(DType::U8, {1021}, 0, 200);
  builder.output(builder.add("concat", {wide, x}, {{"axis", 0}}));
  builder.output(
      builder.add("reverse", {narrow}, {{"axes", std::vector<int64_t>{0}}}));
  builder.output(bytes);
  builder.addCase(Depth::Standard, "bits", {{"n", 3}});
  builder.finish();
}

} // namespace

void makeConstants(const Sink &sink) {
  for (DType dtype : dtypesOf("constant")) {
    makeConstant(sink, dtype);
    makeWeight(sink, dtype);
  }
  for (DType dtype : {DType::F32, DType::I8, DType::U4})
    makeLargeConstant(sink, dtype);
  for (DType dtype : dtypesOf("iota"))
    makeIota(sink, dtype);
  makeDim(sink);
  makeLargeWeight(sink);
}

} // namespace backplane::conformance
