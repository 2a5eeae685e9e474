// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/OtherShape.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

using Sizes = std::map<std::string, Dim, std::less<>>;

/// Some axes of a tensor as loops over its elements: iterations, and how many
/// elements lie between two.
using Loops = std::vector<std::pair<Dim, Dim>>;

Dims dimsOf(Value value, const Sizes &symbols) {
  Dims dims = bp::dimsOf(value.getType());
  for (Dim &dim : dims)
    dim = dim.substitute(symbols);
  return dims;
}

/// Axes that are one after another in memory are one loop, so that equal
/// results mean equal elements in equal order.
Loops loopsOf(const Dims &dims, ArrayRef<int64_t> axes) {
  Loops loops;
  for (int64_t axis : axes) {
    Dim stride = 1, size = dims[size_t(axis)];
    for (size_t inner = size_t(axis) + 1; inner < dims.size(); ++inner)
      stride = stride * dims[inner];
    if (size == Dim(1))
      continue;
    if (!loops.empty() && loops.back().second == size * stride) {
      size = loops.back().first * size;
      loops.pop_back();
    }
    loops.emplace_back(size, stride);
  }
  return loops;
}

SmallVector<int64_t> otherAxes(const Dims &dims, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis < int64_t(dims.size()); ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  return others;
}

/// The axes of a broadcast's result along which its operand has elements.
SmallVector<int64_t> operandAxes(BroadcastOp op) {
  SmallVector<int64_t> axes;
  for (auto [size, axis] :
       llvm::zip_equal(bp::dimsOf(op.getX().getType()), op.getAxes()))
    if (!(size == Dim(1)))
      axes.push_back(axis);
  return axes;
}

/// A broadcast's axes of its operand, or those that a reduction keeps, then
/// those that it adds up.
std::vector<Loops> loopsOf(Operation *op, const Sizes &symbols) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return {loopsOf(dimsOf(op->getResult(0), symbols), operandAxes(broadcast))};
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return {};
  Dims dims = dimsOf(reduce.getX(), symbols);
  return {loopsOf(dims, otherAxes(dims, reduce.getAxes())),
          loopsOf(dims, reduce.getAxes())};
}

bool isSameSize(Value a, Value b, const Sizes &symbols) {
  return backplane::product(dimsOf(a, symbols)) ==
         backplane::product(bp::dimsOf(b.getType()));
}

} // namespace

bool bp::allowsOtherShape(Operation *op) {
  return op->hasTrait<Elementwise>() ||
         isa<ConstantOp, BroadcastOp, ReduceOp>(op);
}

bool bp::isOfShape(StringRef attribute) {
  return attribute == "axes" || attribute == "dims" || attribute == "keep";
}

bool bp::isSameInOtherShape(Operation *pattern, Operation *op,
                            const Sizes &symbols) {
  auto isSame = [&](auto values) {
    return isSameSize(std::get<0>(values), std::get<1>(values), symbols);
  };
  return llvm::all_of(llvm::zip_equal(pattern->getResults(), op->getResults()),
                      isSame) &&
         loopsOf(pattern, symbols) == loopsOf(op, {});
}
