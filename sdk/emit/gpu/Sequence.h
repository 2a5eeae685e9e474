// SPDX-License-Identifier: Apache-2.0
//
// Sequence.h: dispatches with loops whose iterations have an order, for
// work-groups. Private to this folder.
//
// A stage is a nest of loops, or any other op that writes. Turns of loops that
// are independent are lines: each has invocations of its own. A line takes one,
// or, where it has more iterations than some devices carry out for an
// invocation, several members, which do a part of each loop in turn; what the
// loop carries they hand on in memory of the work-group. Stages end with a
// barrier, so that one work-group does all of them; several do a stage that is
// alone.
#ifndef BACKPLANE_EMIT_GPU_SEQUENCE_H
#define BACKPLANE_EMIT_GPU_SEQUENCE_H

#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/gpu/GpuTarget.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace backplane {

/// Members of a line. A device may count the iterations of a cluster of
/// neighbours together: more members would be neighbours.
inline int64_t maxMembers(const GpuTarget &target) { return target.clusters(); }
/// Of so few lines each has as many invocations as it may have members.
inline constexpr int64_t kFewLines = 64;

/// A stage and the loops of its nest, from outside in: those over lines, and
/// those with an order. `ops` is what an iteration of the innermost one does;
/// without loops it is the stage itself.
struct GpuStage {
  mlir::Operation *op;
  llvm::SmallVector<mlir::scf::ForOp> lines, ordered;
  llvm::SmallVector<mlir::Operation *> ops;
  bool isLong = false;       ///< a line may be too long for one invocation
  double iterations = 32768; ///< that a member of a long line does, if there
                             ///< are enough members
};

struct GpuSequence {
  GpuTarget target;
  llvm::SmallVector<GpuStage> stages;
  /// Invocations that have something to do.
  Dim items = Dim(0);
};

/// Whether an op, or one within it, may write.
bool writes(mlir::Operation *op);

/// The stage that an op is the outermost loop of, or all of.
GpuStage findNest(mlir::Operation *op);

/// Makes scf.parallel loops independent scf.for.
void useIndependentLoops(mlir::ModuleOp module);

/// The stages of a dispatch; none when work-groups do it no better than one
/// invocation, or cannot.
std::optional<GpuSequence> findSequence(const Dispatch &dispatch,
                                        const GpuTarget &target);

/// Lets work-group `group` of `groups` do its part of all stages. What the
/// dispatch allocates must be memory that the work-group shares.
void emitSequence(const GpuSequence &sequence, mlir::Value group,
                  mlir::Value groups);

/// Whether an iteration of a parallel loop may have more iterations than an
/// invocation can do on some devices, and members can do it.
bool mayHaveLongLines(mlir::scf::ForallOp loop);

/// Lets members do the lines of a nest of loops if these are too long for one
/// invocation each. The block that comes back is for the case that they are
/// not.
mlir::Block *emitLongLines(mlir::Operation *nest, const GpuTarget &target,
                           mlir::Value group, mlir::Value groups);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_SEQUENCE_H
