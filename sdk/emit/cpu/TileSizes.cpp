// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/TileSizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace backplane {

/// Work of a group, in vectorised elementary operations on elements: some tens
/// of microseconds.
static constexpr int64_t kGroupWork = 1 << 17;
/// That of some microseconds, from which there are two groups.
static constexpr double kWorkOfTwo = 1 << 16;
/// Bytes that a group keeps between its ops: they stay in the first cache
/// beside what it reads. Of more than a core's own caches hold, little: the
/// next rows are on their way while these are computed.
static constexpr double kGroupBytes = 1 << 15, kOwnCaches = 1 << 22,
                        kFarGroupBytes = 1 << 12;
/// What a cache line of f32 holds.
static constexpr int64_t kLine = 16;
/// Elementary operations of an element that is not computed for every tile
/// anew.
static constexpr double kCostlyBody = 8;

namespace {

/// Walks from the root through its producers and finds out what a split of the
/// root's loops means for them.
struct ProducerScan {
  unsigned rootLoops;
  SmallVector<bool> splittable;
  double work = 0;  ///< of all ops together
  double bytes = 0; ///< of what is kept between them
  DenseSet<Operation *> seen;

  /// `loopToRoot`: for each loop of `op` the root's loop that it follows.
  void visit(linalg::LinalgOp op, ArrayRef<int64_t> loopToRoot);
  void visitOperand(linalg::LinalgOp op, OpOperand &operand,
                    ArrayRef<int64_t> loopToRoot);
  void restrict(ArrayRef<int64_t> axisToRoot);
};

} // namespace

static double opWork(Operation &op) {
  if (isa<math::ExpOp, math::TanhOp, math::ErfOp, math::LogOp, math::PowFOp,
          math::SinOp, math::CosOp>(op))
    return 16;
  return op.getDialect() && op.getDialect()->getNamespace() == "math" ? 8 : 1;
}

static double bodyWork(linalg::LinalgOp op) {
  double work = 1;
  for (Operation &inner : op.getBlock()->without_terminator())
    work += opWork(inner);
  return work;
}

static int64_t knownSize(int64_t size) {
  return ShapedType::isDynamic(size) ? kUnknownSize
                                     : std::max<int64_t>(size, 1);
}

static double bytesOf(RankedTensorType type) {
  double bytes = double(type.getElementTypeBitWidth()) / 8;
  for (int64_t size : type.getShape())
    bytes *= double(knownSize(size));
  return bytes;
}

/// Only root loops that select a part of this producer may be split.
void ProducerScan::restrict(ArrayRef<int64_t> axisToRoot) {
  for (unsigned loop = 0; loop < rootLoops; ++loop)
    if (!llvm::is_contained(axisToRoot, int64_t(loop)))
      splittable[loop] = false;
}

static ArrayRef<int64_t> operandShape(OpOperand &operand) {
  return cast<RankedTensorType>(operand.get().getType()).getShape();
}

void ProducerScan::visitOperand(linalg::LinalgOp op, OpOperand &operand,
                                ArrayRef<int64_t> loopToRoot) {
  Operation *producer = operand.get().getDefiningOp();
  if (!producer || !isa<TilingInterface>(producer))
    return;
  SmallVector<int64_t> axisToRoot;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    axisToRoot.push_back(dim ? loopToRoot[dim.getPosition()] : -1);
  }
  auto linalgProducer = dyn_cast<linalg::LinalgOp>(producer);
  if (!linalgProducer) {
    // A pad: its borders are repeated rather than a whole plane of unknown
    // size kept.
    if (!ShapedType::isDynamicShape(operandShape(operand)))
      restrict(axisToRoot);
    return;
  }
  auto result = cast<OpResult>(operand.get());
  AffineMap map = linalgProducer.getMatchingIndexingMap(
      linalgProducer.getDpsInitOperand(result.getResultNumber()));
  SmallVector<int64_t> producerLoops(linalgProducer.getNumLoops(), -1);
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      producerLoops[dim.getPosition()] = axisToRoot[axis];
  // What a reduction reads again for each tile is cheap, or computed once.
  bool repeated =
      op.getNumReductionLoops() > 0 && bodyWork(linalgProducer) >= kCostlyBody;
  if (linalgProducer.getNumReductionLoops() > 0 || repeated)
    restrict(axisToRoot);
  visit(linalgProducer, producerLoops);
}

void ProducerScan::visit(linalg::LinalgOp op, ArrayRef<int64_t> loopToRoot) {
  if (!seen.insert(op).second)
    return;
  double points = 1;
  for (int64_t size : op.getStaticLoopRanges())
    points *= double(knownSize(size));
  work += points * bodyWork(op);
  if (seen.size() > 1)
    for (Value result : op->getResults())
      bytes += bytesOf(cast<RankedTensorType>(result.getType()));
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      visitOperand(op, operand, loopToRoot);
}

/// Loops whose iterations are neighbours in the largest operands.
static SmallVector<bool> contiguousLoops(linalg::LinalgOp op) {
  SmallVector<bool> found(op.getNumLoops(), false);
  unsigned rank = 0;
  for (AffineMap map : op.getIndexingMapsArray())
    rank = std::max(rank, map.getNumResults());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool large = op.isDpsInit(&operand) || map.getNumResults() == rank;
    if (map.getNumResults() > 0 && large)
      if (auto dim = dyn_cast<AffineDimExpr>(map.getResults().back()))
        found[dim.getPosition()] = true;
  }
  return found;
}

/// Neighbours in memory that a group has, or a multiple: a block of vectors
/// where there are enough for some groups, else a cache line.
static int64_t neighbours(int64_t size) {
  if (ShapedType::isDynamic(size) || size >= 32 * kLine)
    return 8 * kLine;
  return size >= 6 * kLine ? 4 * kLine : kLine;
}

static SmallVector<int64_t> splitLoops(ArrayRef<int64_t> sizes,
                                       ArrayRef<bool> splittable,
                                       ArrayRef<bool> contiguous,
                                       double points) {
  for (auto [size, split] : llvm::zip(sizes, splittable))
    if (!split)
      points /= double(knownSize(size));
  SmallVector<int64_t> tiles(sizes.size(), 0);
  for (size_t i = sizes.size(); i-- > 0;) {
    if (!splittable[i])
      continue;
    int64_t tile = std::max<int64_t>(1, int64_t(points));
    if (tile > 64)
      tile = (tile + 32) / 64 * 64;
    else if (contiguous[i])
      tile = llvm::alignTo(tile, neighbours(sizes[i]));
    bool dynamic = ShapedType::isDynamic(sizes[i]);
    if (dynamic || tile < sizes[i])
      tiles[i] = tile;
    points /= double(std::min(tile, knownSize(sizes[i])));
  }
  return tiles;
}

/// Splits the longest loop in two where none is split.
static void splitInTwo(SmallVectorImpl<int64_t> &tiles, ArrayRef<int64_t> sizes,
                       ArrayRef<bool> splittable) {
  constexpr int64_t min = 2 * kLine;
  if (llvm::any_of(tiles, [](int64_t tile) { return tile != 0; }))
    return;
  std::optional<size_t> longest;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (splittable[i] && sizes[i] >= min &&
        (!longest || sizes[i] > sizes[*longest]))
      longest = i;
  if (longest)
    tiles[*longest] = int64_t(
        llvm::alignTo(llvm::divideCeil(uint64_t(sizes[*longest]), 2), kLine));
}

SmallVector<int64_t> chooseTileSizes(TilingInterface root) {
  auto op = dyn_cast<linalg::LinalgOp>(root.getOperation());
  if (!op)
    return SmallVector<int64_t>(root.getLoopIteratorTypes().size(), 0);
  ProducerScan scan{op.getNumLoops()};
  SmallVector<int64_t> loops;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [i, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool parallel = type == utils::IteratorType::parallel;
    scan.splittable.push_back(parallel && sizes[i] != 1);
    loops.push_back(parallel ? int64_t(i) : -1);
  }
  scan.visit(op, loops);
  double points = 1;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (loop < 0)
      sizes[i] = 1; // counted in the work per point
    points *= double(knownSize(sizes[i]));
  }
  double bytes = scan.bytes > kOwnCaches ? kFarGroupBytes : kGroupBytes;
  double most = std::min(double(kGroupWork) * points / scan.work,
                         bytes * points / std::max(scan.bytes, 1.0));
  bool two = scan.work >= kWorkOfTwo;
  if (two)
    most = std::min(most, points / 2);
  SmallVector<int64_t> tiles = splitLoops(
      sizes, scan.splittable, contiguousLoops(op), std::max(1.0, most));
  if (two)
    splitInTwo(tiles, sizes, scan.splittable);
  return tiles;
}

} // namespace backplane
