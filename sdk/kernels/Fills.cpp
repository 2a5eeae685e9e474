// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/Fills.h"

#include "sdk/optimize/Patterns.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bp;

/// Whether an op of the plan broadcasts a scalar that is an input.
static bool broadcastsScalar(const PatternPlan &plan) {
  return llvm::any_of(plan.steps, [](const PatternStep &step) {
    auto broadcast = dyn_cast<BroadcastOp>(step.op);
    return broadcast && broadcast.getAxes().empty() &&
           isa<BlockArgument>(broadcast.getX());
  });
}

Fills::Fills(func::FuncOp main, ArrayRef<PatternPlan> plans) {
  if (llvm::none_of(plans, broadcastsScalar))
    return;
  SmallVector<std::pair<Operation *, Attribute>> found;
  for (auto constant : main.front().getOps<ConstantOp>())
    if (cast<RankedTensorType>(constant.getType()).getRank() > 0)
      if (Attribute number = splatOf(constant))
        found.emplace_back(constant, number);
  for (auto [constant, number] : found)
    add(constant, number);
}

void Fills::add(Operation *constant, Attribute number) {
  OpBuilder b(constant);
  auto type = cast<RankedTensorType>(constant->getResult(0).getType());
  auto scalarType = RankedTensorType::get({}, type.getElementType());
  Value scalar = fill(b, constant->getLoc(), scalarType, number);
  auto broadcast = BroadcastOp::create(
      b, constant->getLoc(), type, scalar,
      DimsAttr::get(b.getContext(), toTensorType(type)->dims),
      b.getDenseI64ArrayAttr({}));
  for (Value made : {scalar, Value(broadcast)})
    onDeviceOf(constant, made);
  broadcasts_[constant] = broadcast;
  constants_[broadcast] = constant;
}

Fills::~Fills() {
  for (auto [broadcast, constant] : constants_) {
    Operation *scalar = broadcast->getOperand(0).getDefiningOp();
    if (broadcast->use_empty())
      broadcast->erase();
    if (scalar->use_empty())
      scalar->erase();
  }
}
