// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: named ops where operands stand as those want them, else a
// linalg.generic that contracts.
#include "sdk/dialect/Convert.h"
#include "sdk/lower/Convolution.h"

using namespace bp;
using namespace bp::lower;

namespace {

/// The loops are the batch dims, m, n, k.
struct Loops {
  unsigned batch;
  MLIRContext *context;

  unsigned count() const { return batch + 3; }
  AffineMap map(bool withBatch, unsigned row, unsigned column) const {
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; withBatch && i < batch; ++i)
      exprs.push_back(getAffineDimExpr(i, context));
    exprs.push_back(getAffineDimExpr(batch + row, context));
    exprs.push_back(getAffineDimExpr(batch + column, context));
    return AffineMap::get(count(), 0, exprs, context);
  }
};

constexpr unsigned m = 0, n = 1, k = 2;

AffineMap mapOfA(const Loops &loops, MatmulOp op) {
  return op.getTransposeA() ? loops.map(true, k, m) : loops.map(true, m, k);
}

AffineMap mapOfB(const Loops &loops, MatmulOp op) {
  bool withBatch =
      cast<RankedTensorType>(op.getB().getType()).getRank() == loops.batch + 2;
  return op.getTransposeB() ? loops.map(withBatch, n, k)
                            : loops.map(withBatch, k, n);
}

/// What sums of a result of these sizes start with.
Value zeros(Lowering &lowering, const Sizes &sizes, const Element &element) {
  return lowering.filled(
      lowering.empty(sizes, element.compute),
      cast<TypedAttr>(lowering.builder.getZeroAttr(element.compute)));
}

/// The last `sums` loops add up.
Value contract(Lowering &lowering, ArrayRef<Value> inputs, Value start,
               ArrayRef<AffineMap> maps, size_t sums, const Element &operands) {
  Iterators iterators(maps.front().getNumDims(), utils::IteratorType::parallel);
  std::fill_n(iterators.rbegin(), sums, utils::IteratorType::reduction);
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    return SmallVector<Value>{multiplyAdd(inner, load(inner, args[0], operands),
                                          load(inner, args[1], operands),
                                          args[2])};
  };
  return lowering.generic(inputs, start, maps, iterators, body).getResult(0);
}

/// linalg.matmul or linalg.batch_matmul, which say transposes in their maps.
template <typename Op>
Value named(Lowering &lowering, ArrayRef<Value> inputs, Value start,
            ArrayRef<AffineMap> maps) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  auto product = Op::create(builder, start.getType(), inputs, start);
  product.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
  return product.getResult(0);
}

/// Whether batch_matmul can say these maps: three dims, the batch first.
bool isBatched(ArrayRef<AffineMap> maps) {
  return llvm::all_of(maps, [](AffineMap map) {
    return map.getNumDims() == 4 && map.getNumResults() == 3 &&
           map.getResult(0) == getAffineDimExpr(0, map.getContext());
  });
}

/// The operand's view, composed with how the loops read it.
std::pair<Value, AffineMap> operand(Lowering &lowering, Value value,
                                    AffineMap map) {
  View view = lowering.permutedView(value);
  return {view.base, view.map.compose(map)};
}

/// What B is a reshape of that does no more than to join blocks of columns, and
/// of inner elements or not, of each weight of a batch; or null.
Value columnBlocks(MatmulOp op) {
  auto reshape = op.getB().getDefiningOp<ReshapeOp>();
  if (!reshape || op.getTransposeA() || op.getTransposeB())
    return {};
  backplane::Dims split = dimsOf(reshape.getX().getType());
  auto parts = joinedAxes(split, dimsOf(op.getB().getType()));
  if (!parts || llvm::is_contained(split, backplane::Dim(1)))
    return {};
  auto batch = ArrayRef(*parts).drop_back(2);
  size_t inners = (*parts)[batch.size()];
  bool joins =
      parts->back() == 2 &&
      llvm::all_of(batch, [](size_t n) { return n == 1; }) &&
      (inners == 1 || (inners == 2 && split[batch.size() + 1].constant()));
  return joins ? reshape.getX() : Value();
}

/// With the columns in blocks as those of B.
Value multiplyBlocks(Lowering &lowering, MatmulOp op, Value blocks) {
  std::vector<backplane::Dim> whole = dimsOf(op.getType()), split = whole;
  std::vector<backplane::Dim> ofB = dimsOf(blocks.getType());
  size_t batch = dimsOf(op.getB().getType()).size() - 2;
  size_t parts = ofB.size() - 2 - batch; // of the inner axis
  split.back() = ofB[batch + parts];
  split.push_back(ofB.back());
  LoopNest nest{op.getContext(), {}};
  Exprs rows = nest.parallels(whole.size() - 1);
  AffineExpr block = nest.parallel(), column = nest.parallel();
  Exprs inners = nest.reductions(parts);
  AffineExpr inner = joinedIndex(inners, ofB[batch + parts - 1]);
  auto [a, mapA] =
      operand(lowering, op.getA(), nest.map(joined({rows, {inner}})));
  Exprs outer(ArrayRef(rows).take_front(batch));
  auto [b, mapB] = operand(lowering, blocks,
                           nest.map(joined({outer, inners, {block, column}})));
  Sizes sizes = lowering.sizes(DimsAttr::get(op.getContext(), split));
  Value start = zeros(lowering, sizes, elementOf(op.getType()));
  Maps maps{mapA, mapB, nest.map(joined({rows, {block, column}}))};
  Value product = contract(lowering, {a, b}, start, maps, parts,
                           elementOf(op.getA().getType()));
  return reshaped(lowering, product, split, whole);
}

} // namespace

LogicalResult lower::lowerMatmul(Lowering &lowering, MatmulOp op) {
  if (Value blocks = columnBlocks(op)) {
    lowering.setComputed(op.getResult(), multiplyBlocks(lowering, op, blocks));
    return success();
  }
  Type resultType = op.getResult().getType();
  auto rank = unsigned(cast<RankedTensorType>(resultType).getRank());
  Loops loops{rank - 2, op.getContext()};
  auto [a, mapA] = operand(lowering, op.getA(), mapOfA(loops, op));
  auto [b, mapB] = operand(lowering, op.getB(), mapOfB(loops, op));
  SmallVector<Value> inputs{a, b};
  Maps maps{mapA, mapB, loops.map(true, m, n)};
  Value start =
      zeros(lowering, lowering.sizes(resultType), elementOf(resultType));
  Value product;
  if (rank == 2)
    product = named<linalg::MatmulOp>(lowering, inputs, start, maps);
  else if (isBatched(maps))
    product = named<linalg::BatchMatmulOp>(lowering, inputs, start, maps);
  else
    product = contract(lowering, inputs, start, maps, 1,
                       elementOf(op.getA().getType()));
  lowering.setComputed(op.getResult(), product);
  return success();
}
