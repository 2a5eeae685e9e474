// SPDX-License-Identifier: Apache-2.0
//
// Windows of signals: sums of cosines over a number of samples.
#include "OnnxHandlers.h"

#include <cmath>
#include <numbers>

namespace backplane::frontend {

namespace {

constexpr int64_t maxSamples = int64_t(1) << 24;

/// Element n is a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), of a period of N.
void outWindow(Node &node, double a0, double a1, double a2) {
  std::vector<int64_t> size = node.requireIntegers(0, "size");
  bool isPeriodic = node.flag("periodic", true);
  DType dtype = node.dtype("output_datatype", DType::F32);
  if (!node.ok())
    return;
  if (size.size() != 1 || size[0] < 0)
    return node.reject("it needs one size that is not negative");
  double period = static_cast<double>(isPeriodic ? size[0] : size[0] - 1);
  if (size[0] > maxSamples || (size[0] == 1 && !isPeriodic))
    return node.refuse("a window of " + std::to_string(size[0]) +
                       " samples is not supported");
  auto bytes = std::make_shared<Bytes>(static_cast<size_t>(size[0]) * 8);
  auto *samples = reinterpret_cast<double *>(bytes->data());
  for (int64_t n = 0; n < size[0]; ++n) {
    double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
    samples[n] = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
  ValueId window = node.constant({DType::F64, size, {*bytes, bytes}});
  node.out(0, node.cast(window, dtype));
}

} // namespace

void onnxHannWindow(Node &node) { outWindow(node, 0.5, 0.5, 0); }

void onnxHammingWindow(Node &node) { outWindow(node, 25.0 / 46, 21.0 / 46, 0); }

void onnxBlackmanWindow(Node &node) { outWindow(node, 0.42, 0.5, 0.08); }

} // namespace backplane::frontend
