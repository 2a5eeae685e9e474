// SPDX-License-Identifier: Apache-2.0
//
// Convolution.h: convolutions, transposed or not, once their image is padded.
// Internal.
#ifndef BACKPLANE_LOWER_CONVOLUTION_H
#define BACKPLANE_LOWER_CONVOLUTION_H

#include "sdk/lower/Windows.h"

namespace bp::lower {

/// What a convolution computes with: an image that is padded already, whose
/// channels may be split into groups, and a weight [o, c / groups, window…].
struct Convolution {
  Value image, weight;
  /// The weight with its outputs or inputs in blocks, as a `bp` value; null:
  /// there are none, else `weight` is null.
  Value blocks = {};
  /// Of the spatial axes of the image: 0 where an element was put in that is
  /// not to be multiplied; null: all are.
  Value presence = {};
  std::vector<backplane::Dim> weightDims, resultDims;
  SmallVector<int64_t> strides, dilations;
  int64_t groups;
  Element element;

  size_t spatial() const { return strides.size(); }
  backplane::Dim outputs() const {
    return floorDiv(resultDims[1], backplane::Dim(groups));
  }
  backplane::Dim inputs() const { return weightDims[1]; }
  bool isDepthwise() const {
    return groups > 1 && inputs() == backplane::Dim(1) &&
           outputs() == backplane::Dim(1);
  }
};

/// The tensor of the dims `from` under the dims `to`.
Value reshaped(Lowering &lowering, Value tensor,
               const std::vector<backplane::Dim> &from,
               const std::vector<backplane::Dim> &to);

/// Splits the channels of an image [n, c, spatial…] where the groups need it.
Image splitImage(Lowering &lowering, const Convolution &c, Image image);

/// The result; of 16 bits it is not rounded yet.
Value convolve(Lowering &lowering, const Convolution &c);

} // namespace bp::lower

#endif // BACKPLANE_LOWER_CONVOLUTION_H
