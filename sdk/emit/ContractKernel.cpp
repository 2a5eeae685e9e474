// SPDX-License-Identifier: Apache-2.0
//
// The micro kernel, and what happens to its sums.
#include "sdk/emit/ContractEmit.h"

#include "sdk/emit/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// The element of A for all lanes; four bytes of a row in each lane.
Value ContractEmitter::factorOfA(Value memref, Value at) {
  if (!bytes)
    return broadcastTo(
        builder, loc,
        memref::LoadOp::create(builder, loc, memref, at).getResult(), width);
  Value four = vector::LoadOp::create(
      builder, loc, VectorType::get({4}, builder.getI8Type()), memref, at);
  Value word = vector::BitCastOp::create(
      builder, loc, VectorType::get({1}, builder.getI32Type()), four);
  return broadcastTo(builder, loc,
                     vector::ExtractOp::create(builder, loc, word, 0), width);
}

/// Adds the product of four bytes to each lane.
static Value addDotProduct(ContractEmitter &e, Value a, Value b, Value sum) {
  using Widening = ContractionOperand::Widening;
  VectorWidth four(e.width.count * 4, e.width.scalable);
  auto split = [&](Value words) -> Value {
    return vector::BitCastOp::create(e.builder, e.loc,
                                     four.of(e.builder.getI8Type()), words);
  };
  SmallVector<Value> operands = {sum, split(a), split(b)};
  StringRef name = e.c.lhs.widening == Widening::Signed ? ".sdot" : ".udot";
  if (e.c.lhs.widening != e.c.rhs.widening) {
    name = ".usdot";
    if (e.c.lhs.widening == Widening::Signed)
      std::swap(operands[1], operands[2]);
  }
  return LLVM::CallIntrinsicOp::create(
             e.builder, e.loc, sum.getType(),
             e.builder.getStringAttr(e.products.intrinsics + name), operands)
      .getResult(0);
}

Value ContractEmitter::multiplyAdd(Value a, Value b, Value sum) {
  if (bytes)
    return addDotProduct(*this, a, b, sum);
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

/// rows x vectors sums over one block of k, left in `tile`.
void ContractEmitter::multiply(const Source &fromA, const Source &fromB,
                               Value countK) {
  SmallVector<Value> zeros(plan.rows * plan.vectors, zeroVector(element));
  SmallVector<Value> rows;
  for (int64_t row = 0; row < plan.rows; ++row)
    rows.push_back(add(fromA.start, mul(fromA.rowStride, row)));
  Value words =
      builder.createOrFold<arith::CeilDivUIOp>(loc, countK, index(perWord()));
  auto loop =
      scf::ForOp::create(builder, loc, index(0), words, index(1), zeros);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value rowB = add(fromB.start, mul(k, fromB.rowStride));
    SmallVector<Value> vectorsB, next;
    for (int64_t v = 0; v < plan.vectors; ++v)
      vectorsB.push_back(
          loadContiguous(fromB.memref, add(rowB, lanesOf(v)), Value()));
    for (int64_t row = 0; row < plan.rows; ++row) {
      Value factor = factorOfA(fromA.memref, add(rows[row], mul(k, perWord())));
      for (int64_t v = 0; v < plan.vectors; ++v)
        next.push_back(
            multiplyAdd(factor, vectorsB[v],
                        loop.getRegionIterArgs()[row * plan.vectors + v]));
    }
    scf::YieldOp::create(builder, loc, next);
  }
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
