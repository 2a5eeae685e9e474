// SPDX-License-Identifier: Apache-2.0
//
// Narrow factors, for machines that multiply them: packed B has words of
// several elements of k, which an instruction multiplies and adds up.
//
// Where an instruction multiplies blocks, it takes two words of k of each of
// two rows, and of each of two columns, from every 128 bits, and gives 2 x 2
// sums. So the words of a step of B alternate, and so do rows of A; the sums
// are told apart behind the loop.
#include "sdk/emit/cpu/ContractEmit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

using Widening = ContractionOperand::Widening;

/// The lanes of one vector: `factors[i]` has those of element firstK + i.
/// Where not all of them are inside, those that are not are zero.
Value ContractEmitter::wordOfK(Value firstK, Value countK, bool whole,
                               size_t vector, ArrayRef<Value> factors) {
  int64_t bits = words.factor.getIntOrFloatBitWidth();
  Type i32 = builder.getI32Type();
  VectorType narrow = vectorType(builder.getIntegerType(unsigned(bits)));
  Value word;
  for (auto [i, factor] : llvm::enumerate(factors)) {
    Value part = builder.createOrFold<arith::BitcastOp>(loc, narrow, factor);
    if (!whole) {
      Value inside = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::slt,
          add(firstK, int64_t(vector * factors.size() + i)), countK);
      part = arith::SelectOp::create(builder, loc, inside, part,
                                     zeroVector(narrow.getElementType()));
    }
    part = arith::ExtUIOp::create(builder, loc, vectorType(i32), part);
    Value shift = broadcastTo(
        builder, loc,
        arith::ConstantIntOp::create(builder, loc, i32, bits * int64_t(i)),
        width);
    part = arith::ShLIOp::create(builder, loc, part, shift);
    word = word ? arith::OrIOp::create(builder, loc, word, part) : part;
  }
  return word;
}

/// One step of the kernel: the words of a panel from element firstK of k on.
void ContractEmitter::storeWords(Value to, Value firstK, Value countK,
                                 bool whole, ReadRow read) {
  SmallVector<SmallVector<Value>> rows;
  for (int64_t i = 0; i < stepK(); ++i) {
    Value k = add(firstK, i);
    rows.push_back(read(whole ? k : minimum(k, sub(countK, index(1)))));
  }
  Value row = add(to, mul(builder.createOrFold<arith::DivUIOp>(
                              loc, firstK, index(words.perWord)),
                          panelN()));
  for (int64_t v = 0; v < plan.vectors; ++v) {
    SmallVector<Value> of;
    for (int64_t w = 0; w < words.block; ++w) {
      SmallVector<Value> factors;
      for (int64_t i = 0; i < words.perWord; ++i)
        factors.push_back(rows[w * words.perWord + i][v]);
      of.push_back(wordOfK(firstK, countK, whole, w, factors));
    }
    Value stored = of.front();
    if (words.block > 1)
      stored = vector::InterleaveOp::create(builder, loc, of[0], of[1]);
    vector::StoreOp::create(builder, loc, stored, packedB,
                            ValueRange(add(row, lanesOf(v * words.block))));
  }
}

/// One word of A for all lanes; of a block of rows, the same in all 128 bits.
Value ContractEmitter::wordsOfA(Value memref, Value at) {
  Type i32 = builder.getI32Type();
  int64_t count = words.block * words.block;
  Value factors = vector::LoadOp::create(
      builder, loc, VectorType::get({words.perWord * count}, words.factor),
      memref, at);
  Value loaded = vector::BitCastOp::create(
      builder, loc, VectorType::get({count}, i32), factors);
  if (words.block == 1)
    return broadcastTo(builder, loc,
                       vector::ExtractOp::create(builder, loc, loaded, 0),
                       width);
  if (!width.scalable)
    return loaded;
  Value first = vector::ScalableInsertOp::create(
      builder, loc, loaded,
      LLVM::PoisonOp::create(builder, loc, vectorType(i32)), 0);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  return callProduct(".dupq.lane", {first, zero});
}

/// An intrinsic whose result is of the type of its first operand.
Value ContractEmitter::callProduct(StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, operands.front().getType(),
             builder.getStringAttr(products.intrinsics + name), operands)
      .getResult(0);
}

/// The sign of factors that are bytes, as instructions call it.
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

Value ContractEmitter::addNarrow(Value a, Value b, Value sum) {
  VectorWidth narrow(width.count * words.perWord, width.scalable);
  auto split = [&](Value value) -> Value {
    return vector::BitCastOp::create(builder, loc, narrow.of(words.factor),
                                     value);
  };
  SmallVector<Value> operands = {sum, split(a), split(b)};
  if (exchanges(c))
    std::swap(operands[1], operands[2]);
  if (words.factor.isInteger())
    return callProduct((signsOf(c) + (words.block > 1 ? "mmla" : "dot")).str(),
                       operands);
  if (words.block > 1)
    return callProduct(".bfmmla", operands);
  // The first factor of each word, then the second one: the order of k.
  operands[0] = callProduct(".bfmlalb", operands);
  return callProduct(".bfmlalt", operands);
}

/// The two rows of a pair in the order of columns. `low` and `high` have the
/// sums of the first and the second half of the columns of a vector, 2 x 2 of
/// them in each 128 bits: row by row, or column by column where B comes first.
std::pair<Value, Value> ContractEmitter::rowsOfPair(Value low, Value high) {
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

/// Leaves the sums of pairs of rows in `tile`, row by row.
void ContractEmitter::storePairs(ValueRange sums) {
  for (int64_t i = 0; i < plan.rows / 2 * plan.vectors; ++i) {
    int64_t pair = i / plan.vectors, v = i % plan.vectors;
    auto [first, second] = rowsOfPair(sums[2 * i], sums[2 * i + 1]);
    int64_t at = 2 * pair * plan.vectors + v;
    vector::StoreOp::create(builder, loc, first, tile, ValueRange(lanesOf(at)));
    vector::StoreOp::create(builder, loc, second, tile,
                            ValueRange(lanesOf(at + plan.vectors)));
  }
}

} // namespace backplane
