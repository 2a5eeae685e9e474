// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ImageTile.h"

#include "sdk/emit/cpu/ContractOperands.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <algorithm>

using namespace mlir;

namespace backplane {

/// Pixels further apart are better taken one by one.
static constexpr int64_t kMaxStride = 4;
/// Rows of a window in several phases: each of them is code.
static constexpr int64_t kMaxRows = 16;

/* ---- Sizes ---- */

int64_t ImageTile::pixelsOfRow() const {
  int64_t count = 1;
  for (const WindowAxis &axis : inRow())
    count *= axis.pixels;
  return count;
}

int64_t ImageTile::windowOfRow() const {
  int64_t count = 1;
  for (const WindowAxis &axis : inRow())
    count *= axis.window;
  return count;
}

int64_t ImageTile::offsetOfRow(int64_t w) const {
  int64_t at = w * rows().dilation;
  auto phase = llvm::find(phases, at % rows().stride) - phases.begin();
  return phase * phasePitch + at / rows().stride * pixelsOfRow();
}

double ImageTile::leftOut(int64_t pixels) const {
  const WindowAxis &axis = line();
  if (axes.size() != 2 || !axis.padded() || pixels > axis.pixels)
    return 0;
  int64_t outside = 0;
  for (int64_t tile = 0; tile < axis.pixels; ++tile) {
    int64_t first = tile * pixels % axis.pixels;
    if (first + pixels > axis.pixels)
      continue;
    for (int64_t w = 0; w < axis.window; ++w) {
      int64_t at = first * axis.stride + w * axis.dilation - axis.low;
      bool before = at + (pixels - 1) * axis.stride < 0;
      outside += before || at >= axis.size;
    }
  }
  return double(outside) / double(axis.pixels * axis.window);
}

void ImageTile::place(int64_t columns, int64_t countK, int64_t slack) {
  int64_t all = rows().pixels * pixelsOfRow(), width = line().pixels;
  int64_t pixels = std::min(columns, all);
  if (!oneLine()) {
    int64_t lines = 0;
    for (int64_t first = 0; first < all; first += columns)
      lines = std::max(
          lines, int64_t(llvm::divideCeil(first % width + pixels, width)));
    pixels = lines * width + rowReach() * pixelsOfRow();
  }
  // An odd number of cache lines: copies do not push each other out.
  constexpr int64_t cacheLine = 16;
  phasePitch = int64_t(llvm::divideCeil(pixels, cacheLine) | 1) * cacheLine;
  copyPitch = phasePitch * int64_t(phases.size());
  channelPitch = copyPitch * windowOfRow();
  elements = countK / depth() * channelPitch + slack;
}

/* ---- Matching ---- */

namespace {

struct TileMatcher {
  Contraction &c;
  SmallVector<int64_t> sizes = c.op.getStaticLoopRanges();
  ImageTile tile = {};
  SmallVector<unsigned> n = {}, k = {}; ///< as the axes have them

  bool run(int64_t perLane);
  bool readAxis(unsigned axis);
  bool readChannels(unsigned axis, ArrayRef<unsigned> loops);
  bool readWindow(unsigned axis, ArrayRef<unsigned> loops);
  SmallVector<unsigned> loopsOf(AffineExpr expr) const;
};

} // namespace

/// Loops of more than one iteration.
SmallVector<unsigned> TileMatcher::loopsOf(AffineExpr expr) const {
  SmallVector<unsigned> found;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (sizes[loop] != 1 && factorOf(expr, loop) != 0)
      found.push_back(loop);
  return found;
}

bool TileMatcher::readWindow(unsigned axis, ArrayRef<unsigned> loops) {
  AffineExpr expr = c.rhs.map.getResult(axis);
  WindowAxis window = {.axis = axis};
  for (unsigned loop : loops) {
    bool inN = llvm::is_contained(c.n, loop);
    if ((!inN && !llvm::is_contained(c.k, loop)) || sizes[loop] < 1)
      return false;
    (inN ? n : k).push_back(loop);
    (inN ? window.pixels : window.window) = sizes[loop];
    (inN ? window.stride : window.dilation) = factorOf(expr, loop);
    window.hasLoop |= inN;
  }
  OpFoldResult low = c.rhs.padded() ? c.rhs.padLow[axis] : OpFoldResult();
  std::optional<int64_t> padding = low ? getConstantIntValue(low) : 0;
  window.size = cast<MemRefType>(c.rhs.memref.getType()).getDimSize(axis);
  window.low = padding.value_or(0);
  tile.axes.push_back(window);
  bool known = padding && !ShapedType::isDynamic(window.size);
  // Two loops of one kind make no window.
  return known && window.stride > 0 && window.dilation > 0 &&
         loops.size() == size_t(window.hasLoop) + size_t(window.window > 1);
}

bool TileMatcher::readAxis(unsigned axis) {
  AffineExpr expr = c.rhs.map.getResult(axis);
  SmallVector<unsigned> loops = loopsOf(expr);
  bool padded = c.rhs.padded(axis);
  bool plain = isa<AffineDimExpr>(expr) && !padded;
  if (loops.empty() || (plain && llvm::is_contained(c.outer, loops[0])))
    return !padded;
  bool ofLanes = tile.perLane > 1 && loops.back() == c.k.back() && !padded;
  if (ofLanes || (plain && llvm::is_contained(c.k, loops[0])))
    return readChannels(axis, loops);
  return readWindow(axis, loops);
}

/// Channels, the last loop of which runs over those of a lane where these are
/// several.
bool TileMatcher::readChannels(unsigned axis, ArrayRef<unsigned> loops) {
  bool first = !tile.channelAxis && tile.axes.empty();
  tile.channelAxis = axis;
  if (tile.perLane == 1) {
    k.push_back(loops[0]);
    return first;
  }
  AffineExpr expr = c.rhs.map.getResult(axis);
  bool ofLanes = loops.back() == c.k.back() &&
                 sizes[loops.back()] == tile.perLane &&
                 factorOf(expr, loops.back()) == 1;
  if (loops.size() == 1)
    return first && ofLanes;
  k.push_back(loops[0]);
  return first && ofLanes && loops.size() == 2 && loops[0] == c.k.front() &&
         factorOf(expr, loops[0]) == tile.perLane;
}

bool TileMatcher::run(int64_t perLane) {
  tile.perLane = perLane;
  for (unsigned axis = 0; axis < c.rhs.map.getNumResults(); ++axis)
    if (!readAxis(axis))
      return false;
  bool hasLanes = perLane > 1;
  if (hasLanes)
    k.push_back(c.k.back());
  if (tile.axes.empty() || (hasLanes && !tile.channelAxis) ||
      n != ArrayRef(c.n) || k != ArrayRef(c.k))
    return false;
  if (tile.axes.size() == 1)
    tile.axes.insert(tile.axes.begin(), WindowAxis());
  const WindowAxis &rows = tile.rows(), &line = tile.line();
  for (int64_t w = 0; w < rows.window; ++w)
    if (!llvm::is_contained(tile.phases, w * rows.dilation % rows.stride))
      tile.phases.push_back(w * rows.dilation % rows.stride);
  return line.hasLoop && *line.axis + 1 == c.rhs.map.getNumResults() &&
         tile.window() <= kMaxWindow && line.stride <= kMaxStride &&
         (rows.stride == 1 || rows.window <= kMaxRows);
}

std::optional<ImageTile> matchImageTile(Contraction &c, int64_t perLane) {
  TileMatcher matcher{c};
  bool isPacked = perLane > 1 || !c.nMergedInB;
  if (!isPacked || c.blockOfB || !matcher.run(perLane))
    return std::nullopt;
  return matcher.tile;
}

} // namespace backplane
