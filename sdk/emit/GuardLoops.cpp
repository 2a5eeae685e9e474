// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/GuardLoops.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sdk/emit/SpirvPatterns.h"

#include <cfloat>

using namespace mlir;
using namespace backplane;

namespace {

/// Every device carries out so many.
constexpr double shortLoops = 32768;

/// Turns of loops: what is known of them, plus a value.
struct Count {
  double known = 0;
  Value more; ///< f32, null: nothing
};

class LoopGuard {
public:
  LoopGuard(spirv::ModuleOp module, spirv::FuncOp function, unsigned binding)
      : module_(module), function_(function), binding_(binding),
        b_(function.getLoc(), function.getContext()) {}

  void run() { guard(function_.front(), {}); }

private:
  Value number(double value) {
    return arith::ConstantOp::create(b_, b_.getF32FloatAttr(float(value)));
  }
  Value total(Count count) {
    Value known = number(count.known);
    return count.more ? arith::AddFOp::create(b_, known, count.more).getResult()
                      : known;
  }
  Count sum(Count a, Count b) {
    Value more = a.more ? a.more : b.more;
    if (a.more && b.more)
      more = arith::AddFOp::create(b_, a.more, b.more);
    return {a.known + b.known, more};
  }
  Count product(Count a, Count b) {
    if (!a.more && !b.more)
      return {a.known * b.known, {}};
    return {0, arith::MulFOp::create(b_, total(a), total(b))};
  }

  Value toFloat(Value index) {
    Value word = arith::IndexCastOp::create(b_, b_.getI32Type(), index);
    return arith::SIToFPOp::create(b_, b_.getF32Type(), word);
  }
  Count trips(scf::ForOp loop, scf::ForOp outermost);
  Count turns(scf::ForOp loop, scf::ForOp outermost);
  Count inside(Block &block, scf::ForOp outermost);
  void guard(Block &block, Count before);
  void check(Count count);
  Value mostTurns();
  Value errorWord();

  spirv::ModuleOp module_;
  spirv::FuncOp function_;
  unsigned binding_;
  ImplicitLocOpBuilder b_;
  Value most_, word_;
};

/// What is made in front of `outermost`, where the builder stands.
Count LoopGuard::trips(scf::ForOp loop, scf::ForOp outermost) {
  if (auto known = loop.getStaticTripCount())
    return {double(known->getZExtValue()), {}};
  Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  for (Value bound : bounds)
    if (outermost->isAncestor(bound.getParentBlock()->getParentOp()) ||
        !bound.getType().isIndex())
      return {1, {}};
  Value from = toFloat(bounds[0]), to = toFloat(bounds[1]);
  Value length = arith::SubFOp::create(b_, to, from);
  Value count = arith::DivFOp::create(b_, length, toFloat(bounds[2]));
  Value zero = number(0);
  Value some =
      arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT, count, zero);
  return {1, arith::SelectOp::create(b_, some, count, zero)};
}

Count LoopGuard::turns(scf::ForOp loop, scf::ForOp outermost) {
  Count body = inside(*loop.getBody(), outermost);
  return product(trips(loop, outermost), sum({1, {}}, body));
}

Count LoopGuard::inside(Block &block, scf::ForOp outermost) {
  Count count;
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      count = sum(count, turns(loop, outermost));
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        count = sum(count, inside(inner, outermost));
  }
  return count;
}

/// `before`: the turns of what has run when the block begins.
void LoopGuard::guard(Block &block, Count before) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      b_.setInsertionPoint(loop);
      before = sum(before, turns(loop, loop));
      check(before);
    } else {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          guard(inner, before);
    }
  }
}

void LoopGuard::check(Count count) {
  if (!count.more && count.known < shortLoops)
    return;
  Value bad = arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT, total(count),
                                    mostTurns());
  Value word = errorWord();
  auto branch = scf::IfOp::create(b_, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  int32_t error = BP_KERNEL_ERROR(BP_KERNEL_ERROR_TURNS, 0);
  Value code = spirv::ConstantOp::create(b_, b_.getI32Type(),
                                         b_.getI32IntegerAttr(error));
  spirv::StoreOp::create(b_, word, code);
}

Value LoopGuard::mostTurns() {
  if (most_)
    return most_;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(function_);
  auto constant = spirv::SpecConstantOp::create(
      b_, b_.getStringAttr("__turns__"), b_.getF32FloatAttr(FLT_MAX));
  constant->setAttr("spec_id", b_.getI32IntegerAttr(mostTurnsId));
  b_.setInsertionPointToStart(&function_.front());
  most_ = spirv::ReferenceOfOp::create(b_, b_.getF32Type(), "__turns__");
  return most_;
}

Value LoopGuard::errorWord() {
  if (word_)
    return word_;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(function_);
  auto variable = spirv::GlobalVariableOp::create(
      b_, storageBufferType(b_.getI32Type()), "__turn_error__", 0, binding_);
  variable->setAttr("aliased", b_.getUnitAttr());
  b_.setInsertionPointToStart(&function_.front());
  Value address = spirv::AddressOfOp::create(b_, variable);
  Value zero = spirv::ConstantOp::getZero(b_.getI32Type(), b_.getLoc(), b_);
  word_ = spirv::AccessChainOp::create(b_, address, ValueRange{zero, zero});
  return word_;
}

} // namespace

void backplane::guardLoops(spirv::ModuleOp module, spirv::FuncOp function,
                           unsigned binding) {
  LoopGuard(module, function, binding).run();
}
