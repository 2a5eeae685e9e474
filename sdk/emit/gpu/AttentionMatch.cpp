// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/Attention.h"
#include "sdk/emit/gpu/Reduction.h"
#include "sdk/emit/gpu/SoftmaxOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

namespace {

struct Matcher {
  explicit Matcher(const GpuTarget &target) : target(target) {}

  const GpuTarget &target;
  GpuAttention found;
  linalg::LinalgOp scoresOp;
  /// Made of scores, element by element or a number for each row.
  llvm::DenseMap<Value, bool> isWhole;

  bool run(func::FuncOp func);
  bool findScores(Value weights);
  bool findProducts(const GroupSums &sums);
  bool readScores();
  bool followRows(func::FuncOp func);
  bool followGeneric(linalg::GenericOp op);
  bool addReduction(linalg::GenericOp op);
  bool followReshape(Operation *op);
  bool sortScores();
  bool sortProduct();
  bool isRow(OpOperand *operand) const;
  std::optional<GpuOperand> rowOperand(linalg::GenericOp op, Value value) const;
  std::optional<RunningSoftmax> findSoftmax() const;
};

} // namespace

static bool isProduct(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() == 1 &&
         linalgOp.getNumDpsInputs() == 2 && linalgOp.getNumDpsInits() == 1;
}

static RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// The one product that the weights are made of.
bool Matcher::findScores(Value weights) {
  scoresOp = nullptr;
  llvm::SetVector<Operation *> work;
  auto reach = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      work.insert(op);
  };
  reach(weights);
  for (size_t i = 0; i < work.size(); ++i) {
    if (isProduct(work[i])) {
      if (scoresOp)
        return false;
      scoresOp = cast<linalg::LinalgOp>(work[i]);
      continue;
    }
    for (Value operand : work[i]->getOperands())
      reach(operand);
  }
  return bool(scoresOp);
}

bool Matcher::findProducts(const GroupSums &sums) {
  auto product = readProducts(sums, target);
  if (!product || !product->type().isF32())
    return false;
  found.product = *product;
  GpuContraction &c = found.product;
  for (bool swap : {false, true}) {
    if (swap)
      std::swap(c.a, c.b);
    if (c.a.inputs.size() != 1)
      continue;
    found.weights = c.a.inputs.front()->get();
    if (findScores(found.weights))
      return true;
  }
  return false;
}

bool Matcher::readScores() {
  GroupSums sums;
  sums.op = asGenericOp(scoresOp);
  if (!sums.op || !findInit(sums) || !sums.init.getType().isF32())
    return false;
  scoresOp = sums.op;
  auto scores = readProducts(sums, target);
  if (scores)
    found.scores = *scores;
  found.weights = found.product.a.inputs.front()->get();
  return scores.has_value();
}

/// The loop of an axis that is one.
static std::optional<unsigned> loopOf(AffineMap map, unsigned axis) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(axis));
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

/// The loops of a tensor's axes; nothing where one is anything else.
static std::optional<SmallVector<unsigned>> loopsOf(AffineMap map) {
  SmallVector<unsigned> loops;
  for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
    auto loop = loopOf(map, axis);
    if (!loop)
      return std::nullopt;
    loops.push_back(*loop);
  }
  return loops;
}

bool Matcher::sortScores() {
  GpuContraction &c = found.scores;
  auto axes = loopsOf(c.op.getIndexingMapsArray().back());
  if (!axes || axes->size() < 2 || c.op.getNumLoops() != axes->size() + 1)
    return false;
  unsigned n = axes->pop_back_val(), m = axes->pop_back_val();
  if (!c.a.uses(c.op, m))
    std::swap(c.a, c.b);
  c.outer = *axes;
  c.m = {m};
  c.n = {n};
  for (unsigned loop = 0; loop < c.op.getNumLoops(); ++loop)
    if (loop != m && loop != n && !llvm::is_contained(c.outer, loop))
      c.k.push_back(loop);
  c.findInnermost();
  return c.k.size() == 1 && !c.b.uses(c.op, m) && !c.a.uses(c.op, n);
}

bool Matcher::sortProduct() {
  GpuContraction &c = found.product;
  auto axes = loopsOf(c.op.getMatchingIndexingMap(c.a.inputs.front()));
  if (!axes || axes->size() < 2 || c.op.getNumLoops() != axes->size() + 1)
    return false;
  unsigned k = axes->pop_back_val(), m = axes->pop_back_val();
  AffineMap result = c.op.getIndexingMapsArray().back();
  c.outer = *axes;
  c.m = {m};
  c.k = {k};
  for (unsigned loop = 0; loop < c.op.getNumLoops(); ++loop)
    if (loop != m && loop != k && !llvm::is_contained(c.outer, loop))
      c.n.push_back(loop);
  c.findInnermost();
  return c.n.size() == 1 && !c.b.uses(c.op, m) && !result.isFunctionOfDim(k);
}

bool Matcher::addReduction(linalg::GenericOp op) {
  GroupSums sums{op, {}, {}, {}};
  if (!findInit(sums))
    return false;
  RowReduction reduction{op, sums.init, nullptr, 0};
  reduction.combiner = findCombiner(op, sums.init, reduction.sumOperand);
  found.reductions.push_back(reduction);
  return reduction.combiner;
}

/// An op on rows: it reads elements of scores at its own place, or numbers of
/// its own row.
bool Matcher::followGeneric(linalg::GenericOp op) {
  unsigned rank = op.getNumLoops(), sums = op.getNumReductionLoops();
  auto isRow = [&](AffineMap map) {
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
      bool isLoop = axis + 1 < rank && loopOf(map, axis) == axis;
      bool isUnit =
          axis + 1 == rank && isa<AffineConstantExpr>(map.getResult(axis));
      if (!isLoop && !isUnit)
        return false;
    }
    return map.getNumResults() + 1 >= rank;
  };
  if (op.getNumDpsInits() != 1 || sums > 1 || rank == 0 ||
      (sums == 1 &&
       op.getIteratorTypesArray().back() != utils::IteratorType::reduction))
    return false;
  bool readsWhole = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto made = isWhole.find(input->get());
    if (made == isWhole.end())
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    bool same = map.isIdentity();
    if (made->second ? !same : !(same || isRow(map)))
      return false;
    readsWhole |= made->second || !same;
  }
  AffineMap result = op.getIndexingMapsArray().back();
  if (sums == 1) {
    isWhole[op.getResult(0)] = false;
    return readsWhole && isRow(result) && addReduction(op);
  }
  isWhole[op.getResult(0)] = readsWhole;
  return result.isIdentity();
}

/// A reshape that keeps rows whole.
bool Matcher::followReshape(Operation *op) {
  if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return false;
  bool whole = isWhole.lookup(op->getOperand(0));
  Value result = op->getResult(0);
  isWhole[result] = whole;
  if (!whole)
    return true;
  // Axes of one element may stand in front of the columns.
  auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
  auto groups =
      expand ? expand.getReassociationIndices()
             : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
  auto sizes = typeOf(expand ? result : op->getOperand(0)).getShape();
  return !groups.empty() &&
         llvm::all_of(ArrayRef(groups.back()).drop_back(),
                      [&](int64_t axis) { return sizes[axis] == 1; });
}

/// Whether all ops between scores and weights work on rows.
bool Matcher::followRows(func::FuncOp func) {
  isWhole[scoresOp->getResult(0)] = true;
  for (Operation &op : func.getBody().front().without_terminator()) {
    bool touches = llvm::any_of(op.getOperands(), [&](Value operand) {
      return isWhole.contains(operand);
    });
    if (&op == found.product.op)
      break;
    if (!touches)
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic ? !followGeneric(generic) : !followReshape(&op))
      return false;
  }
  auto made = isWhole.find(found.weights);
  auto from = typeOf(scoresOp->getResult(0)), to = typeOf(found.weights);
  return made != isWhole.end() && made->second &&
         from.getShape() == to.getShape();
}

/* ---- Softmax ---- */

/// The input of a reduction that adds its elements, or takes the largest, by
/// nothing else; null otherwise.
template <typename Combiner> static Value reduced(linalg::GenericOp op) {
  auto combiner = dyn_cast_or_null<Combiner>(
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp());
  if (!combiner)
    return {};
  Value sum = op.getBody()->getArguments().back();
  Value element = combiner->getOperand(0) == sum ? combiner->getOperand(1)
                                                 : combiner->getOperand(0);
  bool combines =
      combiner->getOperand(0) == sum || combiner->getOperand(1) == sum;
  OpOperand *input = combines ? inputOf(op, element) : nullptr;
  return input ? input->get() : Value();
}

/// Whether an operand is made of the scores and has a number for each row,
/// which may be repeated along it.
bool Matcher::isRow(OpOperand *operand) const {
  auto made = operand ? isWhole.find(operand->get()) : isWhole.end();
  if (made == isWhole.end() || !made->second)
    return made != isWhole.end();
  auto source = operand->get().getDefiningOp<linalg::GenericOp>();
  return source && source.getNumReductionLoops() == 0 &&
         rowOperand(source, source.getBody()->getTerminator()->getOperand(0));
}

/// A value in the body of an op that is made of nothing but numbers of the row.
std::optional<GpuOperand> Matcher::rowOperand(linalg::GenericOp op,
                                              Value value) const {
  GpuOperand operand;
  operand.value = value;
  llvm::SetVector<Value> work;
  work.insert(value);
  for (size_t i = 0; i < work.size(); ++i) {
    Operation *source = work[i].getDefiningOp();
    if (source && source->getBlock() != op.getBody())
      continue; // a constant
    if (source && source->getNumOperands() > 0) {
      work.insert(source->operand_begin(), source->operand_end());
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(work[i]);
    bool isInput = argument && argument.getOwner() == op.getBody() &&
                   argument.getArgNumber() < unsigned(op.getNumDpsInputs());
    OpOperand *input =
        isInput ? op.getDpsInputOperand(argument.getArgNumber()) : nullptr;
    if (!isRow(input))
      return std::nullopt;
    operand.inputs.push_back(input);
  }
  return operand.inputs.empty() ? std::nullopt : std::optional(operand);
}

std::optional<RunningSoftmax> Matcher::findSoftmax() const {
  RunningSoftmax s;
  s.share = behindReshapes(found.weights);
  if (!s.share || found.reductions.size() != 2)
    return std::nullopt;
  s.top = found.reductions[0].op;
  s.sum = found.reductions[1].op;
  s.zeroesNan = false;
  Operation *share = yieldOf(s.share, &s.zeroesNan);
  s.divides = isa_and_nonnull<arith::DivFOp>(share);
  if (!s.divides && !isa_and_nonnull<arith::MulFOp>(share))
    return std::nullopt;
  Value powers = reduced<arith::AddFOp>(s.sum);
  for (unsigned i : {0, 1}) {
    OpOperand *first = inputOf(s.share, share->getOperand(i));
    auto second = rowOperand(s.share, share->getOperand(1 - i));
    if ((i == 0 || !s.divides) && first && first->get() == powers && second) {
      s.divisor = *second;
      s.powers = powers.getDefiningOp<linalg::GenericOp>();
    }
  }
  if (!s.powers)
    return std::nullopt;
  auto exp = dyn_cast_or_null<math::ExpOp>(yieldOf(s.powers));
  auto below =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  OpOperand *row = below ? inputOf(s.powers, below.getLhs()) : nullptr;
  auto shift = below ? rowOperand(s.powers, below.getRhs()) : std::nullopt;
  bool matches =
      row && shift && reduced<arith::MaximumFOp>(s.top) == row->get();
  if (matches)
    s.shift = *shift;
  return matches &&
                 startsWith(s.top,
                            [](const APFloat &x) {
                              return x.isInfinity() && x.isNegative();
                            }) &&
                 startsWith(s.sum, [](const APFloat &x) { return x.isZero(); })
             ? std::optional(s)
             : std::nullopt;
}

bool Matcher::run(func::FuncOp func) {
  auto sums = findSums(func);
  if (!sums || !findProducts(*sums) || !readScores() || !sortScores() ||
      !sortProduct() || !followRows(func))
    return false;
  if (found.reductions.empty())
    return false;
  found.softmax = findSoftmax();
  if (found.softmax)
    found.reductions.clear();
  return true;
}

bool multipliesProducts(func::FuncOp func, const GpuTarget &target) {
  auto sums = findSums(func);
  return sums && Matcher(target).findProducts(*sums);
}

std::optional<GpuAttention> matchGpuAttention(func::FuncOp func,
                                              const GpuTarget &target) {
  Matcher matcher(target);
  if (!matcher.run(func))
    return std::nullopt;
  return std::move(matcher.found);
}

} // namespace backplane
