// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/FusionRules.h"

#include "backplane/compiler.h"
#include "sdk/layout/Layout.h"

using namespace mlir;
using namespace bp;

bool FusionRules::fusesOver(const Group &group) const {
  return allowed(BP_FUSE_REDUCTION) ||
         (allowed(BP_FUSE_ROWS) && group.hasKnownRows);
}

/// The last axis that has more than one element, -1 for none.
static int64_t innerAxis(Value tensor) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  auto inner = llvm::find_if(llvm::reverse(shape),
                             [](int64_t size) { return size != 1; });
  return shape.rend() - inner - 1;
}

/// Whether the op only says where the rows of its operand lie.
static bool isView(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op))
    return slice.getStrides().empty() || slice.getStrides().back() == 1;
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return false;
  int64_t inner = innerAxis(transpose.getResult());
  return inner < 0 || transpose.getPermutation()[inner] ==
                          innerAxis(transpose->getOperand(0));
}

/// Whether the target reads what the group moves where it was before.
bool FusionRules::movesInPlace(const Group &group) const {
  return allowed(BP_FUSE_MOVEMENT) ||
         (allowed(BP_FUSE_VIEWS) && llvm::all_of(group.ops, isView));
}

/// An elementwise op, or a group of them, after group `a`.
Reason FusionRules::elementwiseInto(const Group &a, bool direct,
                                    const Group &b) const {
  bool sameSpace = a.space == b.space;
  switch (a.kind) {
  case OpKind::Elementwise:
    if (!allowed(BP_FUSE_ELEMENTWISE))
      return "the target does not fuse elementwise chains";
    break;
  case OpKind::Contraction:
  case OpKind::Window:
    if (!allowed(BP_FUSE_EPILOGUE))
      return "the target allows no epilogue";
    break;
  case OpKind::Reduction:
    if (direct && a.result == b.space) {
      if (!allowed(BP_FUSE_EPILOGUE))
        return "the target allows no epilogue";
      return {};
    }
    if (!sameSpace)
      return "the iteration spaces differ";
    if (!fusesOver(a))
      return "the target does not fuse over a reduction";
    if (!a.byRows)
      return "the reduction does not run over the last axes";
    return {};
  case OpKind::Movement:
    if (!movesInPlace(a))
      return "the target does not fuse movement";
    break;
  default:
    return "the producer takes no others";
  }
  if (!direct)
    return "a broadcast or reshape would compute the producer repeatedly";
  if (!sameSpace)
    return "the iteration spaces differ";
  return {};
}

/// Whether all users of the group's values are one op.
static bool isSoleUse(const Group &group) {
  llvm::DenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
  Operation *sole = nullptr;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      for (Operation *user : usersOutside(result, inside, 2)) {
        if (sole && user != sole)
          return false;
        sole = user;
      }
  return true;
}

/// Whether the op widens bytes for one contraction.
static bool isOperand(Operation *op) {
  return widensBytes(op) && op->hasOneUse() && readsBytes(*op->user_begin());
}

Reason FusionRules::apart(const Group &a, const Group &b, bool direct,
                          Operation *op) const {
  if (b.kind == OpKind::Elementwise || a.kind == OpKind::Elementwise) {
    if (allowed(BP_FUSE_WIDENING) && isOperand(op))
      return "the contraction behind it widens its factors";
    if (b.kind == OpKind::Elementwise)
      return elementwiseInto(a, direct, b);
    if (b.kind == OpKind::Reduction && direct && a.space == b.space)
      return allowed(BP_FUSE_PROLOGUE) ? Reason()
                                       : "the target allows no prologue";
    bool epilogue = b.ops.size() > 1 && direct && a.space == b.result &&
                    kindOf(op) == OpKind::Elementwise;
    if (epilogue && (b.kind == OpKind::Contraction || b.kind == OpKind::Window))
      return allowed(BP_FUSE_EPILOGUE) ? Reason()
                                       : "the target allows no epilogue";
    if (b.kind == OpKind::Movement && isa<TransposeOp, SliceOp>(op) && direct &&
        isSoleUse(a))
      return allowed(BP_FUSE_MOVEMENT) || (allowed(BP_FUSE_WEIGHTS) &&
                                           isStoredWeight(op->getOperand(0)))
                 ? Reason()
                 : "the target does not fuse movement";
    if (b.kind == OpKind::Contraction && direct && readsBytes(op) &&
        a.ops.size() == 1 && isOperand(a.ops.front()))
      return allowed(BP_FUSE_WIDENING) ? Reason()
                                       : "the target widens no factors";
    return "an elementwise producer would be computed repeatedly";
  }
  if (a.kind == OpKind::Reduction && b.kind == OpKind::Reduction) {
    if (!fusesOver(a) || !fusesOver(b))
      return "the target does not fuse reductions";
    if (a.space != b.space || a.result != b.result)
      return "the reductions run over different spaces";
    if (!a.byRows)
      return "the reductions do not run over the last axes";
    return {};
  }
  if (a.kind == OpKind::Movement && b.kind == OpKind::Contraction) {
    bool ofWeight = allowed(BP_FUSE_WEIGHTS) && isa<ConvOp, MatmulOp>(op) &&
                    isStoredWeight(a.ops.front()->getOperand(0));
    bool ofImage = isa<ConvOp>(op) && !allowed(BP_FUSE_MOVEMENT);
    if ((!movesInPlace(a) || ofImage) && !ofWeight)
      return "the target does not fuse movement";
    if (!llvm::all_of(a.ops, [&](Operation *o) {
          return isa<TransposeOp>(o) || (widensBytes(o) && readsBytes(op));
        }))
      return "only a transpose is read in place";
    return isSoleUse(a) ? Reason() : "the transpose has other users";
  }
  return "both have a loop nest of their own";
}
