// SPDX-License-Identifier: Apache-2.0
#include "OnnxWindow.h"

#include <algorithm>

namespace backplane::frontend {

Attributes Window::attributes() const {
  return {{"strides", strides},
          {"dilations", dilations},
          {"low", low},
          {"high", high}};
}

namespace {

/// Keeps products of a kernel and a dilation within 64 bits.
constexpr int64_t kMaxEntry = int64_t(1) << 30;

void checkEntries(Node &node, std::string_view what,
                  const std::vector<int64_t> &entries, size_t count,
                  int64_t minimum) {
  if (entries.size() != count)
    node.reject("attribute '" + std::string(what) + "' has " +
                std::to_string(entries.size()) + " entries, but there are " +
                std::to_string(count) + " of them needed");
  for (int64_t entry : entries)
    if (entry < minimum || entry > kMaxEntry)
      node.reject("attribute '" + std::string(what) + "' has the entry " +
                  std::to_string(entry) + ", which is not in [" +
                  std::to_string(minimum) + ", 2^30]");
}

std::vector<int64_t> entriesOr(Node &node, std::string_view what, size_t count,
                               int64_t otherwise) {
  std::vector<int64_t> entries = node.i64s(what);
  if (!node.hasAttribute(what) || (entries.empty() && count == 0))
    entries.assign(count, otherwise);
  checkEntries(node, what, entries, count, 1);
  return entries;
}

} // namespace

Window readWindow(Node &node, std::vector<int64_t> kernel) {
  size_t count = kernel.size();
  Window window;
  window.autoPad = node.string("auto_pad", "NOTSET");
  checkEntries(node, "kernel_shape", kernel, count, 1);
  window.kernel = std::move(kernel);
  window.strides = entriesOr(node, "strides", count, 1);
  window.dilations = entriesOr(node, "dilations", count, 1);
  std::vector<int64_t> pads = node.i64s("pads");
  if (!node.hasAttribute("pads"))
    pads.assign(2 * count, 0);
  checkEntries(node, "pads", pads, 2 * count, 0);
  bool known = window.isSame() || window.autoPad == "NOTSET" ||
               window.autoPad == "VALID";
  if (!known || (window.isSame() && window.autoPad != "SAME_UPPER" &&
                 window.autoPad != "SAME_LOWER"))
    node.reject("attribute 'auto_pad' is '" + window.autoPad + "'");
  bool padded = std::any_of(pads.begin(), pads.end(),
                            [](int64_t pad) { return pad != 0; });
  if (padded && window.autoPad != "NOTSET")
    node.reject("it has both pads and auto_pad " + window.autoPad);
  if (!node.ok())
    return window;
  window.low.assign(pads.begin(), pads.begin() + count);
  window.high.assign(pads.begin() + count, pads.end());
  return window;
}

ValueId padSame(Node &node, Window &window, ValueId x, double padding) {
  TensorType type = node.type(x);
  if (!node.ok() || !window.isSame())
    return x;
  bool upper = window.autoPad == "SAME_UPPER";
  Dims low(2, Dim(0)), high(2, Dim(0));
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    Dim size = dimOf(type, i + 2), stride(window.strides[i]);
    Dim covered = (ceilDiv(size, stride) - Dim(1)) * stride;
    Dim total = max(covered + Dim(window.extent(i)) - size, Dim(0));
    // With stride 1 the size cancels out, but for an empty input.
    if (window.strides[i] == 1)
      total = Dim(window.extent(i) - 1);
    Dim small = floorDiv(total, Dim(2));
    low.push_back(upper ? small : total - small);
    high.push_back(upper ? total - small : small);
  }
  auto fixedLow = staticDims(low), fixedHigh = staticDims(high);
  if (fixedLow && fixedHigh) {
    window.low.assign(fixedLow->begin() + 2, fixedLow->end());
    window.high.assign(fixedHigh->begin() + 2, fixedHigh->end());
    return x;
  }
  ValueId element = node.fill(type.dtype, padding, {});
  return node.op("pad", {x, element}, {{"low", low}, {"high", high}});
}

} // namespace backplane::frontend
