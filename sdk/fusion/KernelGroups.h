// SPDX-License-Identifier: Apache-2.0
//
// KernelGroups.h: ops that are one dispatch from the start: those that a
// registered kernel computes, partitions, which a plug-in compiles as one, and
// attention.
//
// `bp.kernel` of an op of `main` (sdk/kernels makes it) is a dictionary:
//
//   group     which ops belong together
//   name      "onednn.matmul"
//   number    of the kernel, among those of the device
//   graph     number of the graph in the kernel's text
//   symbols   #bp.dims of the text's symbols, in symbols of the model
//   bindings  how many the kernel's text has
//   operands  array<i32>: for each operand of the op the number of the binding
//   results   array<i32>: likewise; -1: a value within the group
//
// That of a dispatch has `name`, `number`, `graph` and `symbols` again, and
// `bindings`, array<i32>: for each binding of the text the number of the
// dispatch's binding, its inputs before its outputs; -1: absent.
//
// In a partition (sdk/compiler makes it) the dictionary of an op has `group`
// and
//
//   partition  array<i64>: the ops that the plug-in named, by their positions
//
// and that of its dispatch `partition` alone. Its inputs and outputs are those
// of any other dispatch, as are those of an attention (Attention.cpp makes it):
// there the dictionary of an op has `group` alone, and a dispatch has none.
#ifndef BACKPLANE_FUSION_KERNELGROUPS_H
#define BACKPLANE_FUSION_KERNELGROUPS_H

#include "sdk/dialect/Graph.h"

namespace bp {

/// The group of an op; none: no registered kernel computes it.
std::optional<int64_t> kernelGroupOf(mlir::Operation *op);
/// The kernel of an op or a dispatch; empty: none.
llvm::StringRef kernelNameOf(mlir::Operation *op);

/// The ops that a plug-in named, of an op in a partition or of the dispatch of
/// one; none: it is in no partition.
std::optional<llvm::ArrayRef<int64_t>> partitionOf(mlir::Operation *op);
/// Makes ops of `main` a partition.
void setPartition(llvm::ArrayRef<mlir::Operation *> ops, int64_t group,
                  llvm::ArrayRef<int64_t> named);

/// Whether the op is part of an attention.
bool isAttention(mlir::Operation *op);
/// Makes ops of `main` an attention.
void setAttention(llvm::ArrayRef<mlir::Operation *> ops, int64_t group);
/// Whether a registered kernel computes the op.
bool isRegistered(mlir::Operation *op);

/// Moves the ops of each group next to each other. A group that depends on its
/// own results through other ops or groups is given up: its ops lose the
/// attribute, and the reason is returned.
std::vector<std::string> gatherKernels(mlir::func::FuncOp main);

/// What a group returns: all that its kernel writes, whether used or not.
llvm::SmallVector<mlir::Value>
kernelOutputs(const std::vector<mlir::Operation *> &ops);

/// Gives the function of a partition its `bp.kernel` and takes those of its
/// ops.
void setPartition(mlir::func::FuncOp function, mlir::Operation *member);

/// Gives the function of a group its `bp.kernel` and takes those of its ops.
/// `inputs` and `outputs` are the values of `main` in the order of the
/// function's bindings.
void setKernel(mlir::func::FuncOp function,
               const std::vector<mlir::Operation *> &ops,
               llvm::ArrayRef<mlir::Value> inputs,
               llvm::ArrayRef<mlir::Value> outputs);

} // namespace bp

#endif // BACKPLANE_FUSION_KERNELGROUPS_H
