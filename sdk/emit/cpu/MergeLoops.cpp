// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/MergeLoops.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

using Groups = SmallVector<ReassociationIndices>;

/// Whether the second loop walks the axis after that of the first one in each
/// operand that has either.
static bool areNeighbors(linalg::GenericOp op, unsigned first,
                         unsigned second) {
  MLIRContext *context = op.getContext();
  return llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
    auto a = map.getResultPosition(getAffineDimExpr(first, context));
    auto b = map.getResultPosition(getAffineDimExpr(second, context));
    return a.has_value() == b.has_value() && (!a || *a + 1 == *b);
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

/// What an op on memrefs is to be; nothing where elements of a group do not lie
/// one after the other.
static std::optional<SmallVector<MergedOperand>>
mergeOperands(linalg::GenericOp op, const Groups &groups) {
  SmallVector<MergedOperand> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    operands.push_back(mergeAxes(op.getMatchingIndexingMap(&operand), groups));
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (type && !memref::CollapseShapeOp::isGuaranteedCollapsible(
                    type, operands.back().axes))
      return std::nullopt;
  }
  return operands;
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
  auto operands = groups ? mergeOperands(op, *groups) : std::nullopt;
  if (!operands)
    return op;
  OpBuilder builder(op);
  SmallVector<Value> memrefs;
  SmallVector<AffineMap> maps;
  for (auto [operand, value] : llvm::zip_equal(*operands, op->getOperands())) {
    memrefs.push_back(collapse(builder, value, operand.axes));
    maps.push_back(operand.map);
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
