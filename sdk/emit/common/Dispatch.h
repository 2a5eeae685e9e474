// SPDX-License-Identifier: Apache-2.0
//
// Dispatch.h: reading the function form that README.md describes. Private to
// this folder.
#ifndef BACKPLANE_EMIT_COMMON_DISPATCH_H
#define BACKPLANE_EMIT_COMMON_DISPATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "sdk/graph/Dim.h"

#include <optional>

namespace backplane {

/// A dispatch function and where its arguments are.
struct Dispatch {
  mlir::func::FuncOp func;
  unsigned inputs = 0;
  unsigned outputs = 0;
  llvm::SmallVector<std::string> symbols;
  bool hasError = false;

  unsigned bindings() const { return inputs + outputs; }
  bool isOutput(unsigned argument) const {
    return argument >= inputs && argument < bindings();
  }
};

/// The dispatch functions of a module: those with `bp.inputs`. A malformed one
/// is a diagnostic.
mlir::FailureOr<llvm::SmallVector<Dispatch>>
findDispatches(mlir::ModuleOp module);

/// The size of axis `axis` of tensor or memref argument `argument`.
mlir::FailureOr<Dim> argumentDim(const Dispatch &dispatch, unsigned argument,
                                 unsigned axis);

/// What is known of an index value in terms of the symbols.
enum class DimBound {
  Exact, ///< only a dim that always equals the value
  Upper, ///< a dim that is never below the value will do
};

/// The dim of an index value, followed through arith and affine ops to the
/// symbols and the sizes of arguments; none when it depends on anything else.
std::optional<Dim> indexDim(const Dispatch &dispatch, mlir::OpFoldResult value,
                            DimBound bound = DimBound::Exact);

/// The most bytes that an allocation takes, a multiple of 64; one without a
/// bound in terms of the symbols is a diagnostic.
mlir::FailureOr<Dim> allocationBytes(const Dispatch &dispatch,
                                     mlir::memref::AllocOp op);

/// Whether the memory is that of an input of a dispatch, or a view of it:
/// nothing writes it.
bool isInput(mlir::Value memory);

/// Whether the op does something to memory that is not of its work-group alone,
/// as what is allocated is.
bool hasOuterEffects(mlir::Operation &op);

/// What follows a pass that computed results anew: sizes in terms of the
/// symbols, canonical code, each value once, and nothing that is dead.
void addCleanup(mlir::OpPassManager &passes);

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_DISPATCH_H
