// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/GuardLoops.h"

#include "backplane/kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sdk/emit/gpu/IterationCount.h"
#include "sdk/emit/spirv/Patterns.h"

#include <cfloat>

using namespace mlir;
using namespace backplane;

namespace {

/// Every device carries out so many.
constexpr double shortLoops = 32768;

class LoopGuard {
public:
  LoopGuard(spirv::ModuleOp module, spirv::FuncOp function, unsigned binding)
      : module_(module), function_(function), binding_(binding),
        b_(function.getLoc(), function.getContext()) {}

  void run() { guard(function_.front(), {}); }

private:
  void guard(Block &block, IterationCount before);
  void check(IterationCount count);
  Value maxIterations();
  Value errorWord();

  spirv::ModuleOp module_;
  spirv::FuncOp function_;
  unsigned binding_;
  ImplicitLocOpBuilder b_;
  IterationCounter counter_{b_};
  Value most_, word_;
};

/// `before`: the iterations of what has run when the block begins.
void LoopGuard::guard(Block &block, IterationCount before) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      b_.setInsertionPoint(loop);
      before = counter_.sum(before, counter_.iterations(loop, loop));
      check(before);
    } else {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          guard(inner, before);
    }
  }
}

void LoopGuard::check(IterationCount count) {
  if (!count.more && count.known < shortLoops)
    return;
  Value bad = arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT,
                                    counter_.total(count), maxIterations());
  Value word = errorWord();
  auto branch = scf::IfOp::create(b_, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  int32_t error = BP_KERNEL_ERROR(BP_KERNEL_ERROR_ITERATIONS, 0);
  Value code = spirv::ConstantOp::create(b_, b_.getI32Type(),
                                         b_.getI32IntegerAttr(error));
  spirv::StoreOp::create(b_, word, code);
}

Value LoopGuard::maxIterations() {
  if (most_)
    return most_;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(function_);
  auto constant = spirv::SpecConstantOp::create(
      b_, b_.getStringAttr("__iterations__"), b_.getF32FloatAttr(FLT_MAX));
  constant->setAttr("spec_id", b_.getI32IntegerAttr(maxIterationsId));
  b_.setInsertionPointToStart(&function_.front());
  most_ = spirv::ReferenceOfOp::create(b_, b_.getF32Type(), "__iterations__");
  return most_;
}

Value LoopGuard::errorWord() {
  if (word_)
    return word_;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(function_);
  auto variable =
      spirv::GlobalVariableOp::create(b_, storageBufferType(b_.getI32Type()),
                                      "__iteration_error__", 0, binding_);
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
