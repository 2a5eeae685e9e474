// SPDX-License-Identifier: Apache-2.0
//
// Attributes.h: the names of the attributes by which stages talk to each other.
// What each holds is told where it is made: docs/reference/stages.md for
// modules and dispatches, sdk/lower/README.md and sdk/emit/README.md for
// functions.
#ifndef BACKPLANE_DIALECT_ATTRIBUTES_H
#define BACKPLANE_DIALECT_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace bp {

// Of a module: the tables of a graph.
inline constexpr llvm::StringLiteral nameAttr = "bp.name";
inline constexpr llvm::StringLiteral symbolsAttr = "bp.symbols";
inline constexpr llvm::StringLiteral assertionsAttr = "bp.assertions";
inline constexpr llvm::StringLiteral variablesAttr = "bp.variables";
/// Reasons of the compiler, for people.
inline constexpr llvm::StringLiteral reportAttr = "bp.report";

/// Of an op of `main` or a dispatch: the number of its device, if not the
/// first.
inline constexpr llvm::StringLiteral deviceAttr = "bp.device";
/// Of an op: the positions in `main` before fusion of those that it is made of.
inline constexpr llvm::StringLiteral positionsAttr = "bp.positions";
/// Of an op of `main`, or of a dispatch: the registered kernel that computes
/// it, or its partition (sdk/fusion/KernelGroups.h has what both hold).
inline constexpr llvm::StringLiteral kernelAttr = "bp.kernel";
/// A string, of an op of `main`: why it is fused with no other.
inline constexpr llvm::StringLiteral aloneAttr = "bp.alone";
/// Unit, of a transpose of a weight: it puts that in blocks for others, once.
inline constexpr llvm::StringLiteral blocksAttr = "bp.blocks";
/// Unit, of a function: it becomes one kernel.
inline constexpr llvm::StringLiteral dispatchAttr = "bp.dispatch";
/// Unit, of a function: it depends on weights and constants only.
inline constexpr llvm::StringLiteral foldAttr = "bp.fold";

// Of the function of a lowered dispatch: how many arguments are inputs, and how
// many destinations; that its last argument is the error word.
inline constexpr llvm::StringLiteral inputsAttr = "bp.inputs";
inline constexpr llvm::StringLiteral outputsAttr = "bp.outputs";
inline constexpr llvm::StringLiteral errorAttr = "bp.error";
/// Of an argument: its dims as text.
inline constexpr llvm::StringLiteral dimsAttr = "bp.dims";
/// Of an argument for a GPU: the number of its binding.
inline constexpr llvm::StringLiteral bindingAttr = "bp.binding";
/// Of a function for a GPU: invocations of its work-groups, where they are not
/// those of the target.
inline constexpr llvm::StringLiteral groupThreadsAttr = "bp.group_threads";
/// Unit, of memory of the work-group: the launch asks for it.
inline constexpr llvm::StringLiteral dynamicAttr = "bp.dynamic";
/// Dictionary, of a cast without operands: its result is the parameter of the
/// kernel that describes this tensor (sdk/emit/nvptx/TensorMaps.h).
inline constexpr llvm::StringLiteral tensorMapAttr = "bp.tensor_map";
/// Of a module with one dispatch: the properties of its target
/// (sdk/emit/common/TargetProperties.h).
inline constexpr llvm::StringLiteral targetAttr = "bp.target";
/// Unit, of a module with one dispatch: a product and the sum that it is added
/// to are rounded one after the other, never at once.
inline constexpr llvm::StringLiteral roundProductsAttr = "bp.round_products";
/// Of a module after the last stage: how its entry is called.
inline constexpr llvm::StringLiteral entryAttr = "bp.entry";

} // namespace bp

#endif // BACKPLANE_DIALECT_ATTRIBUTES_H
