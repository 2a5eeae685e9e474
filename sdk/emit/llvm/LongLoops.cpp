// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/LongLoops.h"

#include "sdk/lower/Marks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace backplane {
namespace {

/// Constants that leave registers to what a loop computes.
constexpr size_t kFewConstants = 8;
/// Bits of a register.
constexpr int64_t kRegisterBits = 256;
/// Multiply-adds of a polynomial.
constexpr int64_t kLongChain = 8;

bool isInnermost(scf::ForOp loop) {
  auto found =
      loop.getBody()->walk([](scf::ForOp) { return WalkResult::interrupt(); });
  return !found.wasInterrupted();
}

/* ---- Two iterations at a time ---- */

bool canInterleave(scf::ForOp loop) {
  int64_t products = 0;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions() > 0)
      return false;
    products +=
        isa<math::FmaOp>(op) && isa<VectorType>(op.getResult(0).getType());
  }
  return loop.getNumResults() == 0 && products >= kLongChain &&
         loop->hasAttr(bp::lower::independentMark);
}

/// Returns the loop over pairs of iterations; `loop` has the last one, where
/// their number is odd.
scf::ForOp interleave(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value low = loop.getLowerBound(), step = loop.getStep();
  Value both = arith::AddIOp::create(b, step, step);
  Value size = arith::SubIOp::create(b, loop.getUpperBound(), low);
  size = arith::MaxSIOp::create(b, size, arith::ConstantIndexOp::create(b, 0));
  // Less than two steps.
  Value rest = arith::RemUIOp::create(b, size, both);
  Value isPair =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, rest, step);
  Value whole = arith::SubIOp::create(b, size, rest);
  whole = arith::SelectOp::create(b, isPair,
                                  arith::AddIOp::create(b, whole, both), whole);
  Value end = arith::AddIOp::create(b, low, whole);
  auto pairs = scf::ForOp::create(b, low, end, both);
  b.setInsertionPointToStart(pairs.getBody());
  IRMapping first, second;
  Value at = pairs.getInductionVar();
  first.map(loop.getInductionVar(), at);
  second.map(loop.getInductionVar(),
             arith::AddIOp::create(b, at, step).getResult());
  for (Operation &op : loop.getBody()->without_terminator()) {
    b.clone(op, first);
    b.clone(op, second);
  }
  loop.getLowerBoundMutable().assign(end);
  return pairs;
}

/* ---- Constants ---- */

/// Whether the value is a register of one number, other than 0, in all lanes.
bool isRepeated(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  auto type = dyn_cast<VectorType>(value.getType());
  return splat && type && type.getRank() == 1 && !type.isScalable() &&
         isa<Float32Type, Float64Type>(type.getElementType()) &&
         type.getNumElements() * type.getElementTypeBitWidth() <=
             kRegisterBits &&
         !splat.getSplatValue<APFloat>().isPosZero();
}

/// Hides that vectors are constants.
class ConstantHider {
public:
  void hideIn(scf::ForOp loop) {
    llvm::SetVector<Value> constants;
    loop.getBody()->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (isRepeated(operand))
          constants.insert(operand);
    });
    if (constants.size() <= kFewConstants)
      return;
    for (Value constant : constants)
      constant.replaceUsesWithIf(hidden(constant), [&](OpOperand &use) {
        return loop->isProperAncestor(use.getOwner());
      });
  }

private:
  /// The same by assembly of no instructions, next to the constant.
  Value hidden(Value constant) {
    Value &found = hidden_[constant];
    if (found)
      return found;
    OpBuilder builder(constant.getContext());
    builder.setInsertionPointAfter(constant.getDefiningOp());
    found = LLVM::InlineAsmOp::create(
                builder, constant.getLoc(), constant.getType(), constant, "",
                "=x,0", /*has_side_effects=*/false, /*is_align_stack=*/false,
                LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                .getResult(0);
    return found;
  }

  llvm::MapVector<Value, Value> hidden_;
};

} // namespace

void shortenWaits(ModuleOp module) {
  SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) {
    if (isInnermost(loop))
      loops.push_back(loop);
  });
  ConstantHider constants;
  for (scf::ForOp loop : loops)
    constants.hideIn(canInterleave(loop) ? interleave(loop) : loop);
}

} // namespace backplane
