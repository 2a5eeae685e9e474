// SPDX-License-Identifier: Apache-2.0
//
// A concat of more operands than a dispatch of its device may have becomes
// concats of neighbours, and one of these.
#include "sdk/fusion/Fusion.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace bp;

/// The first operands in parts, no more of them than must be: what is in a part
/// is copied twice.
static SmallVector<Value> joinAdjacent(ImplicitLocOpBuilder &b, ConcatOp op,
                                       size_t most) {
  auto values = llvm::to_vector(op.getXs());
  size_t excess = values.size() - most;
  SmallVector<Value> parts;
  for (size_t first = 0, size; first < values.size(); first += size) {
    size = std::min({most, excess + 1, values.size() - first});
    excess -= size - 1;
    if (size == 1) {
      parts.push_back(values[first]);
      continue;
    }
    auto part = ConcatOp::create(b, ValueRange(values).slice(first, size),
                                 op.getAxisAttr());
    parts.push_back(onDeviceOf(op, part));
  }
  return parts;
}

void bp::limitOperands(func::FuncOp main, ArrayRef<FusionOptions> devices) {
  for (auto op : llvm::to_vector(main.getOps<ConcatOp>())) {
    uint32_t bindings = devices[deviceOf(op)].maxBindings;
    // One is for the result; below two operands there is nothing to join.
    if (bindings < 3 || op->hasAttr(kernelAttr))
      continue;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    while (op.getXs().size() > bindings - 1)
      op.getXsMutable().assign(joinAdjacent(b, op, bindings - 1));
  }
}
