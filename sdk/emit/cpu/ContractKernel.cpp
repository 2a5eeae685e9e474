// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractKernel.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

MicroKernel::MicroKernel(const ContractScope &scope,
                         const ContractPacker &packed)
    : ContractScope(scope), tile(scratch(plan.rows * maxPanelN(), element)),
      packedA(packed.packedA), packedB(packed.packedB), narrow(scope) {}

/// The element of A for all lanes.
Value MicroKernel::broadcastA(Value memref, Value at) {
  if (vnni.narrow)
    return narrow.broadcastA(memref, at);
  return broadcast(memref::LoadOp::create(builder, loc, memref, at));
}

Value MicroKernel::multiplyAdd(Value a, Value b, Value sum) {
  if (vnni.narrow)
    return narrow.multiplyAdd(a, b, sum);
  return backplane::multiplyAdd(builder, loc, a, b, sum);
}

MicroKernel::Source MicroKernel::sourceA(Value panelA, Value firstK) {
  if (plan.packA)
    return {packedA, mul(panelA, plan.depth), index(plan.depth)};
  Value stride = groupStride(operands.a, c.m);
  Value row = add(firstM, firstRow(panelA));
  Value start = add(originOf(operands.a), mul(row, stride));
  return {operands.a.memref, add(start, firstK), stride};
}

MicroKernel::Source MicroKernel::sourceB(Value panelB, Value firstK) {
  if (plan.packB)
    return {packedB, mul(panelB, depthB()), panelN()};
  Value stride = groupStride(operands.b, c.k);
  Value start = add(originOf(operands.b), add(firstN, panelB));
  return {operands.b.memref, add(start, mul(firstK, stride)), stride};
}

/// Adds step number k to the sums: of a row of A (of a block of rows) with each
/// vector of B.
SmallVector<Value> MicroKernel::addProducts(const Source &fromA,
                                            const Source &fromB, Value k,
                                            ValueRange sums) {
  int64_t vectors = plan.vectors * vnni.block;
  Value rowB =
      add(fromB.start, mul(k, mul(fromB.rowStride, index(vnni.block))));
  SmallVector<Value> vectorsB, next;
  for (int64_t v = 0; v < vectors; ++v)
    vectorsB.push_back(
        loadContiguous(fromB.memref, add(rowB, lanesOf(v)), Value()));
  for (int64_t row = 0; row < plan.rows; row += vnni.block) {
    Value rowA = add(fromA.start, mul(fromA.rowStride, row));
    Value lanesA =
        broadcastA(fromA.memref, add(rowA, mul(k, stepK() * vnni.block)));
    for (Value vector : vectorsB)
      next.push_back(multiplyAdd(lanesA, vector, sums[next.size()]));
  }
  return next;
}

/// rows x vectors sums over one block of k, left in `tile`.
void MicroKernel::multiply(const Source &fromA, const Source &fromB,
                           Value countK) {
  SmallVector<Value> zeros(plan.rows * plan.vectors, zeroVector(element));
  Value steps = ceilDiv(countK, index(stepK()));
  auto loop =
      scf::ForOp::create(builder, loc, index(0), steps, index(1), zeros);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc,
                         addProducts(fromA, fromB, loop.getInductionVar(),
                                     loop.getRegionIterArgs()));
  }
  if (vnni.block > 1)
    return narrow.storePairs(loop.getResults(), tile);
  for (int64_t i = 0; i < plan.rows * plan.vectors; ++i)
    storeVector(loop.getResult(i), tile, lanesOf(i));
}

void MicroKernel::multiply(Value panelB, Value panelA, Value firstK,
                           Value countK) {
  Source fromA = sourceA(panelA, firstK), fromB = sourceB(panelB, firstK);
  if (plan.packB)
    return multiply(fromA, fromB, countK);
  Source packed{packedB, index(0), panelN()};
  ifElse(
      isFull(panelB), [&] { multiply(fromA, fromB, countK); },
      [&] { multiply(fromA, packed, countK); });
}

} // namespace backplane
