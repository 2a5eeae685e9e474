// SPDX-License-Identifier: Apache-2.0
//
// MaxPool, AveragePool and the global pools.
#include "OnnxHandlers.h"
#include "OnnxWindow.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace backplane::frontend {

namespace {

/// Refuses what the text of ONNX and its implementations see differently.
void refuseAmbiguous(Node &node, const Window &window, ValueId x) {
  bool ceils = node.flag("ceil_mode", false);
  for (size_t i = 0; node.ok() && i < window.kernel.size(); ++i) {
    if (window.isSame() && window.dilations[i] != 1)
      node.refuse("auto_pad SAME with dilations is not supported");
    if (window.isSame() && window.extent(i) < window.strides[i])
      node.refuse("auto_pad SAME with a stride above the kernel's size is not "
                  "supported");
    std::optional<int64_t> size = dimOf(node.type(x), i + 2).constant();
    bool exact = window.strides[i] == 1 ||
                 (size && (*size - window.extent(i)) % window.strides[i] == 0);
    if (window.autoPad == "VALID" && ceils && !exact)
      node.refuse("auto_pad VALID with ceil_mode is not supported");
  }
}

/// The window, for an input with as many spatial axes as the kernel.
Window readPool(Node &node, ValueId x) {
  std::vector<int64_t> kernel = node.i64s("kernel_shape");
  size_t rank = node.type(x).rank();
  if (node.ok() && (rank < 3 || kernel.size() != rank - 2))
    node.reject("kernel_shape has " + std::to_string(kernel.size()) +
                " entries for the input " + node.type(x).str());
  Window window = readWindow(node, std::move(kernel));
  refuseAmbiguous(node, window, x);
  return window;
}

/// What ceil_mode adds behind each axis, so that a last, partial window is
/// counted; windows that would start behind the input are not.
std::vector<int64_t> ceilExtra(Node &node, const Window &window, ValueId x) {
  std::vector<int64_t> extra(window.kernel.size(), 0);
  if (!node.flag("ceil_mode", false) || !node.ok() ||
      window.autoPad != "NOTSET")
    return extra;
  for (size_t i = 0; i < extra.size(); ++i) {
    int64_t stride = window.strides[i];
    std::optional<int64_t> size = dimOf(node.type(x), i + 2).constant();
    if (!size && stride != 1) {
      node.refuse("ceil_mode with a symbolic input size is not supported");
      return extra;
    }
    int64_t padded = size.value_or(0) + window.low[i] + window.high[i];
    int64_t span = padded - window.extent(i);
    if (size && span < 0)
      node.refuse("ceil_mode with a window above the input's size is not "
                  "supported");
    if (!node.ok() || !size || span % stride == 0)
      continue;
    int64_t last = (span / stride + 1) * stride;
    if (last < *size + window.low[i])
      extra[i] = last + window.extent(i) - padded;
  }
  return extra;
}

void grow(std::vector<int64_t> &list, const std::vector<int64_t> &by) {
  for (size_t i = 0; i < list.size() && i < by.size(); ++i)
    list[i] += by[i];
}

double lowest(DType type) {
  if (isFloat(type))
    return -HUGE_VAL;
  return isSignedInteger(type) ? -std::ldexp(1.0, int(bitWidth(type)) - 1) : 0;
}

} // namespace

void onnxMaxPool(Node &node) {
  int64_t order = node.i64("storage_order", 0);
  if (order != 0 && order != 1)
    node.reject("attribute 'storage_order' is " + std::to_string(order));
  ValueId x = node.value(0);
  Window window = readPool(node, x);
  if (!node.ok())
    return;
  grow(window.high, ceilExtra(node, window, x));
  x = padSame(node, window, x, lowest(node.type(x).dtype));
  Attributes attributes = window.attributes();
  attributes["kind"] = std::string("max");
  attributes["window"] = window.kernel;
  node.out(0, node.op("pool", {x}, std::move(attributes)));
}

void onnxAveragePool(Node &node) {
  bool counts = node.flag("count_include_pad", false);
  ValueId x = node.value(0);
  Window window = readPool(node, x);
  if (!node.ok())
    return;
  std::vector<int64_t> extra = ceilExtra(node, window, x);
  ValueId padded = padSame(node, window, x, 0);
  if (padded != x)
    return node.refuse("auto_pad SAME with a symbolic size is not supported");
  bool ragged = std::any_of(extra.begin(), extra.end(),
                            [](int64_t each) { return each != 0; });
  if (counts && ragged && node.ok()) {
    // Only the declared padding counts, not what ceil_mode adds.
    Dims low(2, Dim(0)), high(2, Dim(0));
    low.insert(low.end(), window.low.begin(), window.low.end());
    high.insert(high.end(), window.high.begin(), window.high.end());
    ValueId zero = node.fill(node.type(x).dtype, 0, {});
    x = node.op("pad", {x, zero}, {{"low", low}, {"high", high}});
    window.low.assign(window.low.size(), 0);
    window.high = window.low;
    counts = false;
  }
  grow(window.high, extra);
  Attributes attributes = window.attributes();
  attributes["window"] = window.kernel;
  attributes["count_padding"] = static_cast<int64_t>(counts);
  node.out(0, node.op("avg_pool", {x}, std::move(attributes)));
}

// ---- LpPool, GlobalLpPool ----

namespace {

int64_t readPower(Node &node) {
  int64_t p = node.i64("p", 2);
  if (p < 1)
    node.reject("attribute 'p' is " + std::to_string(p));
  return p;
}

ValueId sizeToThe(Node &node, ValueId x, int64_t p) {
  if (p == 1)
    return node.op("abs", {x});
  if (p == 2)
    return node.op("mul", {x, x});
  ValueId size = node.op("abs", {x});
  return node.op("pow", {size, node.fillLike(size, static_cast<double>(p))});
}

ValueId rootOf(Node &node, ValueId x, int64_t p) {
  if (p == 1)
    return x;
  if (p == 2)
    return node.op("sqrt", {x});
  return node.op("pow", {x, node.fillLike(x, 1 / static_cast<double>(p))});
}

} // namespace

void onnxLpPool(Node &node) {
  int64_t p = readPower(node);
  node.roundOnce();
  ValueId x = node.value(0);
  Window window = readPool(node, x);
  if (!node.ok())
    return;
  grow(window.high, ceilExtra(node, window, x));
  x = padSame(node, window, x, 0);
  Attributes attributes = window.attributes();
  attributes["kind"] = std::string("sum");
  attributes["window"] = window.kernel;
  ValueId sum = node.op("pool", {sizeToThe(node, x, p)}, std::move(attributes));
  node.out(0, rootOf(node, sum, p));
}

/// All but the first two.
static std::vector<int64_t> spatialAxes(Node &node, ValueId x) {
  std::vector<int64_t> axes(node.type(x).rank() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

void onnxGlobalLpPool(Node &node) {
  int64_t p = readPower(node);
  node.roundOnce();
  ValueId x = node.value(0);
  if (!node.requireRank(x, 3))
    return;
  std::vector<int64_t> axes = spatialAxes(node, x);
  ValueId sum = node.reduce("sum", sizeToThe(node, x, p), axes, true);
  node.out(0, rootOf(node, sum, p));
}

void onnxGlobalPool(Node &node) {
  if (node.target() != "max")
    node.roundOnce();
  ValueId x = node.value(0);
  if (!node.requireRank(x, 3))
    return;
  std::vector<int64_t> axes = spatialAxes(node, x);
  node.out(0, node.target() == "max" ? node.reduce("max", x, axes, true)
                                     : node.mean(x, axes, true));
}

} // namespace backplane::frontend
