// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"

#include "sdk/dialect/Bp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include "llvm/ADT/StringMap.h"

namespace bp {
#define GEN_PASS_DEF_FORWARDVARIABLESPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;

namespace {

struct ForwardVariablesPass
    : bp::impl::ForwardVariablesPassBase<ForwardVariablesPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || !main.getBody().hasOneBlock())
      return;
    llvm::StringMap<bp::VariableWriteOp> last;
    for (Operation &op : llvm::make_early_inc_range(main.front())) {
      if (auto read = dyn_cast<bp::VariableReadOp>(op)) {
        auto written = last.find(read.getVariable());
        if (written == last.end())
          continue;
        read.replaceAllUsesWith(written->second.getX());
        read.erase();
      } else if (auto write = dyn_cast<bp::VariableWriteOp>(op)) {
        auto [before, isFirst] = last.try_emplace(write.getVariable(), write);
        if (isFirst)
          continue;
        before->second.erase();
        before->second = write;
      }
    }
  }
};

} // namespace
