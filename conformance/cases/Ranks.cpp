// SPDX-License-Identifier: Apache-2.0
//
// Units of elementwise ops at every rank, with static shapes beside symbols,
// and with one value for both operands.
#include "CaseBuilder.h"

namespace backplane::conformance {

namespace {

/// Sums, a comparison and a choice of two tensors of the same dims.
void addOps(CaseBuilder &builder, DType dtype, const Dims &dims) {
  ValueId a = builder.input(dtype, dims), b = builder.input(dtype, dims);
  builder.output(builder.add("sub", {a, b}));
  ValueId isLess =
      builder.add("compare", {a, b}, {{"direction", std::string("lt")}});
  builder.output(builder.add("select", {isLess, a, b}));
  builder.output(builder.add("max", {a, b}));
}

bool makeRank(const Selection &selection, const Sink &put, DType dtype,
              const std::string &variant, const Dims &dims) {
  CaseBuilder builder(selection, "sub", dtype, variant,
                      {"tail", "index", "nan", "zero-size"});
  addOps(builder, dtype, dims);
  builder.addCase(smokeOf(dtype), "uniform");
  builder.addCase(Depth::Standard, "bits");
  return builder.finish(put);
}

bool makeSymbolicRank(const Selection &selection, const Sink &put,
                      DType dtype) {
  CaseBuilder builder(selection, "sub", dtype, "rank6",
                      {"tail", "index", "nan", "zero-size"});
  Dims d = builder.symbols({"a", "b"});
  addOps(builder, dtype, {d[0], 2, 1, d[1], 3, d[0]});
  for (int64_t size : {3, 0, 1, 13})
    builder.addCase(size == 3 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"a", size}, {"b", 5}});
  return builder.finish(put);
}

/// Both operands are one value, which an op may also write in place.
bool makeShared(const Selection &selection, const Sink &put, DType dtype) {
  CaseBuilder builder(selection, "add", dtype, "one-value",
                      {"in-place", "cse", "wrap", "tail"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n});
  ValueId twice = builder.add("add", {x, x});
  builder.output(builder.add("mul", {twice, twice}));
  builder.output(twice);
  builder.output(x);
  builder.output(
      builder.add("compare", {x, twice}, {{"direction", std::string("ge")}}));
  for (int64_t size : {17, 0, 1, 63, 257})
    builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  return builder.finish(put);
}

} // namespace

bool makeRanks(const Selection &selection, const Sink &put) {
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::U64}) {
    if (!makeRank(selection, put, dtype, "scalar", {}) ||
        !makeRank(selection, put, dtype, "static-1", {1}) ||
        !makeRank(selection, put, dtype, "static-prime", {61, 7}) ||
        !makeRank(selection, put, dtype, "static-tile", {4, 16, 16}) ||
        !makeRank(selection, put, dtype, "static-rank6", {2, 3, 1, 5, 2, 7}) ||
        !makeRank(selection, put, dtype, "static-empty", {3, 0, 5}) ||
        !makeSymbolicRank(selection, put, dtype))
      return false;
  }
  for (DType dtype : dtypesOf("add"))
    if (!makeShared(selection, put, dtype))
      return false;
  return true;
}

} // namespace backplane::conformance
