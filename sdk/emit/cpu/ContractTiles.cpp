// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace backplane {

static int64_t bytesOf(Value memref) {
  return cast<MemRefType>(memref.getType())
             .getElementType()
             .getIntOrFloatBitWidth() /
         8;
}

/// What an intrinsic makes of the size of a register and of these operands;
/// null where it makes nothing.
Value TileBuilder::call(StringRef name, ValueRange operands) {
  auto size = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 16);
  };
  SmallVector<Value> all = {size(kTileRows), size(kTileDepth)};
  if (name.starts_with("tdp"))
    all.push_back(size(kTileDepth));
  llvm::append_range(all, operands);
  auto intrinsic =
      builder.getStringAttr("llvm.x86." + name.str() + ".internal");
  if (name == "tilestored64") {
    LLVM::CallIntrinsicOp::create(builder, loc, intrinsic, all);
    return {};
  }
  Type type = LLVM::LLVMX86AMXType::get(builder.getContext());
  return LLVM::CallIntrinsicOp::create(builder, loc, type, intrinsic, all)
      .getResult(0);
}

static Value asInteger(const VectorBuilder &b, Value value) {
  return arith::IndexCastOp::create(b.builder, b.loc, b.builder.getI64Type(),
                                    value);
}

Value TileBuilder::address(const Rows &rows, Value offset) {
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, rows.memref);
  Value at = mul(VectorBuilder::add(rows.start, offset), bytesOf(rows.memref));
  return LLVM::IntToPtrOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      asInteger(*this, VectorBuilder::add(base, at)));
}

Value TileBuilder::strideInBytes(const Rows &rows) {
  return asInteger(*this, mul(rows.stride, bytesOf(rows.memref)));
}

Value TileBuilder::loadOne(const Rows &rows, Value offset) {
  return call("tileloadd64", {address(rows, offset), strideInBytes(rows)});
}

/// sum + a * b, of bytes of any signs.
Value TileBuilder::multiplyAdd(Value a, Value b, Value sum) {
  auto sign = [](const ContractionOperand &operand) {
    using Widening = ContractionOperand::Widening;
    return operand.widening == Widening::Signed ? "s" : "u";
  };
  return call(std::string("tdpb") + sign(c.lhs) + sign(c.rhs) + "d",
              {sum, a, b});
}

/// Where the rows of each register begin.
TileBuilder::Values TileBuilder::offsetsOfSums(const Rows &sums) {
  Values offsets;
  for (int64_t row = 0; row < plan.rows; row += kTileRows)
    for (int64_t v = 0; v < vectors; ++v)
      offsets.push_back(VectorBuilder::add(mul(sums.stride, row), lanesOf(v)));
  return offsets;
}

void TileBuilder::clear(const Rows &sums) {
  for (int64_t i = 0; i < plan.rows * plan.vectors; ++i)
    storeVector(zeroVector(element), sums.memref,
                VectorBuilder::add(sums.start, lanesOf(i)));
}

/// The sums of earlier blocks of k; zero where there are none.
TileBuilder::Values TileBuilder::load(const Rows &sums, Value begins) {
  if (manyBlocks())
    ifElse(begins, [&] { clear(sums); }, nullptr);
  return llvm::map_to_vector(offsetsOfSums(sums), [&](Value offset) {
    return manyBlocks() ? loadOne(sums, offset) : call("tilezero", {});
  });
}

/// Adds the products of step number `step` of kTileDepth elements of k.
TileBuilder::Values TileBuilder::add(const Rows &a, const Rows &b, Value step,
                                     ValueRange registers) {
  Value inA = mul(step, kTileRows * kTileDepth);
  Value inB = mul(mul(step, b.stride), kTileDepth / vnni.perLane);
  Values ofA, next(registers);
  for (int64_t high = 0; high < plan.rows / kTileRows; ++high)
    ofA.push_back(loadOne(a, VectorBuilder::add(mul(a.between, high), inA)));
  // One of B at a time: there are eight, and LLVM keeps the order.
  for (int64_t v = 0; v < vectors; ++v) {
    Value ofB = loadOne(b, VectorBuilder::add(inB, mul(b.between, v)));
    for (auto [i, row] : llvm::enumerate(ofA)) {
      Value &sum = next[i * size_t(vectors) + size_t(v)];
      sum = multiplyAdd(row, ofB, sum);
    }
  }
  return next;
}

void TileBuilder::multiply(const Rows &a, const Rows &b, Value countK,
                           const Rows &sums, Value begins) {
  Values registers = forCarrying(
      index(0), ceilDiv(countK, index(kTileDepth)), load(sums, begins),
      [&](Value step, ValueRange carried) { return add(a, b, step, carried); });
  for (auto [offset, tile] : llvm::zip(offsetsOfSums(sums), registers))
    call("tilestored64", {address(sums, offset), strideInBytes(sums), tile});
}

} // namespace backplane
