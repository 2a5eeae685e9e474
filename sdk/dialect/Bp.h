// SPDX-License-Identifier: Apache-2.0
//
// Bp.h: the `bp` dialect, which is the portable graph inside the compiler.
//
// Code that works on MLIR lives in namespace `bp`, LLVM-free code in namespace
// `backplane`, so that bp::… and mlir::… names (Value, Attribute) never meet
// those of the graph. Which ops exist, their operands, attributes and shape
// rules come from sdk/graph/ops.toml; verifiers call the rules of OpTable.h.
#ifndef BACKPLANE_DIALECT_BP_H
#define BACKPLANE_DIALECT_BP_H

#include "sdk/graph/OpTable.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace bp {

/// Marks ops whose result element i depends on operand elements i only.
template <typename Op>
class Elementwise : public mlir::OpTrait::TraitBase<Op, Elementwise> {};

/// Marks ops that have a decomposition into primitives.
template <typename Op>
class Composite : public mlir::OpTrait::TraitBase<Op, Composite> {};

/// What the shape rule of the op called `name` gives for these operands and
/// attributes. Emits its complaint at `location`, when there is one.
llvm::LogicalResult inferTableTypes(mlir::MLIRContext *context,
                                    std::optional<mlir::Location> location,
                                    llvm::StringRef name,
                                    mlir::TypeRange operands,
                                    mlir::DictionaryAttr attributes,
                                    llvm::SmallVectorImpl<mlir::Type> &types);

} // namespace bp

// The generated code has parameters that it does not use.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-parameter"
#include "sdk/dialect/BpDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sdk/dialect/BpAttributes.h.inc"

#define GET_OP_CLASSES
#include "sdk/dialect/BpOps.h.inc"
#pragma clang diagnostic pop

#endif // BACKPLANE_DIALECT_BP_H
