// SPDX-License-Identifier: Apache-2.0
//
// Pairs of pack and unpack that undo each other, whole as a target claims them;
// their decompositions are undone by the patterns of movement.
#include "sdk/optimize/Patterns.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace bp;

namespace {

bool haveOneLayout(PackOp pack, UnpackOp unpack) {
  ArrayRef<int64_t> a = pack.getOrder(), b = unpack.getOrder();
  return pack.getAxes() == unpack.getAxes() &&
         pack.getTiles() == unpack.getTiles() &&
         (a == b || (isIdentityPermutation(a) && isIdentityPermutation(b)));
}

LogicalResult unpackOfPack(UnpackOp op, PatternRewriter &rewriter) {
  auto pack = op.getX().getDefiningOp<PackOp>();
  if (!pack || !haveOneLayout(pack, op) ||
      pack.getX().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, pack.getX());
  return success();
}

/// Whether all tiles of what an unpack makes are full: its padding, which a
/// pack would replace, is empty.
bool hasNoPadding(UnpackOp op) {
  const std::vector<backplane::Dim> &sizes = op.getSizes().getDims();
  for (auto [axis, tile] : llvm::zip(op.getAxes(), op.getTiles()))
    if (!(mod(sizes[axis], backplane::Dim(tile)) == backplane::Dim(0)))
      return false;
  return true;
}

LogicalResult packOfUnpack(PackOp op, PatternRewriter &rewriter) {
  auto unpack = op.getX().getDefiningOp<UnpackOp>();
  if (!unpack || !haveOneLayout(op, unpack) || !hasNoPadding(unpack) ||
      unpack.getX().getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, unpack.getX());
  return success();
}

} // namespace

void bp::addLayoutPatterns(RewritePatternSet &patterns) {
  patterns.add(unpackOfPack).add(packOfUnpack);
}
