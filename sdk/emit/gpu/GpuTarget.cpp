// SPDX-License-Identifier: Apache-2.0
//
// bp-gpu-target: states on the module what the GPU has that code is made for.
#include "sdk/emit/gpu/GpuTarget.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"

#include "llvm/Support/MathExtras.h"

namespace backplane {
#define GEN_PASS_DEF_GPUTARGETPASS
#include "sdk/emit/common/Passes.h.inc"
} // namespace backplane

using namespace mlir;

namespace backplane {
namespace {

struct GpuTargetPass : backplane::impl::GpuTargetPassBase<GpuTargetPass> {
  using GpuTargetPassBase::GpuTargetPassBase;
  void runOnOperation() override;
};

/// A number of the description and what it may be.
struct Property {
  StringRef name;
  int64_t GpuTarget::*member;
  int64_t least, most;
  bool isPowerOf2;
};

/// Tiles of 16 columns and a depth of 16 keep at most 256 invocations busy.
constexpr Property properties[] = {
    {"group-size", &GpuTarget::groupSize, 32, 256, true},
    {"cluster-size", &GpuTarget::clusterSize, 2, 32, true},
    {"shared-bytes", &GpuTarget::sharedBytes, 16384, 1 << 20, false},
    {"private-bytes", &GpuTarget::privateBytes, 0, 1 << 20, false},
    {"grid-width", &GpuTarget::gridWidth, 1, INT32_MAX, false},
};

} // namespace

DictionaryAttr GpuTarget::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> values;
  for (const Property &property : properties)
    values.push_back(builder.getNamedAttr(
        property.name, builder.getI64IntegerAttr(this->*property.member)));
  return builder.getDictionaryAttr(values);
}

static bool isPlausible(const Property &property, int64_t value) {
  return value >= property.least && value <= property.most &&
         (!property.isPowerOf2 || llvm::isPowerOf2_64(uint64_t(value)));
}

FailureOr<GpuTarget> readGpuTarget(ModuleOp module) {
  GpuTarget target;
  auto stated = module->getAttrOfType<DictionaryAttr>(bp::gpuAttr);
  if (!stated)
    return target;
  for (const Property &property : properties) {
    auto value = stated.getAs<IntegerAttr>(property.name);
    if (!value)
      continue;
    if (!isPlausible(property, value.getInt()))
      return module.emitError("the GPU's ")
             << property.name << " is " << value.getInt() << "; it must be "
             << (property.isPowerOf2 ? "a power of two " : "") << "from "
             << property.least << " to " << property.most;
    target.*property.member = value.getInt();
  }
  return target;
}

void GpuTargetPass::runOnOperation() {
  GpuTarget target{groupSize, clusterSize, sharedBytes, privateBytes,
                   gridWidth};
  getOperation()->setAttr(bp::gpuAttr, target.toAttribute(&getContext()));
  if (failed(readGpuTarget(getOperation())))
    signalPassFailure();
}

} // namespace backplane
