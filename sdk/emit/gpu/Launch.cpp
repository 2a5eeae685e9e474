// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Launch.h"

#include "sdk/dialect/Attributes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

void askForThreads(func::FuncOp func, int64_t threads) {
  func->setAttr(bp::groupThreadsAttr, Builder(func).getI64IntegerAttr(threads));
}

int64_t threadsOf(func::FuncOp func, const GpuTarget &target) {
  auto asked = func->getAttrOfType<IntegerAttr>(bp::groupThreadsAttr);
  return asked ? asked.getInt() : target.groupSize;
}

static int64_t bytesOf(MemRefType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

void askForMemory(Value memory, const GpuTarget &target, bool hasProducts) {
  if (hasProducts ||
      bytesOf(cast<MemRefType>(memory.getType())) > target.sharedBytes)
    memory.getDefiningOp()->setAttr(bp::dynamicAttr,
                                    UnitAttr::get(memory.getContext()));
}

int64_t dynamicBytes(func::FuncOp func) {
  int64_t bytes = 0;
  func.walk([&](memref::AllocOp op) {
    if (op->hasAttr(bp::dynamicAttr))
      bytes += bytesOf(op.getType());
  });
  return bytes;
}

} // namespace backplane
