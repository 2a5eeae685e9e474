// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/Attention.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <algorithm>

using namespace mlir;

namespace backplane {

namespace {

/// Of a work-group, in rows of scores.
constexpr int64_t kMostRows = 256, kLeastRows = 32;
/// What an unknown number of columns is taken for.
constexpr int64_t kUnknownColumns = 512;
/// Columns of a product that are packed at once.
constexpr int64_t kMostColumns = 512;
/// Scores that all steps are done with before the next ones, so that they stay
/// in the first cache.
constexpr int64_t kScoresOfSteps = 4096;

struct Emitter {
  Emitter(const VectorBuilder &b, const Attention &attention,
          const ContractMachine &machine)
      : b(b), attention(attention), machine(machine) {}

  const VectorBuilder &b;
  const Attention &attention;
  const ContractMachine &machine;
  ContractProblem scores, product;
  int64_t rows = 0; ///< of a work-group
  /// In a work-group.
  Value firstRow, countRows, columns;
  SmallVector<Value> ids;
  llvm::DenseMap<Value, Value> buffers; ///< per value of a step

  void run();
  ContractProblem problemOf(const Contraction &c, const OperandView &b,
                            ArrayRef<OperandView> inputs) const;
  void planScores();
  void planProduct();
  void planRows();
  scf::ForallOp makeGroups();
  void emitGroup();
  Value makeBuffer(Type element, bool isWhole) const;
  Value partOf(Value buffer, Value first, Value count) const;
  void emitSteps();
  void emitStep(linalg::GenericOp step, Value first, Value count);
  Value destinationOf(linalg::GenericOp step);
  void emitProduct(const ContractProblem &problem);
};

} // namespace

static int64_t staticSize(Value size) {
  return getConstantIntValue(size).value_or(-1);
}

static int64_t roundUp(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

/* ---- The plan ---- */

/// Sizes and operands but for A and the destination.
ContractProblem Emitter::problemOf(const Contraction &c,
                                   const OperandView &right,
                                   ArrayRef<OperandView> inputs) const {
  ContractProblem problem{c, {}, {}, {}};
  ContractOperands &operands = problem.operands;
  operands.sizes.assign(c.destinationMap.getNumDims(), b.index(1));
  auto read = [&](const OperandView &view, AffineMap map) {
    for (auto [axis, expr] : llvm::enumerate(map.getResults()))
      operands.sizes[cast<AffineDimExpr>(expr).getPosition()] =
          view.sizeOf(b, axis);
  };
  read(right, c.rhs.map);
  if (c.lhs.memref)
    read(attention.q, c.lhs.map);
  operands.b = right.flat(b, c.rhs.map);
  AffineMap axes = c.destinationMap;
  linalg::GenericOp epilogue = c.epilogue;
  for (auto [number, view] : llvm::enumerate(inputs)) {
    FlatOperand flat;
    if (view.memref)
      flat =
          view.flat(b, epilogue.getIndexingMapsArray()[number].compose(axes));
    operands.epilogue.push_back(flat);
  }
  return problem;
}

static void mergeSizes(ContractProblem &problem) {
  ContractOperands &operands = problem.operands;
  operands.sizeM = operands.sizes[problem.c.m[0]];
  operands.sizeN = operands.sizes[problem.c.n[0]];
  operands.sizeK = operands.sizes[problem.c.k[0]];
}

/// What both plans have in common; B as it lies.
static ContractShape shapeOf(const ContractProblem &problem,
                             const ContractMachine &machine) {
  const Contraction &c = problem.c;
  ContractShape shape;
  shape.m = staticSize(problem.operands.sizeM);
  shape.n = staticSize(problem.operands.sizeN);
  shape.k = staticSize(problem.operands.sizeK);
  shape.lanes = machine.width.count;
  shape.registers = machine.registers;
  shape.cacheBytes = machine.cacheBytes;
  bool isTransposed = problem.operands.b.unitStride(c.k[0]);
  shape.gathersB = !c.nMergedInB && (!isTransposed || machine.width.scalable);
  shape.rowsOfB = c.takesAsStored(c.right, c.rhs) && c.nMergedInB;
  return shape;
}

static void planColumns(ContractPlan &plan, const ContractShape &shape) {
  int64_t unit = plan.vectors * shape.lanes;
  bool one = shape.n >= 0 && shape.n <= kMostColumns;
  plan.groupN =
      roundUp(one ? std::max<int64_t>(shape.n, 1) : kMostColumns, unit);
}

void Emitter::planScores() {
  scores = problemOf(attention.scores, attention.k, attention.scoresInputs);
  Contraction &c = scores.c;
  ContractOperands &operands = scores.operands;
  operands.a = attention.q.flat(b, c.lhs.map);
  mergeSizes(scores);
  c.kMergedInA = true;
  c.nMergedInB = operands.b.unitStride(c.n[0]);
  ContractShape shape = shapeOf(scores, machine);
  shape.rowsOfA = c.takesAsStored(c.left, c.lhs) && shape.k > 0 &&
                  shape.m > 0 && operands.a.unitStride(c.k[0]);
  scores.plan = planContraction(shape);
  planColumns(scores.plan, shape);
}

void Emitter::planProduct() {
  product = problemOf(attention.product, attention.v, attention.productInputs);
  Contraction &c = product.c;
  ContractOperands &operands = product.operands;
  operands.sizes[c.m[0]] = scores.operands.sizeM;
  for (auto [mine, theirs] : llvm::zip(c.outer, scores.c.outer))
    operands.sizes[mine] = scores.operands.sizes[theirs];
  mergeSizes(product);
  c.kMergedInA = true;
  c.nMergedInB = operands.b.unitStride(c.n[0]);
  ContractShape shape = shapeOf(product, machine);
  product.plan = planContraction(shape);
  planColumns(product.plan, shape);
}

/// As many rows as half of the cache holds scores of, in parts of one size;
/// less where there would be few work-groups.
void Emitter::planRows() {
  int64_t m = staticSize(scores.operands.sizeM);
  int64_t n = staticSize(scores.operands.sizeN);
  n = n < 0 ? kUnknownColumns : std::max<int64_t>(n, 1);
  int64_t most =
      std::clamp(machine.cacheBytes / 8 / n, kLeastRows / 2, kMostRows);
  if (m < 0) {
    rows = std::min<int64_t>(most, 2 * kLeastRows);
  } else {
    int64_t outer = 1;
    for (unsigned loop : scores.c.outer)
      outer *= std::max<int64_t>(staticSize(scores.operands.sizes[loop]), 1);
    int64_t parts = std::max<int64_t>((m + most - 1) / most, 1);
    while (outer * parts < 8 && m / parts >= 2 * kLeastRows)
      ++parts;
    rows = std::max<int64_t>((m + parts - 1) / parts, 1);
  }
  for (ContractProblem *problem : {&scores, &product})
    problem->plan.groupM = roundUp(rows, problem->plan.rows);
}

/* ---- The loops ---- */

scf::ForallOp Emitter::makeGroups() {
  SmallVector<std::pair<Value, int64_t>> loops;
  for (unsigned i : scores.c.outer)
    loops.emplace_back(scores.operands.sizes[i], 1);
  loops.emplace_back(scores.operands.sizeM, rows);
  return loopOverGroups(b, loops);
}

/// Memory for what a step computes of the rows of the group.
Value Emitter::makeBuffer(Type element, bool isWhole) const {
  SmallVector<int64_t> shape{rows};
  SmallVector<Value> sizes;
  if (isWhole) {
    int64_t size = staticSize(columns);
    shape.push_back(size < 0 ? ShapedType::kDynamic
                             : roundUp(size, machine.width.count));
    if (size < 0)
      sizes.push_back(columns);
  }
  return memref::AllocOp::create(b.builder, b.loc,
                                 MemRefType::get(shape, element), sizes,
                                 b.builder.getI64IntegerAttr(64));
}

/// Some rows of a buffer.
Value Emitter::partOf(Value buffer, Value first, Value count) const {
  OpBuilder &builder = b.builder;
  SmallVector<OpFoldResult> offsets{getAsOpFoldResult(first)},
      sizes{getAsOpFoldResult(count)};
  if (cast<MemRefType>(buffer.getType()).getRank() == 2) {
    offsets.push_back(builder.getIndexAttr(0));
    sizes.push_back(getAsOpFoldResult(columns));
  }
  SmallVector<OpFoldResult> ones(sizes.size(), builder.getIndexAttr(1));
  return memref::SubViewOp::create(builder, b.loc, buffer, offsets, sizes,
                                   ones);
}

/// A buffer for the result: that of an operand that nothing reads after it.
Value Emitter::destinationOf(linalg::GenericOp step) {
  auto type = cast<RankedTensorType>(step->getResult(0).getType());
  if (step.getNumReductionLoops() == 0)
    for (OpOperand *input : step.getDpsInputOperands()) {
      bool isLast = llvm::all_of(input->get().getUsers(), [&](Operation *user) {
        return user == step || (user->getBlock() == step->getBlock() &&
                                user->isBeforeInBlock(step));
      });
      if (isLast && input->get().getType() == type)
        return buffers.lookup(input->get());
    }
  int64_t rank = cast<RankedTensorType>(attention.rows.getType()).getRank();
  return makeBuffer(type.getElementType(), type.getRank() == rank);
}

/// The map on the last two axes alone.
static AffineMap onRows(AffineMap map, int64_t outer) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults().drop_front(outer))
    exprs.push_back(getAffineDimExpr(
        cast<AffineDimExpr>(expr).getPosition() - outer, map.getContext()));
  return AffineMap::get(map.getNumDims() - outer, 0, exprs, map.getContext());
}

void Emitter::emitStep(linalg::GenericOp step, Value first, Value count) {
  int64_t outer =
      cast<RankedTensorType>(attention.rows.getType()).getRank() - 2;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Value input : step.getDpsInputs())
    inputs.push_back(partOf(buffers.lookup(input), first, count));
  for (AffineMap map : step.getIndexingMapsArray())
    maps.push_back(onRows(map, outer));
  Value output = partOf(buffers.lookup(step->getResult(0)), first, count);
  if (auto fill = step.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
      fill && step.getNumReductionLoops() > 0)
    linalg::FillOp::create(b.builder, b.loc, fill.getInputs()[0], output);
  auto iterators =
      llvm::to_vector(ArrayRef(step.getIteratorTypesArray()).drop_front(outer));
  auto copy = linalg::GenericOp::create(b.builder, b.loc, inputs, output, maps,
                                        iterators);
  b.builder.cloneRegionBefore(step.getRegion(), copy.getRegion(),
                              copy.getRegion().begin());
}

/// All steps, of a few rows at a time.
void Emitter::emitSteps() {
  for (linalg::GenericOp step : attention.steps)
    buffers[step->getResult(0)] = destinationOf(step);
  int64_t n = staticSize(columns);
  n = n < 0 ? kUnknownColumns : std::max<int64_t>(n, 1);
  int64_t part = std::clamp<int64_t>(kScoresOfSteps / n, 1, rows);
  b.forRange(b.index(0), countRows, part, [&](Value first) {
    Value count = b.minimum(b.index(part), b.sub(countRows, first));
    for (linalg::GenericOp step : attention.steps)
      emitStep(step, first, count);
  });
}

/// All columns of a product of the group's rows.
void Emitter::emitProduct(const ContractProblem &problem) {
  b.forRange(b.index(0), problem.operands.sizeN, problem.plan.groupN,
             [&](Value firstColumn) {
               SmallVector<Value> at(ids);
               at.append({firstColumn, firstRow});
               ContractScope scope(b, problem, at);
               scope.countM = countRows;
               emitBlocked(scope);
             });
}

/// A buffer of the group as an operand of a contraction over all rows.
static FlatOperand bufferOperand(const VectorBuilder &b, Value buffer,
                                 const Contraction &c, unsigned row,
                                 unsigned column, Value firstRow) {
  FlatOperand flat{flatMemref(b.builder, b.loc, buffer),
                   SmallVector<Value>(c.destinationMap.getNumDims()),
                   {}};
  Value stride = getValueOrCreateConstantIndexOp(
      b.builder, b.loc, memref::getMixedSize(b.builder, b.loc, buffer, 1));
  flat.strides[row] = stride;
  flat.strides[column] = b.index(1);
  flat.origin = b.sub(b.index(0), b.mul(firstRow, stride));
  return flat;
}

void Emitter::emitGroup() {
  countRows = b.minimum(b.index(rows), b.sub(scores.operands.sizeM, firstRow));
  columns = scores.operands.sizeN;
  Type element = attention.scores.epilogue
                     ? getElementTypeOrSelf(attention.rows.getType())
                     : attention.scores.accumulator;
  Value buffer = makeBuffer(element, true);
  buffers[attention.rows] = buffer;
  scores.operands.destinations = {bufferOperand(
      b, buffer, scores.c, scores.c.m[0], scores.c.n[0], firstRow)};
  scores.c.results = {{nullptr, buffer, std::nullopt}};
  if (scores.c.epilogue)
    scores.c.results.front().number = 0;
  emitProduct(scores);
  emitSteps();
  linalg::GenericOp last = product.c.op;
  Value weights = buffers.lookup(last.getDpsInputs()[product.c.a]);
  product.c.lhs.memref = weights;
  product.operands.a = bufferOperand(b, weights, product.c, product.c.m[0],
                                     product.c.k[0], firstRow);
  emitProduct(product);
}

void Emitter::run() {
  planScores();
  planProduct();
  planRows();
  // The destination has the axes of the product or of its epilogue.
  const Contraction &c = product.c;
  auto whole = wholeView(b, c.results.front().destination);
  product.operands.destinations = {whole.flat(b, c.destinationMap)};
  auto groups = makeGroups();
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(groups.getBody());
  ids = groups.getInductionVars();
  firstRow = ids.pop_back_val();
  emitGroup();
}

void emitAttention(const VectorBuilder &builder, const Attention &attention,
                   const ContractMachine &machine) {
  Emitter(builder, attention, machine).run();
}

} // namespace backplane
