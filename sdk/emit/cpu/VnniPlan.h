// SPDX-License-Identifier: Apache-2.0
//
// VnniPlan.h: whether a contraction of narrow operands is computed by
// instructions that multiply several of them. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_VNNIPLAN_H
#define BACKPLANE_EMIT_CPU_VNNIPLAN_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace backplane {

struct Contraction;

/// How the machine adds products of narrow operands to 32 bits.
struct NarrowProducts {
  /// What the names of LLVM's intrinsics begin with: "llvm.aarch64.neon".
  std::string intrinsics;
  /// What there is of them, without signs: "dot" and "mmla" of bytes, "usdot"
  /// for mixed signs, "bfmlal" and "bfmmla"; of x86 "pmadd" and "dpwssd" of
  /// 16-bit integers, "dpbusd" of bytes of mixed signs, "tdpb" of bytes in tile
  /// registers.
  llvm::SmallVector<std::string> names;
  bool has(llvm::StringRef name) const {
    return llvm::is_contained(names, name);
  }
};

/// How a contraction uses them.
struct VnniPlan {
  /// i8, i16 or bf16, as which operands are packed; null: as wide as sums.
  mlir::Type narrow;
  int64_t perLane = 1; ///< elements of k in a lane of B
  /// 2: an instruction multiplies two rows by two columns, of which each has
  /// two lanes of k.
  int64_t block = 1;
  std::string intrinsics; ///< what their names begin with
  /// The instructions are those of AVX-512 VNNI, which add to 32-bit lanes.
  bool avx = false;
  /// Sums are in tile registers (AMX): an instruction multiplies kTileDepth
  /// elements of k of kTileRows rows with those of as many columns.
  bool tiles = false;
};

inline constexpr int64_t kTileRows = 16, kTileDepth = 64;

/// Whether bytes are widened, and multiplied in pairs of 16 bits.
bool multipliesPairs(const VnniPlan &vnni);

/// `m` and `k`: rows of the contraction and what it sums up, negative when not
/// known.
VnniPlan planVnni(const Contraction &c, const NarrowProducts &products,
                  int64_t m, int64_t k);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_VNNIPLAN_H
