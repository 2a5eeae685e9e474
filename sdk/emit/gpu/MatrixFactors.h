// SPDX-License-Identifier: Apache-2.0
//
// MatrixFactors.h: the factors of an attention as matrix instructions take
// them. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_MATRIXFACTORS_H
#define BACKPLANE_EMIT_GPU_MATRIXFACTORS_H

#include "sdk/emit/gpu/Attention.h"
#include "sdk/emit/gpu/MatrixScope.h"

namespace backplane {

/// Weights of f32 are sums of 16-bit floats: two f16, once they are multiplied
/// by a power of two that keeps the largest, 1, below the largest f16, or three
/// bf16.
struct AttentionFactors {
  NarrowFactor q, k, weights, v;
  int64_t parts; ///< 16-bit floats that a weight is the sum of

  /// The power of two, as its exponent, that weights are multiplied by.
  int64_t exponent() const {
    return parts > 1 && weights.element == MatrixElement::F16 ? 15 : 0;
  }
};

/// None where no matrix instruction could have them.
std::optional<AttentionFactors> findFactors(const GpuAttention &attention);

/// Opens the loop of work-groups for both products of an attention.
void enterGroup(MatrixScope &scores, MatrixScope &sums);

/// Numbers times a power of two.
void scale(mlir::ImplicitLocOpBuilder &b, int64_t exponent,
           llvm::MutableArrayRef<mlir::Value> numbers);

/// Neighbouring weights as words, part after part, the largest first.
llvm::SmallVector<mlir::Value> packWeights(mlir::ImplicitLocOpBuilder &b,
                                           const MatrixUnit &unit,
                                           const AttentionFactors &factors,
                                           mlir::Value first,
                                           mlir::Value second);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_MATRIXFACTORS_H
