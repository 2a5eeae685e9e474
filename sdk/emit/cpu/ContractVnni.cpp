// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractVnni.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

using Widening = ContractionOperand::Widening;

/// An integer of 32 bits for each lane: the elements one above the other.
Value VnniBuilder::stackElements(ArrayRef<Value> elements) {
  int64_t bits = vnni.narrow.getIntOrFloatBitWidth();
  Type i32 = builder.getI32Type();
  Value packed;
  for (auto [i, value] : llvm::enumerate(elements)) {
    Value part = arith::ExtUIOp::create(builder, loc, vectorType(i32), value);
    Value shift = broadcast(
        arith::ConstantIntOp::create(builder, loc, i32, bits * int64_t(i)));
    part = arith::ShLIOp::create(builder, loc, part, shift);
    packed = packed ? arith::OrIOp::create(builder, loc, packed, part) : part;
  }
  return packed;
}

/// The same of pairs that are widened on the way, which is cheaper once they
/// are neighbours.
Value VnniBuilder::widenPairs(ArrayRef<Value> elements) {
  Value pairs =
      vector::InterleaveOp::create(builder, loc, elements[0], elements[1]);
  return vector::BitCastOp::create(
      builder, loc, vectorType(builder.getI32Type()), packedRight(pairs));
}

Value VnniBuilder::packElements(ArrayRef<Value> elements) {
  Type type = cast<VectorType>(elements[0].getType()).getElementType();
  return type == vnni.narrow ? stackElements(elements) : widenPairs(elements);
}

/// The lanes of one vector: `elements[i]` are element i of group number `group`
/// of a step. Where not all of them are inside, those that are not are zero.
Value VnniBuilder::packLanes(Value firstK, Value countK, bool whole,
                             size_t group, ArrayRef<Value> elements) {
  Type element = cast<VectorType>(elements[0].getType()).getElementType();
  VectorType narrow =
      vectorType(builder.getIntegerType(element.getIntOrFloatBitWidth()));
  SmallVector<Value> parts;
  for (auto [i, value] : llvm::enumerate(elements)) {
    Value part = builder.createOrFold<arith::BitcastOp>(loc, narrow, value);
    if (!whole) {
      Value inside = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt,
          add(firstK, int64_t(group * elements.size() + i)), countK);
      part = arith::SelectOp::create(builder, loc, inside, part,
                                     zeroVector(narrow.getElementType()));
    }
    parts.push_back(part);
  }
  return element == vnni.narrow ? stackElements(parts) : widenPairs(parts);
}

void VnniBuilder::packStep(Value packedB, Value to, Value firstK, Value countK,
                           bool whole, RowReader read) {
  SmallVector<SmallVector<Value>> rows;
  for (int64_t i = 0; i < stepK(); ++i) {
    Value k = add(firstK, i);
    rows.push_back(read(whole ? k : minimum(k, sub(countK, index(1)))));
  }
  Value row = add(to, mul(floorDiv(firstK, index(vnni.perLane)), panelN()));
  for (int64_t v = 0; v < plan.vectors; ++v) {
    SmallVector<Value> lanes;
    for (int64_t w = 0; w < vnni.block; ++w) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < vnni.perLane; ++i)
        elements.push_back(rows[w * vnni.perLane + i][v]);
      lanes.push_back(packLanes(firstK, countK, whole, w, elements));
    }
    Value stored = lanes.front();
    if (vnni.block > 1)
      stored = vector::InterleaveOp::create(builder, loc, lanes[0], lanes[1]);
    storeVector(stored, packedB, add(row, lanesOf(v * vnni.block)));
  }
}

/// 64 bytes in another order: what LLVM makes of a shuffle that transposes has
/// eleven shuffles of 16 bytes each.
Value VnniBuilder::permuteBytes(Value bytes, ArrayRef<int64_t> order) {
  auto type = cast<VectorType>(bytes.getType());
  Value indices = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, llvm::map_to_vector(order, [](int64_t lane) {
                               return APInt(8, uint64_t(lane));
                             })));
  return LLVM::InlineAsmOp::create(
             builder, loc, type, ValueRange{indices, bytes},
             "vpermb $2, $1, $0", "=v,v,v", /*has_side_effects=*/false,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value VnniBuilder::lanesOfBlock(Value block, int64_t column) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < width.count; ++lane)
    for (int64_t row = 0; row < vnni.perLane; ++row)
      order.push_back(row * c.columnsOfBlock() + column + lane);
  Value lanes =
      vnni.tiles ? permuteBytes(block, order)
                 : vector::ShuffleOp::create(builder, loc, block, block, order);
  if (!vnni.narrow)
    return convertRight(lanes);
  return vector::BitCastOp::create(
      builder, loc, vectorType(builder.getI32Type()), packedRight(lanes));
}

Value VnniBuilder::loadLanes(Value memref, Value at) {
  Value elements =
      loadContiguous(memref, at, Value(),
                     VectorWidth(width.count * vnni.perLane, width.scalable));
  elements = packedRight(elements);
  return vector::BitCastOp::create(builder, loc,
                                   vectorType(builder.getI32Type()), elements);
}

Value VnniBuilder::broadcastA(Value memref, Value at) {
  Type i32 = builder.getI32Type();
  if (cast<MemRefType>(memref.getType()).getElementType() == i32)
    return broadcast(memref::LoadOp::create(builder, loc, memref, at));
  int64_t count = vnni.block * vnni.block;
  Value elements = vector::LoadOp::create(
      builder, loc, VectorType::get({vnni.perLane * count}, vnni.narrow),
      memref, at);
  Value loaded = vector::BitCastOp::create(
      builder, loc, VectorType::get({count}, i32), elements);
  if (vnni.block == 1)
    return broadcast(vector::ExtractOp::create(builder, loc, loaded, 0));
  if (!width.scalable)
    return loaded;
  Value first = vector::ScalableInsertOp::create(
      builder, loc, loaded,
      LLVM::PoisonOp::create(builder, loc, vectorType(i32)), 0);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  return callProduct(".dupq.lane", {first, zero});
}

/// An intrinsic whose result is of the type of its first operand.
Value VnniBuilder::callProduct(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, operands.front().getType(),
             builder.getStringAttr(vnni.intrinsics + name), operands)
      .getResult(0);
}

/// The sign of operands that are bytes, as instructions call it.
static StringRef signsOf(const Contraction &c) {
  if (c.lhs.widening != c.rhs.widening)
    return ".us";
  return c.lhs.widening == Widening::Signed ? ".s" : ".u";
}

/// Whether B comes first, which then must be the unsigned one.
static bool exchanges(const Contraction &c) {
  return c.lhs.widening == Widening::Signed &&
         c.rhs.widening == Widening::Unsigned;
}

/// What an intrinsic of x86 makes of operands, a vector of sums.
Value VnniBuilder::callAvx(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, vectorType(element),
             builder.getStringAttr(vnni.intrinsics + name), operands)
      .getResult(0);
}

/// sum + a * b, where lanes of both are pairs of 16-bit integers, or four bytes
/// of which those of `a` are unsigned.
Value VnniBuilder::multiplyAddAvx(Value a, Value b, Value sum) {
  if (vnni.avx) {
    std::string name = vnni.perLane == 4 ? ".vpdpbusd." : ".vpdpwssd.";
    return callAvx(name + std::to_string(32 * width.count), {sum, a, b});
  }
  StringRef name = width.count == 16 ? ".pmaddw.d.512" : ".pmadd.wd";
  return arith::AddIOp::create(builder, loc, sum, callAvx(name, {a, b}));
}

Value VnniBuilder::multiplyAdd(Value a, Value b, Value sum) {
  VectorWidth narrow(width.count * vnni.perLane, width.scalable);
  auto split = [&](Value value) -> Value {
    return vector::BitCastOp::create(builder, loc, narrow.of(vnni.narrow),
                                     value);
  };
  SmallVector<Value> operands = {sum, split(a), split(b)};
  if (exchanges(c))
    std::swap(operands[1], operands[2]);
  if (vnni.avx || vnni.narrow.isInteger(16))
    return multiplyAddAvx(operands[1], operands[2], sum);
  if (vnni.narrow.isInteger())
    return callProduct((signsOf(c) + (vnni.block > 1 ? "mmla" : "dot")).str(),
                       operands);
  if (vnni.block > 1)
    return callProduct(".bfmmla", operands);
  // The first element of each lane, then the second one: the order of k.
  operands[0] = callProduct(".bfmlalb", operands);
  return callProduct(".bfmlalt", operands);
}

/// The two rows of a pair in the order of columns. `low` and `high` have the
/// sums of the first and the second half of the columns of a vector, 2 x 2 of
/// them in each 128 bits: row by row, or column by column where B comes first.
std::pair<Value, Value> VnniBuilder::rowsOfPair(Value low, Value high) {
  int64_t unit = exchanges(c) ? 1 : 2;
  Type integer = builder.getIntegerType(unsigned(32 * unit));
  VectorWidth units(width.count / unit, width.scalable);
  auto cast = [&](Value value, VectorType type) -> Value {
    return vector::BitCastOp::create(builder, loc, type, value);
  };
  Value first = cast(low, units.of(integer));
  Value second = cast(high, units.of(integer));
  auto take = [&](int64_t offset) -> Value {
    if (width.scalable)
      return callProduct(offset ? ".uzp2" : ".uzp1", {first, second});
    SmallVector<int64_t> lanes;
    for (int64_t i = 0; i < units.count; ++i)
      lanes.push_back(2 * i + offset);
    return vector::ShuffleOp::create(builder, loc, first, second, lanes);
  };
  return {cast(take(0), vectorType(element)),
          cast(take(1), vectorType(element))};
}

SmallVector<Value> VnniBuilder::sumsByRow(ValueRange sums) {
  SmallVector<Value> result(sums.size());
  for (int64_t i = 0; i < plan.rows / 2 * plan.vectors; ++i) {
    int64_t pair = i / plan.vectors, v = i % plan.vectors;
    int64_t at = 2 * pair * plan.vectors + v;
    std::tie(result[at], result[at + plan.vectors]) =
        rowsOfPair(sums[2 * i], sums[2 * i + 1]);
  }
  return result;
}

} // namespace backplane
