// SPDX-License-Identifier: Apache-2.0
//
// Attention.h: a dispatch of two products with ops on rows between them.
// Private to this folder.
//
//   scores[outer, m, t] = epilogue(sum over d of Q[outer, m, d] * K[outer, t,
//   d]) weights = ops that compute each row of scores from itself alone
//   C[outer, m, e] = epilogue(sum over t of weights[outer, m, t] * V[outer, t,
//   e])
//
// A work-group computes some rows m of one `outer`, so that its scores stay in
// its scratch memory.
#ifndef BACKPLANE_EMIT_CPU_ATTENTION_H
#define BACKPLANE_EMIT_CPU_ATTENTION_H

#include "sdk/emit/cpu/ContractEmit.h"
#include "sdk/emit/cpu/OperandView.h"

#include <optional>

namespace backplane {

struct Attention {
  /// Their loops m, n and k are one each. A of `scores` is Q, B is K; A of
  /// `product` is the weights, B is V. Operands are the views below.
  Contraction scores, product;
  OperandView q, k, v;
  /// Per input of the epilogue of `scores` and `product`; nothing for sums.
  llvm::SmallVector<OperandView> scoresInputs, productInputs;
  /// What the first op between the products reads: the result of `scores`.
  mlir::Value rows;
  /// The ops between the products, in order, on the axes of `rows`.
  llvm::SmallVector<mlir::linalg::GenericOp> steps;
};

/// The attention that a bound dispatch (bp-bind-buffers) consists of, or none
/// when it is anything else. Makes index arithmetic in front of the terminator.
std::optional<Attention> matchAttention(const VectorBuilder &builder,
                                        mlir::func::FuncOp func);

/// Makes the loops at the insertion point of `builder`; steps become linalg ops
/// on memrefs.
void emitAttention(const VectorBuilder &builder, const Attention &attention,
                   const ContractMachine &machine);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_ATTENTION_H
