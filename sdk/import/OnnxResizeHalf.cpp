// SPDX-License-Identifier: Apache-2.0
//
// Resize of axes to half their size: where results lie in the middle of two
// elements, they are means of windows, and all such axes are one pool.
#include "OnnxResize.h"

#include <cmath>

namespace backplane::frontend {

bool isMeanOfPairs(const ResizeMode &mode, const AxisPlan &plan) {
  std::optional<int64_t> from = plan.from.constant(), to = plan.to.constant();
  bool half = from && to && *to > 0 && *from == 2 * *to && plan.scale == 0.5f;
  bool middle = mode.coordinates == "half_pixel" ||
                mode.coordinates == "half_pixel_symmetric" ||
                (mode.coordinates == "pytorch_half_pixel" && half && *to > 1);
  return half && middle && mode.mode == "linear" && plan.axis >= 2;
}

ValueId meansOfPairs(Node &node, ValueId x, const std::vector<size_t> &axes) {
  if (axes.empty())
    return x;
  std::vector<int64_t> window(node.type(x).rank() - 2, 1);
  for (size_t axis : axes)
    window[axis - 2] = 2;
  std::vector<int64_t> ones(window.size(), 1), none(window.size(), 0);
  // Parts are added, as a sum of elements may be infinite.
  double share = std::ldexp(1.0, -static_cast<int>(axes.size()));
  ValueId part = node.op("mul", {x, node.fillLike(x, share)});
  return node.op("pool", {part},
                 {{"kind", std::string("sum")},
                  {"window", window},
                  {"strides", window},
                  {"dilations", ones},
                  {"low", none},
                  {"high", none}});
}

} // namespace backplane::frontend
