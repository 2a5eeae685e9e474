// SPDX-License-Identifier: Apache-2.0
//
// Reduction.h: what bp-gpu-reduce finds in a dispatch, and the code that a
// work-group computes it with. Private to this folder.
//
// The order of a sum depends on nothing that devices of a target differ in.
// With the usual sizes, invocation i of the work-group adds up elements i, i +
// 128, and so on. The sums of 8 neighbouring invocations, a cluster, are added
// in pairs, these in pairs again; so are then the sums of the 16 clusters.
// Where a cluster has a sum for itself, it takes every 8th element, and ends
// with its own pairs.
#ifndef BACKPLANE_EMIT_GPU_REDUCTION_H
#define BACKPLANE_EMIT_GPU_REDUCTION_H

#include "sdk/emit/gpu/GpuTarget.h"
#include "sdk/emit/gpu/Groups.h"

namespace backplane {

struct GpuReduction {
  GpuTarget target;
  GroupSums sums;
  mlir::Operation *combiner; ///< of a sum and a term, in the body
  unsigned sumOperand;       ///< which of its operands is the sum
  llvm::SmallVector<unsigned> rows, k;
  int64_t count; ///< of elements in a sum; may be dynamic
  /// Invocations that compute a sum: a work-group, or a cluster.
  int64_t team;
};

/// The op in the body of a reduction that combines the sum, its operand
/// `sumOperand`, with a term; null where partial results cannot be combined.
mlir::Operation *findCombiner(mlir::linalg::GenericOp op, mlir::Attribute init,
                              unsigned &sumOperand);

/// That op for these two.
mlir::Value combinePartial(mlir::OpBuilder &builder, mlir::Operation *combiner,
                           unsigned sumOperand, mlir::Value sum,
                           mlir::Value term);

/// The sum of these, in pairs, and the pairs in pairs. As many as a power of
/// two.
mlir::Value addPairs(mlir::OpBuilder &builder, mlir::Operation *combiner,
                     unsigned sumOperand, llvm::SmallVector<mlir::Value> sums);

/// The number of this invocation in the work-group. Which invocations share a
/// subgroup is the device's choice; the work goes by their place there.
mlir::Value numberBySubgroup(mlir::ImplicitLocOpBuilder &b);

/// The sum of a cluster, in the same pairs; each of its invocations gets the
/// same bits, as a pair is the same sum from both sides.
mlir::Value exchange(mlir::ImplicitLocOpBuilder &b, int64_t clusterSize,
                     mlir::Operation *combiner, unsigned sumOperand,
                     mlir::Value own);

/// Emits the code in front of where `builder` stands. With `subgroups` the
/// invocations of a cluster hand each other their sums, else they meet in
/// memory of the work-group; both give the same bits. A failure has been
/// diagnosed.
mlir::LogicalResult emitReduction(mlir::OpBuilder &builder,
                                  GpuReduction &reduction, bool subgroups);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_REDUCTION_H
