// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/LoopUnrolling.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

/// The name under which conversions keep it.
static constexpr StringLiteral kAnnotation = "llvm.loop_annotation";

/// Ops of a body for which the loop around them costs nothing.
static constexpr unsigned kLongBody = 32;
/// Ops that may become one after the other.
static constexpr unsigned kMaxUnrolled = 384;
/// Sums that a loop carries, of which registers hold no second set.
static constexpr int64_t kManySums = 8;

static LLVM::LoopAnnotationAttr noUnrolling(MLIRContext *context) {
  auto unroll = LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true),
                                          {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

/// Whether the body would be a very long one.
static bool isLong(scf::ForOp loop) {
  unsigned ops = 0;
  loop.getBody()->walk([&](Operation *) { ++ops; });
  std::optional<APInt> iterations = loop.getStaticTripCount();
  return iterations && ops >= kLongBody &&
         (*iterations * ops).ugt(kMaxUnrolled);
}

/// Whether the loop carries many sums of integers.
static bool carriesSums(scf::ForOp loop) {
  return loop.getStaticTripCount() &&
         llvm::count_if(loop.getResultTypes(), [](Type type) {
           auto vector = dyn_cast<VectorType>(type);
           return vector && vector.getElementType().isInteger(32);
         }) >= kManySums;
}

void keepLoops(ModuleOp module) {
  LLVM::LoopAnnotationAttr kept = noUnrolling(module.getContext());
  module.walk([&](scf::ForOp loop) {
    if (isLong(loop) || carriesSums(loop))
      loop->setAttr(kAnnotation, kept);
  });
}

void annotateKeptLoops(ModuleOp module) {
  module.walk([](LLVM::BrOp branch) {
    if (Attribute kept = branch->removeAttr(kAnnotation))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(kept));
  });
}

} // namespace backplane
