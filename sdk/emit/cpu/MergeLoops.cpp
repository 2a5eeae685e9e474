// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/MergeLoops.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

using Groups = SmallVector<ReassociationIndices>;

/// Whether elements of an axis and of the next one lie one after the other in
/// a memref, by sizes and distances that are known.
static bool isContiguous(MemRefType type, unsigned axis) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  return !type.isDynamicDim(axis + 1) &&
         !ShapedType::isDynamic(strides[axis + 1]) &&
         strides[axis] == type.getDimSize(axis + 1) * strides[axis + 1];
}

/// Whether the second loop walks the axis after that of the first one in each
/// operand that has either, and memrefs have their elements one after the
/// other.
static bool areNeighbors(linalg::GenericOp op, unsigned first,
                         unsigned second) {
  MLIRContext *context = op.getContext();
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto a = map.getResultPosition(getAffineDimExpr(first, context));
    auto b = map.getResultPosition(getAffineDimExpr(second, context));
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return a.has_value() == b.has_value() &&
           (!a || (*a + 1 == *b && (!type || isContiguous(type, *a))));
  });
}

/// Loops in groups, each of which is one loop to all operands.
static Groups groupLoops(linalg::GenericOp op) {
  auto types = op.getIteratorTypesArray();
  Groups groups;
  for (unsigned i = 0; i < op.getNumLoops(); ++i) {
    if (i > 0 && types[i - 1] == types[i] && areNeighbors(op, i - 1, i))
      groups.back().push_back(i);
    else
      groups.push_back({int64_t(i)});
  }
  return groups;
}

/// The groups of an op that can have fewer loops.
static std::optional<Groups> findGroups(linalg::GenericOp op) {
  if (op.hasIndexSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return std::nullopt;
  Groups groups = groupLoops(op);
  return groups.size() < op.getNumLoops() ? std::optional(groups)
                                          : std::nullopt;
}

Operation *mergeLoops(RewriterBase &rewriter, Operation *root) {
  auto op = dyn_cast<linalg::GenericOp>(root);
  std::optional<Groups> groups = op ? findGroups(op) : std::nullopt;
  if (!groups)
    return root;
  rewriter.setInsertionPoint(op);
  auto merged = linalg::collapseOpIterationDims(op, *groups, rewriter);
  if (failed(merged))
    return root;
  rewriter.replaceOp(op, merged->results);
  return merged->collapsedOp;
}

namespace {

/// An operand of the op with merged loops.
struct MergedOperand {
  AffineMap map;
  Groups axes;
};

} // namespace

/// `map` leads to the axes of a memref.
static MergedOperand mergeAxes(AffineMap map, const Groups &groups) {
  MergedOperand merged;
  SmallVector<AffineExpr> results;
  for (unsigned axis = 0; axis < map.getNumResults();) {
    auto holds = [&](const ReassociationIndices &group) {
      return group.front() == int64_t(map.getDimPosition(axis));
    };
    const auto *group = llvm::find_if(groups, holds);
    results.push_back(
        getAffineDimExpr(group - groups.begin(), map.getContext()));
    merged.axes.emplace_back();
    for (size_t i = 0; i < group->size(); ++i)
      merged.axes.back().push_back(axis++);
  }
  merged.map = AffineMap::get(groups.size(), 0, results, map.getContext());
  return merged;
}

static Value collapse(OpBuilder &builder, Value memref, const Groups &axes) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type || int64_t(axes.size()) == type.getRank())
    return memref;
  return memref::CollapseShapeOp::create(builder, memref.getLoc(), memref,
                                         axes);
}

linalg::GenericOp mergeContiguousLoops(linalg::GenericOp op) {
  std::optional<Groups> groups =
      op.hasPureBufferSemantics() ? findGroups(op) : std::nullopt;
  if (!groups)
    return op;
  OpBuilder builder(op);
  SmallVector<Value> memrefs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    MergedOperand merged =
        mergeAxes(op.getMatchingIndexingMap(&operand), *groups);
    memrefs.push_back(collapse(builder, operand.get(), merged.axes));
    maps.push_back(merged.map);
  }
  SmallVector<utils::IteratorType> types;
  for (const ReassociationIndices &group : *groups)
    types.push_back(op.getIteratorTypesArray()[group.front()]);
  auto inputs = ArrayRef(memrefs).take_front(op.getNumDpsInputs());
  auto merged = linalg::GenericOp::create(
      builder, op.getLoc(), inputs, ArrayRef(memrefs).drop_front(inputs.size()),
      maps, types);
  merged.getRegion().takeBody(op.getRegion());
  op.erase();
  return merged;
}

} // namespace backplane
