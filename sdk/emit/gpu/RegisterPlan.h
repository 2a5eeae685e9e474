// SPDX-License-Identifier: Apache-2.0
//
// RegisterPlan.h: how a work-group shares an attention whose scores stay in
// registers. Private to this folder.
#ifndef BACKPLANE_EMIT_GPU_REGISTERPLAN_H
#define BACKPLANE_EMIT_GPU_REGISTERPLAN_H

#include "sdk/emit/gpu/MatrixFactors.h"

namespace backplane {

struct RegisterPlan {
  /// Blocks of K and V in memory at once.
  static constexpr int64_t kStages = 2;

  MatrixPlan scores, product;
  AttentionFactors factors;
  int64_t depth; ///< k of all instructions of a score

  int64_t keys() const { return scores.tileN(); }
  bool isInMemory() const { return scores.products != nullptr; }
  /// One invocation copies K and V for all; and Q, where `scores.a` has blocks.
  bool copiesBlocks() const { return scores.b.blocks && product.b.blocks; }
  int64_t queryWords() const {
    const MatrixInstruction &i = *scores.instruction;
    return isInMemory()
               ? 0
               : scores.rows * depth / i.k * scores.a.fragmentWords(i.layoutA);
  }
  bool keepsQueries() const;
  static int64_t sumsOf(const MatrixPlan &part) {
    return part.rows * part.columns * part.instruction->layoutC.elements();
  }
  int64_t registers() const {
    int64_t words = keepsQueries() ? queryWords() : 0;
    for (const MatrixPlan *part : {&scores, &product})
      words +=
          part->rows * part->columns * part->instruction->layoutC.elements();
    return words;
  }
  /// Where the stages of V begin, behind Q and those of K.
  int64_t valuesAt() const {
    return scores.a.words() + kStages * scores.b.words();
  }
  /// Where barriers of the stages of K begin, then those of V.
  int64_t barriersAt() const {
    return valuesAt() + kStages * product.b.words();
  }
  static constexpr int64_t kBarrierWords =
      kStages * BlockCopies::kBarrierBytes / 4;
  int64_t words() const {
    int64_t barriers = copiesBlocks() ? 2 * kBarrierWords : 0;
    return std::max(barriersAt() + barriers, product.partWords());
  }
};

/// None where there are no instructions whose sums are factors of the next
/// product, registers are too few or rows are, or the ops between are no
/// softmax.
std::optional<RegisterPlan> planRegisters(GpuAttention &attention,
                                          const MatrixUnit &unit);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_REGISTERPLAN_H
