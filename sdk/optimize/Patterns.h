// SPDX-License-Identifier: Apache-2.0
//
// Patterns.h: the rewrites behind bp-simplify, and what they share.
#ifndef BACKPLANE_OPTIMIZE_PATTERNS_H
#define BACKPLANE_OPTIMIZE_PATTERNS_H

#include "sdk/dialect/Convert.h"

#include "mlir/IR/PatternMatch.h"

namespace bp {

/// Movement of movement, and movement that moves nothing.
void addMovementPatterns(mlir::RewritePatternSet &patterns);
/// Pairs of pack and unpack.
void addLayoutPatterns(mlir::RewritePatternSet &patterns);
/// Reshapes behind the elementwise ops that follow them.
void addReshapePatterns(mlir::RewritePatternSet &patterns);
/// Arithmetic with neutral elements, casts, select.
void addArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Powers whose exponent is one of a few numbers.
void addPowerPatterns(mlir::RewritePatternSet &patterns);
/// Convolutions that are products.
void addWindowPatterns(mlir::RewritePatternSet &patterns);
/// Ops that give or read tensors without elements.
void addEmptyPatterns(mlir::RewritePatternSet &patterns);

/// The value with other dims; itself where it has them.
mlir::Value reshape(mlir::PatternRewriter &rewriter, mlir::Location loc,
                    mlir::Value value, const backplane::Dims &dims);

/// The one element of a constant that is the same everywhere, seen through
/// broadcasts and reshapes; null when the value is no such constant. Its type
/// is FloatAttr or IntegerAttr.
mlir::Attribute splatOf(mlir::Value value);

/// Whether the value is a tensor of floats.
bool isFloat(mlir::Value value);

} // namespace bp

#endif // BACKPLANE_OPTIMIZE_PATTERNS_H
