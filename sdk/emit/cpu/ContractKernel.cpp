// SPDX-License-Identifier: Apache-2.0
//
// The micro kernel, and what happens to its sums.
#include "sdk/emit/cpu/ContractEmit.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// The element of A for all lanes.
Value ContractEmitter::factorOfA(Value memref, Value at) {
  if (words.factor)
    return wordsOfA(memref, at);
  return broadcastTo(
      builder, loc,
      memref::LoadOp::create(builder, loc, memref, at).getResult(), width);
}

Value ContractEmitter::multiplyAdd(Value a, Value b, Value sum) {
  if (words.factor)
    return addNarrow(a, b, sum);
  if (isa<FloatType>(element))
    return math::FmaOp::create(builder, loc, a, b, sum);
  Value product = arith::MulIOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, product, sum);
}

/// The row of the group with which a micro tile starts. An A that is read in
/// place has no rows beyond the edge: there the last tile starts earlier.
Value ContractEmitter::firstRow(Value panelA) {
  if (plan.packA)
    return panelA;
  return minimum(panelA, sub(sub(sizeM, firstM), index(plan.rows)));
}

ContractEmitter::Source ContractEmitter::sourceA(Value panelA, Value firstK) {
  if (plan.packA)
    return {packedA, mul(panelA, plan.depth), index(plan.depth)};
  Value stride = groupStride(a, c.m);
  Value row = add(firstM, firstRow(panelA));
  Value start = add(dot(a, c.outer, outer), mul(row, stride));
  return {a.memref, add(start, firstK), stride};
}

ContractEmitter::Source ContractEmitter::sourceB(Value panelB, Value firstK) {
  if (plan.packB)
    return {packedB, mul(panelB, depthB()), panelN()};
  Value stride = groupStride(b, c.k);
  Value start = add(dot(b, c.outer, outer), add(firstN, panelB));
  return {b.memref, add(start, mul(firstK, stride)), stride};
}

Value ContractEmitter::isFull(Value panelB) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                               add(panelB, panelN()), countN);
}

/// Adds step number k of the kernel to the sums: of a row of A (of a block of
/// rows) with each vector of B.
SmallVector<Value> ContractEmitter::addProducts(const Source &fromA,
                                                const Source &fromB, Value k,
                                                ValueRange sums) {
  int64_t vectors = plan.vectors * words.block;
  Value rowB =
      add(fromB.start, mul(k, mul(fromB.rowStride, index(words.block))));
  SmallVector<Value> vectorsB, next;
  for (int64_t v = 0; v < vectors; ++v)
    vectorsB.push_back(
        loadContiguous(fromB.memref, add(rowB, lanesOf(v)), Value()));
  for (int64_t row = 0; row < plan.rows; row += words.block) {
    Value rowA = add(fromA.start, mul(fromA.rowStride, row));
    Value factor =
        factorOfA(fromA.memref, add(rowA, mul(k, stepK() * words.block)));
    for (Value vector : vectorsB)
      next.push_back(multiplyAdd(factor, vector, sums[next.size()]));
  }
  return next;
}

/// rows x vectors sums over one block of k, left in `tile`.
void ContractEmitter::multiply(const Source &fromA, const Source &fromB,
                               Value countK) {
  SmallVector<Value> zeros(plan.rows * plan.vectors, zeroVector(element));
  Value steps =
      builder.createOrFold<arith::CeilDivUIOp>(loc, countK, index(stepK()));
  auto loop =
      scf::ForOp::create(builder, loc, index(0), steps, index(1), zeros);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc,
                         addProducts(fromA, fromB, loop.getInductionVar(),
                                     loop.getRegionIterArgs()));
  }
  if (words.block > 1)
    return storePairs(loop.getResults());
  for (int64_t i = 0; i < plan.rows * plan.vectors; ++i)
    vector::StoreOp::create(builder, loc, loop.getResult(i), tile,
                            ValueRange(lanesOf(i)));
}

void ContractEmitter::emitMicroTile(Value panelB, Value panelA, Value countK,
                                    Value firstK) {
  Source fromA = sourceA(panelA, firstK), fromB = sourceB(panelB, firstK);
  if (plan.packB) {
    multiply(fromA, fromB, countK);
  } else {
    Source packed{packedB, index(0), panelN()};
    ifElse(
        isFull(panelB), [&] { multiply(fromA, fromB, countK); },
        [&] { multiply(fromA, packed, countK); });
  }
  if (!sums)
    return finishTile(panelB, panelA, Value(), Value());
  Value last = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                     add(firstK, plan.depth), sizeK);
  finishTile(panelB, panelA, firstK, last);
}

/// Adds `tile` to what earlier blocks of k gave; after the last block runs the
/// epilogue and stores the result.
void ContractEmitter::finishTile(Value panelB, Value panelA, Value firstK,
                                 Value last) {
  Value rows = minimum(index(plan.rows), sub(countM, panelA));
  Value full = isFull(panelB);
  // The tile may have begun before the panel.
  Value skipped = sub(panelA, firstRow(panelA));
  auto allRows = [&](bool isLast, bool isFull) {
    forRange(index(0), rows, 1, [&](Value row) {
      finishRow(panelB, add(panelA, row), add(skipped, row), firstK, isLast,
                isFull);
    });
  };
  auto finish = [&] {
    ifElse(full, [&] { allRows(true, true); }, [&] { allRows(true, false); });
  };
  if (!last)
    return finish();
  ifElse(last, finish, [&] { allRows(false, true); });
}

/// One row of a micro tile. Partial sums are kept for whole panels; only what
/// is stored to the result minds the edge.
void ContractEmitter::finishRow(Value panelB, Value row, Value tileRow,
                                Value firstK, bool last, bool full) {
  Value m = add(firstM, row);
  for (int64_t v = 0; v < plan.vectors; ++v) {
    Value column = add(panelB, lanesOf(v));
    Value sum =
        loadContiguous(tile, add(mul(tileRow, panelN()), lanesOf(v)), Value());
    if (firstK) {
      Value at = add(mul(row, roomN()), column);
      Value first = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, firstK, index(0));
      Value before = loadContiguous(sums, at, Value());
      before = arith::SelectOp::create(builder, loc, first, zeroVector(element),
                                       before);
      sum = isa<FloatType>(element)
                ? arith::AddFOp::create(builder, loc, sum, before).getResult()
                : arith::AddIOp::create(builder, loc, sum, before).getResult();
      if (!last) {
        vector::StoreOp::create(builder, loc, sum, sums, ValueRange(at));
        continue;
      }
    }
    Value mask = full ? Value() : laneMask(sub(countN, column));
    finishVector(sum, m, add(firstN, column), mask);
  }
}

Value ContractEmitter::elementOf(const FlatOperand &operand, Value m, Value n) {
  Value at =
      add(dot(operand, c.outer, outer), mul(m, groupStride(operand, c.m)));
  return add(at, mul(n, groupStride(operand, c.n)));
}

SmallVector<Value> ContractEmitter::runEpilogue(Value sum, Value m, Value n,
                                                Value mask) {
  SmallVector<Value> arguments;
  Block &body = *c.epilogue.getBody();
  for (auto [i, operand] : llvm::enumerate(epilogue)) {
    if (i == c.epilogueInput)
      arguments.push_back(sum);
    else if (operand.strides[c.n.back()])
      arguments.push_back(
          loadContiguous(operand.memref, elementOf(operand, m, n), mask));
    else
      arguments.push_back(memref::LoadOp::create(builder, loc, operand.memref,
                                                 elementOf(operand, m, n)));
  }
  // The old contents of destinations are undefined.
  for (BlockArgument old : body.getArguments().drop_front(arguments.size()))
    arguments.push_back(zeroVector(old.getType()));
  return cloneBody(builder, loc, body, arguments, width,
                   [](unsigned) { return Value(); });
}

/// Adds the start value, runs the epilogue, stores.
void ContractEmitter::finishVector(Value sum, Value m, Value n, Value mask) {
  auto zero = cast<TypedAttr>(builder.getZeroAttr(element));
  if (c.init != zero) {
    Value init = broadcastTo(
        builder, loc, arith::ConstantOp::create(builder, loc, c.init), width);
    sum = isa<FloatType>(element)
              ? arith::AddFOp::create(builder, loc, sum, init).getResult()
              : arith::AddIOp::create(builder, loc, sum, init).getResult();
  }
  SmallVector<Value> values;
  if (c.epilogue)
    values = runEpilogue(sum, m, n, mask);
  for (auto [result, to] : llvm::zip(c.results, destinations)) {
    Value value = result.number ? values[*result.number] : sum;
    value = broadcastTo(builder, loc, value, width);
    Value at = elementOf(to, m, n);
    if (mask)
      vector::MaskedStoreOp::create(builder, loc, to.memref, ValueRange(at),
                                    mask, value);
    else
      vector::StoreOp::create(builder, loc, value, to.memref, ValueRange(at));
  }
}

} // namespace backplane
