// SPDX-License-Identifier: Apache-2.0
//
// Zero points of bytes that are multiplied by weights. Bytes less a zero point
// need nine bits; sum((x - z) * w) is sum(x * w) - z * sum(w), which needs
// eight, and the sums of weights are known here. i32 wraps, so both are equal.
#include "sdk/fusion/AddWeight.h"
#include "sdk/fusion/Fusion.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace bp;

namespace {

/// The weight that a factor is, or that it widens.
WeightOp weightOf(Value factor) {
  if (auto cast = factor.getDefiningOp<CastOp>(); cast && isByteWidening(cast))
    factor = cast.getX();
  return factor.getDefiningOp<WeightOp>();
}

int32_t elementOf(const backplane::Weight &weight, size_t i) {
  if (weight.type.dtype == backplane::DType::I8)
    return int8_t(weight.data[i]);
  if (weight.type.dtype == backplane::DType::U8)
    return weight.data[i];
  int32_t word;
  std::memcpy(&word, weight.data.data() + 4 * i, 4);
  return word;
}

/// (x - zero) times a weight of rank 2.
struct Product {
  MatmulOp matmul;
  Value bytes; ///< x as i32
  Value zero;  ///< rank 0; null: `constant` is it
  int32_t constant = 0;
  const backplane::Weight *weight = nullptr;
  int64_t rows = 0, columns = 0; ///< k and n
};

/// Reads what is subtracted: one number for all elements.
bool readZero(Value subtracted, Product &product) {
  auto broadcast = subtracted.getDefiningOp<BroadcastOp>();
  if (broadcast &&
      cast<RankedTensorType>(broadcast.getX().getType()).getRank() == 0) {
    product.zero = broadcast.getX();
    return true;
  }
  auto constant = subtracted.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return false;
  product.constant = int32_t(elements.getSplatValue<APInt>().getSExtValue());
  return true;
}

std::optional<Product> match(Operation *op, backplane::WeightPool &pool) {
  Product product{dyn_cast<MatmulOp>(op)};
  if (!product.matmul)
    return std::nullopt;
  auto difference = op->getOperand(0).getDefiningOp<SubOp>();
  WeightOp weight = weightOf(op->getOperand(1));
  if (!difference || !weight ||
      !isByteWidening(difference.getA().getDefiningOp()) ||
      !readZero(difference.getB(), product))
    return std::nullopt;
  product.bytes = difference.getA();
  product.weight = pool.find(std::string_view(weight.getId()));
  auto type = cast<RankedTensorType>(weight.getType());
  if (!product.weight || product.matmul.getTransposeB() ||
      type.getRank() != 2 || type.getNumElements() == 0)
    return std::nullopt;
  product.rows = type.getDimSize(0);
  product.columns = type.getDimSize(1);
  return product;
}

/// The sum of each column, times the zero point where that is known.
backplane::Bytes correctionsOf(Product &product) {
  SmallVector<uint32_t> sums(size_t(product.columns));
  for (int64_t i = 0; i < product.rows * product.columns; ++i)
    sums[size_t(i % product.columns)] +=
        uint32_t(elementOf(*product.weight, size_t(i)));
  if (!product.zero)
    for (uint32_t &sum : sums)
      sum *= uint32_t(product.constant);
  backplane::Bytes bytes(sums.size() * 4);
  std::memcpy(bytes.data(), sums.data(), bytes.size());
  return bytes;
}

/// The product of the bytes as they are, less its correction; gives the new
/// product.
FailureOr<Operation *> rewrite(Product &product, backplane::WeightPool &pool) {
  MatmulOp old = product.matmul;
  OpBuilder builder(old);
  Location loc = old.getLoc();
  MLIRContext *context = builder.getContext();
  auto place = [&](Operation *op) {
    if (Attribute device = old->getAttr(deviceAttr))
      op->setAttr(deviceAttr, device);
    return op->getResult(0);
  };
  backplane::TensorType type{backplane::DType::I32,
                             {backplane::Dim(product.columns)}};
  auto added = addWeight(builder, old, type, correctionsOf(product), pool);
  if (failed(added))
    return failure();
  Value sums = place(added->getDefiningOp());
  // A cast of its own, which the product can widen.
  Value bytes = place(builder.clone(*product.bytes.getDefiningOp()));
  Operation *matmul = builder.clone(*old);
  matmul->setOperand(0, bytes);
  auto dims = DimsAttr::get(context, dimsOf(old.getType()));
  int64_t last = cast<RankedTensorType>(old.getType()).getRank() - 1;
  Value correction =
      place(BroadcastOp::create(builder, loc, sums, dims, ArrayRef{last}));
  if (product.zero) {
    Value zero = place(BroadcastOp::create(builder, loc, product.zero, dims,
                                           ArrayRef<int64_t>()));
    correction = place(MulOp::create(builder, loc, correction, zero));
  }
  Value result =
      place(SubOp::create(builder, loc, matmul->getResult(0), correction));
  Operation *difference = old->getOperand(0).getDefiningOp();
  old->replaceAllUsesWith(ValueRange(result));
  old->erase();
  if (difference->use_empty())
    difference->erase();
  return matmul;
}

} // namespace

FailureOr<Operation *> bp::moveZeroPoint(Operation *contraction,
                                         backplane::WeightPool &pool) {
  auto product = match(contraction, pool);
  return product ? rewrite(*product, pool) : contraction;
}
