// SPDX-License-Identifier: Apache-2.0
//
// Emitter.h: what an emitter is, and what it is given and makes.
#ifndef BACKPLANE_EMIT_COMMON_EMITTER_H
#define BACKPLANE_EMIT_COMMON_EMITTER_H

#include "backplane/cpp/Result.h"
#include "sdk/support/Property.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace backplane {

/// What code generation needs of a bp_target_t.
struct EmitTarget {
  std::string triple;   ///< "x86_64-unknown-linux-gnu"
  std::string cpu;      ///< LLVM's name
  std::string features; ///< LLVM's "+avx2,+fma"
  uint32_t vectorBits = 0;
  std::vector<Property> properties; ///< `bp.target` of the module
  bool contract = true;             ///< a*b+c may be one rounding
};

/// How the runtime calls an entry. Text is in the syntax of Dim (graph/Dim.h),
/// over the symbols of the dispatch.
struct EntryInfo {
  std::string name;
  std::array<std::string, 3> grid;
  std::string workspace;       ///< bytes per worker
  std::vector<uint8_t> access; ///< BP_ACCESS_ bits, one per binding
  uint32_t constantCount = 0;  ///< u32 each: the symbols, in order
  std::array<uint32_t, 3> workgroup = {1, 1, 1}; ///< invocations
  uint64_t sharedBytes = 0; ///< that the launch asks for, of a work-group
};

/// A compiled dispatch. `object` is a relocatable ELF file, a SPIR-V module
/// or PTX;
/// it may be cached under a key of the dispatch's text, target and stages.
struct ObjectCode {
  std::vector<uint8_t> object;
  EntryInfo entry;
};

/// The blob of an executable, and what the tool that made it says of it.
struct LinkedImage {
  std::vector<uint8_t> bytes;
  std::vector<std::string> notes; ///< for people; equal input, equal notes
};

/// A way from the IR that the last stage leaves to the blob of an executable.
/// Each is an entry of the table in Emit.cpp; no code names one.
struct Emitter {
  llvm::StringRef name; ///< what bp_target_t.emitter says
  /// One dispatch to an object. A failure is a diagnostic.
  mlir::FailureOr<std::vector<uint8_t>> (*serialize)(mlir::ModuleOp module,
                                                     const EmitTarget &target,
                                                     llvm::StringRef entry);
  /// The objects of one executable to its blob.
  Result<LinkedImage> (*link)(const EmitTarget &target,
                              llvm::ArrayRef<const ObjectCode *> objects);
  /// Whether code has memory for constants of many elements; else they are
  /// weights.
  bool hasConstantMemory;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_EMITTER_H
