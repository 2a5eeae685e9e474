// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractPlan.h"

#include <algorithm>
#include <bit>

namespace backplane {

/// What an unknown size is taken for.
static constexpr int64_t kUnknown = 512;
/// Multiply-adds of a work-group, of what instructions multiply at once half,
/// and in tile registers an eighth:
/// about 20 us at least, of two groups 5 us, 1 ms at most.
static constexpr double kLeastWork = 2e6, kLeastOfTwo = 5e5, kMostWork = 1e8;
/// Rows of A beside which reading B takes as long as multiplying it.
static constexpr int64_t kRowsOfTwo = 8;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
static int64_t known(int64_t size) {
  return size < 0 ? kUnknown : std::max<int64_t>(size, 1);
}

/// How evenly two threads can share the panels of all columns.
static double balance(const ContractShape &shape, int64_t vectors) {
  int64_t all = ceilDiv(known(shape.n), shape.lanes);
  int64_t half = ceilDiv(ceilDiv(all, vectors), 2) * vectors;
  return double(all) / double(2 * std::max(half, ceilDiv(all, 2)));
}

/// What a vector of B counts for beside an element of A. Of blocks, each tile
/// of few rows reads all of B from memory.
static int64_t costOfB(const ContractShape &shape) {
  constexpr int64_t fewRows = 16;
  if (shape.loadsOfB > 1)
    return shape.loadsOfB;
  return shape.blockOfB && shape.m > 0 && shape.m <= fewRows ? 2 : 1;
}

/// How much of the peak a micro tile reaches: the share of its rows and lanes
/// that are inside, and loads per multiply-add.
static double efficiency(const ContractShape &shape, int64_t rows,
                         int64_t vectors) {
  int64_t m = known(shape.m), n = known(shape.n);
  // The last panel has no more vectors than it needs, which counts where tiles
  // are low.
  bool exact = shape.blockOfA || shape.blockOfB || shape.copiesImage;
  int64_t unit = exact && shape.n > 0 ? 1 : vectors;
  double inside = double(m) / double(roundUp(m, rows)) * double(n) /
                  double(roundUp(n, unit * shape.lanes));
  if (shape.fewRows)
    inside *= balance(shape, vectors);
  double sums = double(rows * vectors);
  auto loadsOfB = double(costOfB(shape) * vectors);
  double loads = (double(rows) / double(shape.block) + loadsOfB) / sums;
  double latency = std::min(1.0, sums / 8.0);
  double kept = 1 - shape.leftOut[size_t(rows)];
  return inside * latency / (1 + 0.25 * loads) / kept;
}

/// Whether sums and what is multiplied fit the registers. A single row takes
/// blocks of B from memory, one vector for each product.
static bool fitsRegisters(const ContractShape &shape, int64_t rows,
                          int64_t vectors) {
  bool fromMemory = shape.blockOfB && rows == 1;
  int64_t ofB = fromMemory ? 1 : shape.block * vectors;
  return rows * vectors + ofB + shape.temporaries <= shape.registers;
}

/// Columns of a group from which a copy of A pays.
static constexpr int64_t kColumnsOfCopy = 256;
/// Rows of A that have a place in one set of the nearest cache.
static constexpr int64_t kWays = 8;

/// Whether the rows of A have their place in the same set.
static bool rowsCollide(const ContractShape &shape) {
  constexpr int64_t elementsOfWay = 4096 / 4;
  return shape.k > 0 && shape.k % elementsOfWay == 0;
}

static void chooseMicroTile(const ContractShape &shape, ContractPlan &plan) {
  plan.rows = shape.block;
  double best = 0;
  // Rows beyond the edge are computed in vain, but not read in place.
  int64_t maxRows = shape.m > 0 ? std::min<int64_t>(shape.m, 14) : 14;
  if (shape.rowsOfA && shape.n > 0 && shape.n < kColumnsOfCopy &&
      rowsCollide(shape))
    maxRows = std::min(maxRows, kWays);
  maxRows = roundUp(maxRows, shape.block);
  int64_t maxVectors = shape.gathersB ? 3 : 8;
  for (int64_t rows = shape.block; rows <= maxRows; rows += shape.block) {
    for (int64_t vectors = 1; vectors <= maxVectors; ++vectors) {
      if (shape.blockOfA && shape.blockOfA % rows != 0)
        continue;
      if (shape.blockOfB && vectors * shape.lanes % shape.blockOfB != 0)
        continue;
      if (!fitsRegisters(shape, rows, vectors))
        continue;
      double value = efficiency(shape, rows, vectors);
      if (value > best * 1.001) {
        best = value;
        plan.rows = rows;
        plan.vectors = vectors;
      }
    }
  }
}

/// The same in tile registers, of which there are eight. A is loaded once for
/// each row of them, B once for each column.
static void chooseTiles(const ContractShape &shape, ContractPlan &plan) {
  constexpr int64_t candidates[][2] = {{2, 2}, {1, 4}, {1, 2}, {2, 1}, {1, 1}};
  int64_t m = known(shape.m), n = known(shape.n);
  double best = 0;
  for (auto [high, wide] : candidates) {
    int64_t rows = high * shape.tileRows, columns = wide * shape.lanes;
    double inside = double(m * n) /
                    (double(roundUp(m, rows)) * double(roundUp(n, columns)));
    double loads = double(high + wide) / double(high * wide);
    double value = inside / (1 + 0.5 * loads);
    if (value > best * 1.001) {
      best = value;
      plan.rows = rows;
      plan.vectors = wide;
    }
  }
}

static int64_t balanced(int64_t size, int64_t largest, int64_t unit) {
  if (size < 0)
    return roundUp(largest, unit);
  int64_t parts = ceilDiv(std::max<int64_t>(size, 1), largest);
  return roundUp(ceilDiv(std::max<int64_t>(size, 1), parts), unit);
}

/// Of a block of 128 elements of k: as many rows or columns as fill this share
/// of the cache.
static int64_t fitting(const ContractShape &shape, int64_t share) {
  constexpr int64_t min = 64, max = 2048, bytes = 128 * 4;
  auto count = uint64_t(shape.cacheBytes / share / bytes);
  return std::clamp<int64_t>(int64_t(std::bit_floor(count)), min, max);
}

namespace {

/// The work-groups of a plan.
struct Groups {
  const ContractShape &shape;
  const ContractPlan &plan;

  double count() const {
    return double(known(shape.outer)) *
           double(ceilDiv(known(shape.m), plan.groupM)) *
           double(ceilDiv(known(shape.n), plan.groupN));
  }
  double workOf(int64_t rows) const {
    return double(rows) * double(plan.groupN) * double(known(shape.k));
  }
  /// Multiply-adds of one.
  double work() const {
    return count() < 2 ? workWithReading() : workOf(plan.groupM);
  }
  /// The same where reading B takes longer than multiplying it.
  double workWithReading() const {
    return workOf(std::max(plan.groupM, kRowsOfTwo));
  }
  bool canSplit() const {
    double weight = std::max(1.0, double(shape.perLane) / 2);
    if (shape.tileRows)
      weight *= 4;
    return work() > 2 * weight * (count() < 2 ? kLeastOfTwo : kLeastWork);
  }
  bool areFew() const { return count() < (shape.fewRows ? 4 : 8); }
};

} // namespace

/// Halves the group by columns or by rows. False where it stays as it is.
static bool splitGroup(const ContractShape &shape, ContractPlan &plan) {
  Groups groups{shape, plan};
  int64_t unitN = plan.vectors * shape.lanes;
  bool splitN = plan.groupN > unitN &&
                (shape.gathersB || shape.fewRows ||
                 plan.groupN >= plan.groupM || plan.groupM <= plan.rows);
  bool splitM = plan.groupM > plan.rows && !shape.fewRows &&
                !(shape.gathersB && groups.count() >= 4);
  if (splitN && groups.count() >= 4 && shape.halo > plan.groupN)
    return false;
  if (splitN)
    plan.groupN = roundUp(plan.groupN / 2, unitN);
  else if (splitM)
    plan.groupM = roundUp(plan.groupM / 2, plan.rows);
  return splitN || splitM;
}

/// Makes an odd number of few groups even, which two threads finish together.
static void evenGroups(const ContractShape &shape, ContractPlan &plan) {
  constexpr int64_t few = 8;
  int64_t unit = plan.vectors * shape.lanes;
  auto groups = [&](int64_t columns) {
    return ceilDiv(known(shape.n), columns);
  };
  if (groups(plan.groupN) % 2 == 0 || groups(plan.groupN) > few)
    return;
  for (int64_t columns = plan.groupN - unit; 2 * columns >= plan.groupN;
       columns -= unit)
    if (groups(columns) % 2 == 0) {
      plan.groupN = columns;
      return;
    }
}

static void chooseGroups(const ContractShape &shape, ContractPlan &plan) {
  plan.groupM =
      balanced(shape.m, fitting(shape, shape.gathersB ? 4 : 8), plan.rows);
  plan.groupN =
      balanced(shape.n, fitting(shape, 4), plan.vectors * shape.lanes);
  if (shape.fewRows)
    plan.groupM = shape.m;
  Groups groups{shape, plan};
  while ((groups.areFew() || groups.work() > kMostWork) && groups.canSplit() &&
         splitGroup(shape, plan))
    ;
  if (shape.fewRows && groups.count() > 1)
    evenGroups(shape, plan);
}

/// Whether rows of A pass over those of B.
static bool isGemv(const ContractShape &shape) {
  // From a near cache, panels of pairs are as quick to pack as to read.
  double bytes =
      double(known(shape.n)) * double(known(shape.k)) * double(shape.bytesOfB);
  bool isNear = bytes <= double(shape.cacheBytes);
  int64_t rows = shape.perLane > 1 && isNear
                     ? std::min<int64_t>(shape.gemvRows, 1)
                     : shape.gemvRows;
  return shape.m >= 1 && shape.m <= rows;
}

static void chooseGemvGroups(const ContractShape &shape, ContractPlan &plan) {
  plan.groupM = shape.m;
  plan.groupN = balanced(shape.n, shape.m > 8 ? 256 : 512, shape.lanes);
  Groups groups{shape, plan};
  if (groups.count() < 2 && groups.canSplit())
    plan.groupN = roundUp(ceilDiv(known(shape.n), 2), shape.lanes);
}

/// Whether iterations of outer loops are too little work to be shared by
/// threads.
static bool takesAllOuter(const ContractShape &shape,
                          const ContractPlan &plan) {
  Groups groups{shape, plan};
  return shape.outer > 1 && groups.count() <= double(shape.outer) &&
         groups.workWithReading() * groups.count() <= kLeastOfTwo;
}

/// Elements of packed columns that stay near beside rows of A.
static constexpr int64_t kPackedColumns = 1 << 16;

/// Whether each sum is a dot product of a row and a column.
static bool isDots(const ContractShape &shape) {
  constexpr int64_t longK = 64;
  return shape.n > 1 && shape.n <= shape.dotColumns && shape.k >= longK &&
         shape.n * roundUp(shape.k, shape.lanes) <= kPackedColumns;
}

/// A block of rows for each group; as many groups as reading A pays for.
static ContractPlan planDots(const ContractShape &shape) {
  constexpr int64_t elementsOfGroup = 1 << 15, groups = 8, rowsOfUnknown = 128;
  ContractPlan plan;
  plan.dots = true;
  plan.rows = std::clamp<int64_t>((shape.registers - 8) / shape.n, 1, 4);
  plan.pitchA = roundUp(shape.k, shape.lanes);
  plan.depth = plan.pitchA;
  plan.groupN = shape.n;
  int64_t parts =
      std::clamp<int64_t>(shape.m * shape.k / elementsOfGroup, 1, groups);
  plan.groupM =
      shape.m < 0
          ? rowsOfUnknown
          : roundUp(ceilDiv(std::max<int64_t>(shape.m, 1), parts), plan.rows);
  return plan;
}

/// Whether A is read once, where it is, and larger than the caches that cores
/// have in common. A block of its rows is then too short for a cache to foresee
/// the next one.
static bool fetchesRows(const ContractShape &shape, const ContractPlan &plan) {
  constexpr double commonCaches = 16; // of the size of a core's own
  return shape.rowsOfA && !plan.packA && shape.perLane == 1 && shape.n > 0 &&
         shape.n <= plan.vectors * shape.lanes &&
         double(shape.m) * double(shape.k) * 4 >=
             commonCaches * double(shape.cacheBytes);
}

/// Elements of k of a panel of blocks that further tiles find in the nearest
/// cache.
static int64_t depthInBlocks(const ContractShape &shape,
                             const ContractPlan &plan) {
  constexpr int64_t fewRows = 32, nearestCache = 48 << 10;
  int64_t columns = plan.vectors * shape.lanes, depth = 2 * shape.deepest;
  bool few = shape.m > 0 && shape.m <= fewRows;
  return few && depth * columns * shape.bytesOfB <= nearestCache
             ? depth
             : shape.deepest;
}

ContractPlan planContraction(const ContractShape &shape) {
  if (isDots(shape))
    return planDots(shape);
  ContractPlan plan;
  shape.tileRows ? chooseTiles(shape, plan) : chooseMicroTile(shape, plan);
  // A product that uses each element of B once has nothing to gain from a copy.
  bool oneTile = shape.m > 0 && shape.m <= plan.rows;
  plan.packB = !shape.blockOfB && !(shape.rowsOfB && oneTile);
  // A longer chain of additions gathers more rounding error than a block of
  // this length that is added to C; a shorter one touches C more often.
  int64_t deepest = plan.packB || shape.k < 1 ? shape.deepest : shape.k;
  if (shape.blockOfB && !oneTile)
    deepest = depthInBlocks(shape, plan);
  int64_t step =
      std::max({shape.lanes, shape.perLane * shape.block, shape.tileDepth});
  plan.window = shape.window;
  plan.depth = balanced(shape.k, deepest, shape.window);
  plan.pitchA = roundUp(plan.depth, step);
  if (shape.window == 1)
    plan.depth = plan.pitchA;
  plan.gemv = isGemv(shape);
  plan.gemv ? chooseGemvGroups(shape, plan) : chooseGroups(shape, plan);
  plan.allOuter = takesAllOuter(shape, plan);
  // A copy of A pays when enough columns use it, or when its rows push each
  // other out of the nearest cache.
  plan.packA =
      !shape.blockOfA && (!shape.rowsOfA || plan.groupN >= kColumnsOfCopy ||
                          (plan.rows > kWays && rowsCollide(shape)));
  plan.fetchesRows = fetchesRows(shape, plan);
  return plan;
}

} // namespace backplane
