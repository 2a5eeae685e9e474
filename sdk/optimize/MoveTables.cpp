// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"

#include "sdk/dialect/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

namespace bp {
#define GEN_PASS_DEF_MOVETABLESPASS
#include "sdk/optimize/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp;

namespace {

struct MoveTablesPass : bp::impl::MoveTablesPassBase<MoveTablesPass> {
  explicit MoveTablesPass(backplane::WeightPool *pool)
      : pool_(pool ? pool : &own_) {}
  MoveTablesPass(const MoveTablesPass &other)
      : MoveTablesPassBase(other),
        pool_(other.pool_ == &other.own_ ? &own_ : other.pool_) {}

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal())
      return;
    main.walk([&](ConstantOp op) {
      if (!op->hasAttr(kernelAttr) && isTable(op) && failed(move(op)))
        signalPassFailure();
    });
  }

private:
  static bool isTable(ConstantOp op) {
    auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
    return elements && !elements.isSplat() &&
           elements.getNumElements() > maxInline;
  }

  LogicalResult move(ConstantOp op) {
    auto id = pool_->add(*toTensorType(op.getType()),
                         toBytes(cast<DenseElementsAttr>(op.getValue())));
    if (!id)
      return op.emitOpError() << id.message();
    OpBuilder b(op);
    auto weight =
        WeightOp::create(b, op.getLoc(), op.getType(), b.getStringAttr(*id),
                         op.getDtypeAttr(), op.getDimsAttr());
    // What decides which device computes it stays.
    onDeviceOf(op, weight);
    op.replaceAllUsesWith(weight.getResult());
    op.erase();
    return success();
  }

  /// Elements that code can choose from by itself.
  static constexpr int64_t maxInline = 16;

  backplane::WeightPool own_, *pool_;
};

} // namespace

std::unique_ptr<Pass> bp::createMoveTablesPass(backplane::WeightPool *pool) {
  return std::make_unique<MoveTablesPass>(pool);
}
