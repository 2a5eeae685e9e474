// SPDX-License-Identifier: Apache-2.0
//
// Windows.h: loops over windows of an image, for convolutions and pools.
// Internal.
#ifndef BACKPLANE_LOWER_WINDOWS_H
#define BACKPLANE_LOWER_WINDOWS_H

#include "sdk/lower/Lowering.h"

namespace bp::lower {

using Exprs = SmallVector<AffineExpr>;

/// Gives loops their numbers, in the order in which they are asked for.
struct LoopNest {
  MLIRContext *context;
  Iterators iterators;

  AffineExpr add(utils::IteratorType kind) {
    iterators.push_back(kind);
    return getAffineDimExpr(iterators.size() - 1, context);
  }
  AffineExpr parallel() { return add(utils::IteratorType::parallel); }
  AffineExpr reduction() { return add(utils::IteratorType::reduction); }
  Exprs parallels(size_t count) {
    Exprs exprs;
    for (size_t i = 0; i < count; ++i)
      exprs.push_back(parallel());
    return exprs;
  }
  Exprs reductions(size_t count) {
    Exprs exprs;
    for (size_t i = 0; i < count; ++i)
      exprs.push_back(reduction());
    return exprs;
  }
  AffineMap map(const Exprs &exprs) const {
    return AffineMap::get(iterators.size(), 0, exprs, context);
  }
};

/// Where the window elements lie: position * stride + element * dilation.
Exprs windowed(const Exprs &positions, const Exprs &window,
               ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations);

Exprs joined(std::initializer_list<Exprs> lists);

/// The index of an axis that has one part, or two of which the last has this
/// size.
AffineExpr joinedIndex(const Exprs &parts, const backplane::Dim &last);

/// With zeros for the axes before the spatial ones.
SmallVector<int64_t> forAllAxes(ArrayRef<int64_t> spatial, size_t rank);

/// How windows lie on an image.
struct Windows {
  std::vector<backplane::Dim> sizes;
  ArrayRef<int64_t> strides, dilations, low, high;
};

/// An image and its dims, the spatial ones last.
struct Image {
  Value tensor;
  std::vector<backplane::Dim> dims;
};

/// The image with its padding, no further than the last window reaches. An axis
/// with one window has no elements behind it: without its loop the sizes must
/// agree.
Image windowedImage(Lowering &lowering, Image image,
                    ArrayRef<backplane::Dim> result, const Windows &w,
                    TypedAttr border);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_WINDOWS_H
