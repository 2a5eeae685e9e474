// SPDX-License-Identifier: Apache-2.0
//
// Contraction.h: what bp-contract finds in a dispatch. Private to this folder.
//
// C[outer, m, n] = epilogue(init + sum over k of A[outer, m, k] * B[outer, k,
// n])
//
// A is the operand whose elements are broadcast, B the one whose elements fill
// vectors; n is the innermost loop of C. Matrix products and convolutions alike
// have this form: for a convolution A is the weight, n runs over output pixels
// and k over channels and window.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTION_H
#define BACKPLANE_EMIT_CPU_CONTRACTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <optional>

namespace backplane {

/// A tensor operand in terms of a memref argument.
struct ContractionOperand {
  mlir::Value memref;
  mlir::AffineMap map; ///< from the loops of the contraction
  /// Padding in front of and behind each axis of the memref; empty: none
  /// anywhere.
  llvm::SmallVector<mlir::OpFoldResult> padLow, padHigh;
  mlir::TypedAttr padValue;
  /// What becomes of an 8-bit integer of the memref before all else.
  enum class Widening { None, Signed, Unsigned };
  Widening widening = Widening::None;

  /// What elementwise ops make of an element after that, in order.
  llvm::SmallVector<mlir::linalg::GenericOp> bodies;

  bool padded() const { return !padLow.empty(); }
  /// Whether there may be padding on an axis.
  bool padded(size_t axis) const;
};

/// A result of the dispatch.
struct ContractionResult {
  mlir::Operation *op;     ///< that states the destination
  mlir::Value destination; ///< memref
  /// Which result of the epilogue it is; none: C itself.
  std::optional<unsigned> number;
};

/// Elements of a window up to which a block of k has whole windows: a longer
/// sum of one channel had rounding errors that blocks are there to prevent.
inline constexpr int64_t kMaxWindow = 256;

struct Contraction {
  mlir::linalg::GenericOp op;
  /// Where results go; all on the loops of C.
  llvm::SmallVector<ContractionResult> results;
  mlir::AffineMap destinationMap;
  unsigned a = 0, b = 0; ///< which inputs of `op`
  ContractionOperand lhs, rhs;
  mlir::Value left, right; ///< the factors, in the body of `op`
  mlir::TypedAttr init;    ///< what C starts with
  /// Loops by role; m, n and k count as one loop each, last one fastest.
  llvm::SmallVector<unsigned> outer, m, n, k;
  /// Where the first of k counts channels of an image, and the others elements
  /// of a window: how many of these there are, if few. Else 1.
  int64_t window = 1;
  bool kMergedInA = false; ///< k is one strided run of A
  bool kEndsA = false;     ///< the last loop of k is in the last axis of A
  /// Rows of A that are neighbours: A has all of k for one block of them, then
  /// for the next, to be multiplied as it is. 0: there are no blocks.
  int64_t blockOfA = 0;
  /// Elements of k that a row of such a block, or a column of one of B, has
  /// side by side.
  int64_t depthOfBlock = 1;
  bool nMergedInB = false; ///< n is one run of neighbours in B
  /// Columns of B that are neighbours: B has all of k for one block of them,
  /// then for the next, to be multiplied as it is. 0: there are no blocks.
  int64_t blockOfB = 0;
  /// The same of a B that is packed, as narrow elements are.
  int64_t blockToPack = 0;
  int64_t columnsOfBlock() const { return std::max(blockOfB, blockToPack); }
  bool hasBlocksOfB() const { return columnsOfBlock() != 0; }
  /// What follows, on the same loops as C; null: nothing. Its operand number
  /// `epilogueInput` is C.
  mlir::linalg::GenericOp epilogue;
  unsigned epilogueInput = 0;
  llvm::SmallVector<ContractionOperand> epilogueOperands;
  mlir::Type accumulator;

  /// Whether the body multiplies elements of an operand as they are in memory;
  /// `factor` is what it multiplies of it, `left` or `right`.
  bool takesAsStored(mlir::Value factor,
                     const ContractionOperand &operand) const;
};

/// Reads `tensor`, whose elements the contraction has by `map`: an argument or
/// a constant, with constant padding around it or not; 8-bit integers may be
/// widened in between. False when it is anything else, or its index is not a
/// sum of loops times constants.
bool matchOperand(mlir::Value tensor, mlir::AffineMap map,
                  ContractionOperand &operand);

/// The memref with its axes split as `expand` splits those of a tensor.
mlir::Value expandMemref(mlir::OpBuilder &builder, mlir::Value memref,
                         mlir::tensor::ExpandShapeOp expand);

/// Reads what the op sums up: init, factors and their inputs. False when it is
/// no sum of products.
bool readProduct(Contraction &contraction);

/// The op as a linalg.generic, or null.
mlir::linalg::GenericOp asGeneric(mlir::Operation *op);

/// The contraction that a bound dispatch (bp-bind-buffers) consists of, or none
/// when it is anything else.
std::optional<Contraction> matchContraction(mlir::func::FuncOp func);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTION_H
