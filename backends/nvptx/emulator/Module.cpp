// SPDX-License-Identifier: Apache-2.0
//
// Module.cpp: from PTX text to a module of a context.
#include "Context.h"
#include "Decoder.h"

#include <algorithm>
#include <cctype>

namespace emulator {
namespace {

constexpr uint32_t kNewestVersion = 95;
// What is larger is zeros already (Memory.cpp).
constexpr uint64_t kFilledVariable = uint64_t(256) << 20;

// 90 of "sm_90a"; `suffix` is 'a', 'f' or 0.
uint32_t capabilityOf(const std::string &target, char &suffix) {
  suffix = 0;
  if (!target.starts_with("sm_") || target.size() < 5)
    return 0;
  uint32_t number = 0;
  for (size_t i = 3; i < target.size(); ++i) {
    if (isdigit(uint8_t(target[i])))
      number = number * 10 + uint32_t(target[i] - '0');
    else
      suffix = target[i];
  }
  return number;
}

void checkTarget(const Syntax &syntax, uint32_t device) {
  char suffix = 0;
  uint32_t target = capabilityOf(syntax.target, suffix);
  std::string here = "sm_" + std::to_string(device);
  if (!target)
    fail(CUDA_ERROR_INVALID_PTX,
         "expected a target such as sm_90, found '" + syntax.target + "'");
  if (syntax.version > kNewestVersion)
    fail(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
         "the module is of PTX " + std::to_string(syntax.version / 10) + "." +
             std::to_string(syntax.version % 10) +
             ", the emulator knows up to 9.5");
  // Code for "sm_90a" runs on that architecture only, "f" on its family.
  bool family = suffix == 'f' && device / 10 == target / 10;
  if (target > device || (suffix && target != device && !family))
    fail(CUDA_ERROR_NO_BINARY_FOR_GPU,
         "the module is for " + syntax.target + ", this device is " + here);
}

void fillVariable(Module &module, const Variable &variable) {
  const Allocation *place =
      memory().find(module.symbols[variable.name].address);
  if (variable.bytes <= kFilledVariable)
    std::memset(place->host, 0, variable.bytes);
  std::copy(variable.data.begin(), variable.data.end(), place->host);
  for (const Variable::Address &address : variable.addresses) {
    auto found = module.symbols.find(address.name);
    if (found == module.symbols.end())
      fail(CUDA_ERROR_INVALID_PTX, "the initial value of '" + variable.name +
                                       "' has the address of '" + address.name +
                                       "', which is no variable in memory");
    uint64_t value = found->second.address;
    auto shift = uint32_t(address.addend >> 56);
    value = (value >> shift) + uint64_t(address.addend & 0xffffffffffffff);
    std::memcpy(place->host + address.at, &value,
                std::min<uint32_t>(address.size, 8));
  }
}

void makeVariables(Module &module) {
  for (const Variable &variable : module.syntax.variables) {
    if (variable.space == Space::Shared)
      continue;
    if (variable.external)
      fail(CUDA_ERROR_INVALID_PTX, "the variable '" + variable.name +
                                       "' is .extern; the emulator links no "
                                       "modules");
    Symbol &symbol = module.symbols[variable.name];
    symbol.bytes = variable.bytes;
    symbol.address =
        memory().allocate(std::max<uint64_t>(variable.bytes, 1),
                          module.context->device, "variable of a module");
    if (!symbol.address)
      fail(CUDA_ERROR_OUT_OF_MEMORY,
           "no memory for the variable '" + variable.name + "'");
  }
  for (const Variable &variable : module.syntax.variables)
    if (variable.space != Space::Shared)
      fillVariable(module, variable);
}

[[noreturn]] void refuseBinary(const char *what) {
  fail(CUDA_ERROR_NO_BINARY_FOR_GPU, std::string("the image is ") + what +
                                         "; the emulator executes PTX text "
                                         "only: compile to PTX and load that");
}

} // namespace

std::unique_ptr<Module> loadModule(Context &context, std::string_view image) {
  if (image.starts_with("\x7f"
                        "ELF"))
    refuseBinary("a cubin");
  if (image.starts_with("\x50\xed\x55\xba"))
    refuseBinary("a fatbin");
  auto module = std::make_unique<Module>();
  module->context = &context;
  module->syntax = parse(image);
  auto capability = uint32_t(kDevice[context.device].capability);
  checkTarget(module->syntax, capability);
  makeVariables(*module);
  for (const auto &function : module->syntax.functions) {
    if (!function->entry || !function->defined)
      continue;
    auto loaded = std::make_unique<LoadedFunction>();
    loaded->module = module.get();
    loaded->kernel =
        build(module->syntax, *function, module->symbols, capability);
    module->functions[function->name] = std::move(loaded);
  }
  return module;
}

} // namespace emulator
