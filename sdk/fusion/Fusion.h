// SPDX-License-Identifier: Apache-2.0
//
// Fusion.h: which ops become one dispatch.
//
// Ops are visited in order; each is merged with the groups of its producers
// where the target's BP_FUSE_ bits, its limits and the backend's claim allow.
// A reason is kept for every edge that stays cut.
#ifndef BACKPLANE_FUSION_FUSION_H
#define BACKPLANE_FUSION_FUSION_H

#include "sdk/dialect/Graph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace bp {

/// A backend's answer about a group.
struct ClaimAnswer {
  bool supported = true;
  double cost = 0; ///< ns; 0: no opinion
  std::string reason;
};

struct FusionOptions {
  uint32_t fusion = 0;      ///< BP_FUSE_ bits
  uint32_t maxBindings = 0; ///< per dispatch, 0: unlimited
  uint32_t maxOps = 0;      ///< per dispatch, 0: unlimited
  /// Asked about each candidate group; empty: the bits decide alone.
  std::function<ClaimAnswer(const backplane::Graph &)> claim;
};

/// What an op is to fusion.
enum class OpKind {
  Free,        ///< needs no kernel: weight, reshape, variables, control
  Cheap,       ///< computed again in each user: constant, broadcast, iota
  Elementwise, ///
  Movement,    ///< copies elements: transpose, slice, concat, gather
  Reduction,   ///
  Window,      ///< pool
  Contraction, ///< matmul, conv
  Opaque,      ///< anything else, never fused
};
OpKind kindOf(mlir::Operation *op);

/// A set of ops of `main` that becomes one dispatch.
struct Group {
  OpKind kind;
  /// The iteration space; for a reduction that of its operand.
  backplane::Dims space;
  /// For a reduction, the dims of its result; else as `space`.
  backplane::Dims result;
  /// For a reduction: it runs over the last axes, so that a row has a result.
  bool byRows = false;
  /// Likewise, and it is what BP_FUSE_ROWS is about.
  bool hasKnownRows = false;
  std::vector<mlir::Operation *> ops; ///< in order, without cheap ones
  unsigned device = 0;
  double cost = 0; ///< as claimed, 0: not known
};

/// The groups of a function, in the order of their first ops, and the reasons
/// for the cuts between them.
struct Grouping {
  std::vector<Group> groups;
  std::vector<std::string> cuts;
  uint64_t steps = 0; ///< the work that was done, for tests
};
/// There is one entry of `devices` for each device that ops name; ops of two
/// devices stay apart.
Grouping groupOps(mlir::func::FuncOp main,
                  llvm::ArrayRef<FusionOptions> devices);

/// Whether `op` stands in a dispatch when one of its users does: it is cheap,
/// or a reshape that only adds or removes axes of size 1, or joins blocks of a
/// weight.
bool travelsWithUser(mlir::Operation *op);

/// The ops outside of `inside` that need the value, looked for behind what
/// travels with them; `most` of them.
llvm::SetVector<mlir::Operation *>
usersOutside(mlir::Value value, const llvm::DenseSet<mlir::Operation *> &inside,
             size_t most);

/// Makes a function of each group, called from `main`. The modules's symbols
/// that a function uses become its `bp.symbols`. Fails with a diagnostic when
/// groups depend on each other in a circle, which groupOps never returns.
llvm::LogicalResult outline(mlir::func::FuncOp main, const Grouping &grouping);

/// The graph of some ops as outline would make it, for claims.
backplane::Result<backplane::Graph>
groupGraph(mlir::func::FuncOp main, const std::vector<mlir::Operation *> &ops);

/// A concat of more operands than its device binds in a dispatch, besides the
/// result, becomes several, so that no dispatch has more. Other ops have few.
void limitOperands(mlir::func::FuncOp main,
                   llvm::ArrayRef<FusionOptions> devices);

/// Where the device has BP_FUSE_ATTENTION: each attention becomes a group that
/// KernelGroups.h describes.
void gatherAttention(mlir::func::FuncOp main,
                     llvm::ArrayRef<FusionOptions> devices);

/// limitOperands, gatherAttention, gatherKernels, groupOps, outline, and the
/// reasons into the module's `bp.report`. A dispatch names the device of its
/// ops.
llvm::LogicalResult formDispatches(mlir::ModuleOp module,
                                   llvm::ArrayRef<FusionOptions> devices);

} // namespace bp

#endif // BACKPLANE_FUSION_FUSION_H
