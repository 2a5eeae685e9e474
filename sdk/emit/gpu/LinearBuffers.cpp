// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/LinearBuffers.h"

#include "sdk/lower/DimToIndex.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace backplane {
namespace {

class Flattener {
public:
  Flattener(IRRewriter &rewriter, const Dispatch &dispatch,
            const GpuTarget &target, BufferUsers users)
      : rewriter(rewriter), dispatch(dispatch), target(target), users(users),
        func(dispatch.func), loc(func.getLoc()) {
    for (auto [i, name] : llvm::enumerate(dispatch.symbols))
      text.bind(name, func.getArgument(dispatch.bindings() + i));
  }

  FailureOr<LinearBuffers> run();

private:
  Block &body() { return func.getBody().front(); }
  LogicalResult planAllocation(memref::AllocOp op);
  LogicalResult makePrivate(memref::AllocOp op);
  LogicalResult makeShared(memref::AllocOp op, const Dim &bytes);
  LogicalResult flatten(BlockArgument buffer);
  LogicalResult flattenTables();
  LogicalResult flattenUses(Value buffer, Value flat, Value offset,
                            ArrayRef<OpFoldResult> sizes);
  FailureOr<SmallVector<OpFoldResult>> sizesOf(BlockArgument buffer);

  IRRewriter &rewriter;
  const Dispatch &dispatch;
  const GpuTarget &target;
  BufferUsers users;
  func::FuncOp func;
  Location loc;
  bp::DimToIndex text;
  LinearBuffers made;
};

} // namespace

LogicalResult Flattener::makePrivate(memref::AllocOp op) {
  MemRefType type = op.getType();
  rewriter.setInsertionPointToStart(&body());
  Value own = memref::AllocaOp::create(
      rewriter, loc,
      MemRefType::get({std::max<int64_t>(type.getNumElements(), 1)},
                      type.getElementType()));
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  if (failed(flattenUses(op, own, zero, op.getMixedSizes())))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

/// A range of the workspace.
LogicalResult Flattener::makeShared(memref::AllocOp op, const Dim &bytes) {
  MemRefType type = op.getType();
  auto linear = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  Value range = body().addArgument(linear, loc);
  made.bindings[body().getNumArguments() - 1] = dispatch.bindings() + 1;
  int64_t unit = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Dim first = floorDiv(made.workspace, Dim(unit));
  made.workspace = made.workspace + bytes;
  auto offset = text.materialize(rewriter, loc, first.str());
  if (failed(offset))
    return failure();
  Value start = getValueOrCreateConstantIndexOp(rewriter, loc, *offset);
  if (failed(flattenUses(op, range, start, op.getMixedSizes())))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult Flattener::planAllocation(memref::AllocOp op) {
  FailureOr<Dim> bytes = allocationBytes(dispatch, op);
  if (failed(bytes))
    return failure();
  rewriter.setInsertionPoint(op);
  std::optional<int64_t> known = bytes->constant();
  if (users != BufferUsers::Sequence && known &&
      *known <= target.privateBytes && op.getType().hasStaticShape())
    return makePrivate(op);
  if (users == BufferUsers::Parallel)
    return op.emitOpError("is memory of an invocation, and there is no more "
                          "than ")
           << target.privateBytes << " bytes";
  return makeShared(op, *bytes);
}

/// Sizes that were asked of a buffer; nothing else may be.
static LogicalResult replaceSizes(IRRewriter &rewriter,
                                  memref::ExtractStridedMetadataOp op,
                                  ArrayRef<OpFoldResult> sizes) {
  for (auto [asked, size] : llvm::zip(op.getSizes(), sizes))
    rewriter.replaceAllUsesWith(
        asked, getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
  if (!op->use_empty())
    return op.emitOpError("asks for more than sizes of linear memory");
  rewriter.eraseOp(op);
  return success();
}

/// Elements of a buffer by their number in it.
LogicalResult Flattener::flattenUses(Value buffer, Value flat, Value offset,
                                     ArrayRef<OpFoldResult> sizes) {
  auto offsetOf = [&](ValueRange at) {
    Value number = offset;
    if (!at.empty()) {
      Value inner = at.size() == 1
                        ? at.front()
                        : affine::AffineLinearizeIndexOp::create(
                              rewriter, loc, at, sizes, /*disjoint=*/true);
      number = rewriter.createOrFold<arith::AddIOp>(loc, inner, offset);
    }
    return number;
  };
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers())) {
    rewriter.setInsertionPoint(user);
    if (auto load = dyn_cast<memref::LoadOp>(user)) {
      rewriter.replaceOpWithNewOp<memref::LoadOp>(load, flat,
                                                  offsetOf(load.getIndices()));
    } else if (auto store = dyn_cast<memref::StoreOp>(user);
               store && store.getMemRef() == buffer) {
      rewriter.replaceOpWithNewOp<memref::StoreOp>(
          store, store.getValue(), flat, offsetOf(store.getIndices()));
    } else if (auto dim = dyn_cast<memref::DimOp>(user);
               dim && dim.getConstantIndex()) {
      rewriter.replaceOp(
          dim, getValueOrCreateConstantIndexOp(rewriter, loc,
                                               sizes[*dim.getConstantIndex()]));
    } else if (auto metadata =
                   dyn_cast<memref::ExtractStridedMetadataOp>(user)) {
      if (failed(replaceSizes(rewriter, metadata, sizes)))
        return failure();
    } else if (auto address =
                   dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(user);
               address && isConstantIntValue(offset, 0)) {
      rewriter.replaceOpWithNewOp<memref::ExtractAlignedPointerAsIndexOp>(
          address, flat);
    } else if (isa<memref::DeallocOp>(user)) {
      rewriter.eraseOp(user);
    } else {
      return user->emitOpError("is no access to single elements");
    }
  }
  return success();
}

FailureOr<SmallVector<OpFoldResult>> Flattener::sizesOf(BlockArgument buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  rewriter.setInsertionPointToStart(&body());
  SmallVector<OpFoldResult> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    FailureOr<Dim> dim = argumentDim(dispatch, buffer.getArgNumber(), axis);
    if (failed(dim))
      return failure();
    auto value = text.materialize(rewriter, loc, dim->str());
    if (failed(value))
      return failure();
    sizes.push_back(*value);
  }
  return sizes;
}

LogicalResult Flattener::flatten(BlockArgument buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto linear = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  auto sizes = sizesOf(buffer);
  if (failed(sizes))
    return failure();
  unsigned number = buffer.getArgNumber();
  BlockArgument flat = body().insertArgument(number, linear, loc);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  if (failed(flattenUses(body().getArgument(number + 1), flat, zero, *sizes)))
    return failure();
  body().eraseArgument(number + 1);
  return success();
}

/// Tables of constants, too, are linear.
LogicalResult Flattener::flattenTables() {
  for (auto table :
       func->getParentOfType<ModuleOp>().getOps<memref::GlobalOp>()) {
    auto values =
        dyn_cast_or_null<DenseElementsAttr>(table.getInitialValueAttr());
    if (!values)
      return table.emitOpError("is no table of constants");
    int64_t count = values.getNumElements();
    Type element = values.getElementType();
    auto linear = MemRefType::get({count}, element);
    table.setInitialValueAttr(
        values.reshape(RankedTensorType::get({count}, element)));
    table.setType(linear);
    SmallVector<memref::GetGlobalOp> uses;
    func.walk([&](memref::GetGlobalOp op) {
      if (op.getName() == table.getSymName())
        uses.push_back(op);
    });
    for (memref::GetGlobalOp op : uses) {
      rewriter.setInsertionPointToStart(&body());
      Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      Value flat = memref::GetGlobalOp::create(rewriter, loc, linear,
                                               table.getSymName());
      if (failed(flattenUses(op, flat, zero,
                             memref::getMixedSizes(rewriter, loc, op))))
        return failure();
      rewriter.eraseOp(op);
    }
  }
  return success();
}

FailureOr<LinearBuffers> Flattener::run() {
  SmallVector<memref::AllocOp> allocations;
  func.walk([&](memref::AllocOp op) {
    if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(op.getType()))
      allocations.push_back(op);
  });
  for (memref::AllocOp op : allocations)
    if (failed(planAllocation(op)))
      return failure();
  if (failed(flattenTables()))
    return failure();
  for (unsigned i = 0; i < dispatch.bindings(); ++i) {
    if (failed(flatten(body().getArgument(i))))
      return failure();
    made.bindings[i] = i;
  }
  return std::move(made);
}

FailureOr<LinearBuffers> makeLinear(IRRewriter &rewriter,
                                    const Dispatch &dispatch,
                                    const GpuTarget &target,
                                    BufferUsers users) {
  return Flattener(rewriter, dispatch, target, users).run();
}

} // namespace backplane
