// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Attributes.h"
#include "sdk/optimize/Constants.h"
#include "sdk/optimize/Passes.h"

#include "sdk/fusion/Fusion.h"
#include "sdk/layout/Layout.h"

#include "mlir/Pass/Pass.h"

#include <cmath>

namespace bp {
#define GEN_PASS_DEF_OUTLINECONSTANTSPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;

namespace {

constexpr int64_t growthLimit = 16;
constexpr int64_t alwaysSmall = 1 << 20; // bytes
/// Steps of work that a model may ask for, and more for each byte of weights.
constexpr double workAlways = 1 << 28, workPerByte = 1 << 8;

/// Bytes of a mask of places that are kept all the same, and ops that one is
/// made of at most.
constexpr int64_t smallMask = 1 << 12;
constexpr size_t maxMaskOps = 16;

/// Whether an op computes its elements from their places alone.
bool isOfPlaces(Operation *op) {
  llvm::SmallSetVector<Operation *, maxMaskOps> ops;
  ops.insert(op);
  bool any = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *part = ops[i];
    bp::OpKind kind = part ? bp::kindOf(part) : bp::OpKind::Opaque;
    if (i == maxMaskOps ||
        (kind != bp::OpKind::Cheap && kind != bp::OpKind::Elementwise))
      return false;
    any |= isa<bp::IotaOp>(part);
    for (Value operand : part->getOperands())
      ops.insert(operand.getDefiningOp());
  }
  return any;
}

/// Bytes of a static tensor.
int64_t bytesOf(Value value) {
  return bp::toTensorType(value.getType())
      ->bytes()
      .constant()
      .value_or(INT64_MAX);
}

/// Elements of a static tensor.
double elementsOf(Value value) {
  double count = 1;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    count *= double(size);
  return count;
}

/// About as many steps as computing an op takes: each element once, the terms
/// of products, the elements of windows. What operands repeat counts: it is
/// made for the op.
double workOf(Operation *op) {
  double result = elementsOf(op->getResult(0)), all = result, product = result;
  for (Value operand : op->getOperands()) {
    all += elementsOf(operand);
    product *= elementsOf(operand);
  }
  if (bp::kindOf(op) == bp::OpKind::Contraction)
    return all + std::sqrt(product);
  if (auto window = op->getAttrOfType<DenseI64ArrayAttr>("window"))
    for (int64_t size : window.asArrayRef())
      result *= double(size);
  return all + result;
}

struct OutlineConstantsPass
    : bp::impl::OutlineConstantsPassBase<OutlineConstantsPass> {
  OutlineConstantsPass() = default;
  explicit OutlineConstantsPass(const bp::OutlineConstantsPassOptions &options)
      : OutlineConstantsPassBase(options) {}
  OutlineConstantsPass(const OutlineConstantsPass &other)
      : OutlineConstantsPassBase(other) {}

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getBody().hasOneBlock())
      return;
    analysis_ = {};
    folded_.clear();
    work_ = workAlways;
    for (auto weight : main.getOps<bp::WeightOp>())
      work_ += workPerByte * double(bytesOf(weight));
    bp::Group group{.kind = bp::OpKind::Opaque};
    for (Operation &op : main.front().without_terminator())
      if (isWorthFolding(&op) && workOf(&op) <= work_) {
        work_ -= workOf(&op);
        group.ops.push_back(&op);
        folded_.insert(&op);
      }
    if (group.ops.empty())
      return;
    bp::Grouping grouping;
    grouping.groups.push_back(std::move(group));
    if (failed(bp::outline(main, grouping)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(bp::dispatchAttr)) {
        function->removeAttr(bp::dispatchAttr);
        function->setAttr(bp::foldAttr, UnitAttr::get(&getContext()));
        rename(main, function);
      }
  }

private:
  /// Cheap ops stay where they are, and what grows far beyond its operands is
  /// computed anew. A reshape is folded along with what it reshapes.
  bool isWorthFolding(Operation *op) {
    bp::OpKind kind = bp::kindOf(op);
    bool along = isa<bp::ReshapeOp>(op) && readsFolded(op->getOperand(0));
    if (kind == bp::OpKind::Cheap || (kind == bp::OpKind::Free && !along) ||
        !analysis_.isConstant(op->getResult(0)) ||
        !llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isAtHand(operand); }))
      return false;
    int64_t before = 0;
    for (Value operand : op->getOperands())
      before += sourceBytes(operand);
    int64_t after = bytesOf(op->getResult(0));
    if ((keepPlaces && after > smallMask && isOfPlaces(op)) ||
        (keepBytes && bp::isWeightOfBytes(op)))
      return false;
    return after <= alwaysSmall || after / growthLimit <= before;
  }
  /// Whether nothing but what is cloned into the function stands between a
  /// constant value and folded ops and weights: an op outside of it that reads
  /// one of its results and is read by it would be before and after the call.
  bool isAtHand(Value value) {
    Operation *op = value.getDefiningOp();
    if (folded_.contains(op) || isWeight(value))
      return true;
    return bp::travelsWithUser(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isAtHand(operand); });
  }
  /// A weight in any shape.
  static bool isWeight(Value value) {
    while (auto reshape = value.getDefiningOp<bp::ReshapeOp>())
      value = reshape.getX();
    return bool(value.getDefiningOp<bp::WeightOp>());
  }
  /// Whether a folded op is behind nothing but what is cloned with its user.
  bool readsFolded(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || folded_.contains(op))
      return op;
    return bp::travelsWithUser(op) &&
           llvm::any_of(op->getOperands(),
                        [&](Value operand) { return readsFolded(operand); });
  }
  /// Bytes of what a value is made from, seen through cheap ops.
  int64_t sourceBytes(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || bp::kindOf(op) != bp::OpKind::Cheap)
      return bytesOf(value);
    int64_t bytes = 0;
    for (Value operand : op->getOperands())
      bytes += sourceBytes(operand);
    return bytes;
  }
  void rename(func::FuncOp main, func::FuncOp function) {
    StringRef old = function.getName();
    for (auto call : main.getOps<func::CallOp>())
      if (call.getCallee() == old)
        call.setCallee("fold_0");
    function.setName("fold_0");
  }

  bp::ConstantAnalysis analysis_;
  llvm::DenseSet<Operation *> folded_;
  double work_ = 0; ///< what folding may take yet
};

} // namespace

std::unique_ptr<Pass> bp::createOutlineConstantsPass(bool keepPlaces,
                                                     bool keepBytes) {
  return std::make_unique<OutlineConstantsPass>(
      OutlineConstantsPassOptions{keepPlaces, keepBytes});
}
