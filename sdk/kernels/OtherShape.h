// SPDX-License-Identifier: Apache-2.0
//
// OtherShape.h: ops that do the same to elements in row-major order though
// their tensors have other shapes. Private to sdk/kernels.
#ifndef BACKPLANE_KERNELS_OTHERSHAPE_H
#define BACKPLANE_KERNELS_OTHERSHAPE_H

#include "sdk/dialect/Graph.h"

#include <map>
#include <string>

namespace bp {

/// Whether what the op does can be told without its shapes: an elementwise op,
/// a constant, a broadcast or a reduction.
bool allowsOtherShape(mlir::Operation *op);

/// Whether an attribute of such an op only says which shape it has.
bool isOfShape(llvm::StringRef attribute);

/// Whether `op` does to its elements what `pattern`, an op of that kind, does
/// to its own, for the sizes that the symbols of `pattern` stand for. Their
/// other attributes are equal.
bool isSameInOtherShape(
    mlir::Operation *pattern, mlir::Operation *op,
    const std::map<std::string, backplane::Dim, std::less<>> &symbols);

} // namespace bp

#endif // BACKPLANE_KERNELS_OTHERSHAPE_H
