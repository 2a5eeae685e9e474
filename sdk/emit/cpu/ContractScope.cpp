// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractScope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace backplane {

scf::ForallOp loopOverGroups(const VectorBuilder &b,
                             ArrayRef<std::pair<Value, int64_t>> loops) {
  SmallVector<OpFoldResult> lows, highs, steps;
  for (auto [size, step] : loops) {
    lows.push_back(b.builder.getIndexAttr(0));
    highs.push_back(getAsOpFoldResult(size));
    steps.push_back(b.builder.getIndexAttr(step));
  }
  return scf::ForallOp::create(b.builder, b.loc, lows, highs, steps,
                               ValueRange(), std::nullopt);
}

SmallVector<Value> enterGroup(const VectorBuilder &b,
                              const ContractProblem &problem) {
  const ContractPlan &plan = problem.plan;
  const ContractOperands &operands = problem.operands;
  SmallVector<std::pair<Value, int64_t>> loops;
  for (unsigned outer : problem.c.outer) {
    Value size = operands.sizes[outer];
    loops.emplace_back(size, plan.allOuter ? *getConstantIntValue(size) : 1);
  }
  loops.emplace_back(operands.sizeN, plan.groupN);
  loops.emplace_back(operands.sizeM, plan.groupM);
  scf::ForallOp groups = loopOverGroups(b, loops);
  b.builder.setInsertionPointToStart(groups.getBody());
  SmallVector<Value> ids(groups.getInductionVars());
  if (!plan.allOuter)
    return ids;
  for (auto [id, outer] : llvm::zip(ids, problem.c.outer)) {
    auto loop = scf::ForOp::create(b.builder, b.loc, b.index(0),
                                   operands.sizes[outer], b.index(1));
    b.builder.setInsertionPointToStart(loop.getBody());
    id = loop.getInductionVar();
  }
  return ids;
}

ContractScope::ContractScope(const VectorBuilder &builder,
                             const ContractProblem &problem, ValueRange ids)
    : VectorBuilder(builder), c(problem.c), plan(problem.plan),
      vnni(problem.vnni), operands(problem.operands), image(problem.image),
      element(c.accumulator) {
  size_t outers = c.outer.size();
  outer.assign(ids.begin(), ids.begin() + outers);
  firstN = ids[outers];
  firstM = ids[outers + 1];
  countN = minimum(index(plan.groupN), sub(operands.sizeN, firstN));
  countM = minimum(index(plan.groupM), sub(operands.sizeM, firstM));
}

bool ContractScope::manyBlocks() const {
  std::optional<int64_t> k = getConstantIntValue(operands.sizeK);
  return !k || *k > plan.depth;
}

std::optional<int64_t> ContractScope::restColumns() const {
  auto size = getConstantIntValue(operands.sizeN);
  if (!size || width.scalable)
    return std::nullopt;
  return *size % (plan.vectors * width.count);
}

Value ContractScope::firstRow(Value panelA) const {
  if (plan.packA)
    return panelA;
  return minimum(panelA, sub(sub(operands.sizeM, firstM), index(plan.rows)));
}

SmallVector<Value> ContractScope::split(Value linear,
                                        ArrayRef<unsigned> loops) const {
  SmallVector<Value> result(loops.size());
  for (size_t i = loops.size(); i-- > 0;) {
    if (i == 0) {
      result[i] = linear;
      break;
    }
    Value size = operands.sizes[loops[i]];
    result[i] = mod(linear, size);
    linear = floorDiv(linear, size);
  }
  return result;
}

Value ContractScope::dot(const FlatOperand &operand, ArrayRef<unsigned> loops,
                         ValueRange indices) const {
  Value sum = index(0);
  for (auto [loop, value] : llvm::zip(loops, indices))
    if (Value stride = operand.strides[loop])
      sum = add(sum, mul(value, stride));
  return sum;
}

Value ContractScope::originOf(const FlatOperand &operand) const {
  Value at = dot(operand, c.outer, outer);
  if (operand.origin)
    at = add(operand.origin, at);
  for (const SplitLoop &split : operand.splits) {
    Value rest = outer[llvm::find(c.outer, split.loop) - c.outer.begin()];
    for (const AxisPart &part : llvm::reverse(split.parts)) {
      if (part.stride)
        at = add(at, mul(mod(rest, part.size), part.stride));
      rest = floorDiv(rest, part.size);
    }
  }
  return at;
}

Value ContractScope::axisStrideOfB(unsigned axis) const {
  Value stride = index(1);
  auto type = cast<MemRefType>(c.rhs.memref.getType());
  for (unsigned i = axis + 1; i < type.getRank(); ++i)
    stride =
        mul(stride, getValueOrCreateConstantIndexOp(
                        builder, loc,
                        memref::getMixedSize(builder, loc, c.rhs.memref, i)));
  return stride;
}

Value ContractScope::paddingOfB() const {
  Type type = cast<MemRefType>(operands.b.memref.getType()).getElementType();
  if (!c.rhs.padded())
    return zeroVector(type);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vectorType(type), Attribute(c.rhs.padValue)));
}

Value ContractScope::groupStride(const FlatOperand &operand,
                                 ArrayRef<unsigned> loops) const {
  Value stride = loops.empty() ? Value() : operand.strides[loops.back()];
  return stride ? stride : index(0);
}

/// A byte, or a vector of them, as `element`.
static Value widen(const ContractScope &s, const ContractionOperand &operand,
                   Value value, Type element) {
  using Widening = ContractionOperand::Widening;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (value.getType() == type || operand.widening == Widening::None)
    return value;
  bool isSigned = operand.widening == Widening::Signed;
  if (isa<FloatType>(element) && isSigned)
    return arith::SIToFPOp::create(s.builder, s.loc, type, value);
  if (isa<FloatType>(element))
    return arith::UIToFPOp::create(s.builder, s.loc, type, value);
  if (isSigned)
    return arith::ExtSIOp::create(s.builder, s.loc, type, value);
  return arith::ExtUIOp::create(s.builder, s.loc, type, value);
}

static Value convertOperand(const ContractScope &s, Value factor,
                            unsigned input, const ContractionOperand &operand,
                            Value value) {
  value = widen(s, operand, value, s.element);
  for (linalg::GenericOp body : operand.bodies) {
    Block &block = *body.getBody();
    Value unused = arith::ConstantOp::create(
        s.builder, s.loc,
        s.builder.getZeroAttr(block.getArguments().back().getType()));
    value = cloneBody(s.builder, s.loc, block, {value, unused}, s.width,
                      [](unsigned) { return Value(); })[0];
  }
  linalg::GenericOp op = s.c.op;
  return cloneValue(s.builder, s.loc, factor, op.getBody()->getArgument(input),
                    value, s.width);
}

Value ContractScope::convertLeft(Value value) const {
  return convertOperand(*this, c.left, c.a, c.lhs, value);
}
Value ContractScope::convertRight(Value value) const {
  return convertOperand(*this, c.right, c.b, c.rhs, value);
}

Value ContractScope::packedLeft(Value value) const {
  return vnni.narrow ? widen(*this, c.lhs, value, vnni.narrow)
                     : convertLeft(value);
}
Value ContractScope::packedRight(Value value) const {
  return vnni.narrow ? widen(*this, c.rhs, value, vnni.narrow)
                     : convertRight(value);
}

} // namespace backplane
