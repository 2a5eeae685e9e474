// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/Contraction.h"

#include "sdk/emit/cpu/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace backplane {

namespace {

struct Matcher {
  Contraction c;
  SmallVector<int64_t> sizes; ///< of the loops

  bool run(func::FuncOp func);
  bool findOps(func::FuncOp func);
  bool findEpilogue(Operation *last, Operation *&contraction);
  bool findResults(func::FuncOp func, Operation *contraction);
  bool assignRoles();
  bool assignLoops();
  void mergeGroups(ArrayRef<unsigned> order);
  bool mergeableInC(unsigned a, unsigned b) const;
  void findRunsInA();
  int64_t depthOfBlocks(unsigned a, unsigned b) const;
  void findBlocksOfB();
  int64_t findWindow() const;
  bool worthwhile() const;

  bool unit(unsigned loop) const { return sizes[loop] == 1; }
  bool in(const ContractionOperand &operand, unsigned loop) const {
    return operand.map.isFunctionOfDim(loop);
  }
};

} // namespace

/// Whether loops a and b follow each other as axes of `map`, or are both
/// absent.
static bool adjacent(AffineMap map, unsigned a, unsigned b) {
  auto position = [&](unsigned loop) {
    return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
  };
  auto first = position(a), second = position(b);
  if (!first && !second)
    return !map.isFunctionOfDim(a) && !map.isFunctionOfDim(b);
  return first && second && *first + 1 == *second;
}

/// Whether all that uses the contraction is the epilogue or a result.
static bool usedBy(Operation *contraction, Operation *epilogue) {
  return llvm::all_of(contraction->getUsers(), [&](Operation *user) {
    return user == epilogue || isa<bufferization::MaterializeInDestinationOp,
                                   tensor::CollapseShapeOp>(user);
  });
}

/// The single elementwise user of the contraction, on the same loops.
bool Matcher::findEpilogue(Operation *last, Operation *&contraction) {
  auto generic = dyn_cast<linalg::GenericOp>(last);
  contraction = last;
  if (!generic || generic.getNumReductionLoops() != 0)
    return true;
  auto maps = generic.getIndexingMapsArray();
  for (OpOperand *input : generic.getDpsInputOperands()) {
    auto producer = input->get().getDefiningOp<linalg::LinalgOp>();
    if (!producer || isa<linalg::FillOp>(producer) ||
        producer.getNumReductionLoops() == 0 || !usedBy(producer, last))
      continue;
    auto identity = [](AffineMap map) { return map.isIdentity(); };
    ArrayRef<AffineMap> outputs(maps);
    if (!maps[input->getOperandNumber()].isIdentity() ||
        !llvm::all_of(outputs.drop_front(generic.getNumDpsInputs()),
                      identity) ||
        !canVectorizeBody(*generic.getBody()) || generic.hasIndexSemantics())
      return false;
    c.epilogue = generic;
    c.epilogueInput = input->getOperandNumber();
    contraction = producer;
    return true;
  }
  return false;
}

/// What a result is before axes of it are collapsed.
static Value computedValue(bufferization::MaterializeInDestinationOp result) {
  auto collapse = result.getSource().getDefiningOp<tensor::CollapseShapeOp>();
  return collapse ? collapse.getSrc() : result.getSource();
}

/// The destination of a result in the shape in which it is computed, or null.
static Value
computedDestination(bufferization::MaterializeInDestinationOp result) {
  auto collapse = result.getSource().getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse)
    return result.getDest();
  auto value = cast<OpResult>(collapse.getSrc());
  auto op = dyn_cast<linalg::LinalgOp>(value.getOwner());
  Value init = op ? op.getDpsInits()[value.getResultNumber()] : Value();
  if (auto fill = init ? init.getDefiningOp<linalg::FillOp>() : nullptr)
    init = fill.getOutputs()[0];
  auto expand = init ? init.getDefiningOp<tensor::ExpandShapeOp>() : nullptr;
  if (!expand ||
      expand.getReassociationIndices() != collapse.getReassociationIndices())
    return {};
  OpBuilder builder(result);
  return expandMemref(builder, result.getDest(), expand);
}

/// All results come from the epilogue or are C.
bool Matcher::findResults(func::FuncOp func, Operation *contraction) {
  for (auto op : func.getOps<bufferization::MaterializeInDestinationOp>()) {
    auto source = dyn_cast<OpResult>(computedValue(op));
    if (!source ||
        (source.getOwner() != contraction && source.getOwner() != c.epilogue))
      return false;
    ContractionResult result{op, computedDestination(op), std::nullopt};
    if (!result.destination)
      return false;
    if (c.epilogue && source.getOwner() == c.epilogue)
      result.number = source.getResultNumber();
    c.results.push_back(result);
  }
  return true;
}

bool Matcher::findOps(func::FuncOp func) {
  // The epilogue comes last, when there is one.
  Operation *last = nullptr;
  for (auto op : func.getOps<bufferization::MaterializeInDestinationOp>()) {
    Operation *source = computedValue(op).getDefiningOp();
    if (!isa_and_nonnull<linalg::LinalgOp>(source))
      return false;
    if (!last || last->isBeforeInBlock(source))
      last = source;
  }
  Operation *contraction = nullptr;
  if (!last || !findEpilogue(last, contraction) ||
      !findResults(func, contraction))
    return false;
  c.op = asGeneric(contraction);
  if (!c.op || !readProduct(c))
    return false;
  sizes = c.op.getStaticLoopRanges();
  c.destinationMap = c.op.getIndexingMapsArray().back();
  return c.destinationMap.isProjectedPermutation();
}

/// A loop of one iteration has index 0.
static AffineMap withoutUnitLoops(AffineMap map, ArrayRef<int64_t> sizes) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> loops;
  for (auto [loop, size] : llvm::enumerate(sizes))
    loops.push_back(size == 1 ? getAffineConstantExpr(0, context)
                              : getAffineDimExpr(unsigned(loop), context));
  return map.replaceDimsAndSymbols(loops, {}, map.getNumDims(), 0);
}

/// B is the operand that has the innermost loop of C and no other.
bool Matcher::assignRoles() {
  auto maps = c.op.getIndexingMapsArray();
  auto read = [&](unsigned input, ContractionOperand &operand) {
    return matchOperand(c.op.getDpsInputs()[input],
                        withoutUnitLoops(maps[input], sizes), operand);
  };
  if (!read(c.a, c.lhs) || !read(c.b, c.rhs))
    return false;
  for (AffineExpr expr : llvm::reverse(c.destinationMap.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (unit(loop))
      continue;
    if (in(c.lhs, loop) && !in(c.rhs, loop)) {
      std::swap(c.lhs, c.rhs);
      std::swap(c.a, c.b);
      std::swap(c.left, c.right);
    }
    return in(c.rhs, loop) && !in(c.lhs, loop) && !c.lhs.padded();
  }
  return false;
}

bool Matcher::mergeableInC(unsigned a, unsigned b) const {
  if (!adjacent(c.destinationMap, a, b))
    return false;
  for (const ContractionOperand &operand : c.epilogueOperands)
    if (!adjacent(operand.map, a, b))
      return false;
  return true;
}

/// Whether `a` numbers blocks of A's rows, `b` the rows inside, all of k lies
/// between, and elements are multiplied as they are: 1. Where they are bytes
/// and the last loop of k lies behind the rows, the size of that; else 0.
int64_t Matcher::depthOfBlocks(unsigned a, unsigned b) const {
  ArrayRef<AffineExpr> axes = c.lhs.map.getResults();
  auto is = [&](AffineExpr axis, unsigned loop) {
    return axis == getAffineDimExpr(loop, c.lhs.map.getContext());
  };
  auto inK = [&](AffineExpr axis) {
    if (isa<AffineConstantExpr>(axis))
      return true;
    auto loop = dyn_cast<AffineDimExpr>(axis);
    return loop && !c.destinationMap.isFunctionOfDim(loop.getPosition());
  };
  bool isNarrow = c.lhs.widening != ContractionOperand::Widening::None;
  int64_t depth = 1;
  if (isNarrow && axes.size() > 3 && isa<AffineDimExpr>(axes.back()) &&
      inK(axes.back())) {
    depth = sizes[cast<AffineDimExpr>(axes.back()).getPosition()];
    axes = axes.drop_back();
  }
  bool areBlocks = axes.size() > 2 && is(axes.front(), a) &&
                   is(axes.back(), b) &&
                   llvm::all_of(axes.drop_front().drop_back(), inK) &&
                   !ShapedType::isDynamic(sizes[b]) && mergeableInC(a, b);
  bool asTheyAre = isNarrow ? depth > 1 : c.left.getType() == c.accumulator;
  return areBlocks && asTheyAre && isa<BlockArgument>(c.left) ? depth : 0;
}

/// Takes n from the end of C's axes and m from what is left, as far as they
/// merge into one loop; the rest are outer loops.
void Matcher::mergeGroups(ArrayRef<unsigned> order) {
  SmallVector<unsigned> rest(order);
  auto isM = [&](unsigned loop) { return !in(c.rhs, loop); };
  auto isN = [&](unsigned loop) { return !in(c.lhs, loop); };
  while (!rest.empty() && isN(rest.back()) &&
         (c.n.empty() || mergeableInC(rest.back(), c.n.front())))
    c.n.insert(c.n.begin(), rest.pop_back_val());
  while (!rest.empty()) {
    unsigned loop = rest.pop_back_val();
    bool merges = c.m.empty() || (adjacent(c.lhs.map, loop, c.m.front()) &&
                                  mergeableInC(loop, c.m.front()));
    bool blocked =
        !c.m.empty() && !c.outer.empty() && llvm::is_contained(c.outer, loop);
    int64_t depth = c.m.size() == 1 ? depthOfBlocks(loop, c.m.front()) : 0;
    if (isM(loop) && depth && !blocked) {
      c.blockOfA = sizes[c.m.front()];
      c.depthOfBlock = depth;
    }
    if (isM(loop) && (merges || depth) && !blocked)
      c.m.insert(c.m.begin(), loop);
    else
      c.outer.insert(c.outer.begin(), loop);
  }
}

/// Puts k in the order of A, so that its rows are copied as they lie.
void Matcher::findRunsInA() {
  MLIRContext *context = c.op.getContext();
  ArrayRef<AffineExpr> axes = c.lhs.map.getResults();
  auto axis = [&](unsigned loop) { return getAffineDimExpr(loop, context); };
  llvm::stable_sort(c.k, [&](unsigned a, unsigned b) {
    auto position = [&](unsigned loop) {
      return c.lhs.map.getResultPosition(axis(loop)).value_or(0);
    };
    return position(a) < position(b);
  });
  // The loops of bytes that are multiplied at once are parts of an axis.
  auto parts = [&](unsigned a, unsigned b) {
    return ShapedType::isDynamic(sizes[b]) ? AffineExpr()
                                           : axis(a) * sizes[b] + axis(b);
  };
  c.kMergedInA = true;
  c.kEndsA = !c.k.empty() && axes.back() == axis(c.k.back());
  for (size_t i = 1; i < c.k.size(); ++i) {
    AffineExpr whole = parts(c.k[i - 1], c.k[i]);
    c.kMergedInA &= adjacent(c.lhs.map, c.k[i - 1], c.k[i]) ||
                    llvm::is_contained(axes, whole);
    c.kEndsA |= axes.back() == whole;
  }
}

bool Matcher::assignLoops() {
  SmallVector<unsigned> order;
  for (AffineExpr expr : c.destinationMap.getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (!in(c.lhs, loop) && !in(c.rhs, loop) && !unit(loop))
      return false;
    if (!unit(loop))
      order.push_back(loop);
  }
  mergeGroups(order);
  for (unsigned loop = 0; loop < c.op.getNumLoops(); ++loop) {
    if (c.destinationMap.isFunctionOfDim(loop) || unit(loop))
      continue;
    if (!in(c.lhs, loop) || !in(c.rhs, loop))
      return false;
    c.k.push_back(loop);
  }
  findRunsInA();
  AffineExpr last = c.n.empty()
                        ? AffineExpr()
                        : getAffineDimExpr(c.n.back(), c.op.getContext());
  c.nMergedInB =
      !c.rhs.padded() && last && c.rhs.map.getResults().back() == last;
  for (size_t i = 1; i < c.n.size(); ++i)
    c.nMergedInB &= adjacent(c.rhs.map, c.n[i - 1], c.n[i]);
  findBlocksOfB();
  c.window = findWindow();
  return !c.n.empty();
}

/// Where B has the axes block, k and column, after those of a batch, or, of
/// bytes, the last loop of k behind the columns.
void Matcher::findBlocksOfB() {
  bool isNarrow = c.rhs.widening != ContractionOperand::Widening::None;
  bool areDeep = isNarrow && !c.blockOfA && c.k.size() == 2;
  if (c.n.size() != 2 || (c.k.size() != 1 && !areDeep) || c.rhs.padded() ||
      ShapedType::isDynamic(sizes[c.n[1]]))
    return;
  SmallVector<unsigned> loops = {c.n[0], c.k[0], c.n[1]};
  if (areDeep)
    loops.push_back(c.k[1]);
  auto axes = llvm::map_to_vector(loops, [&](unsigned loop) {
    return getAffineDimExpr(loop, c.rhs.map.getContext());
  });
  ArrayRef<AffineExpr> all = c.rhs.map.getResults();
  auto isOuter = [&](AffineExpr axis) {
    auto loop = dyn_cast<AffineDimExpr>(axis);
    return loop && llvm::is_contained(c.outer, loop.getPosition());
  };
  if (all.size() < axes.size() ||
      all.take_back(axes.size()) != ArrayRef(axes) ||
      !llvm::all_of(all.drop_back(axes.size()), isOuter))
    return;
  if (areDeep)
    c.depthOfBlock = sizes[c.k[1]];
  if (c.takesAsStored(c.right, c.rhs))
    c.blockOfB = sizes[c.n[1]];
  else if (isNarrow)
    c.blockToPack = sizes[c.n[1]];
}

int64_t Matcher::findWindow() const {
  if (c.k.size() < 2 || !c.rhs.map.getResultPosition(getAffineDimExpr(
                            c.k.front(), c.rhs.map.getContext())))
    return 1;
  int64_t window = 1;
  for (unsigned loop : ArrayRef(c.k).drop_front()) {
    if (ShapedType::isDynamic(sizes[loop]))
      return 1;
    window *= sizes[loop];
  }
  return window <= kMaxWindow ? window : 1;
}

/// Forms for which plain vector loops do better.
bool Matcher::worthwhile() const {
  int64_t m = 1;
  for (unsigned loop : c.m) {
    if (ShapedType::isDynamic(sizes[loop]))
      return true;
    m *= sizes[loop];
  }
  constexpr int64_t longSum = 64;
  int64_t terms = 1;
  for (unsigned loop : c.k)
    terms *= ShapedType::isDynamic(sizes[loop]) ? longSum : sizes[loop];
  bool areSome = m >= 6 || (m >= 3 && terms >= longSum);
  return c.nMergedInB || c.hasBlocksOfB() || areSome;
}

bool Matcher::run(func::FuncOp func) {
  if (!findOps(func))
    return false;
  if (c.epilogue) {
    auto maps = c.epilogue.getIndexingMapsArray();
    // The loops of the epilogue are the axes of C.
    for (OpOperand *input : c.epilogue.getDpsInputOperands()) {
      ContractionOperand operand;
      unsigned number = input->getOperandNumber();
      if (number != c.epilogueInput &&
          (!matchOperand(input->get(), maps[number].compose(c.destinationMap),
                         operand) ||
           operand.padded() ||
           operand.widening != ContractionOperand::Widening::None))
        return false;
      if (number == c.epilogueInput)
        operand.map = c.destinationMap;
      c.epilogueOperands.push_back(operand);
    }
  }
  return assignRoles() && assignLoops() && worthwhile();
}

std::optional<Contraction> matchContraction(func::FuncOp func) {
  Matcher matcher;
  if (!matcher.run(func))
    return std::nullopt;
  return matcher.c;
}

} // namespace backplane
