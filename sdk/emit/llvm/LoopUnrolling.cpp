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

static LLVM::LoopAnnotationAttr noUnrolling(MLIRContext *context) {
  auto unroll = LLVM::LoopUnrollAttr::get(context, BoolAttr::get(context, true),
                                          {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

void keepLongLoops(ModuleOp module) {
  LLVM::LoopAnnotationAttr kept = noUnrolling(module.getContext());
  module.walk([&](scf::ForOp loop) {
    unsigned ops = 0;
    loop.getBody()->walk([&](Operation *) { ++ops; });
    std::optional<APInt> iterations = loop.getStaticTripCount();
    if (iterations && ops >= kLongBody && (*iterations * ops).ugt(kMaxUnrolled))
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
