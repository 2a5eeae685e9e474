// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/KernelKey.h"

#include "sdk/graph/Wire.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"

#include <dlfcn.h>

using namespace backplane;

/// The hash of the library that this code is in: its passes make the kernels.
static const std::string &hashOfCompiler() {
  static const std::string hash = [] {
    Dl_info info;
    static const int anchor = 0;
    if (!dladdr(&anchor, &info) || !info.dli_fname)
      return std::string();
    // Volatile: it is read, not mapped.
    auto file = llvm::MemoryBuffer::getFile(info.dli_fname, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
    if (!file)
      return std::string();
    llvm::StringRef bytes = (*file)->getBuffer();
    return hashBytes(asBytes(bytes));
  }();
  return hash;
}

std::string backplane::kernelKey(const Target &target, const Graph &dispatch) {
  std::string text = "bp-kernel-8\n" + hashBytes(writeGraph(dispatch)) + "\n" +
                     hashOfCompiler() + "\n" + target.plugin->name + " " +
                     target.plugin->version + " " + target.plugin->hash + "\n" +
                     target.name + " " + target.emitter + " " + target.triple +
                     " " + target.cpu + " " + target.features + "\n" +
                     LLVM_VERSION_STRING "\n" + target.toolchain + "\n";
  for (const Property &property : target.properties)
    text += property.str() + "\n";
  for (const StagePipeline &stage : target.stages)
    text += stage.stage + "=" + stage.pipeline + "\n";
  return hashBytes(asBytes(text));
}

std::string backplane::kernelKey(const std::string &base,
                                 const std::string &more) {
  return hashBytes(asBytes(base + "\n" + more));
}

std::string backplane::kernelKey(const std::string &base,
                                 const WeightInputs &weights,
                                 const WeightQuestions &questions) {
  return kernelKey(base, weights.answersTo(questions));
}
