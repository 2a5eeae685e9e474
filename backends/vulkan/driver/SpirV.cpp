// SPDX-License-Identifier: Apache-2.0
#include "SpirV.h"
#include "MatrixModule.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <spirv-tools/libspirv.h>

namespace backplane::vulkan {

namespace {

/// Numbers of the SPIR-V specification.
enum Opcode : uint32_t {
  OpEntryPoint = 15,
  OpExecutionMode = 16,
  OpCapability = 17,
  OpTypePointer = 32,
  OpConstant = 43,
  OpConstantComposite = 44,
  OpVariable = 59,
  OpDecorate = 71,
  OpMemberDecorate = 72,
  OpDecorationGroup = 73,
  OpExecutionModeId = 331,
};
constexpr uint32_t modelGlCompute = 5;
constexpr uint32_t modeLocalSize = 17;
constexpr uint32_t magic = 0x07230203;
constexpr uint32_t decorationBuiltIn = 11, builtInWorkgroupSize = 25;
constexpr uint32_t decorationBinding = 33;
constexpr uint32_t decorationSet = 34;
constexpr uint32_t decorationOffset = 35;
constexpr uint32_t classPushConstant = 9;

/// What a capability needs of the device; empty: every device has it.
struct Capability {
  uint32_t number;
  const char *name;
  const char *feature;
};
constexpr Capability capabilities[] = {
    {0, "Matrix", ""},
    {1, "Shader", ""},
    {9, "Float16", "shaderFloat16"},
    {10, "Float64", "shaderFloat64"},
    {11, "Int64", "shaderInt64"},
    {22, "Int16", "shaderInt16"},
    {39, "Int8", "shaderInt8"},
    {61, "GroupNonUniform", "subgroupBasic"},
    {62, "GroupNonUniformVote", "subgroupVote"},
    {63, "GroupNonUniformArithmetic", "subgroupArithmetic"},
    {64, "GroupNonUniformBallot", "subgroupBallot"},
    {65, "GroupNonUniformShuffle", "subgroupShuffle"},
    {66, "GroupNonUniformShuffleRelative", "subgroupShuffle"},
    {4433, "StorageBuffer16BitAccess", "storageBuffer16BitAccess"},
    {4448, "StorageBuffer8BitAccess", "storageBuffer8BitAccess"},
    // The device is asked at the execution mode, which has the width.
    {4464, "DenormPreserve", ""},
    {4465, "DenormFlushToZero", ""},
    {4466, "SignedZeroInfNanPreserve", ""},
    {4467, "RoundingModeRTE", ""},
    {4468, "RoundingModeRTZ", ""},
    {5345, "VulkanMemoryModel", "vulkanMemoryModel"},
    {5346, "VulkanMemoryModelDeviceScope", "vulkanMemoryModelDeviceScope"},
    {capabilityCooperativeMatrix, "CooperativeMatrixKHR", "cooperativeMatrix"},
};

/// Of the numbers of capabilities.
constexpr uint32_t firstOfSubgroups = 61, lastOfSubgroups = 66;

/// Execution modes from 4459 on, each with a width.
constexpr uint32_t firstFloatMode = 4459;
constexpr const char *floatModes[] = {
    "shaderDenormPreserveFloat", "shaderDenormFlushToZeroFloat",
    "shaderSignedZeroInfNanPreserveFloat", "shaderRoundingModeRTEFloat",
    "shaderRoundingModeRTZFloat"};

/// One walk over the instructions of a valid module.
class Inspection {
public:
  Inspection(ModuleUse &use, const PhysicalDevice &device)
      : use_(use), device_(device) {}

  bool inspect(Module module, std::string *reason);

private:
  void look(uint32_t opcode, Module operands);
  void lookAtEntry(Module operands);
  void lookAtMode(Module operands);
  void lookAtCapability(uint32_t number);
  void lookAtDecoration(Module operands);
  void lookAtComposite(Module operands);
  void finish();
  void complain(std::string text) {
    if (reason_.empty())
      reason_ = std::move(text);
  }

  ModuleUse &use_;
  const PhysicalDevice &device_;
  std::string reason_;
  uint32_t entry_ = 0;       ///< id of the entry's function, 0: not seen
  bool sized_ = false;       ///< the size of a work-group was seen
  std::set<uint32_t> sizes_; ///< of work-groups by decoration, not seen yet
  std::map<uint32_t, uint32_t> constants_; ///< of 32 bits
  std::map<uint32_t, uint32_t> offsets_;   ///< last member of each struct
  std::map<uint32_t, uint32_t> pointees_;  ///< of pointers to push constants
};

std::string textOf(Module words) {
  const char *bytes = reinterpret_cast<const char *>(words.data());
  return {bytes, strnlen(bytes, words.size_bytes())};
}

void Inspection::lookAtEntry(Module operands) {
  if (operands.size() < 3 || textOf(operands.subspan(2)) != use_.name)
    return;
  if (operands[0] != modelGlCompute)
    complain("the entry point is no compute shader");
  entry_ = operands[1];
}

void Inspection::lookAtMode(Module operands) {
  if (operands.size() < 2)
    return;
  uint32_t mode = operands[1];
  if (mode - firstFloatMode < std::size(floatModes) && operands.size() > 2) {
    std::string feature =
        floatModes[mode - firstFloatMode] + std::to_string(operands[2]);
    if (!device_.has(feature))
      complain("the shader needs " + feature + ", which the device lacks");
  }
  if (mode != modeLocalSize || operands[0] != entry_ || operands.size() < 5)
    return;
  sized_ = true;
  uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    uint32_t size = operands[2 + i];
    invocations *= std::max(size, 1u);
    if (size != use_.workgroupSize[i])
      complain("the shader's work-groups differ from the entry's");
    if (size > device_.limits.maxComputeWorkGroupSize[i] ||
        invocations > device_.limits.maxComputeWorkGroupInvocations)
      return complain("the shader's work-groups are larger than the device's");
  }
}

void Inspection::lookAtCapability(uint32_t number) {
  auto known =
      std::find_if(std::begin(capabilities), std::end(capabilities),
                   [&](const Capability &one) { return one.number == number; });
  if (known == std::end(capabilities))
    return complain("the shader needs capability " + std::to_string(number) +
                    ", which the Vulkan driver does not turn on");
  use_.subgroups |= number == capabilityCooperativeMatrix ||
                    (number >= firstOfSubgroups && number <= lastOfSubgroups);
  if (*known->feature && !device_.has(known->feature))
    complain("the shader needs " + std::string(known->name) +
             ", but the device has no " + known->feature);
}

void Inspection::lookAtDecoration(Module operands) {
  if (operands.size() < 3)
    return;
  if (operands[1] == decorationBuiltIn && operands[2] == builtInWorkgroupSize)
    sizes_.insert(operands[0]);
  if (operands[1] == decorationSet && operands[2] != 0)
    complain("the shader uses descriptor set " + std::to_string(operands[2]) +
             "; all bindings are in set 0");
  if (operands[1] != decorationBinding)
    return;
  use_.reports |= operands[2] + 1 == use_.bindings;
  use_.scratch |= operands[2] == use_.bindings;
  if (operands[2] > use_.bindings)
    complain("the shader uses binding " + std::to_string(operands[2]) +
             ", the entry has " + std::to_string(use_.bindings) +
             " with its error word");
}

/// A constant that is decorated as the size of work-groups counts more than
/// the execution mode does.
void Inspection::lookAtComposite(Module operands) {
  if (operands.size() < 2 || !sizes_.erase(operands[1]))
    return;
  for (size_t i = 0; i < 3; ++i) {
    auto found = operands.size() == 5 ? constants_.find(operands[2 + i])
                                      : constants_.end();
    if (found == constants_.end() || found->second != use_.workgroupSize[i])
      complain("the shader's work-groups differ from the entry's");
  }
}

void Inspection::look(uint32_t opcode, Module operands) {
  switch (opcode) {
  case OpCapability:
    return lookAtCapability(operands[0]);
  case OpEntryPoint:
    return lookAtEntry(operands);
  case OpExecutionMode:
    return lookAtMode(operands);
  case OpExecutionModeId:
    return complain("the shader's work-groups are specialised");
  case OpDecorate:
    return lookAtDecoration(operands);
  case OpMemberDecorate:
    if (operands.size() > 3 && operands[2] == decorationOffset)
      offsets_[operands[0]] = std::max(offsets_[operands[0]], operands[3]);
    return;
  case OpDecorationGroup:
    return complain("the shader decorates by groups");
  case OpConstant:
    if (operands.size() == 3)
      constants_[operands[1]] = operands[2];
    return;
  case OpConstantComposite:
    return lookAtComposite(operands);
  case OpTypePointer:
    if (operands.size() > 2 && operands[1] == classPushConstant)
      pointees_[operands[0]] = operands[2];
    return;
  case OpVariable:
    if (auto found = pointees_.find(operands[0]);
        found != pointees_.end() &&
        offsets_[found->second] >= pushConstantBytes)
      complain("the shader has more constants than a dispatch");
    return;
  }
}

void Inspection::finish() {
  if (!entry_)
    complain("the module has no entry point of this name");
  if (!sized_)
    complain("the shader does not say how large its work-groups are");
  if (!sizes_.empty())
    complain("the shader's work-groups are specialised");
}

bool Inspection::inspect(Module module, std::string *reason) {
  bool whole =
      forEachInstruction(module, [this](uint32_t opcode, Module operands) {
        if (!operands.empty())
          look(opcode, operands);
      });
  if (!whole)
    complain("an instruction ends behind the module");
  finish();
  *reason = reason_;
  return reason_.empty();
}

/// What SPIRV-Tools says against a module; empty when it is valid. It would
/// read the words of the other byte order, too.
std::string validate(Module module, uint32_t apiVersion) {
  if (module.empty() || module[0] != magic)
    return "it does not start with the magic number";
  spv_target_env environment = apiVersion >= VK_API_VERSION_1_3
                                   ? SPV_ENV_VULKAN_1_3
                                   : SPV_ENV_VULKAN_1_2;
  spv_context context = spvContextCreate(environment);
  spv_const_binary_t binary = {module.data(), module.size()};
  spv_diagnostic diagnostic = nullptr;
  spv_result_t result = spvValidate(context, &binary, &diagnostic);
  std::string text;
  if (result != SPV_SUCCESS)
    text = diagnostic && diagnostic->error ? diagnostic->error : "not valid";
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  constexpr size_t longest = 300;
  if (size_t end = text.find('\n'); end != std::string::npos)
    text.resize(end);
  return text.substr(0, longest);
}

bool damaged(std::string *reason, std::string text) {
  *reason = "damaged blob: " + std::move(text);
  return false;
}

} // namespace

bool readBlob(bp_bytes_t blob, Words &words, std::vector<Module> &modules,
              std::string *reason) {
  constexpr uint64_t headWords = 3, most = uint64_t(1) << 30;
  uint64_t count = blob.size / 4;
  if (blob.size % 4 || count < headWords || blob.size > most)
    return damaged(reason, std::to_string(blob.size) +
                               " bytes are no blob of the format spirv");
  words.resize(count);
  std::memcpy(words.data(), blob.data, blob.size);
  if (words[0] != blobMagic)
    return damaged(reason, "it does not start with \"BSPV\"");
  if (words[1] != blobVersion)
    return damaged(reason, "version " + std::to_string(words[1]) +
                               " of the format spirv is unknown");
  uint64_t parts = words[2];
  if (parts > (count - headWords) / 2)
    return damaged(reason, std::to_string(parts) + " modules do not fit");
  uint64_t first = headWords + 2 * parts;
  for (uint64_t i = 0; i < parts; ++i) {
    uint64_t offset = words[headWords + 2 * i];
    uint64_t size = words[headWords + 2 * i + 1];
    if (offset < first || offset > count || size > count - offset)
      return damaged(reason, "module " + std::to_string(i) +
                                 " lies outside of the blob");
    modules.push_back(Module(words).subspan(offset, size));
  }
  return true;
}

bool forEachInstruction(Module module,
                        const std::function<void(uint32_t, Module)> &visit) {
  for (size_t at = headerWords; at < module.size();) {
    uint32_t length = module[at] >> 16;
    if (length == 0 || length > module.size() - at)
      return false;
    visit(module[at] & 0xFFFF, module.subspan(at + 1, length - 1));
    at += length;
  }
  return module.size() >= headerWords;
}

bool checkModule(Module module, ModuleUse &use, const PhysicalDevice &device,
                 std::string *reason) {
  bool matrices = usesMatrices(module);
  Words older = matrices ? withOlderMatrices(module) : Words();
  std::string complaint =
      validate(matrices ? Module(older) : module, device.apiVersion);
  if (!complaint.empty()) {
    *reason = "invalid SPIR-V: " + complaint;
    return false;
  }
  if (!Inspection(use, device).inspect(module, reason))
    return false;
  if (matrices)
    *reason = complaintOfMatrices(module, use, device);
  return reason->empty();
}

} // namespace backplane::vulkan
