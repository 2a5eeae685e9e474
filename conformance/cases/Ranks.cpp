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
  ValueId isLess = builder.add("compare", {a, b}, {{"direction", "lt"}});
  builder.output(builder.add("select", {isLess, a, b}));
  builder.output(builder.add("max", {a, b}));
}

void makeRank(const Sink &sink, DType dtype, const std::string &variant,
              const Dims &dims) {
  CaseBuilder builder(sink, "sub", dtype, variant,
                      {"tail", "index", "nan", "zero-size"});
  addOps(builder, dtype, dims);
  builder.addCase(smokeOf(dtype), "uniform");
  builder.addCase(Depth::Standard, "bits");
  builder.finish();
}

void makeSymbolicRank(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "sub", dtype, "rank6",
                      {"tail", "index", "nan", "zero-size"});
  Dims d = builder.symbols({"a", "b"});
  addOps(builder, dtype, {d[0], 2, 1, d[1], 3, d[0]});
  for (int64_t size : {3, 0, 1, 13})
    builder.addCase(size == 3 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"a", size}, {"b", 5}});
  builder.finish();
}

/// Both operands are one value, which an op may also write in place.
void makeShared(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "add", dtype, "one-value",
                      {"in-place", "cse", "wrap", "tail"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n});
  ValueId twice = builder.add("add", {x, x});
  builder.output(builder.add("mul", {twice, twice}));
  builder.output(twice);
  builder.output(x);
  builder.output(builder.add("compare", {x, twice}, {{"direction", "ge"}}));
  for (int64_t size : {17, 0, 1, 63, 257})
    builder.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

} // namespace

void makeRanks(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::U64}) {
    {
      makeRank(sink, dtype, "scalar", {});
      makeRank(sink, dtype, "static-1", {1});
      makeRank(sink, dtype, "static-prime", {61, 7});
      makeRank(sink, dtype, "static-tile", {4, 16, 16});
      makeRank(sink, dtype, "static-rank6", {2, 3, 1, 5, 2, 7});
      makeRank(sink, dtype, "static-empty", {3, 0, 5});
      makeSymbolicRank(sink, dtype);
    }
  }
  for (DType dtype : dtypesOf("add"))
    makeShared(sink, dtype);
}

} // namespace backplane::conformance
