// SPDX-License-Identifier: Apache-2.0
//
// Graph.h: from the portable graph to the `bp` dialect and back.
//
// A graph is a module with one function `main`. The module carries the tables
// of the graph as attributes:
//
//   bp.name        the graph's name
//   bp.symbols     [{name, minimum, maximum, divisor}]
//   bp.assertions  [{dims = #bp.dims<[lhs, rhs]>, message}]
//   bp.variables   [{name, type, initial}]
//
// Arguments and results carry `bp.name`. A dispatch is a further function of
// the module with `bp.symbols = ["n", …]`: the symbols that it uses, in the
// order of its constants.
#ifndef BACKPLANE_DIALECT_GRAPH_H
#define BACKPLANE_DIALECT_GRAPH_H

#include "sdk/dialect/Attributes.h"
#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace bp {

/// The device of an op of `main` or of a dispatch; 0 without the attribute.
unsigned deviceOf(mlir::Operation *op);
/// Puts the op of `made`, which is returned, on the device of `op`.
mlir::Value onDeviceOf(mlir::Operation *op, mlir::Value made);

/// Loads the dialects that importGraph needs.
void loadGraphDialects(mlir::MLIRContext &context);

/// The module of a graph. Verifies the graph first; null after an error that
/// went to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> importGraph(mlir::MLIRContext &context,
                                              const backplane::Graph &graph);

/// The op with regions that `op` stands for. `graph` is what was imported.
const backplane::Op &controlOf(ControlOp op, const backplane::Graph &graph);
/// Puts the ops of region `number` in the place of an `if`. `region` are those
/// ops, which may be others than the graph has but in the same order as far as
/// they have regions.
void inlineRegion(ControlOp op, unsigned number,
                  const backplane::Graph &region);

/// The graph of a function that holds `bp` ops only: the whole model for
/// `main`, else a dispatch with the symbols that it lists.
backplane::Result<backplane::Graph> exportGraph(mlir::func::FuncOp function);

/// The symbol table of a module.
std::vector<backplane::Symbol> symbolsOf(mlir::ModuleOp module);

} // namespace bp

#endif // BACKPLANE_DIALECT_GRAPH_H
