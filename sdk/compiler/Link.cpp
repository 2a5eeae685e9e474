// SPDX-License-Identifier: Apache-2.0
//
// Link.cpp: from programs and kernels to a variant.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace backplane;

/// Calls `visit` with the programs of a variant, those of its regions too.
static void forEachProgram(VariantInfo &variant,
                           function_ref<void(Program &)> visit) {
  visit(variant.program);
  visit(variant.init);
  for (RegionInfo &region : variant.regions)
    visit(region.program);
}

/// Links the kernels of each device. Until then a dispatch counts the
/// executables of its own device.
static Status addExecutables(VariantContext &context, const Draft &draft,
                             VariantInfo &variant) {
  Phase phase(context.services, stage::link.name);
  size_t kernelCount = 0, hits = 0;
  std::vector<uint32_t> first;
  for (auto [device, kernels] : llvm::enumerate(context.kernels)) {
    const KernelOrders &orders = draft.kernels[device];
    kernelCount += orders.count();
    hits += kernels.cacheHits();
    first.push_back(uint32_t(variant.executables.size()) - orders.first());
    auto executables = kernels.executables(orders);
    if (!executables)
      return context.diagnostics.take(executables.status());
    for (ExecutableInfo &executable : *executables) {
      executable.device = uint8_t(device);
      variant.executables.push_back(std::move(executable));
    }
  }
  forEachProgram(variant, [&](Program &program) {
    for (program::Command &command : program.commands)
      if (auto *dispatch = std::get_if<program::Dispatch>(&command)) {
        uint32_t shift =
            first[program.slots[dispatch->bindings.front().slot].device];
        dispatch->executable += shift;
        if (dispatch->fallbackFor)
          *dispatch->fallbackFor += shift;
      }
  });
  variant.report.push_back(
      std::to_string(draft.dispatches) +
      (draft.dispatches == 1 ? " dispatch, " : " dispatches, ") +
      std::to_string(kernelCount) +
      (kernelCount == 1 ? " kernel" : " kernels"));
  // Not in the report: equal models give equal bytes.
  if (context.services.log)
    context.services.log(BP_LOG_DEBUG,
                         std::to_string(hits) + " kernels came from the cache");
  return {};
}

/// The number of devices up to the last one that anything runs on.
static size_t usedDevices(VariantInfo &variant) {
  size_t last = 0;
  for (const ExecutableInfo &executable : variant.executables)
    last = std::max<size_t>(last, executable.device);
  forEachProgram(variant, [&](Program &program) {
    for (const Slot &slot : program.slots)
      last = std::max<size_t>(last, slot.device);
  });
  for (const RegionInfo &region : variant.regions)
    last = std::max<size_t>(last, region.device);
  return last + 1;
}

/// A device at the end that nothing runs on is none of the variant's.
static void addDevices(const std::vector<Target> &targets,
                       VariantInfo &variant) {
  variant.rank = targets[0].rank;
  std::vector<std::string> names;
  for (const Target &target :
       ArrayRef(targets).take_front(usedDevices(variant))) {
    names.push_back(target.name);
    variant.devices.push_back(
        {target.name, target.driver, target.format, target.requiredFeatures});
  }
  variant.target = llvm::join(names, "+");
}

Result<VariantInfo> backplane::link(VariantContext &context,
                                    CompiledProgram compiled) {
  Draft &draft = compiled.draft;
  VariantInfo variant{.program = std::move(compiled.program),
                      .init = std::move(draft.init),
                      .report = std::move(draft.report),
                      .regions = std::move(draft.regions)};
  if (Status s = addExecutables(context, draft, variant); !s.ok())
    return s;
  addDevices(context.targets, variant);
  return variant;
}
