// SPDX-License-Identifier: Apache-2.0
//
// Groups.h: what the passes have in common that give work-groups sums to
// compute together. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_GROUPS_H
#define BACKPLANE_EMIT_GPU_GROUPS_H

#include "sdk/emit/gpu/ElementReader.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

#include <optional>

namespace backplane {

using Written = mlir::bufferization::MaterializeInDestinationOp;

/// The op with sums that a dispatch is about, and its results.
struct GroupSums {
  mlir::linalg::GenericOp op; ///< one result
  mlir::TypedAttr init;       ///< what its sums start with, 32 or 64 bits
  /// Made of the sums, element by element, in the same order; at least one.
  llvm::SmallVector<Written> results;
  /// Do not depend on the sums.
  llvm::SmallVector<Written> others;
};

/// Rewrites the dispatches of a module one by one, then has `clean` run what
/// removes their tensor form. `rewrite` may leave one as it was; a failure has
/// been diagnosed.
mlir::LogicalResult rewriteDispatches(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::LogicalResult(mlir::func::FuncOp)> rewrite,
    llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &)> clean);

/// Whether an op of a bound dispatch computes tensors, or says which are
/// results: it has neither effects nor loops.
bool isOfTensors(mlir::Operation &op);

/// The last op with sums of a bound dispatch (bp-bind-buffers), which becomes a
/// linalg.generic; none when the dispatch has no such op, has effects or loops,
/// or computes anything else from the sums.
std::optional<GroupSums> findSums(mlir::func::FuncOp func);

/// An op as linalg.generic, in its place.
mlir::linalg::GenericOp asGenericOp(mlir::linalg::LinalgOp op);

/// Finds what the sums of the op start with; false when that is no constant of
/// 32 or 64 bits.
bool findInit(GroupSums &sums);

/// The product of these sizes, dynamic if one is.
int64_t sizeOf(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<unsigned> loops);

/// Code for the iterations of a linalg.generic that work-groups do.
struct GroupLoops {
  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<mlir::Value> sizes; ///< per loop

  mlir::Value index(int64_t value);
  /// The number of iterations of several loops.
  mlir::Value product(llvm::ArrayRef<unsigned> loops);
  /// A number of merged loops as the index of each, last one fastest.
  void split(mlir::Value number, llvm::ArrayRef<unsigned> loops,
             llvm::SmallVector<mlir::Value> &indices);
  /// A loop of work-groups, and the index of each of these counts in it. Code
  /// goes into it from here on.
  llvm::SmallVector<mlir::Value> enter(llvm::ArrayRef<mlir::Value> counts);
  /// Memory that the invocations of the work-group share.
  mlir::Value share(int64_t count, mlir::Type element);
};

/// A place in a box, by its number in row-major order, in another box.
llvm::SmallVector<mlir::Value> inOrder(mlir::ImplicitLocOpBuilder &b,
                                       mlir::ValueRange place,
                                       llvm::ArrayRef<mlir::OpFoldResult> from,
                                       llvm::ArrayRef<mlir::OpFoldResult> to);

/// The sum of these values of all loops.
struct GroupSum {
  llvm::SmallVector<mlir::Value> loops;
  mlir::Value sum;
};

/// Stores the results of these sums, after all of them are computed; false
/// after a diagnostic.
mlir::LogicalResult storeResults(mlir::ImplicitLocOpBuilder &b,
                                 ElementReader &reader, const GroupSums &sums,
                                 llvm::ArrayRef<GroupSum> points);

/// The same for the sum of one point.
mlir::LogicalResult storeResults(mlir::ImplicitLocOpBuilder &b,
                                 ElementReader &reader, const GroupSums &sums,
                                 mlir::ValueRange loops, mlir::Value sum);

/// Element by element, whatever the sums are not needed for; then nothing is
/// left to state of the results.
mlir::LogicalResult finishResults(mlir::func::FuncOp func,
                                  const GroupSums &sums);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_GROUPS_H
