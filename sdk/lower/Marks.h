// SPDX-License-Identifier: Apache-2.0
//
// Marks.h: attributes of loops, and of arith ops in the bodies of linalg ops,
// by which the lowering tells what it knows of them. Who emits code may use
// them, where the machine gains by it; an op that lost its mark is right all
// the same.
#ifndef BACKPLANE_LOWER_MARKS_H
#define BACKPLANE_LOWER_MARKS_H

#include "llvm/ADT/StringRef.h"

namespace bp::lower {

/// Of arith.divf: the dividend lies within [0, 1] and the divisor is finite and
/// at least 1, or the divisor is NaN.
inline constexpr llvm::StringLiteral shareMark = "bp.share";
/// Of arith.maximumf in a reduction: NaN among the elements may be left out.
inline constexpr llvm::StringLiteral numbersMark = "bp.numbers";
/// Of math.exp: its operand is no number above 0.
inline constexpr llvm::StringLiteral notPositiveMark = "bp.not_positive";
/// Of scf.for: its iterations have nothing to do with each other and may be
/// done in any order, or side by side.
inline constexpr llvm::StringLiteral independentMark = "bp.independent";

} // namespace bp::lower

#endif // BACKPLANE_LOWER_MARKS_H
