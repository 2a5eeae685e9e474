// SPDX-License-Identifier: Apache-2.0
//
// Units of broadcast, reshape and transpose: every way to repeat, fold and
// permute axes, from rank 0 to rank 6.
#include "Maker.h"

#include <algorithm>
#include <numeric>

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

// ---- broadcast ----

ValueId broadcast(Maker &maker, ValueId x, Dims dims, Axes axes) {
  return maker.add("broadcast", {x},
                   {{"dims", std::move(dims)}, {"axes", std::move(axes)}});
}

bool makeBroadcast(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "broadcast", dtype, "row-column-middle",
              {"broadcast", "index", "tail"});
  Dims d = maker.symbols({"a", "b", "c"});
  ValueId row = maker.input(dtype, {1, d[2]});
  ValueId column = maker.input(dtype, {d[0], 1});
  ValueId both = maker.input(dtype, {d[0], d[2]});
  ValueId middle = maker.input(dtype, {d[1]});
  ValueId scalar = maker.input(dtype, {});
  maker.output(broadcast(maker, row, {d[0], d[2]}, {0, 1}));
  maker.output(broadcast(maker, column, {d[0], d[2]}, {0, 1}));
  maker.output(broadcast(maker, both, d, {0, 2}));
  maker.output(broadcast(maker, middle, d, {1}));
  maker.output(broadcast(maker, scalar, d, {}));
  maker.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}, {"c", 7}});
  for (int64_t size : {0, 1, 16, 17, 31, 65})
    maker.addCase(Depth::Standard, "bits",
                  {{"a", size}, {"b", 2}, {"c", size + 1}});
  maker.addCase(Depth::Standard, "bits", {{"a", 1}, {"b", 1}, {"c", 1}});
  return maker.finish(put);
}

bool makeRanks(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "broadcast", dtype, "rank6-static",
              {"broadcast", "index"});
  ValueId x = maker.input(dtype, {1, 3, 1, 5});
  ValueId y = maker.input(dtype, {});
  maker.output(broadcast(maker, x, {2, 1, 3, 4, 2, 5}, {0, 2, 3, 5}));
  maker.output(broadcast(maker, y, {}, {}));
  maker.output(broadcast(maker, y, {1, 1}, {}));
  maker.output(broadcast(maker, x, {1, 3, 0, 5}, {0, 1, 2, 3}));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

// ---- reshape ----

ValueId reshape(Maker &maker, ValueId x, Dims dims) {
  return maker.add("reshape", {x}, {{"dims", std::move(dims)}});
}

bool makeReshape(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "reshape", dtype, "fold-and-split",
              {"index", "tail", "nibbles"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n, 6});
  ValueId turned = maker.add("transpose", {x}, {{"permutation", Axes{1, 0}}});
  maker.output(reshape(maker, x, {n * Dim(6)}));
  maker.output(reshape(maker, x, {n, 2, 3}));
  maker.output(reshape(maker, turned, {2, n, 3}));
  maker.output(reshape(maker, turned, {n * Dim(2), 1, 3}));
  for (int64_t size : {5, 0, 1, 17, 127})
    maker.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"n", size}});
  return maker.finish(put);
}

/// Element counts that only the call shows to be equal.
bool makeAsserted(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "reshape", dtype, "quotient", {"index", "zero-size"});
  Dim n = maker.symbol("n");
  ValueId x = maker.input(dtype, {n, 3});
  maker.output(reshape(maker, x, {floorDiv(n * Dim(3), 4), 4}));
  maker.output(reshape(maker, x, {4, floorDiv(n, 4), 3}));
  for (int64_t size : {8, 0, 4, 36, 128})
    maker.addCase(size == 8 ? smokeOf(dtype) : Depth::Standard, "bits",
                  {{"n", size}});
  return maker.finish(put);
}

bool makeStaticReshape(const Selection &selection, const Put &put,
                       DType dtype) {
  Maker maker(selection, "reshape", dtype, "static", {"index", "zero-size"});
  ValueId x = maker.input(dtype, {2, 3, 4, 5});
  ValueId one = maker.input(dtype, {1});
  ValueId none = maker.input(dtype, {0, 5});
  maker.output(reshape(maker, x, {2, 3, 2, 2, 5, 1}));
  maker.output(reshape(maker, x, {1, 120}));
  maker.output(reshape(maker, one, {}));
  maker.output(reshape(maker, one, {1, 1, 1}));
  maker.output(reshape(maker, none, {7, 0, 2}));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

// ---- transpose ----

std::string textOf(const Axes &axes) {
  std::string text = axes.empty() ? "scalar" : "";
  for (int64_t axis : axes)
    text += std::to_string(axis);
  return text;
}

bool makeTranspose(const Selection &selection, const Put &put, DType dtype,
                   const Axes &axes) {
  Maker maker(selection, "transpose", dtype, textOf(axes),
              {"index", "stride", "tail"});
  Dims dims;
  SymbolValues small, odd, square;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::string name(1, static_cast<char>('a' + i));
    dims.push_back(maker.symbol(name));
    small[name] = static_cast<int64_t>(i + 2);
    odd[name] = i % 2 ? 17 : 7;
    square[name] = axes.size() > 3 ? 8 : 16;
  }
  maker.output(maker.add("transpose", {maker.input(dtype, dims)},
                         {{"permutation", axes}}));
  bool isSmoke = dtype == DType::F32 && axes.size() != 4;
  maker.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "bits", small);
  if (axes.empty())
    return maker.finish(put);
  maker.addCase(Depth::Standard, "bits", odd);
  maker.addCase(Depth::Standard, "bits", square);
  return maker.finish(put);
}

/// Square shapes known when compiling, where swapped strides stay in bounds.
bool makeSquare(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "transpose", dtype, "static-square",
              {"index", "stride", "tail"});
  for (int64_t size : {16, 17, 32, 65})
    maker.output(maker.add("transpose", {maker.input(dtype, {size, size})},
                           {{"permutation", Axes{1, 0}}}));
  ValueId cube = maker.input(dtype, {8, 8, 8});
  for (const Axes &axes : {Axes{2, 1, 0}, Axes{1, 2, 0}, Axes{2, 0, 1}})
    maker.output(maker.add("transpose", {cube}, {{"permutation", axes}}));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

bool makeTransposes(const Selection &selection, const Put &put) {
  for (DType dtype : {DType::F32, DType::U4})
    for (size_t rank : {0, 1, 2, 4, 6}) {
      Axes axes(rank);
      std::iota(axes.begin(), axes.end(), 0);
      if (rank == 6)
        axes = {3, 0, 5, 1, 4, 2};
      do {
        if (!makeTranspose(selection, put, dtype, axes))
          return false;
      } while (rank != 6 && dtype == DType::F32 &&
               std::next_permutation(axes.begin(), axes.end()));
    }
  for (DType dtype : dtypesOf("transpose"))
    if (!makeSquare(selection, put, dtype))
      return false;
  return true;
}

} // namespace

bool makeShapes(const Selection &selection, const Put &put) {
  for (DType dtype : dtypesOf("broadcast"))
    if (!makeBroadcast(selection, put, dtype) ||
        !makeReshape(selection, put, dtype))
      return false;
  for (DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I4,
                      DType::F8E5M2, DType::Bool})
    if (!makeRanks(selection, put, dtype) ||
        !makeAsserted(selection, put, dtype) ||
        !makeStaticReshape(selection, put, dtype))
      return false;
  return makeTransposes(selection, put);
}

} // namespace backplane::conformance
