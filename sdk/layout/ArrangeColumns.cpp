// SPDX-License-Identifier: Apache-2.0
//
// Weights of products are put in blocks of columns, as [columns / 16, inner,
// 16]: a kernel that computes some columns then reads memory from its start to
// its end, however the weight lay, and copies nothing. Of bytes some of the
// inner ones are neighbours, as [columns / 16, inner / 4, 16, 4]: an
// instruction multiplies those at once.
#include "sdk/dialect/Attributes.h"
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/BlockedWeight.h"

#include "backplane/compiler.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;

/// Columns of a block: a line of a cache.
static constexpr int64_t kBlock = 16;

/// The sizes of the weight before rows and columns.
static backplane::Dims batchOf(MatmulOp op) {
  backplane::Dims dims = dimsOf(op.getB().getType());
  dims.resize(dims.size() - 2);
  return dims;
}

/// Rows of the result that one weight computes, if they are known; else 0.
static int64_t rowsOf(MatmulOp op) {
  int64_t rows = 1;
  backplane::Dims dims = dimsOf(op.getType());
  for (const Dim &dim :
       ArrayRef(dims).drop_back().drop_front(batchOf(op).size()))
    rows *= dim.constant().value_or(0);
  return rows;
}

/// Elements of a column.
static Dim innerOf(MatmulOp op) {
  return dimsOf(
      op.getB().getType())[batchOf(op).size() + (op.getTransposeB() ? 1 : 0)];
}

/// One row passes as quickly over the rows of a weight of f32 as over blocks,
/// and many rows over the one block of a narrow weight that is copied for them.
static bool isArranged(MatmulOp op, ArrayRef<LayoutOptions> devices,
                       const backplane::WeightPool &pool) {
  WeightOp weight = storedWeight(op.getB());
  bool widens = weight && getElementTypeOrSelf(weight.getType()) !=
                              getElementTypeOrSelf(op.getB().getType());
  if (!knownWeight(weight, pool) ||
      !(devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) ||
      op->hasAttr(kernelAttr) || op.getTransposeA() || op.getWide() ||
      !(widens ? readsBytes(op)
               : getElementTypeOrSelf(weight.getType()).isF32()))
    return false;
  // A view of blocks does not tell an axis of 1 from one that was split.
  if (llvm::is_contained(batchOf(op), Dim(1)))
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
  return !device.keepsWeights && batchOf(op).empty() && rows > 0 &&
         rows <= 4 * kBlock &&
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
  onDeviceOf(op, slice);
  type.dims.back() = Dim(columns);
  op.getResult().setType(toType(context, type));
  op.getResult().replaceAllUsesExcept(slice, slice);
}

/// Inner elements of a column that are neighbours; 1: none are.
static int64_t innerAtOnce(MatmulOp op, int64_t columns,
                           const LayoutOptions &device) {
  int64_t atOnce = bytesAtOnce(op.getA(), op.getB(), device);
  int64_t size = innerOf(op).constant().value_or(0);
  return columns > kBlock && size > atOnce && size % atOnce == 0 ? atOnce : 1;
}

/// The layout of each weight along the axes of a batch.
static BlockedLayout repeated(const BlockedLayout &one,
                              const backplane::Dims &batch) {
  auto axes = int64_t(batch.size());
  BlockedLayout all{.padded = one.padded,
                    .split = batch,
                    .order = llvm::to_vector(llvm::seq(axes)),
                    .view = llvm::to_vector(llvm::seq(axes)),
                    .whole = batch};
  llvm::append_range(all.split, one.split);
  llvm::append_range(all.whole, one.whole);
  for (int64_t axis : one.order)
    all.order.push_back(axes + axis);
  for (int64_t axis : one.view)
    all.view.push_back(axes + axis);
  return all;
}

/// A weight of so many columns, of which some inner elements are neighbours.
static BlockedLayout layoutOf(Dim inner, int64_t columns, int64_t atOnce,
                              bool isTransposed) {
  BlockedLayout layout{.whole = {inner, Dim(columns)}};
  backplane::Dims ofColumns = {Dim(columns / kBlock), Dim(kBlock)};
  backplane::Dims ofInner = {inner};
  if (atOnce > 1)
    ofInner = {Dim(*inner.constant() / atOnce), Dim(atOnce)};
  auto first = isTransposed ? ofColumns : ofInner;
  auto last = isTransposed ? ofInner : ofColumns;
  layout.split = first;
  llvm::append_range(layout.split, last);
  int64_t block = isTransposed ? 0 : int64_t(ofInner.size());
  int64_t row = isTransposed ? int64_t(ofColumns.size()) : 0;
  layout.order = {block, row, block + 1};
  layout.view = {1, 0, 2};
  if (atOnce > 1) {
    layout.order.push_back(row + 1);
    layout.view = {1, 3, 0, 2};
  }
  return layout;
}

static LogicalResult arrange(MatmulOp op, const LayoutOptions &device,
                             backplane::WeightPool &pool) {
  bool isTransposed = op.getTransposeB();
  int64_t before = *dimsOf(op.getType()).back().constant();
  auto columns = int64_t(llvm::alignTo(uint64_t(before), kBlock));
  BlockedLayout layout = layoutOf(
      innerOf(op), columns, innerAtOnce(op, columns, device), isTransposed);
  if (columns != before) {
    layout.padded = layout.whole;
    if (isTransposed)
      std::swap(layout.padded[0], layout.padded[1]);
    addColumns(op, columns);
  }
  layout = repeated(layout, batchOf(op));
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
