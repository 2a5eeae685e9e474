// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractKernel.h"

#include "sdk/emit/cpu/MultiplyAdd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
    return {packedA, mul(panelA, plan.depth), index(plan.depth), index(1)};
  Value stride = groupStride(operands.a, c.m);
  Value row = add(firstM, firstRow(panelA));
  Value start = originOf(operands.a);
  if (!c.blockOfA)
    return {operands.a.memref, add(add(start, mul(row, stride)), firstK),
            stride, index(1)};
  start = add(start, dot(operands.a, c.m, split(row, c.m)));
  return {operands.a.memref, add(start, mul(firstK, c.blockOfA)), index(1),
          index(c.blockOfA)};
}

/// Where the tile after this one starts in A, in the same block of k or in the
/// next one: caches do not foresee it, as a block of A ends with all of k.
Value MicroKernel::startOfNext(Value panelA, Value firstK) {
  Value next = add(panelA, plan.rows);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       next, countM);
  Value same = sourceA(next, firstK).start;
  Value later = sourceA(index(0), add(firstK, plan.depth)).start;
  return arith::SelectOp::create(builder, loc, inside, same, later);
}

MicroKernel::Source MicroKernel::sourceB(Value panelB, Value firstK) {
  if (plan.packB)
    return {packedB, mul(panelB, depthB()), index(1), panelN()};
  Value stride = groupStride(operands.b, c.k);
  if (c.blockOfB) {
    Value strideBlock = operands.b.strides[c.n.front()];
    Value block = floorDiv(add(firstN, panelB), index(c.blockOfB));
    Value start = add(originOf(operands.b), mul(block, strideBlock));
    return {operands.b.memref, add(start, mul(firstK, stride)),
            index(1),          stride,
            Value(),           strideBlock};
  }
  Value start = add(originOf(operands.b), add(firstN, panelB));
  return {operands.b.memref, add(start, mul(firstK, stride)), index(1), stride};
}

/// Where vector `v` of a row of a panel is behind the first one.
Value MicroKernel::vectorOfB(const Source &from, int64_t v) const {
  if (!from.strideBlock)
    return lanesOf(v);
  int64_t column = v * width.count;
  return add(mul(from.strideBlock, column / c.blockOfB), column % c.blockOfB);
}

/// Adds step number k to the sums: of a row of A (of a block of rows) with each
/// vector of B.
SmallVector<Value> MicroKernel::addProducts(const Source &fromA,
                                            const Source &fromB, Value k,
                                            ValueRange sums) {
  auto vectors = int64_t(sums.size()) / plan.rows * vnni.block;
  Value rowB = add(fromB.start, mul(k, mul(fromB.strideK, index(vnni.block))));
  SmallVector<Value> vectorsB, next;
  if (fromA.next)
    memref::PrefetchOp::create(
        builder, loc, fromA.memref,
        ValueRange(add(fromA.next, mul(k, fromA.strideK))),
        /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
  for (int64_t v = 0; v < vectors; ++v)
    vectorsB.push_back(
        loadContiguous(fromB.memref, add(rowB, vectorOfB(fromB, v)), Value()));
  for (int64_t row = 0; row < plan.rows; row += vnni.block) {
    Value rowA = add(fromA.start, mul(fromA.strideM, row));
    Value lanesA =
        broadcastA(fromA.memref,
                   add(rowA, mul(k, mul(fromA.strideK, stepK() * vnni.block))));
    for (Value vector : vectorsB)
      next.push_back(multiplyAdd(lanesA, vector, sums[next.size()]));
  }
  return next;
}

/// rows x vectors sums over one block of k, left in `tile`.
void MicroKernel::multiply(const Source &fromA, const Source &fromB,
                           Value countK, int64_t vectors) {
  SmallVector<Value> zeros(plan.rows * vectors, zeroVector(element));
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
  for (int64_t row = 0; row < plan.rows; ++row)
    for (int64_t v = 0; v < vectors; ++v)
      storeVector(loop.getResult(row * vectors + v), tile,
                  lanesOf(row * plan.vectors + v));
}

void MicroKernel::multiply(Value panelB, Value panelA, Value firstK,
                           Value countK) {
  Source fromA = sourceA(panelA, firstK), fromB = sourceB(panelB, firstK);
  if (c.blockOfA)
    fromA.next = startOfNext(panelA, firstK);
  auto rest = [&] {
    Source packed{packedB, index(0), index(1), panelN()};
    bool asItIs = plan.packB || c.blockOfB;
    multiply(fromA, asItIs ? fromB : packed, countK, restVectors());
  };
  auto whole = [&] { multiply(fromA, fromB, countK, plan.vectors); };
  if ((plan.packB || c.blockOfB) && restVectors() == plan.vectors)
    return whole();
  ifElse(isFull(panelB), whole, rest);
}

/// Vectors that the last panel of a row of C needs, where that is known; others
/// of it keep what they had.
int64_t MicroKernel::restVectors() const {
  int64_t rest = vnni.narrow ? 0 : restColumns().value_or(0);
  return rest == 0 ? plan.vectors : (rest + width.count - 1) / width.count;
}

} // namespace backplane
