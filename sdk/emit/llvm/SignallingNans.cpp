// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/SignallingNans.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace backplane {

/// Whether it is no result of arithmetic, whose NaNs are quiet.
static bool maySignal(const llvm::Value *value) {
  auto *made = llvm::dyn_cast<llvm::Instruction>(value);
  if (!made)
    return !llvm::isa<llvm::Constant>(value);
  return !made->isBinaryOp() && !llvm::isa<llvm::FPExtInst>(made) &&
         !llvm::isa<llvm::FPTruncInst>(made) &&
         !llvm::isa<llvm::SIToFPInst>(made) &&
         !llvm::isa<llvm::UIToFPInst>(made);
}

/// Whether LLVM makes maxnum or minnum of it, and that would differ.
static bool mayDiffer(llvm::SelectInst &select) {
  llvm::Value *first = nullptr, *second = nullptr;
  auto pattern = llvm::matchSelectPattern(&select, first, second);
  bool isExtreme = pattern.Flavor == llvm::SPF_FMAXNUM ||
                   pattern.Flavor == llvm::SPF_FMINNUM;
  return isExtreme && pattern.NaNBehavior == llvm::SPNB_RETURNS_OTHER &&
         (maySignal(first) || maySignal(second));
}

void keepSelections(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &each : llvm::instructions(function))
      if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&each);
          select && mayDiffer(*select)) {
        llvm::IRBuilder<> builder(select);
        select->setCondition(builder.CreateFreeze(select->getCondition()));
      }
}

} // namespace backplane
