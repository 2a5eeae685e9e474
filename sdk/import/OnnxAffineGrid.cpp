// SPDX-License-Identifier: Apache-2.0
//
// AffineGrid: the positions of an evenly spaced grid in [-1, 1], each times a
// matrix.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

namespace backplane::frontend {

namespace {

class AffineGrid {
public:
  /// `space`: the sizes of the grid, the slowest first.
  AffineGrid(Node &node, Dims space)
      : node_(node), space_(std::move(space)),
        aligns_(node.flag("align_corners", false)) {}

  /// f32[N, space..., axes]
  ValueId grid() {
    size_t axes = space_.size();
    Dims dims = space_;
    dims.insert(dims.begin(), node_.inputType(0).dims[0]);
    dims.push_back(Dim(static_cast<int64_t>(axes)));
    ValueId sum = column(axes, dims);
    for (size_t i = 0; i < axes && node_.ok(); ++i) {
      // Coordinate x, the first one, belongs to the last axis.
      ValueId at =
          node_.along(coordinates(space_[axes - 1 - i]), axes - i, dims);
      sum = node_.op("add", {sum, node_.op("mul", {column(i, dims), at})});
    }
    return sum;
  }

private:
  /// A column of the matrices, repeated for each position.
  ValueId column(size_t index, const Dims &dims) {
    ValueId part = node_.part(node_.cast(node_.value(0), DType::F32), 2,
                              Dim(static_cast<int64_t>(index)), Dim(1));
    Dims narrow(dims.size(), Dim(1));
    narrow.front() = dims.front();
    narrow.back() = dims.back();
    return node_.broadcast(node_.reshape(part, narrow), dims);
  }

  /// Where the elements of an axis lie: from border to border, or each in the
  /// middle of its share.
  ValueId coordinates(const Dim &size) {
    Dims dims{size};
    ValueId at = node_.cast(node_.counter(dims, 0), DType::F32);
    ValueId twice = node_.op("add", {at, at}), one = node_.fillLike(at, 1);
    Dim parts = aligns_ ? max(size - Dim(1), Dim(1)) : size;
    if (!aligns_)
      twice = node_.op("add", {twice, one});
    ValueId share =
        node_.op("div", {twice, node_.fillDim(DType::F32, parts, dims)});
    return node_.op("sub", {share, one});
  }

  Node &node_;
  Dims space_;
  bool aligns_;
};

} // namespace

void onnxAffineGrid(Node &node) {
  const TensorType theta = node.inputType(0);
  node.requireKnown(1, "size");
  Dims size = node.ok() ? requireSizes(node, 1, "size") : Dims();
  if (!node.ok())
    return;
  Dims space(size.begin() + std::min<ptrdiff_t>(2, ptrdiff_t(size.size())),
             size.end());
  if (theta.rank() != 3 || space.size() < 2 || space.size() > 3 ||
      !isFloat(theta.dtype))
    return node.reject("it needs theta of rank 3 and a size of 4 or 5 numbers, "
                       "not " +
                       theta.str());
  Dim axes(static_cast<int64_t>(space.size()));
  node.require(theta.dims[0], size[0], "batches of theta and size");
  node.require(theta.dims[1], axes, "rows of theta");
  node.require(theta.dims[2], axes + Dim(1), "columns of theta");
  if (!node.ok())
    return;
  ValueId grid = AffineGrid(node, std::move(space)).grid();
  node.out(0, node.cast(grid, theta.dtype));
}

} // namespace backplane::frontend
