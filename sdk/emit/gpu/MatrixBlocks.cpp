// SPDX-License-Identifier: Apache-2.0
//
// Blocks of factors that one invocation copies for its work-group, and the
// barriers that tell when they are there.
#include "sdk/emit/gpu/MatrixScope.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

void MatrixScope::byOne(function_ref<void()> work) {
  OpBuilder::InsertionGuard guard(b);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  auto branch = scf::IfOp::create(b, isFirst);
  b.setInsertionPointToStart(branch.thenBlock());
  work();
}

Value MatrixScope::barrierOf(Value stage) {
  Value word =
      add(index(barrierWord), mul(stage, BlockCopies::kBarrierBytes / 4));
  return addressOf(memory, word, 4);
}

void MatrixScope::makeBarriers() {
  Values all;
  for (int64_t stage = 0; stage < plan.stages; ++stage)
    all.push_back(barrierOf(index(stage)));
  plan.unit->blockCopies()->makeBarriers(b, all);
}

void MatrixScope::copyBlocks(const StagedFactor &factor, Value first,
                             Value start, Value firstK, Value barrier) {
  const BlockTensor &blocks = *factor.blocks;
  for (int64_t panel = 0; panel < factor.panels(); ++panel) {
    Value along =
        add(factor.alongK ? firstK : start, index(panel * factor.panel));
    Values indices = {along, factor.alongK ? start : firstK};
    for (unsigned loop : blocks.outer)
      indices.push_back(at[loop]);
    Value to = add(first, index(panel * factor.panelWords()));
    plan.unit->blockCopies()->copy(b, addressOf(memory, to, 4), barrier,
                                   blocks.tensor, indices);
  }
}

void MatrixScope::waitForBlock(Value block) {
  plan.unit->blockCopies()->wait(b, barrierOf(rem(block, plan.stages)),
                                 rem(div(block, plan.stages), 2));
}

} // namespace backplane
