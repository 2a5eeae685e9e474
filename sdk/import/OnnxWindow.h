// SPDX-License-Identifier: Apache-2.0
//
// OnnxWindow.h: the window attributes that convolutions and pools share.
#ifndef BACKPLANE_IMPORT_ONNXWINDOW_H
#define BACKPLANE_IMPORT_ONNXWINDOW_H

#include "Node.h"

namespace backplane::frontend {

/// One entry per spatial axis in each list.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, low, high;
  std::string autoPad; ///< NOTSET, VALID, SAME_UPPER or SAME_LOWER

  bool isSame() const { return autoPad.starts_with("SAME"); }
  /// Distance from the first to behind the last element.
  int64_t extent(size_t axis) const {
    return (kernel[axis] - 1) * dilations[axis] + 1;
  }
  /// strides, dilations, low and high.
  Attributes attributes() const;
};

/// Reads strides, dilations, pads and auto_pad for a window of this size.
/// `low` and `high` are the explicit pads; SAME is left to the caller.
Window readWindow(Node &node, std::vector<int64_t> kernel);

/// Sets the pads of SAME for an input x. Where a pad depends on a symbolic
/// size, x is padded with `padding` and the pads of the window stay 0.
ValueId padSame(Node &node, Window &window, ValueId x, double padding);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXWINDOW_H
