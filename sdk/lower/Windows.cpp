// SPDX-License-Identifier: Apache-2.0
#include "sdk/lower/Windows.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

Exprs lower::windowed(const Exprs &positions, const Exprs &window,
                      ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations) {
  Exprs exprs;
  for (auto [position, element, stride, dilation] :
       llvm::zip(positions, window, strides, dilations))
    exprs.push_back(position * stride + element * dilation);
  return exprs;
}

Exprs lower::joined(std::initializer_list<Exprs> lists) {
  Exprs all;
  for (const Exprs &list : lists)
    llvm::append_range(all, list);
  return all;
}

AffineExpr lower::joinedIndex(const Exprs &parts, const backplane::Dim &last) {
  if (parts.size() == 1)
    return parts.front();
  return parts.front() * *last.constant() + parts.back();
}

SmallVector<int64_t> lower::forAllAxes(ArrayRef<int64_t> spatial, size_t rank) {
  SmallVector<int64_t> all(rank - spatial.size(), 0);
  llvm::append_range(all, spatial);
  return all;
}

Image lower::windowedImage(Lowering &lowering, Image image,
                           ArrayRef<Dim> result, const Windows &w,
                           TypedAttr border) {
  size_t first = image.dims.size() - w.sizes.size();
  ArrayRef<Dim> positions = result.take_back(w.sizes.size());
  SmallVector<int64_t> high(w.high);
  bool crops = false;
  for (size_t i = 0; i < w.sizes.size(); ++i) {
    Dim used = (positions[i] - 1) * Dim(w.strides[i]) +
               (w.sizes[i] - 1) * Dim(w.dilations[i]) + 1;
    Dim &size = image.dims[first + i];
    Dim whole = size + Dim(w.low[i]) + Dim(high[i]);
    int64_t surplus =
        std::max<int64_t>((whole - used).constant().value_or(0), 0);
    int64_t cut = std::min(surplus, high[i]);
    high[i] -= cut;
    bool cropsAxis = surplus > cut && positions[i] == Dim(1);
    size = cropsAxis ? used : whole - Dim(cut);
    crops |= cropsAxis;
  }
  size_t rank = image.dims.size();
  image.tensor = lowering.padded(image.tensor, forAllAxes(w.low, rank),
                                 forAllAxes(high, rank), border);
  if (!crops)
    return image;
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes zeros(rank, builder.getIndexAttr(0));
  Sizes ones(rank, builder.getIndexAttr(1));
  Sizes sizes = lowering.sizes(DimsAttr::get(builder.getContext(), image.dims));
  image.tensor =
      tensor::ExtractSliceOp::create(builder, image.tensor, zeros, sizes, ones);
  return image;
}
