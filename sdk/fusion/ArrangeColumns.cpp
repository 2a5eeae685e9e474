// SPDX-License-Identifier: Apache-2.0
//
// Weights of products are stored in blocks of columns, as [columns / 16, inner,
// 16]: a kernel that computes some columns then reads memory from its start to
// its end, however the weight lay, and copies nothing.
#include "sdk/fusion/AddWeight.h"
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include <cstring>

using namespace mlir;
using namespace bp;
using backplane::Dim;

/// Columns of a block: a line of a cache.
static constexpr int64_t kBlock = 16;

/// From [inner, columns], or [columns, inner], to [columns / block, inner,
/// block], of words.
static backplane::Bytes inBlocks(std::span<const uint8_t> from, size_t inner,
                                 size_t columns, bool isTransposed) {
  constexpr size_t width = 4, block = kBlock;
  backplane::Bytes to(from.size());
  uint8_t *place = to.data();
  for (size_t first = 0; first < columns; first += block)
    for (size_t row = 0; row < inner; ++row, place += block * width) {
      if (!isTransposed)
        std::memcpy(place, from.data() + (row * columns + first) * width,
                    block * width);
      else
        for (size_t c = 0; c < block; ++c)
          std::memcpy(place + c * width,
                      from.data() + ((first + c) * inner + row) * width, width);
    }
  return to;
}

/// Rows of the result, if they are known; else 0.
static int64_t rowsOf(MatmulOp op) {
  int64_t rows = 1;
  backplane::Dims dims = dimsOf(op.getType());
  for (const Dim &dim : ArrayRef(dims).drop_back())
    rows *= dim.constant().value_or(0);
  return rows;
}

/// One row passes as quickly over the rows of a weight as over blocks.
static bool isArranged(MatmulOp op, ArrayRef<FusionOptions> devices) {
  auto weight = op.getB().getDefiningOp<WeightOp>();
  if (!weight || !(devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) ||
      op->hasAttr(kernelAttr) || op.getTransposeA() || op.getWide() ||
      !getElementTypeOrSelf(op.getB().getType()).isF32() ||
      cast<RankedTensorType>(op.getB().getType()).getRank() != 2)
    return false;
  std::optional<int64_t> columns = dimsOf(op.getType()).back().constant();
  return (op.getTransposeB() || rowsOf(op) != 1) && columns &&
         *columns % kBlock == 0;
}

static LogicalResult arrange(MatmulOp op, backplane::WeightPool &pool) {
  auto weight = op.getB().getDefiningOp<WeightOp>();
  const backplane::Weight *known = pool.find(std::string_view(weight.getId()));
  if (!known || known->data.empty())
    return success();
  backplane::TensorType stored = *toTensorType(weight.getType());
  bool isTransposed = op.getTransposeB();
  Dim inner = stored.dims[isTransposed ? 1 : 0];
  int64_t columns = *stored.dims[isTransposed ? 0 : 1].constant();
  backplane::Bytes bytes = inBlocks(known->data, size_t(*inner.constant()),
                                    size_t(columns), isTransposed);
  stored.dims = {Dim(columns / kBlock), inner, Dim(kBlock)};
  op.setTransposeB(false);
  return storeAs(op.getBMutable(), weight, stored, std::move(bytes), {1, 0, 2},
                 {inner, Dim(columns)}, pool);
}

LogicalResult bp::arrangeColumns(func::FuncOp main,
                                 ArrayRef<FusionOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<MatmulOp> products(main.getOps<MatmulOp>());
  for (MatmulOp op : products)
    if (isArranged(op, devices) && failed(arrange(op, pool)))
      return failure();
  return success();
}
