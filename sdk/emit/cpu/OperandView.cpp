// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/OperandView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <utility>

using namespace mlir;

namespace backplane {

namespace {

using Found = std::optional<OperandView>;

struct Reader {
  const VectorBuilder &b;

  Found read(Value tensor);
  Found readConstant(arith::ConstantOp op);
  Found readSlice(tensor::ExtractSliceOp op);
  Found readCollapse(tensor::CollapseShapeOp op);
  Found readExpand(tensor::ExpandShapeOp op);
  Found readGeneric(linalg::GenericOp op);
  Value indexOf(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(b.builder, b.loc, value);
  }
};

} // namespace

OperandView wholeView(const VectorBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  OperandView view{memref, b.index(0), {}, {}};
  view.axes.resize(type.getRank());
  Value stride = b.index(1);
  for (int64_t axis = type.getRank(); axis-- > 0;) {
    Value size = getValueOrCreateConstantIndexOp(
        b.builder, b.loc, memref::getMixedSize(b.builder, b.loc, memref, axis));
    view.axes[axis] = {{stride, size}};
    stride = b.mul(stride, size);
  }
  return view;
}

/// Whether no axis of the tensor merges several.
static bool isPlain(const OperandView &view) {
  return llvm::all_of(view.axes,
                      [](const auto &parts) { return parts.size() == 1; });
}

Found Reader::readConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return std::nullopt;
  return wholeView(b,
                   bufferization::ToBufferOp::create(
                       b.builder, b.loc,
                       MemRefType::get(type.getShape(), type.getElementType()),
                       op.getResult(), /*read_only=*/true));
}

Found Reader::readSlice(tensor::ExtractSliceOp op) {
  Found view = read(op.getSource());
  if (!view || !isPlain(*view) || !op.hasUnitStride() ||
      op.getSourceType().getRank() != op.getType().getRank())
    return std::nullopt;
  for (auto [axis, offset] : llvm::enumerate(op.getMixedOffsets()))
    if (Value stride = view->axes[axis].front().stride)
      view->origin = b.add(view->origin, b.mul(indexOf(offset), stride));
  for (auto [axis, size] : llvm::enumerate(op.getMixedSizes()))
    view->axes[axis].front().size = indexOf(size);
  return view;
}

/// Axes that have one index are no parts of others.
Found Reader::readCollapse(tensor::CollapseShapeOp op) {
  Found view = read(op.getSrc());
  if (!view)
    return std::nullopt;
  auto axes = std::exchange(view->axes, {});
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    view->axes.emplace_back();
    for (int64_t axis : group)
      if (op.getSrcType().getDimSize(axis) != 1)
        llvm::append_range(view->axes.back(), axes[axis]);
    if (view->axes.back().empty())
      view->axes.back() = axes[group.back()];
  }
  return view;
}

Found Reader::readExpand(tensor::ExpandShapeOp op) {
  Found view = read(op.getSrc());
  if (!view || !isPlain(*view))
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = getMixedValues(
      op.getStaticOutputShape(), op.getOutputShape(), op.getContext());
  auto axes = std::exchange(view->axes, {});
  view->axes.resize(sizes.size());
  for (auto [axis, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = axes[axis].front().stride;
    for (int64_t part : llvm::reverse(group)) {
      Value size = indexOf(sizes[part]);
      view->axes[part] = {{stride, size}};
      stride = stride ? b.mul(stride, size) : Value();
    }
  }
  return view;
}

/// Whether the op only computes each element from one of its only operand.
static bool isMap(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumDpsInputs() == 1 &&
         op.getNumDpsInits() == 1 && !op.hasIndexSemantics() &&
         op.getIndexingMapsArray()[0].isProjectedPermutation() &&
         op.getIndexingMapsArray()[1].isIdentity() &&
         op.getBody()->getArgument(1).use_empty() &&
         canVectorizeBody(*op.getBody());
}

Found Reader::readGeneric(linalg::GenericOp op) {
  if (!isMap(op))
    return std::nullopt;
  Found view = read(op.getDpsInputs()[0]);
  if (!view)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
  auto axes = std::exchange(view->axes, {});
  view->axes.resize(type.getRank());
  AffineMap map = op.getIndexingMapsArray()[0];
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    view->axes[cast<AffineDimExpr>(expr).getPosition()] = axes[axis];
  for (auto [axis, parts] : llvm::enumerate(view->axes)) {
    if (!parts.empty())
      continue;
    if (type.isDynamicDim(axis))
      return std::nullopt;
    parts = {{Value(), b.index(type.getDimSize(axis))}};
  }
  if (!llvm::hasSingleElement(*op.getBody()))
    view->bodies.push_back(op);
  return view;
}

Found Reader::read(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto bound = dyn_cast_or_null<bufferization::ToTensorOp>(op))
    return wholeView(b, bound.getBuffer());
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return readConstant(constant);
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    return readSlice(slice);
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
    return readCollapse(collapse);
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return readExpand(expand);
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
    return readGeneric(generic);
  return std::nullopt;
}

Value OperandView::sizeOf(const VectorBuilder &builder, size_t axis) const {
  Value size = builder.index(1);
  for (const AxisPart &part : axes[axis])
    size = builder.mul(size, part.size);
  return size;
}

FlatOperand OperandView::flat(const VectorBuilder &builder,
                              AffineMap map) const {
  FlatOperand result{flatMemref(builder.builder, builder.loc, memref),
                     SmallVector<Value>(map.getNumDims()), origin};
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (axes[axis].size() == 1)
      result.strides[loop] = axes[axis].front().stride;
    else
      result.splits.push_back({loop, llvm::to_vector<1>(axes[axis])});
  }
  return result;
}

std::optional<OperandView> viewOperand(const VectorBuilder &builder,
                                       Value tensor) {
  return Reader{builder}.read(tensor);
}

} // namespace backplane
