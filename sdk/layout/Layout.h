// SPDX-License-Identifier: Apache-2.0
//
// Layout.h: in which form and order operands lie in memory, for the whole
// graph, before it becomes dispatches.
//
// Activations keep the order that the model has; what weights are is chosen
// here, with the dtypes that products read and the convolutions that
// transposed ones are.
#ifndef BACKPLANE_LAYOUT_LAYOUT_H
#define BACKPLANE_LAYOUT_LAYOUT_H

#include "sdk/dialect/Graph.h"
#include "sdk/graph/Model.h"

namespace bp {

/// What a device takes.
struct LayoutOptions {
  uint32_t fusion = 0; ///< BP_FUSE_ bits
  /// The artifact has weights as the model has them, for others. What is made
  /// of them for this device alone is made once for each session.
  bool keepsWeights = false;
  /// Its kernels have work-groups that share reductions.
  bool workGroups = false;
};

/// Whether the op is a contraction that can read 8-bit integers: one of i32, or
/// a product of f32 with a weight of bytes.
bool readsBytes(mlir::Operation *op);
/// Whether the op only makes an i32 of an 8-bit integer.
bool isByteWidening(mlir::Operation *op);
/// Whether the op only makes f32 of 8-bit integers that nothing but products
/// reads, as their right factor. Null is none.
bool isWeightOfBytes(mlir::Operation *op);
/// Whether it is one of these two.
bool widensBytes(mlir::Operation *op);

/// Element i of a weight of 8-bit integers or i32.
int32_t elementOf(const backplane::Weight &weight, size_t i);
/// The narrowest 8-bit type that holds all elements of such a weight; none:
/// they need more.
std::optional<backplane::DType> byteFor(const backplane::Weight &weight);

/// Where the left factor of a product is an 8-bit integer less one zero point
/// for all, and the right one a weight: the zero point times the sums of the
/// weight is subtracted from the product. Returns the contraction that is there
/// then. Sums are added to `pool`. With `preferUnsigned`, signed bytes that are
/// multiplied by a weight of signed bytes become unsigned on the way.
llvm::FailureOr<mlir::Operation *> moveZeroPoint(mlir::Operation *contraction,
                                                 bool preferUnsigned,
                                                 backplane::WeightPool &pool);

/// Where the device has BP_FUSE_WIDENING: factors of contractions that are
/// known to fit 8 bits become 8-bit integers that are widened. Weights that
/// this makes are added to `pool`.
llvm::LogicalResult narrowOperands(mlir::func::FuncOp main,
                                   llvm::ArrayRef<LayoutOptions> devices,
                                   backplane::WeightPool &pool);

/// Where the device has BP_FUSE_WEIGHTS: transposed convolutions of f32 and one
/// group, whose weights are known and whose strides divide the window, become
/// convolutions, with weights that are added to `pool`, and ops that put their
/// results in order.
llvm::LogicalResult splitPhases(mlir::func::FuncOp main,
                                llvm::ArrayRef<LayoutOptions> devices,
                                backplane::WeightPool &pool);

/// Where the device has BP_FUSE_WEIGHTS and does not keep weights: convolutions
/// of f32, one group and known sizes, over three axes or more, are divided
/// along the first of these where many products along it are with padding,
/// which are left out. Parts of weights are added to `pool`.
llvm::LogicalResult divideAtBorders(mlir::func::FuncOp main,
                                    llvm::ArrayRef<LayoutOptions> devices,
                                    backplane::WeightPool &pool);

/// Where the device has BP_FUSE_WEIGHTS: weights of convolutions of one group
/// are put in blocks of outputs, those of bytes in blocks of inputs as well
/// (BlockedWeight.h); the convolution takes a reshape of a transpose of them.
llvm::LogicalResult arrangeWeights(mlir::func::FuncOp main,
                                   llvm::ArrayRef<LayoutOptions> devices,
                                   backplane::WeightPool &pool);

/// Where the device has BP_FUSE_WEIGHTS: weights of f32 of products are put in
/// blocks of columns (BlockedWeight.h); the product takes a reshape of a
/// transpose of them.
llvm::LogicalResult arrangeColumns(mlir::func::FuncOp main,
                                   llvm::ArrayRef<LayoutOptions> devices,
                                   backplane::WeightPool &pool);

/// Whether the value is a weight, or blocks that are computed of one, widened
/// from bytes or not.
bool isStoredWeight(mlir::Value value);

/// Whether the value is a view of a weight that arrangeWeights or
/// arrangeColumns has put in blocks.
bool isBlockedWeight(mlir::Value value);

/// Marks the transposed convolutions whose weights are known and finite.
void markFiniteWeights(mlir::func::FuncOp main,
                       const backplane::WeightPool &pool);

/// Where the device has work-groups: few long searches for an index become
/// reductions, which work-groups share.
void shareSearches(mlir::func::FuncOp main,
                   llvm::ArrayRef<LayoutOptions> devices);

/// markFiniteWeights, shareSearches, narrowOperands, splitPhases,
/// divideAtBorders, arrangeWeights, arrangeColumns. There is one entry of
/// `devices` for each device that ops name.
llvm::LogicalResult chooseLayouts(mlir::ModuleOp module,
                                  llvm::ArrayRef<LayoutOptions> devices,
                                  backplane::WeightPool &pool);

} // namespace bp

#endif // BACKPLANE_LAYOUT_LAYOUT_H
