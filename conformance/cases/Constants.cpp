// SPDX-License-Identifier: Apache-2.0
//
// Units of ops that make tensors: constant, iota, dim, weight. Each result is
// used by another op and is an output of the graph itself.
#include "Data.h"
#include "Maker.h"
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

bool makeConstant(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "constant", dtype, "all-and-one",
              {"fold", "cse", "index", "nan", "negative-zero"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n, 5});
  ValueId all = maker.add("constant", {}, constantOf(dtype, {3, 5}, 15));
  ValueId one = maker.add("constant", {}, constantOf(dtype, {n, 5}, 1));
  ValueId scalar = maker.add("constant", {}, constantOf(dtype, {}, 1));
  maker.output(maker.add("concat", {all, x, one}, {{"axis", int64_t(0)}}));
  maker.output(all);
  maker.output(one);
  maker.output(scalar);
  for (int64_t size : {4, 0, 1, 17, 63})
    maker.addCase(size == 4 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"n", size}});
  return maker.finish(put);
}

bool makeLargeConstant(const Selection &selection, const Put &put,
                       DType dtype) {
  Maker maker(selection, "constant", dtype, "4096-bytes", {"fold", "index"});
  int64_t count = 4096 * 8 / bitWidth(dtype);
  ValueId x = maker.input(dtype, {count / 32, 32});
  ValueId all =
      maker.add("constant", {}, constantOf(dtype, {count / 32, 32}, count));
  maker.output(maker.add("concat", {x, all}, {{"axis", int64_t(1)}}));
  maker.addCase(Depth::Standard, "bits");
  return maker.finish(put);
}

bool makeIota(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "iota", dtype, "axes",
              {"index", "stride", "wrap", "cast-rounding"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n});
  auto iota = [&](Dims dims, int64_t axis) {
    return maker.add("iota", {},
                     {{"dtype", static_cast<int64_t>(dtype)},
                      {"dims", std::move(dims)},
                      {"axis", axis}});
  };
  maker.output(maker.add("concat", {x, iota({n}, 0)}, {{"axis", int64_t(0)}}));
  maker.output(iota({n, 3}, 0));
  maker.output(iota({3, n}, 1));
  maker.output(iota({2, n, 3}, 1));
  maker.output(iota({7, 7}, 1));
  for (int64_t size : {17, 0, 1, 15, 300, 2100, 70000})
    if (size < 70000 || bitWidth(dtype) == 16)
      maker.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "uniform",
                    {{"n", size}});
  return maker.finish(put);
}

bool makeDim(const Selection &selection, const Put &put) {
  Maker maker(selection, "dim", DType::I64, "expressions", {"index", "fold"});
  Dim n = maker.symbol("n"), m = maker.symbol("m");
  ValueId x = maker.input(DType::I64, {n, m});
  maker.output(maker.add("reshape", {x}, {{"dims", Dims{n * m}}}));
  maker.output(maker.add(
      "dim", {},
      {{"value", Dims{n, m, n * m, n + m * Dim(3), n - m, floorDiv(n, 3),
                      ceilDiv(m, 4), mod(n, 7), min(n, m), max(n, m), 42}}}));
  maker.output(maker.add("dim", {}, {{"value", Dims{}}}));
  maker.addCase(Depth::Smoke, "uniform", {{"n", 10}, {"m", 3}});
  for (int64_t size : {0, 1, 7, 31, 127})
    maker.addCase(Depth::Standard, "uniform", {{"n", size}, {"m", 5}});
  return maker.finish(put);
}

/// Weights of odd sizes between others, so that few starts are aligned.
bool makeWeight(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "weight", dtype, "odd",
              {"offset", "index", "nibbles", "workspace"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n, 7});
  InputRule rule{.kind = InputRule::Kind::Index, .bound = 5};
  ValueId indices = maker.input(DType::I64, {n}, rule);
  double high = bitWidth(dtype) == 4 || dtype == DType::Bool ? 2 : 100;
  ValueId three = maker.weight(dtype, {3}, 0, high);
  ValueId table = maker.weight(dtype, {5, 7}, 0, high);
  ValueId other = maker.weight(dtype, {1, 7}, 0, high);
  ValueId scalar = maker.weight(dtype, {}, 0, high);
  maker.output(maker.add("concat", {x, table, other}, {{"axis", int64_t(0)}}));
  maker.output(maker.add("gather", {table, indices}, {{"axis", int64_t(0)}}));
  maker.output(
      maker.add("broadcast", {scalar},
                {{"dims", Dims{n}}, {"axes", std::vector<int64_t>()}}));
  maker.output(three);
  for (int64_t size : {5, 0, 1, 33})
    maker.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"n", size}});
  return maker.finish(put);
}

bool makeLargeWeight(const Selection &selection, const Put &put) {
  Maker maker(selection, "weight", DType::F32, "large", {"offset", "tail"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(DType::F32, {n, 129});
  ValueId narrow = maker.weight(DType::I8, {127}, -100, 100);
  ValueId wide = maker.weight(DType::F32, {257, 129});
  ValueId bytes = maker.weight(DType::U8, {1021}, 0, 200);
  maker.output(maker.add("concat", {wide, x}, {{"axis", int64_t(0)}}));
  maker.output(
      maker.add("reverse", {narrow}, {{"axes", std::vector<int64_t>{0}}}));
  maker.output(bytes);
  maker.addCase(Depth::Standard, "bits", {{"n", 3}});
  return maker.finish(put);
}

} // namespace

bool makeConstants(const Selection &selection, const Put &put) {
  for (DType dtype : dtypesOf("constant"))
    if (!makeConstant(selection, put, dtype) ||
        !makeWeight(selection, put, dtype))
      return false;
  for (DType dtype : {DType::F32, DType::I8, DType::U4})
    if (!makeLargeConstant(selection, put, dtype))
      return false;
  for (DType dtype : dtypesOf("iota"))
    if (!makeIota(selection, put, dtype))
      return false;
  return makeDim(selection, put) && makeLargeWeight(selection, put);
}

} // namespace backplane::conformance
