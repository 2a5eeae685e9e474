// SPDX-License-Identifier: Apache-2.0
//
// Reshapes: where dims can be matched group by group they become
// collapse_shape and expand_shape, else they go through one dim.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

namespace {

/// Groups of `from` and `to` with equal products, in order.
struct Grouping {
  SmallVector<ReassociationIndices> from, to;
};

bool isOne(const Dim &dim) { return dim == Dim(1); }

/// The shortest runs that start at i and j and have equal products; nothing
/// when there are none.
bool nextGroup(const std::vector<Dim> &from, const std::vector<Dim> &to,
               size_t i, size_t j, size_t &endI, size_t &endJ) {
  for (size_t length = 2; length <= from.size() - i + to.size() - j; ++length)
    for (size_t a = 1; a < length; ++a) {
      size_t b = length - a;
      if (i + a > from.size() || j + b > to.size())
        continue;
      std::vector<Dim> left(from.begin() + i, from.begin() + i + a);
      std::vector<Dim> right(to.begin() + j, to.begin() + j + b);
      if (!(backplane::product(left) == backplane::product(right)))
        continue;
      endI = i + a;
      endJ = j + b;
      return true;
    }
  return false;
}

ReassociationIndices range(size_t begin, size_t end) {
  ReassociationIndices indices;
  for (size_t i = begin; i < end; ++i)
    indices.push_back(int64_t(i));
  return indices;
}

/// Dims of size 1 that are left at the end join the last group.
bool absorbOnes(const std::vector<Dim> &dims, size_t begin,
                SmallVector<ReassociationIndices> &groups) {
  for (size_t i = begin; i < dims.size(); ++i) {
    if (!isOne(dims[i]) || groups.empty())
      return false;
    groups.back().push_back(int64_t(i));
  }
  return true;
}

std::optional<Grouping> group(const std::vector<Dim> &from,
                              const std::vector<Dim> &to) {
  Grouping grouping;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    size_t endI, endJ;
    if (!nextGroup(from, to, i, j, endI, endJ))
      return std::nullopt;
    grouping.from.push_back(range(i, endI));
    grouping.to.push_back(range(j, endJ));
    i = endI;
    j = endJ;
  }
  if (!absorbOnes(from, i, grouping.from) || !absorbOnes(to, j, grouping.to))
    return std::nullopt;
  return grouping;
}

/// Which dims are not 1.
SmallVector<unsigned> properDims(const std::vector<Dim> &dims) {
  SmallVector<unsigned> proper;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!isOne(dim))
      proper.push_back(unsigned(i));
  return proper;
}

/// Drops the dims of the base that the map gives a constant 0: they have size
/// 1.
View withoutConstantDims(Lowering &lowering, View view) {
  SmallVector<ReassociationIndices> groups;
  SmallVector<AffineExpr> exprs;
  ReassociationIndices pending;
  for (auto [dim, expr] : llvm::enumerate(view.map.getResults())) {
    pending.push_back(int64_t(dim));
    if (!isa<AffineDimExpr>(expr))
      continue;
    exprs.push_back(expr);
    groups.push_back(std::move(pending));
    pending.clear();
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), pending);
  View result;
  result.base = lowering.collapse(view.base, groups);
  if (view.wide)
    result.wide = lowering.collapse(view.wide, groups);
  result.map = AffineMap::get(view.map.getNumDims(), 0, exprs,
                              lowering.builder.getContext());
  return result;
}

/// A reshape that only adds and removes dims of size 1 is a view.
std::optional<View> unitView(Lowering &lowering, View view,
                             const std::vector<Dim> &from,
                             const std::vector<Dim> &to) {
  SmallVector<unsigned> left = properDims(from), right = properDims(to);
  if (left.size() != right.size())
    return std::nullopt;
  MLIRContext *context = lowering.builder.getContext();
  SmallVector<AffineExpr> exprs(from.size(), getAffineConstantExpr(0, context));
  for (auto [a, b] : llvm::zip(left, right)) {
    if (!(from[a] == to[b]))
      return std::nullopt;
    exprs[a] = getAffineDimExpr(b, context);
  }
  auto insert = AffineMap::get(to.size(), 0, exprs, context);
  view.map = view.map.compose(insert);
  return withoutConstantDims(lowering, view);
}

} // namespace

Value Lowering::reshape(Value tensor, const std::vector<Dim> &from,
                        const std::vector<Dim> &to, const Sizes &sizes) {
  if (from == to)
    return tensor;
  if (auto grouping = group(from, to))
    return expand(collapse(tensor, grouping->from), sizes, grouping->to);
  SmallVector<ReassociationIndices> all, parts;
  if (!from.empty())
    all.push_back(range(0, from.size()));
  if (!to.empty())
    parts.push_back(range(0, to.size()));
  if (from.empty() || to.empty())
    return from.empty() ? expand(tensor, sizes, {}) : collapse(tensor, {});
  return expand(collapse(tensor, all), sizes, parts);
}

LogicalResult lower::lowerReshape(Lowering &lowering, ReshapeOp op) {
  View view = lowering.view(op.getX());
  if (view.isScalar()) {
    lowering.set(op.getResult(), view);
    return success();
  }
  std::vector<Dim> from = dimsOf(op.getX().getType());
  std::vector<Dim> to = dimsOf(op.getResult().getType());
  if (auto unit = unitView(lowering, view, from, to)) {
    lowering.set(op.getResult(), *unit);
    return success();
  }
  view = lowering.plainView(op.getX());
  Sizes sizes = lowering.sizes(op.getResult().getType());
  Value wide =
      view.wide ? lowering.reshape(view.wide, from, to, sizes) : Value();
  lowering.setTensor(op.getResult(),
                     lowering.reshape(view.base, from, to, sizes), wide);
  return success();
}

LogicalResult lower::lowerBroadcast(Lowering &lowering, BroadcastOp op) {
  View view = lowering.view(op.getX());
  if (view.isScalar()) {
    lowering.set(op.getResult(), view);
    return success();
  }
  MLIRContext *context = op.getContext();
  std::vector<Dim> from = dimsOf(op.getX().getType());
  std::vector<Dim> to = dimsOf(op.getResult().getType());
  SmallVector<AffineExpr> exprs;
  for (auto [dim, axis] : llvm::enumerate(op.getAxes()))
    exprs.push_back(isOne(from[dim]) && !isOne(to[size_t(axis)])
                        ? getAffineConstantExpr(0, context)
                        : getAffineDimExpr(unsigned(axis), context));
  view.map = view.map.compose(AffineMap::get(to.size(), 0, exprs, context));
  lowering.set(op.getResult(), withoutConstantDims(lowering, view));
  return success();
}

LogicalResult lower::lowerTranspose(Lowering &lowering, TransposeOp op) {
  View view = lowering.view(op.getX());
  if (!view.isScalar()) {
    SmallVector<unsigned> inverse(op.getPermutation().size());
    for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
      inverse[size_t(from)] = unsigned(dim);
    view.map = view.map.compose(
        AffineMap::getPermutationMap(inverse, op.getContext()));
  }
  lowering.set(op.getResult(), view);
  return success();
}
