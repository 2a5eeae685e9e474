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

/// Whether, as far as is known, the windows of iterations `first` to `last` of
/// loop `number` meet no padding: of the last axis where it is the loop with
/// `lanes`, else of others.
bool meetsNoPadding(mlir::linalg::GenericOp op,
                    llvm::ArrayRef<Padding> paddings, unsigned lanes,
                    unsigned number, int64_t first, int64_t last);

/// Elements of a row, in iterations of the loop with lanes from `start` on: as
/// many as `count`, `offset` behind the one that the op reads in the first.
struct RowPart {
  int64_t start = 0, offset = 0, count = 1;
};

/// Whether, as far as is known, none of them is padding of the last axis,
/// whichever element of a window it is.
bool liesInRow(mlir::linalg::GenericOp op, const Padding &padding,
               unsigned lanes, const RowPart &part);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LANEPADDING_H
