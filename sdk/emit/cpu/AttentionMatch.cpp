// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/Attention.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace backplane {

namespace {

struct Matcher {
  const VectorBuilder &b;
  Attention found;
  Operation *scoresOp = nullptr;
  llvm::SetVector<Operation *> between; ///< from the scores to the weights

  bool run(func::FuncOp func);
  bool findProduct(func::FuncOp func);
  bool findWeights();
  bool collect(Operation *op);
  bool findSteps();
  bool isStep(linalg::GenericOp op, const llvm::DenseSet<Value> &rows) const;
  bool assignScores();
  bool assignProduct();
  bool viewInputs(const Contraction &c, SmallVector<OperandView> &views);
};

} // namespace

/// Whether an op adds up products of two operands.
static bool isProduct(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() == 1 &&
         linalgOp.getNumDpsInputs() == 2 && linalgOp.getNumDpsInits() == 1;
}

static bool isParallel(linalg::GenericOp op) {
  return op && op.getNumReductionLoops() == 0 && op.getNumDpsInits() == 1 &&
         canVectorizeBody(*op.getBody());
}

/// The product whose result is the operand of this op, or null.
static Operation *productInput(linalg::GenericOp op, unsigned &input) {
  for (OpOperand *operand : op.getDpsInputOperands())
    if (Operation *producer = operand->get().getDefiningOp();
        isProduct(producer) && producer->hasOneUse()) {
      input = operand->getOperandNumber();
      return producer;
    }
  return nullptr;
}

/// The product that is the only result, with what follows it.
bool Matcher::findProduct(func::FuncOp func) {
  auto results = func.getOps<bufferization::MaterializeInDestinationOp>();
  if (!llvm::hasSingleElement(results))
    return false;
  auto result = *results.begin();
  Operation *last = result.getSource().getDefiningOp();
  Contraction &c = found.product;
  Operation *productOp = last;
  if (auto tail = dyn_cast_or_null<linalg::GenericOp>(last);
      isParallel(tail) && !tail.hasIndexSemantics()) {
    productOp = productInput(tail, c.epilogueInput);
    c.epilogue = tail;
  }
  c.results.push_back({result, result.getDest(), std::nullopt});
  if (c.epilogue)
    c.results.front().number = 0;
  c.op = isProduct(productOp) ? asGeneric(productOp) : nullptr;
  return c.op && readProduct(c);
}

/// Adds what the op is made of, up to the one product.
bool Matcher::collect(Operation *op) {
  if (isProduct(op)) {
    bool first = !scoresOp || scoresOp == op;
    scoresOp = op;
    return first;
  }
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || between.contains(op))
    return true;
  between.insert(op);
  return llvm::all_of(generic.getDpsInputs(), [&](Value input) {
    return collect(input.getDefiningOp());
  });
}

bool Matcher::findWeights() {
  Contraction &c = found.product;
  for (bool swap : {false, true}) {
    between.clear();
    scoresOp = nullptr;
    Value weights = c.op.getDpsInputs()[swap ? c.b : c.a];
    if (!collect(weights.getDefiningOp()) || !scoresOp)
      continue;
    if (swap) {
      std::swap(c.a, c.b);
      std::swap(c.left, c.right);
    }
    found.scores.op = asGeneric(scoresOp); // in place of it
    scoresOp = found.scores.op;
    return scoresOp && readProduct(found.scores);
  }
  return false;
}

/// Whether the op computes rows, or a number for each, from such alone.
bool Matcher::isStep(linalg::GenericOp op,
                     const llvm::DenseSet<Value> &rows) const {
  int64_t rank = cast<RankedTensorType>(found.rows.getType()).getRank();
  AffineMap whole = AffineMap::getMultiDimIdentityMap(rank, op.getContext());
  auto fits = [&](AffineMap map) {
    return map.isIdentity() || map == whole.getMajorSubMap(rank - 1);
  };
  bool isWhole = int64_t(op.getNumLoops()) == rank;
  if (op.getNumDpsInits() != 1 || op.hasIndexSemantics() ||
      (!isWhole && int64_t(op.getNumLoops()) != rank - 1) ||
      op.getNumReductionLoops() > (isWhole ? 1 : 0) ||
      !llvm::all_of(op.getIndexingMapsArray(), fits) ||
      !llvm::all_of(op.getDpsInputs(),
                    [&](Value input) { return rows.contains(input); }))
    return false;
  if (op.getNumReductionLoops() == 0)
    return op.getBody()->getArguments().back().use_empty();
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return op.getIteratorTypesArray().back() == utils::IteratorType::reduction &&
         fill && matchPattern(fill.getInputs()[0], m_Constant());
}

/// The ops from the scores to the weights; the first of them is their epilogue
/// where it reads anything else.
bool Matcher::findSteps() {
  found.rows = scoresOp->getResult(0);
  auto users = scoresOp->getUsers();
  auto first = llvm::hasSingleElement(users)
                   ? dyn_cast<linalg::GenericOp>(*users.begin())
                   : linalg::GenericOp();
  Contraction &c = found.scores;
  if (isParallel(first) && productInput(first, c.epilogueInput) == scoresOp &&
      first.getIndexingMapsArray().back().isIdentity() &&
      first.getIndexingMapsArray()[c.epilogueInput].isIdentity()) {
    c.epilogue = first;
    found.rows = first->getResult(0);
  }
  SmallVector<Operation *> sorted(between.begin(), between.end());
  llvm::sort(sorted,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  llvm::DenseSet<Value> rows{found.rows};
  for (Operation *op : sorted) {
    auto step = cast<linalg::GenericOp>(op);
    if (step == c.epilogue)
      continue;
    // What the epilogue reads besides the scores.
    if (c.epilogue && llvm::none_of(op->getOperands(), [&](Value operand) {
          return rows.contains(operand);
        }))
      continue;
    if (!isStep(step, rows))
      return false;
    rows.insert(step->getResult(0));
    found.steps.push_back(step);
  }
  Contraction &product = found.product;
  return rows.contains(product.op.getDpsInputs()[product.a]);
}

static unsigned loopOf(AffineMap map, unsigned axis) {
  return cast<AffineDimExpr>(map.getResult(axis)).getPosition();
}

/// The loop of one size that `map` has not, but one of `others` has.
static std::optional<unsigned> otherLoop(AffineMap map, AffineMap other) {
  std::optional<unsigned> loop;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    if (!map.isFunctionOfDim(i) && other.isFunctionOfDim(i)) {
      if (loop)
        return std::nullopt;
      loop = i;
    }
  return loop;
}

static bool areOrders(linalg::GenericOp op) {
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return map.isProjectedPermutation();
  });
}

/// Loops that run over the axes of `map` but for the last two.
static SmallVector<unsigned> outerLoops(AffineMap map) {
  SmallVector<unsigned> loops;
  for (unsigned axis = 0; axis + 2 < map.getNumResults(); ++axis)
    loops.push_back(loopOf(map, axis));
  return loops;
}

/// Whether none but outer loops run over merged axes.
static bool splitsOuter(const OperandView &view, AffineMap map,
                        const Contraction &c) {
  for (auto [axis, parts] : llvm::enumerate(view.axes))
    if (parts.size() > 1 && !llvm::is_contained(c.outer, loopOf(map, axis)))
      return false;
  return true;
}

bool Matcher::assignScores() {
  Contraction &c = found.scores;
  if (!areOrders(c.op))
    return false;
  auto maps = c.op.getIndexingMapsArray();
  c.destinationMap = maps.back();
  unsigned rank = c.destinationMap.getNumResults();
  if (rank < 2)
    return false;
  unsigned m = loopOf(c.destinationMap, rank - 2);
  if (!maps[c.a].isFunctionOfDim(m)) {
    std::swap(c.a, c.b);
    std::swap(c.left, c.right);
  }
  unsigned n = loopOf(c.destinationMap, rank - 1);
  auto k = otherLoop(c.destinationMap, maps[c.a]);
  if (!k || maps[c.b].isFunctionOfDim(m) || maps[c.a].isFunctionOfDim(n))
    return false;
  c.outer = outerLoops(c.destinationMap);
  c.m = {m};
  c.n = {n};
  c.k = {*k};
  auto q = viewOperand(b, c.op.getDpsInputs()[c.a]);
  auto keys = viewOperand(b, c.op.getDpsInputs()[c.b]);
  if (!q || !keys || !splitsOuter(*q, maps[c.a], c) ||
      !splitsOuter(*keys, maps[c.b], c))
    return false;
  found.q = *q;
  found.k = *keys;
  c.lhs = {.memref = q->memref, .map = maps[c.a], .bodies = q->bodies};
  c.rhs = {.memref = keys->memref, .map = maps[c.b], .bodies = keys->bodies};
  return viewInputs(c, found.scoresInputs);
}

bool Matcher::assignProduct() {
  Contraction &c = found.product;
  if (!areOrders(c.op))
    return false;
  auto maps = c.op.getIndexingMapsArray();
  AffineMap weights = maps[c.a];
  unsigned rank = weights.getNumResults();
  AffineMap axes = maps.back();
  auto n = otherLoop(weights, axes);
  if (!n)
    return false;
  c.outer = outerLoops(weights);
  c.m = {loopOf(weights, rank - 2)};
  c.k = {loopOf(weights, rank - 1)};
  c.n = {*n};
  if (maps[c.b].isFunctionOfDim(c.m[0]) || axes.isFunctionOfDim(c.k[0]))
    return false;
  auto v = viewOperand(b, c.op.getDpsInputs()[c.b]);
  if (!v || !splitsOuter(*v, maps[c.b], c))
    return false;
  found.v = *v;
  c.lhs = {.map = weights};
  c.rhs = {.memref = v->memref, .map = maps[c.b], .bodies = v->bodies};
  c.destinationMap = axes;
  if (c.epilogue) {
    auto tail = c.epilogue.getIndexingMapsArray();
    if (!tail[c.epilogueInput].isPermutation() || !tail.back().isIdentity())
      return false;
    // From the axes of the sums to those of the result.
    c.destinationMap = inversePermutation(tail[c.epilogueInput]).compose(axes);
  }
  return viewInputs(c, found.productInputs);
}

bool Matcher::viewInputs(const Contraction &c,
                         SmallVector<OperandView> &views) {
  linalg::GenericOp epilogue = c.epilogue;
  if (!epilogue)
    return true;
  for (OpOperand *input : epilogue.getDpsInputOperands()) {
    AffineMap map = epilogue.getMatchingIndexingMap(input);
    if (!map.isProjectedPermutation())
      return false;
    views.emplace_back();
    if (input->getOperandNumber() == c.epilogueInput)
      continue;
    auto view = viewOperand(b, input->get());
    if (!view || !view->bodies.empty() ||
        !splitsOuter(*view, map.compose(c.destinationMap), c))
      return false;
    views.back() = *view;
  }
  return true;
}

bool Matcher::run(func::FuncOp func) {
  return findProduct(func) && findWeights() && findSteps() && assignScores() &&
         assignProduct() && found.scores.accumulator.isF32() &&
         found.product.accumulator.isF32();
}

std::optional<Attention> matchAttention(const VectorBuilder &builder,
                                        func::FuncOp func) {
  Matcher matcher{builder};
  if (!matcher.run(func))
    return std::nullopt;
  return std::move(matcher.found);
}

} // namespace backplane
