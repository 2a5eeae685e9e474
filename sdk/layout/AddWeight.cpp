// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/AddWeight.h"

using namespace mlir;

const backplane::Weight *bp::knownWeight(WeightOp weight,
                                         const backplane::WeightPool &pool) {
  const backplane::Weight *known =
      weight ? pool.find(std::string_view(weight.getId())) : nullptr;
  return known && !known->data.empty() ? known : nullptr;
}

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
