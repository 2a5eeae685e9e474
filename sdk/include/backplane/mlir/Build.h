// SPDX-License-Identifier: Apache-2.0
//
// Build.h: what a library of C++ passes and the compiler must have in common.
// Classes of LLVM and MLIR cross between them, so both come from one build of
// LLVM and from one compiler; nothing here is kept from one release to the
// next.
#ifndef BACKPLANE_MLIR_BUILD_H
#define BACKPLANE_MLIR_BUILD_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/Config/abi-breaking.h"
#include "llvm/Config/llvm-config.h"

#define BP_MLIR_TEXT_(value) #value
#define BP_MLIR_TEXT(value) BP_MLIR_TEXT_(value)

#if defined(__clang__)
#define BP_MLIR_COMPILER "clang-" BP_MLIR_TEXT(__clang_major__)
#else
#define BP_MLIR_COMPILER "gcc-" BP_MLIR_TEXT(__GNUC__)
#endif
#if defined(_LIBCPP_ABI_VERSION)
#define BP_MLIR_LIBRARY "libc++-" BP_MLIR_TEXT(_LIBCPP_ABI_VERSION)
#else
#define BP_MLIR_LIBRARY "libstdc++-" BP_MLIR_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif
#if defined(__cpp_rtti)
#define BP_MLIR_RTTI "on"
#else
#define BP_MLIR_RTTI "off"
#endif
#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BP_MLIR_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define BP_MLIR_SANITIZER "thread"
#else
#define BP_MLIR_SANITIZER "none"
#endif

namespace backplane {

/// What decides the layout of classes, as "key=value" with spaces between. The
/// first is the version of these headers.
inline constexpr const char *mlirBuild =
    "headers=1 llvm=" LLVM_VERSION_STRING " compiler=" BP_MLIR_COMPILER
    " library=" BP_MLIR_LIBRARY " rtti=" BP_MLIR_RTTI " checks=" BP_MLIR_TEXT(
        LLVM_ENABLE_ABI_BREAKING_CHECKS) " sanitizer=" BP_MLIR_SANITIZER;

/// What code with the same build sees alike, unless it has a second copy of
/// MLIR in it: addresses of a declared and of an implicit id, and a question
/// about an op that the compiler made.
struct MlirIdentity {
  const void *moduleOp = nullptr;
  const void *trait = nullptr;
  bool isTerminator = false;

  bool operator==(const MlirIdentity &) const = default;
  static MlirIdentity of(mlir::Operation *op) {
    return {
        mlir::TypeID::get<mlir::ModuleOp>().getAsOpaquePointer(),
        mlir::TypeID::get<mlir::OpTrait::IsTerminator>().getAsOpaquePointer(),
        op->hasTrait<mlir::OpTrait::IsTerminator>()};
  }
};

} // namespace backplane

#endif // BACKPLANE_MLIR_BUILD_H
