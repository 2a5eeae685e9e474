// SPDX-License-Identifier: Apache-2.0
//
// Library.h: the compiler library as the host library opens it, late and with
// RTLD_LOCAL.
#ifndef BACKPLANE_COMPILER_TEST_LIBRARY_H
#define BACKPLANE_COMPILER_TEST_LIBRARY_H

#include "sdk/compiler/Compile.h"

#include <array>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace backplane {

/// Its one function, or null.
inline decltype(&bp_compile_model_internal) compilerEntry() {
  void *library =
      dlopen(BP_COMPILER_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  EXPECT_TRUE(library) << dlerror();
  if (!library)
    return nullptr;
  return reinterpret_cast<decltype(&bp_compile_model_internal)>(
      dlsym(library, "bp_compile_model_internal"));
}

/// Stages and pipelines of a target of the emitter `llvm-elf`.
using Stages = std::array<std::pair<const char *, const char *>, 3>;
inline constexpr Stages cpuStages = {
    {{"tile", "bp-bind-buffers,bp-contract{vector-bits=256},bp-distribute"},
     {"bufferize", "bp-bufferize"},
     {"device", "bp-vectorize{vector-bits=256},bp-expand-math,"
                "bp-to-cpu-entry,bp-to-llvm"}}};

/// y = exp of neg of exp of neg … of x[n].
inline Graph chain(int length, DType type = DType::F32) {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol({"n", 1, 1024, 1}).ok());
  ValueId value = graph.addInput("x", {type, {Dim::symbol("n")}});
  for (int i = 0; i < length; ++i)
    value = (*graph.add(i % 2 ? "exp" : "neg", {value}))[0];
  graph.addOutput(value, "y");
  return graph;
}

} // namespace backplane

#endif // BACKPLANE_COMPILER_TEST_LIBRARY_H
