// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/AddWeight.h"

using namespace mlir;

FailureOr<Value> bp::addWeight(OpBuilder &builder, Operation *origin,
                               const backplane::TensorType &type,
                               backplane::Bytes bytes,
                               backplane::WeightPool &pool) {
  auto id = pool.add(type, std::move(bytes));
  if (!id)
    return origin->emitOpError() << id.message();
  MLIRContext *context = builder.getContext();
  return WeightOp::create(builder, origin->getLoc(), toType(context, type),
                          builder.getStringAttr(*id),
                          TypeAttr::get(toType(context, type.dtype)),
                          DimsAttr::get(context, type.dims))
      .getResult();
}

LogicalResult bp::storeAs(OpOperand &operand, WeightOp weight,
                          const backplane::TensorType &stored,
                          backplane::Bytes bytes, ArrayRef<int64_t> order,
                          const backplane::Dims &whole,
                          backplane::WeightPool &pool) {
  Operation *op = operand.getOwner();
  OpBuilder builder(op);
  MLIRContext *context = builder.getContext();
  auto typeOf = [&](const backplane::Dims &dims) {
    return toType(context, backplane::TensorType{stored.dtype, dims});
  };
  FailureOr<Value> blocks =
      addWeight(builder, weight, stored, std::move(bytes), pool);
  if (failed(blocks))
    return failure();
  backplane::Dims split;
  for (int64_t axis : order)
    split.push_back(stored.dims[size_t(axis)]);
  Location loc = weight.getLoc();
  Value transposed =
      TransposeOp::create(builder, loc, typeOf(split), *blocks, order);
  Value same = ReshapeOp::create(builder, loc, typeOf(whole), transposed,
                                 DimsAttr::get(context, whole));
  if (Attribute device = op->getAttr(deviceAttr))
    for (Value made : {*blocks, transposed, same})
      made.getDefiningOp()->setAttr(deviceAttr, device);
  operand.set(same);
  if (weight->use_empty())
    weight.erase();
  return success();
}
