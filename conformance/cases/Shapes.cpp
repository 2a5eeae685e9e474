// SPDX-License-Identifier: Apache-2.0
//
// Units of broadcast, reshape and transpose: every way to repeat, fold and
// permute axes, from rank 0 to rank 6.
#include "CaseBuilder.h"

#include <algorithm>
#include <numeric>

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

// ---- broadcast ----

ValueId broadcast(CaseBuilder &builder, ValueId x, Dims dims, Axes axes) {
  return builder.add("broadcast", {x},
                     {{"dims", std::move(dims)}, {"axes", std::move(axes)}});
}

void makeBroadcast(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "broadcast", dtype, "row-column-middle",
                      {"broadcast", "index", "tail"});
  Dims d = builder.symbols({"a", "b", "c"});
  ValueId row = builder.input(dtype, {1, d[2]});
  ValueId column = builder.input(dtype, {d[0], 1});
  ValueId both = builder.input(dtype, {d[0], d[2]});
  ValueId middle = builder.input(dtype, {d[1]});
  ValueId scalar = builder.input(dtype, {});
  builder.output(broadcast(builder, row, {d[0], d[2]}, {0, 1}));
  builder.output(broadcast(builder, column, {d[0], d[2]}, {0, 1}));
  builder.output(broadcast(builder, both, d, {0, 2}));
  builder.output(broadcast(builder, middle, d, {1}));
  builder.output(broadcast(builder, scalar, d, {}));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}, {"c", 7}});
  for (int64_t size : {0, 1, 16, 17, 31, 65})
    builder.addCase(Depth::Standard, "bits",
                    {{"a", size}, {"b", 2}, {"c", size + 1}});
  builder.addCase(Depth::Standard, "bits", {{"a", 1}, {"b", 1}, {"c", 1}});
  builder.finish();
}

void makeRanks(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "broadcast", dtype, "rank6-static",
                      {"broadcast", "index"});
  ValueId x = builder.input(dtype, {1, 3, 1, 5});
  ValueId y = builder.input(dtype, {});
  builder.output(broadcast(builder, x, {2, 1, 3, 4, 2, 5}, {0, 2, 3, 5}));
  builder.output(broadcast(builder, y, {}, {}));
  builder.output(broadcast(builder, y, {1, 1}, {}));
  builder.output(broadcast(builder, x, {1, 3, 0, 5}, {0, 1, 2, 3}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

// ---- reshape ----

ValueId reshape(CaseBuilder &builder, ValueId x, Dims dims) {
  return builder.add("reshape", {x}, {{"dims", std::move(dims)}});
}

void makeReshape(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "reshape", dtype, "fold-and-split",
                      {"index", "tail", "nibbles"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n, 6});
  ValueId turned = builder.add("transpose", {x}, {{"permutation", Axes{1, 0}}});
  builder.output(reshape(builder, x, {n * Dim(6)}));
  builder.output(reshape(builder, x, {n, 2, 3}));
  builder.output(reshape(builder, turned, {2, n, 3}));
  builder.output(reshape(builder, turned, {n * Dim(2), 1, 3}));
  for (int64_t size : {5, 0, 1, 17, 127})
    builder.addCase(size == 5 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

/// Element counts that only the call shows to be equal.
void makeAsserted(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "reshape", dtype, "quotient",
                      {"index", "zero-size"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(dtype, {n, 3});
  builder.output(reshape(builder, x, {floorDiv(n * Dim(3), 4), 4}));
  builder.output(reshape(builder, x, {4, floorDiv(n, 4), 3}));
  for (int64_t size : {8, 0, 4, 36, 128})
    builder.addCase(size == 8 ? smokeOf(dtype) : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

void makeStaticReshape(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "reshape", dtype, "static", {"index", "zero-size"});
  ValueId x = builder.input(dtype, {2, 3, 4, 5});
  ValueId one = builder.input(dtype, {1});
  ValueId none = builder.input(dtype, {0, 5});
  builder.output(reshape(builder, x, {2, 3, 2, 2, 5, 1}));
  builder.output(reshape(builder, x, {1, 120}));
  builder.output(reshape(builder, one, {}));
  builder.output(reshape(builder, one, {1, 1, 1}));
  builder.output(reshape(builder, none, {7, 0, 2}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

// ---- transpose ----

std::string textOf(const Axes &axes) {
  std::string text = axes.empty() ? "scalar" : "";
  for (int64_t axis : axes)
    text += std::to_string(axis);
  return text;
}

void makeTranspose(const Sink &sink, DType dtype, const Axes &axes) {
  CaseBuilder builder(sink, "transpose", dtype, textOf(axes),
                      {"index", "stride", "tail"});
  Dims dims;
  SymbolValues small, odd, square;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::string name(1, static_cast<char>('a' + i));
    dims.push_back(builder.symbol(name));
    small[name] = static_cast<int64_t>(i + 2);
    odd[name] = i % 2 ? 17 : 7;
    square[name] = axes.size() > 3 ? 8 : 16;
  }
  builder.output(builder.add("transpose", {builder.input(dtype, dims)},
                             {{"permutation", axes}}));
  bool isSmoke = dtype == DType::F32 && axes.size() != 4;
  builder.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "bits", small);
  if (axes.empty())
    return builder.finish();
  builder.addCase(Depth::Standard, "bits", odd);
  builder.addCase(Depth::Standard, "bits", square);
  builder.finish();
}

/// Square shapes known when compiling, where swapped strides stay in bounds.
void makeSquare(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "transpose", dtype, "static-square",
                      {"index", "stride", "tail"});
  for (int64_t size : {16, 17, 32, 65})
    builder.output(builder.add("transpose",
                               {builder.input(dtype, {size, size})},
                               {{"permutation", Axes{1, 0}}}));
  ValueId cube = builder.input(dtype, {8, 8, 8});
  for (const Axes &axes : {Axes{2, 1, 0}, Axes{1, 2, 0}, Axes{2, 0, 1}})
    builder.output(builder.add("transpose", {cube}, {{"permutation", axes}}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

void makeTransposes(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::U4})
    for (size_t rank : {0, 1, 2, 4, 6}) {
      Axes axes(rank);
      std::iota(axes.begin(), axes.end(), 0);
      if (rank == 6)
        axes = {3, 0, 5, 1, 4, 2};
      do {
        makeTranspose(sink, dtype, axes);
      } while (rank != 6 && dtype == DType::F32 &&
               std::next_permutation(axes.begin(), axes.end()));
    }
  for (DType dtype : dtypesOf("transpose"))
    makeSquare(sink, dtype);
}

} // namespace

void makeShapes(const Sink &sink) {
  for (DType dtype : dtypesOf("broadcast")) {
    makeBroadcast(sink, dtype);
    makeReshape(sink, dtype);
  }
  for (DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I4,
                      DType::F8E5M2, DType::Bool}) {
    makeRanks(sink, dtype);
    makeAsserted(sink, dtype);
    makeStaticReshape(sink, dtype);
  }
  makeTransposes(sink);
}

} // namespace backplane::conformance
