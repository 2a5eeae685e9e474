// SPDX-License-Identifier: Apache-2.0
//
// Convert.h: types and attributes between the graph of sdk/graph and MLIR.
//
// Signed integers and bool are signless here (i8, i1), unsigned ones are ui8 …
// A static shape has no encoding, any other carries `#bp.dims`.
#ifndef BACKPLANE_DIALECT_CONVERT_H
#define BACKPLANE_DIALECT_CONVERT_H

#include "sdk/dialect/Bp.h"

namespace bp {

/// The element type of a dtype; null for DType::Invalid.
mlir::Type toType(mlir::MLIRContext *context, backplane::DType dtype);
/// The dtype of an element type, when there is one.
std::optional<backplane::DType> toDType(mlir::Type type);

/// The tensor type with these dims.
mlir::RankedTensorType toType(mlir::MLIRContext *context,
                              const backplane::TensorType &type);
/// The dims and dtype of a tensor type. Fails on a dtype that the graph does
/// not have and on a dynamic dim without `#bp.dims`.
backplane::Result<backplane::TensorType> toTensorType(mlir::Type type);
/// The dims of a tensor type that has passed verification.
backplane::Dims dimsOf(mlir::Type type);

/// For each axis of `whole` how many neighbours in `split` a reshape joins to
/// it: one, or two. None where it does anything else.
std::optional<llvm::SmallVector<size_t>>
joinedAxes(const backplane::Dims &split, const backplane::Dims &whole);

/// The elements as in memory, row-major; one element for a splat.
backplane::Bytes toBytes(mlir::DenseElementsAttr elements);
/// The inverse: as many elements as `type` has, or one that fills it. A type
/// that is not static, or empty, takes a scalar attribute.
mlir::DenseElementsAttr toElements(mlir::MLIRContext *context,
                                   const backplane::TensorType &type,
                                   const backplane::Bytes &bytes);

/// A constant that is this number everywhere.
mlir::Value fill(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::RankedTensorType type, mlir::Attribute number);

/// Those attributes of `dictionary` that the op table lists for `spec`.
backplane::Result<backplane::Attributes>
toAttributes(const backplane::OpSpec &spec, mlir::DictionaryAttr dictionary);
/// The inverse, for complete attributes.
llvm::SmallVector<mlir::NamedAttribute>
fromAttributes(mlir::MLIRContext *context, const backplane::OpSpec &spec,
               const backplane::Attributes &attributes);

/// What people see of a location: "Conv node /enc/conv1", or "".
std::string locationText(mlir::Location location);

} // namespace bp

#endif // BACKPLANE_DIALECT_CONVERT_H
