// SPDX-License-Identifier: Apache-2.0
//
// OnnxResize.h: what the files of Resize share.
#ifndef BACKPLANE_SDK_IMPORT_ONNXRESIZE_H
#define BACKPLANE_SDK_IMPORT_ONNXRESIZE_H

#include "Node.h"

namespace backplane::frontend {

struct ResizeMode {
  std::string mode, coordinates, nearest;
  float cubic = -0.75f;
  bool excludeOutside = false;
};

/// How one axis is resized.
struct AxisPlan {
  size_t axis = 0;
  Dim from, to;
  /// As ONNX defines it: to over from, or as given; 0: to over from, which only
  /// a call knows.
  float scale = 1;
  float length = 0; ///< from times scale, before it is rounded down
  Dim rest = 0;     ///< not 0 where that is no whole number; of a symbolic axis
};

/// Whether each element of the axis is the mean of two that no other has.
bool isMeanOfPairs(const ResizeMode &mode, const AxisPlan &plan);

/// Takes the mean of pairs along these axes.
ValueId meansOfPairs(Node &node, ValueId x, const std::vector<size_t> &axes);

/// Resizes an axis whose sizes are not both known at import: positions and
/// weights are computed by the call, in f32 with the steps of those that are.
ValueId resizeSymbolic(Node &node, ValueId x, const ResizeMode &mode,
                       const AxisPlan &plan);

} // namespace backplane::frontend

#endif // BACKPLANE_SDK_IMPORT_ONNXRESIZE_H
