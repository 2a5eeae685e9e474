// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/nvptx/Emitter.h"

#include "sdk/emit/llvm/CodeGenerator.h"
#include "sdk/emit/nvptx/Assemble.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Function.h"

using namespace mlir;

namespace backplane {

/// What PTX takes as an identifier, so that LLVM need not change it.
static bool isPtxName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A function that the code calls and nobody has; null: none.
static const llvm::Function *missingFunction(const llvm::Module &code) {
  for (const llvm::Function &function : code)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return &function;
  return nullptr;
}

static FailureOr<std::vector<uint8_t>>
serialize(ModuleOp module, const EmitTarget &target, StringRef entryName) {
  if (!isPtxName(entryName))
    return module.emitError("PTX has no name \"")
           << entryName << "\"; take letters, digits and underscores";
  std::string error;
  auto machine = createMachine(target, error);
  if (!machine)
    return module.emitError("no code generator for ")
           << target.triple << ": " << error;
  llvm::LLVMContext context;
  auto code = makeOptimizedCode(module, target, *machine, entryName, context);
  if (failed(code))
    return failure();
  if (const llvm::Function *missing = missingFunction(**code))
    return module.emitError("the kernel calls ")
           << missing->getName() << ", and a GPU has no library of it";
  std::vector<uint8_t> text =
      emitFile(**code, *machine, llvm::CodeGenFileType::AssemblyFile);
  if (text.empty())
    return module.emitError("cannot emit PTX for ") << target.triple;
  return text;
}

/// Behind what every module says once: version, target and address size.
static size_t bodyStart(StringRef text) {
  constexpr StringLiteral last = ".address_size 64\n";
  size_t at = text.find(last);
  return at == StringRef::npos ? at : at + last.size();
}

/// One text: the kernels have distinct names, and their variables begin with
/// these.
static Result<std::string> join(ArrayRef<const ObjectCode *> objects) {
  std::string joined;
  for (const ObjectCode *object : objects) {
    StringRef text(reinterpret_cast<const char *>(object->object.data()),
                   object->object.size());
    size_t start = bodyStart(text);
    if (start == StringRef::npos)
      return internalError("the PTX of " + object->entry.name +
                           " has no .address_size 64");
    if (joined.empty())
      joined = text.take_front(start).str();
    else if (StringRef(joined).take_front(start) != text.take_front(start))
      return internalError("the PTX of " + object->entry.name +
                           " is for another target than the first");
    joined += text.drop_front(start);
  }
  return joined;
}

static Result<LinkedImage> linkPtx(const EmitTarget &,
                                   ArrayRef<const ObjectCode *> objects) {
  Result<std::string> text = join(objects);
  if (!text)
    return text.status();
  return LinkedImage{{text->begin(), text->end()}, {}};
}

static Result<LinkedImage> linkCubin(const EmitTarget &target,
                                     ArrayRef<const ObjectCode *> objects) {
  Result<std::string> text = join(objects);
  if (!text)
    return text.status();
  Result<Cubin> cubin = assemble(*text, target.cpu);
  if (!cubin)
    return cubin.status();
  return LinkedImage{std::move(cubin->bytes), std::move(cubin->notes)};
}

/// Constants of many elements are weights: they are loaded once for all kernels
/// and calls.
Emitter ptxEmitter() {
  return {.name = "ptx",
          .serialize = serialize,
          .link = linkPtx,
          .hasConstantMemory = false};
}

Emitter cubinEmitter() {
  return {.name = "cubin",
          .serialize = serialize,
          .link = linkCubin,
          .hasConstantMemory = false};
}

} // namespace backplane
