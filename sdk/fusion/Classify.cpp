// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Attributes.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/layout/Layout.h"

using namespace mlir;
using namespace bp;

OpKind bp::kindOf(Operation *op) {
  if (op->hasAttr(kernelAttr))
    return OpKind::Opaque;
  if (isa<WeightOp, ReshapeOp, VariableReadOp, VariableWriteOp, ControlOp,
          ReadOp>(op))
    return OpKind::Free;
  if (isa<ConstantOp, BroadcastOp, IotaOp, DimOp>(op))
    return OpKind::Cheap;
  if (isa<MatmulOp, ConvOp, ConvTransposeOp>(op))
    return OpKind::Contraction;
  if (isa<PoolOp, AvgPoolOp>(op))
    return OpKind::Window;
  if (isa<ReduceOp, ArgReduceOp>(op))
    return OpKind::Reduction;
  if (isa<TransposeOp, SliceOp, ConcatOp, PadOp, ReverseOp, GatherOp>(op))
    return OpKind::Movement;
  if (op->hasTrait<Elementwise>())
    return OpKind::Elementwise;
  return OpKind::Opaque;
}

/// The dims that are not 1, in order.
static backplane::Dims withoutUnits(Type type) {
  backplane::Dims dims = dimsOf(type);
  std::erase(dims, backplane::Dim(1));
  return dims;
}

bool bp::travelsWithUser(Operation *op) {
  if (op->hasAttr(kernelAttr))
    return false;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return isBlockedWeight(op->getResult(0)) ||
           withoutUnits(reshape.getX().getType()) ==
               withoutUnits(reshape.getType());
  return kindOf(op) == OpKind::Cheap;
}

static void addUsersOutside(Value value,
                            const llvm::DenseSet<Operation *> &inside,
                            size_t most, llvm::SetVector<Operation *> &users) {
  for (Operation *user : value.getUsers()) {
    if (users.size() >= most)
      return;
    if (inside.contains(user))
      continue;
    if (!travelsWithUser(user))
      users.insert(user);
    else if (!user->use_empty())
      addUsersOutside(user->getResult(0), inside, most, users);
  }
}

llvm::SetVector<Operation *>
bp::usersOutside(Value value, const llvm::DenseSet<Operation *> &inside,
                 size_t most) {
  llvm::SetVector<Operation *> users;
  addUsersOutside(value, inside, most, users);
  return users;
}
