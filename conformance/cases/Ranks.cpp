// SPDX-License-Identifier: Apache-2.0
//
// Units of elementwise ops at every rank, with static shapes beside symbols,
// and with one value for both operands.
#include "Maker.h"

namespace backplane::conformance {

namespace {

/// Sums, a comparison and a choice of two tensors of the same dims.
void addOps(Maker &maker, DType dtype, const Dims &dims) {
  ValueId a = maker.input(dtype, dims), b = maker.input(dtype, dims);
  maker.output(maker.add("sub", {a, b}));
  ValueId isLess =
      maker.add("compare", {a, b}, {{"direction", std::string("lt")}});
  maker.output(maker.add("select", {isLess, a, b}));
  maker.output(maker.add("max", {a, b}));
}

bool makeRank(const Selection &selection, const Put &put, DType dtype,
              const std::string &variant, const Dims &dims) {
  Maker maker(selection, "sub", dtype, variant,
              {"tail", "index", "nan", "zero-size"});
  addOps(maker, dtype, dims);
  maker.addCase(smokeOf(dtype), "uniform");
  maker.addCase(Depth::Standard, "bits");
  return maker.finish(put);
}

bool makeSymbolicRank(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "sub", dtype, "rank6",
              {"tail", "index", "nan", "zero-size"});
  Dims d = maker.symbols({"a", "b"});
  addOps(maker, dtype, {d[0], 2, 1, d[1], 3, d[0]});
  for (int64_t size : {3, 0, 1, 13})
    maker.addCase(size == 3 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"a", size}, {"b", 5}});
  return maker.finish(put);
}

/// Both operands are one value, which an op may also write in place.
bool makeShared(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "add", dtype, "one-value",
              {"in-place", "cse", "wrap", "tail"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n});
  ValueId twice = maker.add("add", {x, x});
  maker.output(maker.add("mul", {twice, twice}));
  maker.output(twice);
  maker.output(x);
  maker.output(
      maker.add("compare", {x, twice}, {{"direction", std::string("ge")}}));
  for (int64_t size : {17, 0, 1, 63, 257})
    maker.addCase(size == 17 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"n", size}});
  return maker.finish(put);
}

} // namespace

bool makeRanks(const Selection &selection, const Put &put) {
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
