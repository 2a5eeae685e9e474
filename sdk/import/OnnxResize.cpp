// SPDX-License-Identifier: Apache-2.0
//
// Resize: axis by axis, each result element is a weighted sum of one (nearest),
// two (linear) or four (cubic) elements. Here the positions and weights are
// known at import; those of symbolic axes are computed in
// OnnxResizeSymbolic.cpp.
#include "OnnxResize.h"

#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>
#include <cmath>

namespace backplane::frontend {

namespace {

/// A term of the sum: positions in the input and weights.
struct Tap {
  std::vector<int64_t> positions;
  std::vector<float> weights;
};

/// Whether it is Upsample, or Resize as it was in opset 10: like Upsample.
bool isUpsample(Node &node) { return node.opset() < 11; }

ResizeMode readMode(Node &node) {
  ResizeMode mode;
  mode.mode = node.string("mode", "nearest");
  if (isUpsample(node)) {
    mode.coordinates = "asymmetric";
    mode.nearest = "floor";
    if (mode.mode != "nearest" && mode.mode != "linear")
      node.refuse("mode '" + mode.mode + "' is not supported");
    return mode;
  }
  mode.coordinates =
      node.string("coordinate_transformation_mode", "half_pixel");
  mode.nearest = node.string("nearest_mode", "round_prefer_floor");
  mode.cubic = static_cast<float>(node.f64("cubic_coeff_a", -0.75));
  mode.excludeOutside = node.flag("exclude_outside", false);
  auto oneOf = [&](const std::string &value,
                   std::initializer_list<std::string_view> allowed) {
    if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      node.refuse("mode '" + value + "' is not supported");
  };
  oneOf(mode.mode, {"nearest", "linear", "cubic"});
  oneOf(mode.coordinates,
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
         "align_corners", "asymmetric"});
  oneOf(mode.nearest,
        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (node.flag("antialias", false))
    node.refuse("antialias is not supported");
  if (node.string("keep_aspect_ratio_policy", "stretch") != "stretch")
    node.refuse("only the aspect ratio policy 'stretch' is supported");
  return mode;
}

/// Where element `at` of the result lies in the input; f32, as runtimes do it.
float original(const ResizeMode &mode, const AxisPlan &plan, int64_t at,
               float from, float to) {
  float x = static_cast<float>(at);
  float half = (x + 0.5f) / plan.scale - 0.5f;
  if (mode.coordinates == "asymmetric")
    return x / plan.scale;
  if (mode.coordinates == "align_corners")
    return to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (mode.coordinates == "pytorch_half_pixel" && to <= 1)
    return 0;
  if (mode.coordinates == "half_pixel_symmetric")
    return from / 2 * (1 - to / plan.length) + half;
  return half;
}

int64_t nearest(const ResizeMode &mode, float x) {
  if (mode.nearest == "floor")
    return static_cast<int64_t>(std::floor(x));
  if (mode.nearest == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  bool down = mode.nearest == "round_prefer_floor";
  return static_cast<int64_t>(down ? std::ceil(x - 0.5f)
                                   : std::floor(x + 0.5f));
}

/// The element of an axis of `from` that result number `i` of `to` is.
int64_t nearestPosition(const ResizeMode &mode, const AxisPlan &plan, int64_t i,
                        int64_t from, int64_t to) {
  float x =
      original(mode, plan, i, static_cast<float>(from), static_cast<float>(to));
  return std::clamp<int64_t>(nearest(mode, x), 0, from - 1);
}

/// The weights of four neighbours for a distance of t from the second.
std::vector<float> cubicWeights(float a, float t) {
  auto near = [&](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

std::vector<Tap> tapsOf(const ResizeMode &mode, const AxisPlan &plan,
                        int64_t from, int64_t to) {
  size_t count = mode.mode == "nearest" ? 1 : mode.mode == "linear" ? 2 : 4;
  std::vector<Tap> taps(count);
  for (int64_t i = 0; i < to; ++i) {
    if (count == 1) {
      taps[0].positions.push_back(nearestPosition(mode, plan, i, from, to));
      continue;
    }
    float x = original(mode, plan, i, static_cast<float>(from),
                       static_cast<float>(to));
    int64_t first = static_cast<int64_t>(std::floor(x));
    float t = x - static_cast<float>(first);
    std::vector<float> weights;
    if (count == 2)
      weights = {1 - t, t};
    if (count == 4) {
      weights = cubicWeights(mode.cubic, t);
      first -= 1;
    }
    float sum = 0;
    for (size_t k = 0; k < count; ++k) {
      int64_t at = first + static_cast<int64_t>(k);
      if (mode.excludeOutside && count == 4 && (at < 0 || at >= from))
        weights[k] = 0;
      sum += weights[k];
      taps[k].positions.push_back(std::clamp<int64_t>(at, 0, from - 1));
    }
    for (size_t k = 0; k < count; ++k)
      taps[k].weights.push_back(mode.excludeOutside ? weights[k] / sum
                                                    : weights[k]);
  }
  return taps;
}

template <typename T>
HostTensor hostOf(DType type, const std::vector<T> &list) {
  auto bytes = std::make_shared<Bytes>(list.size() * sizeof(T));
  std::copy_n(reinterpret_cast<const uint8_t *>(list.data()), bytes->size(),
              bytes->data());
  return {type, {static_cast<int64_t>(list.size())}, {*bytes, bytes}};
}

/// An element times its weight along an axis; 0 where the weight is 0, so that
/// an infinity or NaN does not reach results that it has no part in.
ValueId weighted(Node &node, ValueId part, const std::vector<float> &weights,
                 int64_t axis) {
  ValueId factor =
      node.along(node.constant(hostOf(DType::F32, weights)),
                 static_cast<size_t>(axis), Dims(node.type(part).dims));
  ValueId product = node.op("mul", {part, factor});
  if (!std::count(weights.begin(), weights.end(), 0.0f))
    return product;
  ValueId zero = node.fillLike(factor, 0);
  return node.op("select", {node.compare("eq", factor, zero), zero, product});
}

ValueId resizeStatic(Node &node, ValueId x, const ResizeMode &mode,
                     const AxisPlan &plan) {
  int64_t from = *plan.from.constant(), to = *plan.to.constant();
  int64_t axis = static_cast<int64_t>(plan.axis);
  if (from == 0 || to > (int64_t(1) << 24)) {
    node.refuse("an empty axis, or one of more than 2^24 elements, is not "
                "supported");
    return kNone;
  }
  // What ONNX says here and what runtimes do differ.
  bool rounded = plan.length != static_cast<float>(to);
  if (rounded && (from == to || mode.coordinates == "align_corners")) {
    node.refuse("a scale that gives no whole size is not supported here");
    return kNone;
  }
  ValueId result = kNone;
  for (const Tap &tap : tapsOf(mode, plan, from, to)) {
    ValueId index = node.constant(hostOf(DType::I64, tap.positions));
    ValueId part = node.op("gather", {x, index}, {{"axis", axis}});
    if (mode.mode == "nearest" || !node.ok())
      return part;
    part = weighted(node, part, tap.weights, axis);
    result = result == kNone ? part : node.op("add", {result, part});
  }
  return result;
}

/// Whether element i of a symbolic axis is element i / factor of the input.
bool repeatsEach(const ResizeMode &mode, const AxisPlan &plan, int64_t factor) {
  if (mode.coordinates != "asymmetric" && mode.coordinates != "half_pixel")
    return false;
  for (int64_t i = 0; i < 8 * factor; ++i)
    if (std::max<int64_t>(nearest(mode, original(mode, plan, i, 0, 0)), 0) !=
        i / factor)
      return false;
  return true;
}

/// The same of an axis whose sizes are numbers.
bool repeatsEach(const ResizeMode &mode, const AxisPlan &plan, int64_t from,
                 int64_t to) {
  if (from == 0 || to % from != 0 || to > (int64_t(1) << 24) ||
      plan.length != static_cast<float>(to))
    return false;
  for (int64_t i = 0; i < to; ++i)
    if (nearestPosition(mode, plan, i, from, to) != i / (to / from))
      return false;
  return true;
}

/// How many times each element of the axis is there in a row; none: its result
/// is more than that.
std::optional<int64_t> repeatFactor(const ResizeMode &mode,
                                    const AxisPlan &plan) {
  if (mode.mode != "nearest")
    return std::nullopt;
  std::optional<int64_t> from = plan.from.constant(), to = plan.to.constant();
  if (from && to)
    return repeatsEach(mode, plan, *from, *to) ? std::optional(*to / *from)
                                               : std::nullopt;
  for (int64_t factor = 2; factor <= 64; ++factor)
    if (plan.to == plan.from * Dim(factor) && repeatsEach(mode, plan, factor))
      return factor;
  return std::nullopt;
}

/// Each element `factors[axis]` times in a row, along all axes at once.
ValueId repeat(Node &node, ValueId x, const std::vector<int64_t> &factors) {
  Dims dims = node.type(x).dims, wide;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(dims[i]);
    if (factors[i] != 1)
      wide.push_back(Dim(factors[i]));
    dims[i] = dims[i] * Dim(factors[i]);
  }
  if (wide.size() == dims.size())
    return x;
  ValueId repeated =
      node.op("broadcast", {x}, {{"dims", wide}, {"axes", axes}});
  return node.reshape(repeated, dims);
}

ValueId resizeAxis(Node &node, ValueId x, const ResizeMode &mode,
                   const AxisPlan &plan) {
  if (plan.from == plan.to && plan.scale == 1)
    return x;
  if (plan.from.constant() && plan.to.constant())
    return resizeStatic(node, x, mode, plan);
  return resizeSymbolic(node, x, mode, plan);
}

/// Resizes axis by axis, but at once all that only repeat elements, and all
/// that are means of pairs.
ValueId resizeAxes(Node &node, ValueId x, const ResizeMode &mode,
                   const std::vector<AxisPlan> &plans) {
  std::vector<int64_t> factors(node.type(x).rank(), 1);
  std::vector<AxisPlan> rest;
  std::vector<size_t> halves;
  for (const AxisPlan &plan : plans)
    if (isMeanOfPairs(mode, plan))
      halves.push_back(plan.axis);
    else if (std::optional<int64_t> factor = repeatFactor(mode, plan))
      factors[plan.axis] = *factor;
    else
      rest.push_back(plan);
  x = meansOfPairs(node, x, halves);
  for (const AxisPlan &plan : rest)
    if (node.ok())
      x = resizeAxis(node, x, mode, plan);
  return node.ok() ? repeat(node, x, factors) : kNone;
}

// ---- scales and sizes ----

/// An optional input that exporters leave out as an empty tensor.
bool isGiven(Node &node, size_t input) {
  return node.has(input) && node.inputType(input).dims != Dims{Dim(0)};
}

std::vector<size_t> readAxes(Node &node, size_t rank) {
  std::vector<size_t> axes;
  std::vector<int64_t> given = node.i64s("axes");
  node.axes(given, rank);
  for (int64_t axis : given)
    axes.push_back(node.axis(axis, rank));
  for (size_t i = 0; !node.hasAttribute("axes") && i < rank; ++i)
    axes.push_back(i);
  return axes;
}

std::optional<AxisPlan> planScale(Node &node, size_t axis, const Dim &from,
                                  double scale) {
  float narrow = static_cast<float>(scale);
  if (!(scale > 0 && scale < 1e6)) {
    node.reject("a scale must be positive and below 10^6");
    return std::nullopt;
  }
  if (std::optional<int64_t> size = from.constant()) {
    float length = static_cast<float>(*size) * narrow;
    if (*size > (1 << 24) || length > 1e9f) {
      node.refuse("the resized axis is too long");
      return std::nullopt;
    }
    return AxisPlan{axis, from, Dim(static_cast<int64_t>(std::floor(length))),
                    narrow, length};
  }
  // Such products are exact, in f32 too.
  for (int64_t parts = 1; parts <= 1024; parts *= 2)
    if (float factor = narrow * static_cast<float>(parts);
        factor == std::floor(factor)) {
      Dim length = from * Dim(static_cast<int64_t>(factor));
      return AxisPlan{axis,   from, floorDiv(length, Dim(parts)),
                      narrow, 0,    mod(length, Dim(parts))};
    }
  node.refuse("the scale of an axis with a symbolic size must be a fraction "
              "over a power of two, such as 0.75");
  return std::nullopt;
}

AxisPlan planSize(size_t axis, const Dim &from, const Dim &to) {
  AxisPlan plan{axis, from, to, 1, 0};
  std::optional<int64_t> a = from.constant(), b = to.constant();
  if (a && b && *a > 0)
    plan.scale = static_cast<float>(*b) / static_cast<float>(*a);
  if (!(a && b) && !(from == to))
    plan.scale = 0;
  for (int64_t factor = 2; !(a && b) && factor <= 64; ++factor)
    if (to == from * Dim(factor))
      plan.scale = static_cast<float>(factor);
  plan.length = b ? static_cast<float>(*b) : 0;
  return plan;
}

/// As many as there are axes.
std::vector<double> readScales(Node &node, size_t count) {
  std::vector<double> list;
  if (node.opset() < 9) {
    list = node.f64s("scales");
  } else {
    const NamedValue &scales = node.tensor(isUpsample(node) ? 1 : 2);
    if (!scales.host)
      node.refuse("its scales ('" + scales.name + "') are computed from data");
    for (size_t i = 0; node.ok() && i < scales.host->count(); ++i)
      list.push_back(numberAt(*scales.host, i).value_or(0));
  }
  if (node.ok() && list.size() != count)
    node.reject("it needs one scale per axis");
  return list;
}

std::vector<AxisPlan> readPlans(Node &node) {
  const Dims dims = node.inputType(0).dims;
  std::vector<size_t> axes = readAxes(node, dims.size());
  bool byScale = isUpsample(node) || isGiven(node, 2),
       bySize = !isUpsample(node) && isGiven(node, 3);
  if (node.ok() && byScale == bySize)
    node.reject("it needs either scales or sizes");
  if (!node.ok())
    return {};
  std::vector<AxisPlan> plans;
  if (bySize) {
    node.requireKnown(3, "sizes");
    Dims sizes = node.ok() ? requireSizes(node, 3, "sizes") : Dims();
    if (node.ok() && sizes.size() != axes.size())
      node.reject("it needs one size per axis");
    for (size_t i = 0; node.ok() && i < axes.size(); ++i)
      plans.push_back(planSize(axes[i], dims[axes[i]], sizes[i]));
    return plans;
  }
  std::vector<double> scales = readScales(node, axes.size());
  for (size_t i = 0; node.ok() && i < axes.size(); ++i)
    if (auto plan = planScale(node, axes[i], dims[axes[i]], scales[i]))
      plans.push_back(*plan);
  return plans;
}

} // namespace

void onnxResize(Node &node) {
  ResizeMode mode = readMode(node);
  std::vector<AxisPlan> plans = readPlans(node);
  DType dtype = node.inputType(0).dtype;
  if (node.ok() && mode.mode != "nearest" && !isFloat(dtype))
    node.refuse("mode '" + mode.mode + "' of " + node.inputType(0).str() +
                " is not supported");
  ValueId x = node.value(0);
  bool weighted = mode.mode != "nearest";
  if (weighted && dtype != DType::F32 && dtype != DType::F64)
    x = node.cast(x, DType::F32);
  if (weighted && dtype == DType::F64)
    node.refuse("mode '" + mode.mode + "' of f64 is not supported");
  if (node.ok())
    x = resizeAxes(node, x, mode, plans);
  node.out(0, node.cast(x, dtype));
}

} // namespace backplane::frontend
