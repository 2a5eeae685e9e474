// SPDX-License-Identifier: Apache-2.0
//
// Weights of products are put in blocks of columns, as [columns / 16, inner,
// 16]: a kernel that computes some columns then reads memory from its start to
// its end, however the weight lay, and copies nothing.
#include "sdk/dialect/Attributes.h"
#include "sdk/layout/BlockedWeight.h"

#include "backplane/compiler.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;

/// Columns of a block: a line of a cache.
static constexpr int64_t kBlock = 16;

/// Rows of the result, if they are known; else 0.
static int64_t rowsOf(MatmulOp op) {
  int64_t rows = 1;
  backplane::Dims dims = dimsOf(op.getType());
  for (const Dim &dim : ArrayRef(dims).drop_back())
    rows *= dim.constant().value_or(0);
  return rows;
}

/// One row passes as quickly over the rows of a weight of f32 as over blocks,
/// and many rows over the one block of a narrow weight that is copied for them.
static bool isArranged(MatmulOp op, ArrayRef<LayoutOptions> devices,
                       const backplane::WeightPool &pool) {
  WeightOp weight = storedWeight(op.getB());
  bool widens = weight && getElementTypeOrSelf(weight.getType()) !=
                              getElementTypeOrSelf(op.getB().getType());
  if (!isKnown(weight, pool) ||
      !(devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) ||
      op->hasAttr(kernelAttr) || op.getTransposeA() || op.getWide() ||
      !(widens ? readsBytes(op)
               : getElementTypeOrSelf(weight.getType()).isF32()) ||
      cast<RankedTensorType>(op.getB().getType()).getRank() != 2)
    return false;
  std::optional<int64_t> columns = dimsOf(op.getType()).back().constant();
  int64_t rows = rowsOf(op);
  bool tall = columns == kBlock && (rows == 0 || rows > kBlock);
  return (op.getTransposeB() || widens || rows != 1) && columns && !tall;
}

/// Whether columns can be added at little cost: there are several blocks of
/// them, and so few rows that copying the result costs less than what blocks
/// save.
static bool canPad(MatmulOp op, const LayoutOptions &device) {
  constexpr int64_t minColumns = 8 * kBlock;
  int64_t rows = rowsOf(op);
  return !device.keepsWeights && rows > 0 && rows <= 4 * kBlock &&
         *dimsOf(op.getType()).back().constant() >= minColumns;
}

/// Gives the product so many columns, of which a slice takes those that were
/// there.
static void addColumns(MatmulOp op, int64_t columns) {
  MLIRContext *context = op->getContext();
  backplane::TensorType type = *toTensorType(op.getType());
  backplane::Dims sizes = type.dims, starts(sizes.size(), Dim(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  auto slice = SliceOp::create(builder, op.getLoc(), op.getType(), op,
                               DimsAttr::get(context, starts),
                               DimsAttr::get(context, sizes), strides);
  if (Attribute device = op->getAttr(deviceAttr))
    slice->setAttr(deviceAttr, device);
  type.dims.back() = Dim(columns);
  op.getResult().setType(toType(context, type));
  op.getResult().replaceAllUsesExcept(slice, slice);
}

static LogicalResult arrange(MatmulOp op, const LayoutOptions &device,
                             backplane::WeightPool &pool) {
  backplane::Dims stored = dimsOf(op.getB().getType());
  bool isTransposed = op.getTransposeB();
  Dim inner = stored[isTransposed ? 1 : 0];
  int64_t before = *stored[isTransposed ? 0 : 1].constant();
  auto columns = int64_t(llvm::alignTo(uint64_t(before), kBlock));
  Dim blocks(columns / kBlock);
  BlockedLayout layout{.view = {1, 0, 2}, .whole = {inner, Dim(columns)}};
  if (columns != before) {
    layout.padded = layout.whole;
    if (isTransposed)
      std::swap(layout.padded[0], layout.padded[1]);
    addColumns(op, columns);
  }
  if (isTransposed) {
    layout.split = {blocks, Dim(kBlock), inner};
    layout.order = {0, 2, 1};
  } else {
    layout.split = {inner, blocks, Dim(kBlock)};
    layout.order = {1, 0, 2};
  }
  op.setTransposeB(false);
  return storeInBlocks(op.getBMutable(), layout, device, pool);
}

LogicalResult bp::arrangeColumns(func::FuncOp main,
                                 ArrayRef<LayoutOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<MatmulOp> products(main.getOps<MatmulOp>());
  for (MatmulOp op : products) {
    if (!isArranged(op, devices, pool))
      continue;
    const LayoutOptions &device = devices[deviceOf(op)];
    int64_t columns = *dimsOf(op.getType()).back().constant();
    if ((columns % kBlock == 0 || canPad(op, device)) &&
        failed(arrange(op, device, pool)))
      return failure();
  }
  return success();
}
