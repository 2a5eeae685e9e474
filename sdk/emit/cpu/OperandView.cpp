// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/OperandView.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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
  OperandView view{memref, b.index(0), {}, {}, {}};
  view.strides.resize(type.getRank());
  view.sizes.resize(type.getRank());
  Value stride = b.index(1);
  for (int64_t axis = type.getRank(); axis-- > 0;) {
    view.strides[axis] = stride;
    view.sizes[axis] = getValueOrCreateConstantIndexOp(
        b.builder, b.loc, memref::getMixedSize(b.builder, b.loc, memref, axis));
    stride = b.mul(stride, view.sizes[axis]);
  }
  return view;
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
  if (!view || !op.hasUnitStride() ||
      op.getSourceType().getRank() != op.getType().getRank())
    return std::nullopt;
  for (auto [axis, offset] : llvm::enumerate(op.getMixedOffsets()))
    if (Value stride = view->strides[axis])
      view->origin = b.add(view->origin, b.mul(indexOf(offset), stride));
  for (auto [axis, size] : llvm::enumerate(op.getMixedSizes()))
    view->sizes[axis] = indexOf(size);
  return view;
}

/// Axes are removed that have one index.
Found Reader::readCollapse(tensor::CollapseShapeOp op) {
  Found view = read(op.getSrc());
  if (!view)
    return std::nullopt;
  OperandView result = *view;
  result.strides.clear();
  result.sizes.clear();
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    int64_t kept = group.back(), proper = 0;
    for (int64_t axis : group)
      if (op.getSrcType().getDimSize(axis) != 1) {
        kept = axis;
        ++proper;
      }
    if (proper > 1)
      return std::nullopt;
    result.strides.push_back(view->strides[kept]);
    result.sizes.push_back(view->sizes[kept]);
  }
  return result;
}

Found Reader::readExpand(tensor::ExpandShapeOp op) {
  Found view = read(op.getSrc());
  if (!view)
    return std::nullopt;
  SmallVector<OpFoldResult> sizes = getMixedValues(
      op.getStaticOutputShape(), op.getOutputShape(), op.getContext());
  OperandView result = *view;
  result.strides.assign(sizes.size(), Value());
  result.sizes.assign(sizes.size(), Value());
  for (auto [axis, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = view->strides[axis];
    for (int64_t part : llvm::reverse(group)) {
      result.strides[part] = stride;
      result.sizes[part] = indexOf(sizes[part]);
      stride = stride ? b.mul(stride, result.sizes[part]) : Value();
    }
  }
  return result;
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
  OperandView result = *view;
  auto type = cast<RankedTensorType>(op.getResultTypes()[0]);
  result.strides.assign(type.getRank(), Value());
  result.sizes.assign(type.getRank(), Value());
  AffineMap map = op.getIndexingMapsArray()[0];
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    result.strides[loop] = view->strides[axis];
    result.sizes[loop] = view->sizes[axis];
  }
  for (auto [axis, size] : llvm::enumerate(result.sizes)) {
    if (!size && type.isDynamicDim(axis))
      return std::nullopt;
    if (!size)
      size = b.index(type.getDimSize(axis));
  }
  if (!llvm::hasSingleElement(*op.getBody()))
    result.bodies.push_back(op);
  return result;
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

FlatOperand OperandView::flat(const VectorBuilder &builder,
                              AffineMap map) const {
  FlatOperand result{flatMemref(builder.builder, builder.loc, memref),
                     SmallVector<Value>(map.getNumDims()), origin};
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    result.strides[cast<AffineDimExpr>(expr).getPosition()] = strides[axis];
  return result;
}

std::optional<OperandView> viewOperand(const VectorBuilder &builder,
                                       Value tensor) {
  return Reader{builder}.read(tensor);
}

} // namespace backplane
