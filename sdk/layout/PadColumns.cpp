// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/PadColumns.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/Layout.h"

#include "mlir/IR/IRMapping.h"

#include <cstring>

using namespace mlir;
using namespace bp;
using backplane::Dim;

/// The rows of a matrix of elements of so many bytes, with zeros behind each,
/// or behind the last.
static backplane::Bytes padded(std::span<const uint8_t> matrix, size_t rowBytes,
                               size_t paddedRowBytes, size_t paddedRows) {
  backplane::Bytes result(paddedRows * paddedRowBytes);
  for (size_t row = 0; row * rowBytes < matrix.size(); ++row)
    std::memcpy(result.data() + row * paddedRowBytes,
                matrix.data() + row * rowBytes, rowBytes);
  return result;
}

static void setColumns(Value value, size_t axis, int64_t columns) {
  backplane::TensorType type = *toTensorType(value.getType());
  type.dims[axis] = Dim(columns);
  value.setType(toType(value.getContext(), type));
}

/// The weight with further columns.
static FailureOr<Value> padWeight(OpBuilder &builder, WeightOp weight,
                                  size_t axis, int64_t columns,
                                  backplane::WeightPool &pool) {
  backplane::TensorType type = *toTensorType(weight.getType());
  auto bytesOf = [&] {
    return size_t(*type.dims[1].constant()) *
           getElementTypeOrSelf(weight.getType()).getIntOrFloatBitWidth() / 8;
  };
  size_t rowBytes = bytesOf();
  type.dims[axis] = Dim(columns);
  std::span<const uint8_t> bytes =
      pool.find(std::string_view(weight.getId()))->data;
  return addWeight(
      builder, weight, type,
      padded(bytes, rowBytes, bytesOf(), size_t(*type.dims[0].constant())),
      pool);
}

/// Takes the columns that were there before.
static void sliceColumns(MatmulOp op, int64_t columns) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  MLIRContext *context = builder.getContext();
  Type before = op.getType();
  backplane::Dims sizes = dimsOf(before), starts(sizes.size(), Dim(0));
  setColumns(op.getResult(), sizes.size() - 1, columns);
  SmallVector<int64_t> strides(sizes.size(), 1);
  auto slice = SliceOp::create(builder, op.getLoc(), before, op.getResult(),
                               DimsAttr::get(context, starts),
                               DimsAttr::get(context, sizes), strides);
  if (Attribute device = op->getAttr(deviceAttr))
    slice->setAttr(deviceAttr, device);
  op.getResult().replaceAllUsesExcept(slice, slice);
}

LogicalResult bp::padColumns(MatmulOp op, int64_t columns,
                             backplane::WeightPool &pool) {
  Operation *widening = op.getB().getDefiningOp();
  bool widens = widensBytes(widening);
  auto weight = cast<WeightOp>(widens ? widening->getOperand(0).getDefiningOp()
                                      : widening);
  size_t axis = op.getTransposeB() ? 0 : 1;
  OpBuilder builder(op);
  auto wide = padWeight(builder, weight, axis, columns, pool);
  if (failed(wide))
    return failure();
  Value factor = *wide;
  if (widens) {
    IRMapping mapping;
    mapping.map(weight.getResult(), factor);
    factor = builder.clone(*widening, mapping)->getResult(0);
    setColumns(factor, axis, columns);
  }
  if (Attribute device = op->getAttr(deviceAttr))
    factor.getDefiningOp()->setAttr(deviceAttr, device);
  op.getBMutable().assign(factor);
  sliceColumns(op, columns);
  return success();
}
