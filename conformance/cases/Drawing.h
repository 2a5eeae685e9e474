// SPDX-License-Identifier: Apache-2.0
//
// Drawing.h: what Drawn.cpp draws the attributes of ops with, and the functions
// that draw them. Each adds axes to a graph and sets the function that builds
// it.
#ifndef BACKPLANE_CONFORMANCE_CASES_DRAWING_H
#define BACKPLANE_CONFORMANCE_CASES_DRAWING_H

#include "Data.h"
#include "DataSets.h"
#include "LargeBuilder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace backplane::conformance {

using I64s = std::vector<int64_t>;

inline constexpr const char *axisNames[] = {"a", "b", "c", "d", "e", "f"};

/// Numbers of one unit.
class AttributeDice {
public:
  explicit AttributeDice(uint64_t seed) : seed_(seed) {}

  int64_t between(int64_t low, int64_t high) {
    auto count = static_cast<uint64_t>(high - low + 1);
    return low + static_cast<int64_t>(next() % count);
  }
  bool coin() { return between(0, 1) == 1; }
  /// Small numbers as often as large ones.
  int64_t size(int64_t high) {
    double share = fractionOf(next());
    return std::lround(std::pow(static_cast<double>(high), share));
  }
  template <typename T> T pick(std::initializer_list<T> all) {
    return all.begin()[between(0, std::ssize(all) - 1)];
  }
  I64s each(size_t count, int64_t low, int64_t high) {
    I64s all(count);
    for (int64_t &one : all)
      one = between(low, high);
    return all;
  }
  I64s permutation(size_t count) {
    I64s all(count);
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = count; i > 1; --i)
      std::swap(all[i - 1], all[size_t(between(0, int64_t(i) - 1))]);
    return all;
  }
  /// Ascending axes below the rank, at least `least` of them.
  I64s axes(size_t rank, size_t least) {
    I64s all = permutation(rank);
    all.resize(size_t(between(int64_t(least), int64_t(rank))));
    std::ranges::sort(all);
    return all;
  }

private:
  uint64_t next() { return randomBits(seed_, count_++); }

  uint64_t seed_, count_ = 0;
};

/// What a unit is drawn for.
struct Drawing {
  AttributeDice &dice;
  DType dtype;
  LargeGraph &graph;
  bool isSmall; ///< for a device with a small budget

  /// Axes a, b, … whose ranges are drawn.
  size_t rank(size_t low, size_t high);
  /// One of `rank` axes.
  int64_t axis(size_t rank) { return dice.between(0, int64_t(rank) - 1); }
};

/// The first axes that rank() adds.
Dims dimsOf(const SizeOf &size, size_t rank);
/// x of these axes, the op of the graph, its first result.
void buildAlone(Drawing &drawing, size_t rank, const Attributes &attributes,
                const InputRule &rule = {});

void drawConvolution(Drawing drawing);
void drawSmallConvolution(Drawing drawing);
void drawPool(Drawing drawing);
void drawProduct(Drawing drawing);
void drawAttention(Drawing drawing);
void drawReduction(Drawing drawing);
void drawCumulative(Drawing drawing);
void drawArgument(Drawing drawing);
void drawTop(Drawing drawing);
void drawSoftmax(Drawing drawing);
void drawNorm(Drawing drawing);
void drawTranspose(Drawing drawing);
void drawReverse(Drawing drawing);
void drawSlice(Drawing drawing);
void drawConcat(Drawing drawing);
void drawPad(Drawing drawing);
void drawBroadcast(Drawing drawing);
void drawGather(Drawing drawing);
void drawScatter(Drawing drawing);
void drawCast(Drawing drawing);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_DRAWING_H
