// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/spirv/Emitter.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Serialization.h"

using namespace mlir;

namespace backplane {

constexpr uint32_t packMagic = 0x56505342; // "BSPV"
constexpr uint32_t packVersion = 1;

static void append(std::vector<uint8_t> &bytes, uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(uint8_t(word >> shift));
}

/// The one SPIR-V module in `module`, which bp-to-spirv leaves there, as
/// little-endian words.
static FailureOr<std::vector<uint8_t>>
serialize(ModuleOp module, const EmitTarget &, StringRef) {
  auto modules = llvm::to_vector(module.getOps<spirv::ModuleOp>());
  if (modules.size() != 1)
    return module.emitError("the stages did not end in one SPIR-V module; the "
                            "last one needs bp-to-spirv");
  SmallVector<uint32_t> words;
  if (failed(spirv::serialize(modules.front(), words)))
    return module.emitError("cannot serialise the SPIR-V module");
  std::vector<uint8_t> bytes;
  for (uint32_t word : words)
    append(bytes, word);
  return bytes;
}

/// One blob of the format "spirv".
static Result<LinkedImage> pack(const EmitTarget &,
                                ArrayRef<const ObjectCode *> objects) {
  std::vector<uint8_t> bytes;
  append(bytes, packMagic);
  append(bytes, packVersion);
  append(bytes, uint32_t(objects.size()));
  uint32_t offset = 3 + 2 * uint32_t(objects.size());
  for (const ObjectCode *object : objects) {
    auto words = uint32_t(object->object.size() / 4);
    append(bytes, offset);
    append(bytes, words);
    offset += words;
  }
  for (const ObjectCode *object : objects)
    bytes.insert(bytes.end(), object->object.begin(), object->object.end());
  return LinkedImage{std::move(bytes), {}};
}

/// A shader would write a table anew in each invocation.
Emitter spirvEmitter() {
  return {.name = "spirv",
          .serialize = serialize,
          .link = pack,
          .hasConstantMemory = false};
}

} // namespace backplane
