// SPDX-License-Identifier: Apache-2.0
//
// LanePadding.h: operands that are copies of an input with padding around it,
// read where the input is. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LANEPADDING_H
#define BACKPLANE_EMIT_CPU_LANEPADDING_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace backplane {

/// An operand that is `value` but where it is a copy of `source`.
struct Padding {
  unsigned operand = 0; ///< its number
  mlir::Value source;
  /// Per axis: padding in front, and elements of the source. An axis without
  /// padding has the size ShapedType::kDynamic.
  llvm::SmallVector<int64_t> low, size;
  mlir::TypedAttr value;

  bool isPadded(unsigned axis) const {
    return !mlir::ShapedType::isDynamic(size[axis]);
  }
};

/// The inputs of windows that are such copies, whose rows lie along `loop`; the
/// copies are not made any more, and the op reads memory that nothing wrote.
llvm::SmallVector<Padding> takePaddings(mlir::linalg::GenericOp op,
                                        unsigned loop);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEPADDING_H
