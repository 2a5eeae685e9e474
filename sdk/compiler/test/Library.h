// SPDX-License-Identifier: Apache-2.0
//
// Library.h: the compiler library as the host library opens it, late and with
// RTLD_LOCAL.
#ifndef BACKPLANE_COMPILER_TEST_LIBRARY_H
#define BACKPLANE_COMPILER_TEST_LIBRARY_H

#include "sdk/compiler/Compile.h"

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

} // namespace backplane

#endif // BACKPLANE_COMPILER_TEST_LIBRARY_H
