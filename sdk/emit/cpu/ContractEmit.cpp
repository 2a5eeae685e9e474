// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractEmit.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

/* ---- Small helpers ---- */

Value ContractEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value ContractEmitter::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value ContractEmitter::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value ContractEmitter::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value ContractEmitter::minimum(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value ContractEmitter::zeroVector(Type type, VectorWidth lanes) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getZeroAttr(lanes.of(type)));
}

Value ContractEmitter::laneMask(Value count, VectorWidth lanes) {
  return vector::CreateMaskOp::create(builder, loc,
                                      lanes.of(builder.getI1Type()), count);
}

/// Memory of the work-group.
Value ContractEmitter::scratch(int64_t elements, Type type) {
  Value buffer =
      memref::AllocOp::create(builder, loc, MemRefType::get({elements}, type),
                              builder.getI64IntegerAttr(64));
  return memref::CastOp::create(
      builder, loc, MemRefType::get({ShapedType::kDynamic}, type), buffer);
}

Value ContractEmitter::wholeSteps(Value count, Value step) {
  return mul(builder.createOrFold<arith::DivUIOp>(loc, count, step), step);
}

Value ContractEmitter::wholePanels(Value count) {
  Value panel = panelN();
  return mul(builder.createOrFold<arith::CeilDivUIOp>(loc, count, panel),
             panel);
}

void ContractEmitter::forRange(Value low, Value high, Value step,
                               function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, low, high, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void ContractEmitter::ifElse(Value condition, function_ref<void()> yes,
                             function_ref<void()> no) {
  auto branch = scf::IfOp::create(builder, loc, condition, bool(no));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  yes();
  if (!no)
    return;
  builder.setInsertionPointToStart(branch.elseBlock());
  no();
}

SmallVector<Value> ContractEmitter::split(Value linear,
                                          ArrayRef<unsigned> loops) {
  SmallVector<Value> result(loops.size());
  for (size_t i = loops.size(); i-- > 0;) {
    if (i == 0) {
      result[i] = linear;
      break;
    }
    Value size = sizes[loops[i]];
    result[i] = builder.createOrFold<arith::RemUIOp>(loc, linear, size);
    linear = builder.createOrFold<arith::DivUIOp>(loc, linear, size);
  }
  return result;
}

Value ContractEmitter::dot(const FlatOperand &operand, ArrayRef<unsigned> loops,
                           ValueRange indices) {
  Value sum = index(0);
  for (auto [loop, value] : llvm::zip(loops, indices))
    if (Value stride = operand.strides[loop])
      sum = add(sum, mul(value, stride));
  return sum;
}

Value ContractEmitter::groupStride(const FlatOperand &operand,
                                   ArrayRef<unsigned> loops) {
  Value stride = loops.empty() ? Value() : operand.strides[loops.back()];
  return stride ? stride : index(0);
}

bool FlatOperand::unitStride(unsigned loop) const {
  return strides[loop] && getConstantIntValue(strides[loop]) == 1;
}

/* ---- Operands ---- */

/// The factor of a loop in a linear expression.
static int64_t factorOf(AffineExpr expr, unsigned loop) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == loop ? 1 : 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  if (expr.getKind() == AffineExprKind::Add)
    return factorOf(binary.getLHS(), loop) + factorOf(binary.getRHS(), loop);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return constant ? factorOf(binary.getLHS(), loop) * constant.getValue() : 0;
}

static Value flatMemref(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto flat = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  Value result = memref;
  if (type.getRank() == 0)
    result = memref::ExpandShapeOp::create(
        builder, loc, MemRefType::get({1}, type.getElementType()), memref,
        ArrayRef<ReassociationIndices>());
  if (type.getRank() > 1) {
    ReassociationIndices all;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      all.push_back(axis);
    result = memref::CollapseShapeOp::create(
        builder, loc, memref, SmallVector<ReassociationIndices>{all});
  }
  return result.getType() == flat
             ? result
             : memref::CastOp::create(builder, loc, flat, result).getResult();
}

void ContractEmitter::flatten(const ContractionOperand &operand,
                              FlatOperand &flat) {
  flat.memref = flatMemref(builder, loc, operand.memref);
  flat.strides.assign(c.op.getNumLoops(), Value());
  Value stride = index(1);
  auto results = operand.map.getResults();
  for (size_t axis = results.size(); axis-- > 0;) {
    for (unsigned loop = 0; loop < c.op.getNumLoops(); ++loop) {
      int64_t factor = factorOf(results[axis], loop);
      if (factor == 0)
        continue;
      Value part = mul(stride, factor);
      Value &total = flat.strides[loop];
      total = total ? add(total, part) : part;
    }
    Value size = getValueOrCreateConstantIndexOp(
        builder, loc, memref::getMixedSize(builder, loc, operand.memref, axis));
    stride = mul(stride, size);
  }
}

/// Sizes of the loops, from the axes of the operands.
static SmallVector<Value> loopSizes(OpBuilder &builder, Location loc,
                                    Contraction &c) {
  SmallVector<Value> sizes(c.op.getNumLoops());
  SmallVector<int64_t> known = c.op.getStaticLoopRanges();
  auto read = [&](Value memref, AffineMap map) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || sizes[dim.getPosition()])
        continue;
      int64_t size = known[dim.getPosition()];
      OpFoldResult value =
          ShapedType::isDynamic(size)
              ? memref::getMixedSize(builder, loc, memref, axis)
              : OpFoldResult(builder.getIndexAttr(size));
      sizes[dim.getPosition()] =
          getValueOrCreateConstantIndexOp(builder, loc, value);
    }
  };
  read(c.results.front().destination, c.destinationMap);
  read(c.lhs.memref, c.lhs.map);
  if (!c.rhs.padded())
    read(c.rhs.memref, c.rhs.map);
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (!size)
      size = arith::ConstantIndexOp::create(builder, loc,
                                            std::max<int64_t>(known[loop], 1));
  return sizes;
}

static int64_t staticProduct(ArrayRef<unsigned> loops,
                             ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (unsigned loop : loops) {
    if (ShapedType::isDynamic(sizes[loop]))
      return -1;
    product *= sizes[loop];
  }
  return product;
}

void ContractEmitter::readShape(ContractShape &shape) {
  SmallVector<int64_t> known = c.op.getStaticLoopRanges();
  shape.m = staticProduct(c.m, known);
  shape.n = staticProduct(c.n, known);
  shape.k = staticProduct(c.k, known);
  shape.outer = staticProduct(c.outer, known);
  shape.lanes = width.count;
  shape.gathersB = !c.nMergedInB;
  auto plain = [&](Value factor, const ContractionOperand &operand) {
    auto type = cast<MemRefType>(operand.memref.getType());
    return isa<BlockArgument>(factor) && type.getElementType() == element;
  };
  bool unitK =
      !c.k.empty() && c.lhs.map.getResults().back() ==
                          getAffineDimExpr(c.k.back(), c.op.getContext());
  shape.rowsOfA = plain(c.left, c.lhs) && c.kMergedInA && unitK &&
                  shape.m > 0 && shape.k > 0;
  shape.rowsOfB = plain(c.right, c.rhs) && c.nMergedInB && c.k.size() == 1;
  auto converts = [&](const ContractionOperand &operand) {
    return operand.widening != ContractionOperand::Widening::None;
  };
  shape.streams = (plain(c.left, c.lhs) || converts(c.lhs)) &&
                  (plain(c.right, c.rhs) || converts(c.rhs)) && c.kMergedInA &&
                  unitK && shape.k > 0 && c.nMergedInB && c.k.size() == 1;
  shape.perWord = words.perWord;
  shape.block = words.block;
  // Integers gather no rounding error.
  if (words.factor && words.factor.isInteger())
    shape.deepest *= words.perWord;
}

/// Whether both factors are bytes of a memref that the machine multiplies.
static bool areBytes(const Contraction &c, const NarrowProducts &products) {
  using Widening = ContractionOperand::Widening;
  if (!products.has("dot") || c.lhs.widening == Widening::None ||
      c.rhs.widening == Widening::None || !isa<BlockArgument>(c.left) ||
      !isa<BlockArgument>(c.right) || !c.accumulator.isInteger(32))
    return false;
  return c.lhs.widening == c.rhs.widening || products.has("usdot");
}

/// Whether both factors are bf16 of a memref, added up in f32.
static bool areBrainFloats(const Contraction &c) {
  auto widened = [](Value factor) {
    auto op = factor.getDefiningOp<arith::ExtFOp>();
    return op && isa<BlockArgument>(op.getIn()) &&
           op.getIn().getType().isBF16();
  };
  return c.accumulator.isF32() && widened(c.left) && widened(c.right);
}

static WordPlan planWords(const Contraction &c, const NarrowProducts &products,
                          int64_t m) {
  MLIRContext *context = c.accumulator.getContext();
  auto blockOf = [&](StringRef matrices) {
    return products.has(matrices) && m != 1 ? 2 : 1;
  };
  if (areBytes(c, products))
    return {IntegerType::get(context, 8), 4, blockOf("mmla")};
  bool single = products.has("bfmlal");
  if (areBrainFloats(c) && (single || blockOf("bfmmla") == 2))
    return {BFloat16Type::get(context), 2, blockOf("bfmmla")};
  return {};
}

ContractEmitter::ContractEmitter(OpBuilder &builder, Contraction contraction,
                                 VectorWidth width, int64_t registers,
                                 NarrowProducts products)
    : builder(builder), loc(contraction.op.getLoc()), c(contraction),
      width(width), element(contraction.accumulator),
      products(std::move(products)),
      words(
          planWords(c, this->products,
                    staticProduct(contraction.m, c.op.getStaticLoopRanges()))) {
  ContractShape shape;
  readShape(shape);
  shape.registers = registers;
  plan = planContraction(shape);
}

/* ---- Structure ---- */

void ContractEmitter::allocate() {
  // The last vector of a row may reach into the next one.
  if (plan.packA)
    packedA =
        scratch(plan.groupM * plan.depth + (width.scalable ? maxLanes() : 0),
                words.factor ? words.factor : element);
  packedB = scratch((plan.packB ? roomN() : maxPanelN()) * depthB(),
                    words.factor ? builder.getI32Type() : element);
  tile = scratch(plan.rows * maxPanelN(), element);
  std::optional<int64_t> k = getConstantIntValue(sizeK);
  if (!k || *k > plan.depth)
    sums = scratch(plan.groupM * roomN(), element);
  if (c.nMergedInB)
    return;
  laneOffset = scratch(roomN(), builder.getI32Type());
  for (PaddedAxis &axis : padded)
    axis.lanesBase = scratch(roomN(), builder.getI32Type());
}

void ContractEmitter::emitBlock(Value firstK, Value countK) {
  packB(firstK, countK);
  if (plan.packA)
    packRowsOfA(firstK, countK);
  forRange(index(0), countN, panelN(), [&](Value panelB) {
    forRange(index(0), countM, plan.rows, [&](Value panelA) {
      emitMicroTile(panelB, panelA, countK, firstK);
    });
  });
}

void ContractEmitter::emitGroup(ValueRange ids) {
  size_t outers = c.outer.size();
  outer.assign(ids.begin(), ids.begin() + outers);
  firstN = ids[outers];
  firstM = ids[outers + 1];
  countN = minimum(index(plan.groupN), sub(sizeN, firstN));
  countM = minimum(index(plan.groupM), sub(sizeM, firstM));
  if (plan.stream)
    return emitStream();
  allocate();
  if (!c.nMergedInB)
    prepareLanes();
  if (!sums)
    return emitBlock(index(0), sizeK);
  // At least once, so that an empty sum is stored too.
  Value end = builder.createOrFold<arith::MaxSIOp>(loc, sizeK, index(1));
  forRange(index(0), end, plan.depth, [&](Value firstK) {
    emitBlock(firstK, minimum(index(plan.depth), sub(sizeK, firstK)));
  });
}

static Value groupSize(ContractEmitter &emitter, ArrayRef<unsigned> loops) {
  Value size = emitter.index(1);
  for (unsigned loop : loops)
    size = emitter.mul(size, emitter.sizes[loop]);
  return size;
}

static OpFoldResult foldable(Value value) {
  if (auto constant = getConstantIntValue(value))
    return IntegerAttr::get(IndexType::get(value.getContext()), *constant);
  return value;
}

static void readPadding(ContractEmitter &emitter) {
  const ContractionOperand &rhs = emitter.c.rhs;
  for (auto [axis, low] : llvm::enumerate(rhs.padLow)) {
    AffineExpr expr = rhs.map.getResult(axis);
    if (isa<AffineDimExpr>(expr) && getConstantIntValue(low) == 0)
      continue;
    PaddedAxis padded;
    for (unsigned loop = 0; loop < emitter.c.op.getNumLoops(); ++loop)
      padded.factors.push_back(factorOf(expr, loop));
    padded.low =
        getValueOrCreateConstantIndexOp(emitter.builder, emitter.loc, low);
    padded.size = getValueOrCreateConstantIndexOp(
        emitter.builder, emitter.loc,
        memref::getMixedSize(emitter.builder, emitter.loc, rhs.memref, axis));
    emitter.padded.push_back(std::move(padded));
  }
}

void ContractEmitter::run() {
  laneCount = width.lanes(builder, loc);
  sizes = loopSizes(builder, loc, c);
  sizeM = groupSize(*this, c.m);
  sizeN = groupSize(*this, c.n);
  sizeK = groupSize(*this, c.k);
  flatten(c.lhs, a);
  flatten(c.rhs, b);
  for (const ContractionResult &result : c.results) {
    destinations.emplace_back();
    flatten({result.destination, c.destinationMap, {}, {}},
            destinations.back());
  }
  for (const ContractionOperand &operand : c.epilogueOperands) {
    epilogue.emplace_back();
    if (operand.memref)
      flatten(operand, epilogue.back());
  }
  readPadding(*this);
  SmallVector<OpFoldResult> lows, highs, steps;
  auto loop = [&](Value size, int64_t step) {
    lows.push_back(builder.getIndexAttr(0));
    highs.push_back(foldable(size));
    steps.push_back(builder.getIndexAttr(step));
  };
  for (unsigned i : c.outer)
    loop(sizes[i], 1);
  loop(sizeN, plan.groupN);
  loop(sizeM, plan.groupM);
  auto forall = scf::ForallOp::create(builder, loc, lows, highs, steps,
                                      ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forall.getBody());
  emitGroup(forall.getInductionVars());
}

} // namespace backplane
