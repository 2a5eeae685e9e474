// SPDX-License-Identifier: Apache-2.0
//
// Copies of A and B in the order in which the micro kernel reads them.
#include "sdk/emit/cpu/ContractEmit.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/// What the body of the op makes of an element before it multiplies.
static Value convertOperand(ContractEmitter &e, Value factor, unsigned input,
                            const ContractionOperand &operand, Value value) {
  using Widening = ContractionOperand::Widening;
  Type type = isa<VectorType>(value.getType()) ? Type(e.vectorType(e.element))
                                               : e.element;
  if (operand.widening == Widening::Signed)
    value = arith::ExtSIOp::create(e.builder, e.loc, type, value);
  if (operand.widening == Widening::Unsigned)
    value = arith::ExtUIOp::create(e.builder, e.loc, type, value);
  return cloneValue(e.builder, e.loc, factor,
                    e.c.op.getBody()->getArgument(input), value, e.width);
}

Value ContractEmitter::convertLeft(Value value) {
  return convertOperand(*this, c.left, c.a, c.lhs, value);
}
Value ContractEmitter::convertRight(Value value) {
  return convertOperand(*this, c.right, c.b, c.rhs, value);
}

Value ContractEmitter::loadContiguous(Value base, Value offset, Value mask,
                                      VectorWidth lanes) {
  VectorType type = lanes.of(cast<MemRefType>(base.getType()).getElementType());
  if (!mask)
    return vector::LoadOp::create(builder, loc, type, base, offset);
  return vector::MaskedLoadOp::create(builder, loc, type, base,
                                      ValueRange(offset), mask,
                                      zeroVector(type.getElementType(), lanes));
}

VectorWidth ContractEmitter::chunkOfA() const {
  return words.block > 1 ? VectorWidth(stepK()) : width;
}

/// Where element k of a row lies in packed A. Blocks of rows lie side by side,
/// one step of the kernel after the other.
Value ContractEmitter::placeInA(Value row, Value k) {
  if (words.block == 1)
    return add(mul(row, plan.depth), k);
  auto part = [&](Value value, int64_t unit, int64_t each) {
    Value whole = builder.createOrFold<arith::DivUIOp>(loc, value, index(unit));
    Value rest = builder.createOrFold<arith::RemUIOp>(loc, value, index(unit));
    return std::pair(mul(whole, each * unit), rest);
  };
  auto [pair, second] = part(row, words.block, plan.depth);
  auto [step, inside] = part(k, stepK(), words.block);
  return add(add(pair, step), add(mul(second, stepK()), inside));
}

/// Panels of `rows` rows, each row with `depth` elements of k; rows beyond the
/// edge are zero, and so is what a step of the kernel has beyond it.
void ContractEmitter::packRowsOfA(Value firstK, Value countK) {
  Value strideM = groupStride(a, c.m);
  Value strideK = groupStride(a, c.k);
  Value start = add(dot(a, c.outer, outer), mul(firstM, strideM));
  bool rowsLie = c.kMergedInA && !c.k.empty() && a.unitStride(c.k.back());
  VectorWidth lanes = chunkOfA();
  Value chunk = lanes.lanes(builder, loc);
  Value paddedM = mul(
      builder.createOrFold<arith::CeilDivUIOp>(loc, countM, index(plan.rows)),
      plan.rows);
  Type packedType = cast<MemRefType>(packedA.getType()).getElementType();
  auto storeVector = [&](Value row, Value k, Value value) {
    vector::StoreOp::create(builder, loc, value, packedA,
                            ValueRange(placeInA(row, k)));
  };
  auto copyVector = [&](Value row, Value k, Value mask) {
    Value from = add(add(start, mul(row, strideM)), add(firstK, k));
    Value value = loadContiguous(a.memref, from, mask, lanes);
    storeVector(row, k, words.factor ? value : convertLeft(value));
  };
  auto storeScalar = [&](Value row, Value k, Value value) {
    memref::StoreOp::create(builder, loc, value, packedA,
                            ValueRange(placeInA(row, k)));
  };
  auto copyScalar = [&](Value row, Value k) {
    Value position = add(firstK, k);
    Value at = c.kMergedInA ? mul(position, strideK)
                            : dot(a, c.k, split(position, c.k));
    Value from = add(add(start, mul(row, strideM)), at);
    Value value = memref::LoadOp::create(builder, loc, a.memref, from);
    storeScalar(row, k, words.factor ? value : convertLeft(value));
  };
  auto copyScalars = [&](Value row) {
    forRange(index(0), countK, 1, [&](Value k) { copyScalar(row, k); });
    Value end = mul(
        builder.createOrFold<arith::CeilDivUIOp>(loc, countK, index(stepK())),
        stepK());
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(packedType));
    forRange(countK, end, 1, [&](Value k) { storeScalar(row, k, zero); });
  };
  Value whole = wholeSteps(countK, chunk);
  forRange(index(0), countM, 1, [&](Value row) {
    if (!rowsLie)
      return copyScalars(row);
    forRange(index(0), whole, chunk,
             [&](Value k) { copyVector(row, k, Value()); });
    forRange(whole, countK, chunk, [&](Value k) {
      copyVector(row, k, laneMask(sub(countK, k), lanes));
    });
  });
  forRange(countM, paddedM, 1, [&](Value row) {
    forRange(index(0), countK, chunk, [&](Value k) {
      storeVector(row, k, zeroVector(packedType, lanes));
    });
  });
}

/// For each column of the group: its share of B's element index, and of the
/// index on each padded axis.
void ContractEmitter::prepareLanes() {
  Type i32 = builder.getI32Type();
  auto store = [&](Value value, Value memref, Value at) {
    Value word = arith::IndexCastOp::create(builder, loc, i32, value);
    memref::StoreOp::create(builder, loc, word, memref, at);
  };
  // Lanes beyond the edge repeat the last column.
  Value last = sub(countN, index(1));
  Value end = wholePanels(countN);
  forRange(index(0), end, 1, [&](Value lane) {
    Value column = minimum(lane, last);
    SmallVector<Value> at = split(add(firstN, column), c.n);
    store(dot(b, c.n, at), laneOffset, lane);
    for (PaddedAxis &axis : padded) {
      Value share = index(0);
      for (auto [loop, value] : llvm::zip(c.n, at))
        if (axis.factors[loop])
          share = add(share, mul(value, axis.factors[loop]));
      store(share, axis.lanesBase, lane);
    }
  });
}

static Value toI32(OpBuilder &builder, Location loc, Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
}

namespace {

/// Packs a panel of a B whose columns do not lie next to each other.
struct LanePacker {
  ContractEmitter &e;
  OpBuilder &builder;
  Location loc;
  SmallVector<Value> offsets;           // per vector
  SmallVector<SmallVector<Value>> axes; // per vector, per padded axis
  SmallVector<Value> contiguous;        // per vector: lanes are neighbours
  SmallVector<Value> starts;            // per vector: offset of lane 0
  /// A run of lanes that are neighbours in memory.
  struct Run {
    Value start; // offset of lane 0, were it part of the run
    Value mask;
  };
  SmallVector<SmallVector<Run>> runs; // per vector, when they are few

  LanePacker(ContractEmitter &e, Value panel);
  Value splat(Value scalar);
  Value scalarOffset(ValueRange k, SmallVectorImpl<Value> &axisOffsets);
  Value mask(size_t vector, ValueRange axisOffsets);
  Value load(size_t vector, Value base, Value mask);
  Value loadRuns(size_t vector, Value base, Value mask, Value outside);
  Value originsOf(Value offsets);
  SmallVector<Run> findRuns(Value at, Value offsets, int64_t count);
};

/// Runs that a vector can have at most, 0: too many or not known.
int64_t maxRuns(const ContractEmitter &e) {
  auto row = getConstantIntValue(e.sizes[e.c.n.back()]);
  if (e.width.scalable || !row || *row < 1 || !e.b.unitStride(e.c.n.back()))
    return 0;
  int64_t runs = 1 + (e.width.count - 1 + *row - 1) / *row;
  return runs <= 4 ? runs : 0;
}

} // namespace

Value LanePacker::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, loc,
                                     e.vectorType(scalar.getType()), scalar);
}

LanePacker::LanePacker(ContractEmitter &e, Value panel)
    : e(e), builder(e.builder), loc(e.loc) {
  int64_t most = maxRuns(e);
  for (int64_t v = 0; v < e.plan.vectors; ++v) {
    Value at = e.add(panel, e.lanesOf(v));
    offsets.push_back(e.loadContiguous(e.laneOffset, at, Value()));
    axes.emplace_back();
    for (PaddedAxis &axis : e.padded)
      axes.back().push_back(e.loadContiguous(axis.lanesBase, at, Value()));
    if (most) {
      runs.push_back(findRuns(at, offsets.back(), most));
      continue;
    }
    Value first = memref::LoadOp::create(builder, loc, e.laneOffset, at);
    Value equal =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              originsOf(offsets.back()), splat(first));
    contiguous.push_back(vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::AND, equal));
    starts.push_back(arith::IndexCastOp::create(builder, loc,
                                                builder.getIndexType(), first));
  }
}

/// Offset minus lane, which is one number for lanes that are neighbours.
Value LanePacker::originsOf(Value offsets) {
  Value lane = vector::StepOp::create(builder, loc,
                                      e.vectorType(builder.getIndexType()));
  lane = arith::IndexCastOp::create(builder, loc,
                                    e.vectorType(builder.getI32Type()), lane);
  return arith::SubIOp::create(builder, loc, offsets, lane);
}

/// Splits the lanes at `at` into runs: offset minus lane is one number in each.
SmallVector<LanePacker::Run> LanePacker::findRuns(Value at, Value offsets,
                                                  int64_t count) {
  Value origins = originsOf(offsets);
  Value first = e.index(0);
  SmallVector<Run> result;
  for (int64_t i = 0; i < count; ++i) {
    Value inside = e.minimum(first, e.index(e.width.count - 1));
    Value offset =
        memref::LoadOp::create(builder, loc, e.laneOffset, e.add(at, inside));
    Value origin = arith::SubIOp::create(builder, loc, offset,
                                         toI32(builder, loc, inside));
    Value mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       origins, splat(origin));
    Value start = arith::IndexCastOp::create(builder, loc,
                                             builder.getIndexType(), origin);
    result.push_back({start, mask});
    Value ones = arith::ExtUIOp::create(
        builder, loc, e.vectorType(builder.getI32Type()), mask);
    Value length = vector::ReductionOp::create(
        builder, loc, vector::CombiningKind::ADD, ones);
    first = e.add(first, arith::IndexCastUIOp::create(
                             builder, loc, builder.getIndexType(), length));
  }
  return result;
}

Value LanePacker::loadRuns(size_t vector, Value base, Value mask,
                           Value outside) {
  Value result = outside;
  for (const Run &run : runs[vector]) {
    Value lanes = arith::AndIOp::create(builder, loc, mask, run.mask);
    result = vector::MaskedLoadOp::create(
        builder, loc, cast<VectorType>(outside.getType()), e.b.memref,
        ValueRange(e.add(base, run.start)), lanes, result);
  }
  return result;
}

/// Element index without the share of n, and for each padded axis the index
/// there, without it too.
Value LanePacker::scalarOffset(ValueRange k,
                               SmallVectorImpl<Value> &axisOffsets) {
  Value base = e.add(e.dot(e.b, e.c.outer, e.outer), e.dot(e.b, e.c.k, k));
  for (PaddedAxis &axis : e.padded) {
    Value share = e.sub(e.index(0), axis.low);
    for (auto [loop, value] : llvm::zip(e.c.k, k))
      if (axis.factors[loop])
        share = e.add(share, e.mul(value, axis.factors[loop]));
    for (auto [loop, value] : llvm::zip(e.c.outer, e.outer))
      if (axis.factors[loop])
        share = e.add(share, e.mul(value, axis.factors[loop]));
    axisOffsets.push_back(share);
  }
  return base;
}

Value LanePacker::mask(size_t vector, ValueRange axisOffsets) {
  Value result;
  for (auto [i, offset] : llvm::enumerate(axisOffsets)) {
    Value at = arith::AddIOp::create(builder, loc, axes[vector][i],
                                     splat(toI32(builder, loc, offset)));
    // As unsigned numbers negative indices are beyond every size.
    Value inside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at,
                              splat(toI32(builder, loc, e.padded[i].size)));
    result =
        result ? arith::AndIOp::create(builder, loc, result, inside) : inside;
  }
  if (result)
    return result;
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(e.vectorType(builder.getI1Type()), true));
}

Value LanePacker::load(size_t vector, Value base, Value mask) {
  Type type = cast<MemRefType>(e.b.memref.getType()).getElementType();
  VectorType vectorType = e.vectorType(type);
  Value outside = e.zeroVector(type);
  if (e.c.rhs.padded())
    outside = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(vectorType, Attribute(e.c.rhs.padValue)));
  if (!runs.empty())
    return loadRuns(vector, base, mask, outside);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(vectorType),
                                  contiguous[vector], /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value near = vector::MaskedLoadOp::create(
        builder, loc, vectorType, e.b.memref,
        ValueRange(e.add(base, starts[vector])), mask, outside);
    scf::YieldOp::create(builder, loc, near);
    builder.setInsertionPointToStart(branch.elseBlock());
    Value far = vector::GatherOp::create(builder, loc, vectorType, e.b.memref,
                                         ValueRange(base), offsets[vector],
                                         mask, outside);
    scf::YieldOp::create(builder, loc, far);
  }
  return branch.getResult(0);
}

/// Rows of a panel of B, from element `to` of the packed ones on.
void ContractEmitter::storeRows(Value to, Value countK, ReadRow read) {
  if (!words.factor)
    return forRange(index(0), countK, 1, [&](Value k) {
      Value row = add(to, mul(k, panelN()));
      for (auto [v, value] : llvm::enumerate(read(k)))
        vector::StoreOp::create(builder, loc, convertRight(value), packedB,
                                ValueRange(add(row, lanesOf(int64_t(v)))));
    });
  Value whole = wholeSteps(countK, index(stepK()));
  forRange(index(0), whole, stepK(),
           [&](Value k) { storeWords(to, k, countK, true, read); });
  forRange(whole, countK, stepK(),
           [&](Value k) { storeWords(to, k, countK, false, read); });
}

void ContractEmitter::packPanel(Value panel, Value firstK, Value countK,
                                bool full) {
  Value to = plan.packB ? mul(panel, depthB()) : index(0);
  Value start = add(dot(b, c.outer, outer), add(firstN, panel));
  SmallVector<Value> masks;
  for (int64_t v = 0; v < plan.vectors; ++v)
    masks.push_back(full ? Value()
                         : laneMask(sub(countN, add(panel, lanesOf(v)))));
  storeRows(to, countK, [&](Value k) {
    Value from = add(start, dot(b, c.k, split(add(firstK, k), c.k)));
    SmallVector<Value> row;
    for (int64_t v = 0; v < plan.vectors; ++v)
      row.push_back(loadContiguous(b.memref, add(from, lanesOf(v)), masks[v]));
    return row;
  });
}

/// Panels of `vectors * lanes` columns, each with `depth` rows.
void ContractEmitter::packB(Value firstK, Value countK) {
  forRange(index(0), countN, panelN(), [&](Value panel) {
    if (c.nMergedInB) {
      Value full =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                add(panel, panelN()), countN);
      return ifElse(
          full, [&] { packPanel(panel, firstK, countK, true); },
          [&] { packPanel(panel, firstK, countK, false); });
    }
    LanePacker packer(*this, panel);
    Value to = mul(panel, depthB());
    Value shift = index(0);
    for (auto [axis, low] : llvm::enumerate(c.rhs.padLow))
      shift =
          add(shift, mul(axisStride(axis),
                         getValueOrCreateConstantIndexOp(builder, loc, low)));
    storeRows(to, countK, [&](Value k) {
      SmallVector<Value> at = split(add(firstK, k), c.k), axisOffsets, row;
      Value base = sub(packer.scalarOffset(at, axisOffsets), shift);
      for (int64_t v = 0; v < plan.vectors; ++v)
        row.push_back(packer.load(v, base, packer.mask(v, axisOffsets)));
      return row;
    });
  });
}

/// Elements from one index of an axis of B to the next.
Value ContractEmitter::axisStride(unsigned axis) {
  Value stride = index(1);
  auto type = cast<MemRefType>(c.rhs.memref.getType());
  for (unsigned i = axis + 1; i < type.getRank(); ++i)
    stride =
        mul(stride, getValueOrCreateConstantIndexOp(
                        builder, loc,
                        memref::getMixedSize(builder, loc, c.rhs.memref, i)));
  return stride;
}

} // namespace backplane
