// SPDX-License-Identifier: Apache-2.0
//
// One dispatch from linalg to an object: the backend's stages, then an emitter.
#include "sdk/emit/Emit.h"
#include "sdk/dialect/Attributes.h"
#include "sdk/emit/common/TargetProperties.h"

#include "sdk/emit/llvm/Emitter.h"
#include "sdk/emit/nvptx/Emitter.h"
#include "sdk/emit/spirv/Emitter.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace backplane {

static LogicalResult runStage(ModuleOp module, const EmitStage &stage) {
  PassManager manager(module.getContext());
  std::string errors;
  llvm::raw_string_ostream out(errors);
  if (failed(parsePassPipeline(stage.pipeline, manager, out)))
    return module.emitError("stage ") << stage.name << ": " << errors;
  return manager.run(module);
}

static FailureOr<EntryInfo> readEntry(ModuleOp module) {
  auto entry = module->getAttrOfType<DictionaryAttr>(bp::entryAttr);
  if (!entry)
    return module.emitError("the stages did not end in an entry; the last one "
                            "needs bp-to-cpu-entry or bp-to-gpu-entry");
  EntryInfo info;
  info.name = cast<StringAttr>(entry.get("name")).str();
  info.workspace = cast<StringAttr>(entry.get("workspace")).str();
  auto grid = cast<ArrayAttr>(entry.get("grid"));
  for (size_t i = 0; i < 3; ++i)
    info.grid[i] = cast<StringAttr>(grid[i]).str();
  for (Attribute access : cast<ArrayAttr>(entry.get("access")))
    info.access.push_back(cast<IntegerAttr>(access).getInt());
  if (auto workgroup = entry.getAs<ArrayAttr>("workgroup"))
    for (size_t i = 0; i < 3; ++i)
      info.workgroup[i] = uint32_t(cast<IntegerAttr>(workgroup[i]).getInt());
  if (auto shared = entry.getAs<IntegerAttr>("shared"))
    info.sharedBytes = uint64_t(shared.getInt());
  info.constantCount = cast<IntegerAttr>(entry.get("constants")).getInt();
  module->removeAttr(bp::entryAttr);
  return info;
}

static const Emitter emitters[] = {llvmElfEmitter(), spirvEmitter(),
                                   ptxEmitter(), cubinEmitter()};

const Emitter *findEmitter(StringRef name) {
  const auto *found = llvm::find_if(
      emitters, [&](const Emitter &emitter) { return name == emitter.name; });
  return found == std::end(emitters) ? nullptr : found;
}

std::string emitterNames() {
  return llvm::join(
      llvm::map_range(emitters,
                      [](const Emitter &emitter) { return emitter.name; }),
      ", ");
}

FailureOr<ObjectCode> compileDispatch(ModuleOp module, const Emitter &emitter,
                                      const EmitTarget &target,
                                      ArrayRef<EmitStage> stages,
                                      const EmitDump &dump) {
  setTargetProperties(module, target.properties);
  if (!target.contract)
    module->setAttr(bp::roundProductsAttr, UnitAttr::get(module.getContext()));
  for (const EmitStage &stage : stages) {
    if (failed(runStage(module, stage)))
      return failure();
    if (dump)
      dump(stage.name, module);
  }
  module->removeAttr(bp::roundProductsAttr);
  module->removeAttr(bp::targetAttr);
  FailureOr<EntryInfo> entry = readEntry(module);
  if (failed(entry))
    return failure();
  auto object = emitter.serialize(module, target, entry->name);
  if (failed(object))
    return failure();
  return ObjectCode{std::move(*object), std::move(*entry)};
}

} // namespace backplane
