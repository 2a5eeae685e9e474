// SPDX-License-Identifier: Apache-2.0
//
// Mutants 300 to 339: plug-ins that are wrong for one op alone, from some
// attribute or some axis on, where each begins drawn anew for every run.
#include "Cheats.h"

#include <algorithm>
#include <numeric>

namespace backplane::mutants {

using namespace conformance;

namespace {

int64_t largest(const std::vector<int64_t> &numbers) {
  return numbers.empty() ? 0 : *std::ranges::max_element(numbers);
}

bool isWindowed(const Call &call) {
  return isConvolution(call) || call.is("pool");
}

int64_t elementsOf(const Tensor &tensor) {
  return static_cast<int64_t>(tensor.elementCount());
}

/// Sizes before and after an axis.
int64_t outerOf(const Tensor &tensor, size_t axis) {
  return static_cast<int64_t>(countOf(
      {tensor.dims.begin(), tensor.dims.begin() + std::ptrdiff_t(axis)}));
}

size_t axisOf(const Call &call) { return size_t(call.op.i64("axis")); }

int64_t lengthOf(const Call &call) { return call.in(0).dims[axisOf(call)]; }

// ---- windows ----

bool hasLargeWindow(const Call &call) {
  int64_t least = threshold(call, 300, 4, 10.99L);
  if (call.is("pool"))
    return largest(call.op.i64s("window")) >= least;
  const auto isLarge = [=](int64_t size) { return size >= least; };
  return isConvolution(call) && std::any_of(call.in(1).dims.begin() + 2,
                                            call.in(1).dims.end(), isLarge);
}
bool hasLargeStride(const Call &call) {
  return isConvolution(call) &&
         largest(call.op.i64s("strides")) >= threshold(call, 301, 3, 7.99L);
}
bool hasLargeDilation(const Call &call) {
  return isWindowed(call) &&
         largest(call.op.i64s("dilations")) >= threshold(call, 302, 3, 11.99L);
}
bool hasLargePads(const Call &call) {
  return isWindowed(call) &&
         largest(call.op.i64s("low")) >= threshold(call, 303, 3, 10.99L);
}
bool hasUnevenPads(const Call &call) {
  if (!isWindowed(call))
    return false;
  const auto &low = call.op.i64s("low"), &high = call.op.i64s("high");
  for (size_t i = 0; i < low.size(); ++i)
    if (high[i] - low[i] >= threshold(call, 304, 2, 5.99L))
      return true;
  return false;
}
/// A stride, a dilation and padding at once, and more than a few channels.
bool hasAllAtOnce(const Call &call) {
  return isConvolution(call) && largest(call.op.i64s("strides")) > 1 &&
         largest(call.op.i64s("dilations")) > 1 &&
         largest(call.op.i64s("low")) > 0 &&
         call.in(0).dims[1] >= threshold(call, 305, 4, 40);
}
bool hasWideChannelGroups(const Call &call) {
  if (!isConvolution(call))
    return false;
  int64_t groups = call.op.i64("groups");
  return groups > 1 &&
         call.in(0).dims[1] / groups >= threshold(call, 306, 3, 16);
}
bool widensGroups(const Call &call) {
  if (!call.is("conv"))
    return false;
  int64_t groups = call.op.i64("groups"), c = call.in(0).dims[1];
  return groups == c && c > 1 && call.out().dims[1] > c;
}
bool hasFewRowsAndManyColumns(const Call &call) {
  return isConvolution(call) && call.in(0).dims.size() == 4 &&
         call.in(0).dims[3] > call.in(0).dims[2] * threshold(call, 308, 2, 12);
}
bool isLongLine(const Call &call) {
  return isConvolution(call) && call.in(0).dims.size() == 3 &&
         call.in(0).dims[2] >= threshold(call, 309, 40, 1500);
}
bool isLargeVolume(const Call &call) {
  return isWindowed(call) && call.in(0).dims.size() == 5 &&
         elementsOf(call.in(0)) >= threshold(call, 310, 3000, 100000);
}
bool spreadsManyChannels(const Call &call) {
  return call.is("conv_transpose") &&
         call.in(0).dims[1] >= threshold(call, 311, 17, 400);
}
bool spreadsFar(const Call &call) {
  return call.is("conv_transpose") &&
         largest(call.op.i64s("strides")) >= threshold(call, 312, 3, 6.99L);
}
bool spreadsWithMore(const Call &call) {
  return call.is("conv_transpose") &&
         largest(call.op.i64s("output_padding")) > 0 &&
         call.in(0).dims[1] >= threshold(call, 313, 3, 12);
}

// ---- products ----

bool isVector(const Call &call) {
  if (!call.is("matmul"))
    return false;
  const Sizes &y = call.out().dims;
  return (y.back() == 1 || y[y.size() - 2] == 1) &&
         elementsOf(call.in(0)) + elementsOf(call.in(1)) >=
             threshold(call, 314, 1000, 200000);
}
bool hasResidues(const Call &call) {
  if (!call.is("matmul"))
    return false;
  int64_t modulus = threshold(call, 315, 5, 13.99L);
  int64_t n = call.out().dims.back();
  return n > 66 && n % modulus == threshold(call, 316, 1, Real(modulus)) - 1;
}
bool isTransposedBatch(const Call &call) {
  return call.is("matmul") && call.op.i64("transpose_a") &&
         call.out().dims.size() > 2 &&
         call.out().dims.back() >= threshold(call, 317, 8, 60);
}

// ---- lines ----

bool reducesOuterAxes(const Call &call) {
  return call.is("reduce") && !call.op.i64s("axes").empty() &&
         call.op.i64s("axes")[0] == 0 && call.in(0).dims.size() > 1 &&
         call.in(0).dims[0] >= threshold(call, 318, 66, 400);
}
bool reducesApartAxes(const Call &call) {
  if (!call.is("reduce"))
    return false;
  const auto &axes = call.op.i64s("axes");
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i] != axes[i - 1] + 1)
      return elementsOf(call.in(0)) >= threshold(call, 319, 10000, 100000);
  return false;
}
bool reducesHighRank(const Call &call) {
  return call.is("reduce") && call.in(0).dims.size() > 3 &&
         call.op.i64s("axes").size() > 1 &&
         elementsOf(call.in(0)) >= threshold(call, 320, 10000, 100000);
}
bool countsDown(const Call &call) {
  return call.is("cumulative") &&
         (call.op.i64("reverse") || call.op.i64("exclusive")) &&
         lengthOf(call) >= threshold(call, 321, 70, 2000);
}
bool takesTheLastOfMany(const Call &call) {
  return call.is("arg_reduce") && call.op.i64("last") &&
         lengthOf(call) >= threshold(call, 322, 70, 2000);
}
bool sortsUpwards(const Call &call) {
  return call.is("top_k") && !call.op.i64("largest") &&
         lengthOf(call) >= threshold(call, 323, 70, 2000);
}
bool sortsAll(const Call &call) {
  return call.is("top_k") && call.out().dims[axisOf(call)] == lengthOf(call) &&
         lengthOf(call) >= threshold(call, 324, 70, 2000);
}
bool sortsOuterAxis(const Call &call) {
  return call.is("top_k") && axisOf(call) + 1 < call.in(0).dims.size() &&
         lengthOf(call) >= threshold(call, 325, 40, 400);
}

// ---- moves ----

bool joinsMany(const Call &call) {
  return call.is("concat") && static_cast<int64_t>(call.operands.size()) >=
                                  threshold(call, 326, 4, 8.99L);
}
bool padsTwoAxes(const Call &call) {
  if (!call.is("pad"))
    return false;
  int64_t padded = 0;
  for (size_t i = 0; i < call.out().dims.size(); ++i)
    padded += call.out().dims[i] != call.in(0).dims[i];
  return padded > 1 &&
         elementsOf(call.out()) >= threshold(call, 327, 10000, 100000);
}
bool stepsFar(const Call &call) {
  return call.is("slice") &&
         largest(call.op.i64s("strides")) >= threshold(call, 328, 3, 6.99L) &&
         elementsOf(call.out()) > 500;
}
bool permutes(const Call &call) {
  if (!call.is("transpose") || call.in(0).dims.size() < 3)
    return false;
  const auto &order = call.op.i64s("permutation");
  // A third of all orders.
  int64_t hash = std::accumulate(
      order.begin(), order.end(), int64_t(7),
      [](int64_t sum, int64_t axis) { return (sum * 31 + axis * 17) % 1009; });
  return hash % 3 == threshold(call, 329, 1, 3.99L) - 1 &&
         elementsOf(call.in(0)) > 10000;
}
bool takesFromInnerAxis(const Call &call) {
  return (call.is("gather") || call.is("scatter")) && axisOf(call) > 0 &&
         outerOf(call.in(0), axisOf(call)) >= 3 &&
         elementsOf(call.in(1)) >= threshold(call, 330, 66, 500);
}
bool updatesMuch(const Call &call) {
  return call.is("scatter") && call.op.string("combine") != "none" &&
         elementsOf(call.in(1)) >= threshold(call, 331, 66, 20000);
}
bool repeatsAxes(const Call &call) {
  return call.is("broadcast") && call.out().dims.size() > 3 &&
         elementsOf(call.out()) >= threshold(call, 332, 20000, 100000);
}

/// A third of all pairs of dtypes.
bool castsPair(const Call &call) {
  if (!call.is("cast"))
    return false;
  auto pair = int64_t(call.in(0).dtype) * 37 + int64_t(call.out().dtype) * 11;
  return pair % 3 == threshold(call, 333, 1, 3.99L) - 1 &&
         elementsOf(call.in(0)) >= threshold(call, 334, 9000, 100000);
}

} // namespace

Runs attributeCheats() {
  return {{300, bentWhere<hasLargeWindow>},
          {301, bentWhere<hasLargeStride>},
          {302, bentWhere<hasLargeDilation>},
          {303, bentWhere<hasLargePads>},
          {304, bentWhere<hasUnevenPads>},
          {305, bentWhere<hasAllAtOnce>},
          {306, bentWhere<hasWideChannelGroups>},
          {307, bentWhere<widensGroups>},
          {308, bentWhere<hasFewRowsAndManyColumns>},
          {309, bentWhere<isLongLine>},
          {310, bentWhere<isLargeVolume>},
          {311, bentWhere<spreadsManyChannels>},
          {312, bentWhere<spreadsFar>},
          {313, bentWhere<spreadsWithMore>},
          {314, bentWhere<isVector>},
          {315, bentWhere<hasResidues>},
          {317, bentWhere<isTransposedBatch>},
          {318, bentWhere<reducesOuterAxes>},
          {319, bentWhere<reducesApartAxes>},
          {320, bentWhere<reducesHighRank>},
          {321, bentWhere<countsDown>},
          {322, bentWhere<takesTheLastOfMany>},
          {323, bentWhere<sortsUpwards>},
          {324, bentWhere<sortsAll>},
          {325, bentWhere<sortsOuterAxis>},
          {326, bentWhere<joinsMany>},
          {327, bentWhere<padsTwoAxes>},
          {328, bentWhere<stepsFar>},
          {329, bentWhere<permutes>},
          {330, bentWhere<takesFromInnerAxis>},
          {331, bentWhere<updatesMuch>},
          {332, bentWhere<repeatsAxes>},
          {333, bentWhere<castsPair>}};
}

} // namespace backplane::mutants
