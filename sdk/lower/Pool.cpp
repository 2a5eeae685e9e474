// SPDX-License-Identifier: Apache-2.0
//
// Pools: linalg.generic with window loops.
#include "sdk/lower/Windows.h"

#include "sdk/dialect/Convert.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

namespace {

/// A pool over the last axes of an image that is padded already.
struct Pool {
  PoolOp op;
  Element element;
  Image image;
  std::vector<Dim> result;

  size_t axes() { return op.getWindow().size(); }
  size_t first() { return image.dims.size() - axes(); }
};

} // namespace

/// Work of a pool of one axis after the other as a share of that of all at
/// once: an axis that comes later is as long as the image is yet.
static double workByAxes(Pool pool) {
  double all = 1, separate = 0, longer = 1;
  for (size_t i = 0; i < pool.axes(); ++i) {
    auto window = double(pool.op.getWindow()[i]);
    auto from = pool.image.dims[pool.first() + i].constant();
    auto to = pool.result[pool.first() + i].constant();
    all *= window;
    separate += window * longer;
    longer *= from && to && *to > 0 ? double(*from) / double(*to)
                                    : double(pool.op.getStrides()[i]);
  }
  return separate / all;
}

/// Pools over `axes`, counted from the first that has a window, of an image
/// with results of `dims`.
static Value poolAxes(Lowering &lowering, Pool pool, Value image,
                      ArrayRef<int64_t> axes, const std::vector<Dim> &dims) {
  PoolOp op = pool.op;
  const Element &element = pool.element;
  LoopNest nest{op.getContext(), {}};
  Exprs at = nest.parallels(dims.size()), from = at, window;
  SmallVector<int64_t> shape;
  for (int64_t axis : axes) {
    window.push_back(nest.reduction());
    shape.push_back(op.getWindow()[axis]);
    AffineExpr &position = from[pool.first() + size_t(axis)];
    position = position * op.getStrides()[axis] +
               window.back() * op.getDilations()[axis];
  }
  Maps maps{nest.map(from), nest.map(window), nest.map(at)};
  Sizes sizes = lowering.sizes(DimsAttr::get(op.getContext(), dims));
  Value windowShape = lowering.empty(
      getAsIndexOpFoldResult(op.getContext(), shape), element.storage);
  Value start = lowering.filled(
      lowering.empty(sizes, element.compute),
      neutral(op.getKind(), element.compute, element.isUnsigned));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    bool stored = args[0].getType() == element.storage;
    Value value = stored ? load(inner, args[0], element) : args[0];
    return SmallVector<Value>{
        combine(inner, op.getKind(), args[2], value, element.isUnsigned)};
  };
  return lowering
      .generic({image, windowShape}, start, maps, nest.iterators, body)
      .getResult(0);
}

/// A large window is pooled along one axis after the other, the last one first.
static Value poolImage(Lowering &lowering, Pool pool) {
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(pool.axes())));
  if (workByAxes(pool) > 0.5)
    return poolAxes(lowering, pool, pool.image.tensor, all, pool.result);
  Value image = pool.image.tensor;
  std::vector<Dim> dims = pool.image.dims;
  for (int64_t axis : llvm::reverse(all)) {
    size_t dim = pool.first() + size_t(axis);
    dims[dim] = pool.result[dim];
    image = poolAxes(lowering, pool, image, axis, dims);
  }
  return image;
}

LogicalResult lower::lowerPool(Lowering &lowering, PoolOp op) {
  Type resultType = op.getResult().getType();
  Element element = elementOf(resultType);
  TypedAttr border = neutral(op.getKind(), element.storage, element.isUnsigned);
  std::vector<Dim> windowDims(op.getWindow().begin(), op.getWindow().end());
  Windows windows{windowDims, op.getStrides(), op.getDilations(), op.getLow(),
                  op.getHigh()};
  std::vector<Dim> result = dimsOf(resultType);
  Image operand{lowering.tensor(op.getX()), dimsOf(op.getX().getType())};
  Image image = windowedImage(lowering, operand, result, windows, border);
  lowering.setComputed(op.getResult(),
                       poolImage(lowering, {op, element, image, result}));
  return success();
}
