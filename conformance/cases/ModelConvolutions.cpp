// SPDX-License-Identifier: Apache-2.0
//
// Convolutions at sizes that models have: the geometries of the table, dilated,
// grouped and depthwise ones, one to three dimensions, transposed ones, those
// of small integers, and with what models put after them.
#include "Geometry.h"
#include "LargeBuilder.h"
#include "ModelSizes.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

constexpr const char *spatialNames[] = {"h", "w", "d"};
/// Most pixels along an axis, by the number of axes.
constexpr int64_t maxPixels[] = {3000, 224, 56};

struct Window {
  std::string name;
  Sizes window, strides, dilations;
  int64_t groups = 1; ///< -1: as many as channels
  bool isTransposed = false;
  std::vector<KnownSizes> known;
};

std::string joined(const Sizes &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Window windowOf(Sizes window, Sizes strides, int64_t groups,
                int64_t dilation = 1) {
  Window result{"models-" + joined(window),
                std::move(window),
                std::move(strides),
                {},
                groups,
                false,
                {}};
  result.dilations.assign(result.window.size(), dilation);
  if (result.strides[0] > 1)
    result.name += "-stride" + std::to_string(result.strides[0]);
  if (dilation > 1)
    result.name += "-dilated" + std::to_string(dilation);
  if (groups == -1)
    result.name += "-depthwise";
  else if (groups > 1)
    result.name += "-groups" + std::to_string(groups);
  return result;
}

/// The geometries of the table with all sizes that it has for them, and others.
std::vector<Window> windows() {
  std::vector<Window> all;
  auto add = [&](Window window) -> Window & {
    auto found = std::ranges::find(all, window.name, &Window::name);
    return found != all.end() ? *found : all.emplace_back(std::move(window));
  };
  for (const KnownWindow &known : knownWindows())
    add(windowOf(known.window, known.strides, known.groups))
        .known.push_back({known.name, known.values});
  add(windowOf({3, 3}, {1, 1}, 1, 2));
  add(windowOf({1, 7}, {1, 1}, 1));
  add(windowOf({3}, {1}, -1));
  add(windowOf({1, 1, 1}, {1, 1, 1}, 1));
  return all;
}

std::vector<Window> transposes() {
  std::vector<Window> all = {
      windowOf({2, 2}, {2, 2}, 1),       windowOf({4, 4}, {2, 2}, 1),
      windowOf({3, 3}, {1, 1}, 1),       windowOf({4}, {2}, 1),
      windowOf({2, 2, 2}, {2, 2, 2}, 1), windowOf({4, 4}, {2, 2}, -1)};
  for (Window &window : all)
    window.isTransposed = true;
  return all;
}

/// Half of the window before and after an axis; none where windows do not
/// overlap.
Geometry geometryOf(const Window &window) {
  Geometry geometry(window.name,
                    {window.window, window.strides, window.dilations, {}, {}});
  for (size_t i = 0; i < window.window.size(); ++i) {
    int64_t span = (window.window[i] - 1) * window.dilations[i];
    bool isPatch = window.strides[i] >= window.window[i];
    geometry.low.push_back(isPatch ? 0 : span / 2);
    geometry.high.push_back(isPatch ? 0 : span - span / 2);
  }
  return geometry;
}

/// Channels of a graph; those of groups are numbers.
struct Channels {
  Dim in, out;
  int64_t groups;
};

Channels channelsOf(const Window &window, const SizeOf &size) {
  Dim c = size("c");
  if (window.groups == -1)
    return {c, c, c.constant().value_or(1)};
  return {c, size("o"), window.groups};
}

Dims weightDims(const Window &window, const Channels &channels) {
  // Divides numbers, or symbols by 1.
  auto perGroup = [&](const Dim &dim) {
    return channels.groups == 1 ? dim : floorDiv(dim, Dim(channels.groups));
  };
  Dims dims = window.isTransposed ? Dims{channels.in, perGroup(channels.out)}
                                  : Dims{channels.out, perGroup(channels.in)};
  dims.insert(dims.end(), window.window.begin(), window.window.end());
  return dims;
}

struct Operands {
  Dims x, w;
  InputRule rule;
  Attributes attributes;
  Dim out;
};

Operands operandsOf(const Window &window, const SizeOf &size) {
  Channels channels = channelsOf(window, size);
  Operands operands{{size("n"), channels.in},
                    weightDims(window, channels),
                    {},
                    attributesOf(geometryOf(window)),
                    channels.out};
  for (size_t i = 0; i < window.window.size(); ++i)
    operands.x.push_back(size(spatialNames[i]));
  operands.attributes["groups"] = channels.groups;
  if (window.isTransposed)
    operands.attributes["output_padding"] = Sizes(window.window.size(), 0);
  Dim terms = window.isTransposed ? operands.w[0] : operands.w[1];
  for (int64_t taps : window.window)
    terms = terms * Dim(taps);
  operands.rule.terms = terms;
  return operands;
}

/// Everything but what the graph does.
LargeGraph familyOf(const char *op, DType dtype, const Window &window) {
  LargeGraph graph{
      .op = op,
      .dtype = dtype,
      .variant = window.name,
      .tags = {"size", "index", "tail", "last-k", "kernel-flip", "accumulate"},
      .axes = {{"n", 1, 32}},
      .repeated = {"n"},
      .build = {}};
  int64_t most = window.groups == -1 ? 1536 : 2048;
  int64_t groups = std::max<int64_t>(window.groups, 1);
  bool isPatch = window.strides[0] > 2;
  graph.axes.push_back({"c", groups, isPatch ? 16 : most, groups});
  if (window.groups != -1)
    graph.axes.push_back({"o", groups, most, groups});
  if (window.groups == 1)
    graph.repeated.emplace_back("o");
  else
    graph.numbers = {"c"};
  if (window.groups > 1)
    graph.numbers.emplace_back("o");
  for (size_t i = 0; i < window.window.size(); ++i)
    graph.axes.push_back({spatialNames[i], window.window[i],
                          maxPixels[window.window.size() - 1]});
  for (const KnownSizes &known : window.known) {
    KnownSizes sizes = known;
    if (window.groups == -1)
      sizes.values.erase("o");
    graph.known.push_back(std::move(sizes));
  }
  return graph;
}

LargeGraph convolutionOf(DType dtype, const Window &window) {
  const char *op = window.isTransposed ? "conv_transpose" : "conv";
  LargeGraph graph = familyOf(op, dtype, window);
  graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
    Operands operands = operandsOf(window, size);
    ValueId x = builder.input(dtype, operands.x, operands.rule);
    ValueId w = builder.input(dtype, operands.w, operands.rule);
    builder.output(builder.add(op, {x, w}, operands.attributes));
  };
  graph.weights = {1};
  graph.isProduct = isFloat(dtype) || bitWidth(dtype) >= 32;
  return graph;
}

LargeGraph integersOf(DType x, DType w, const Window &window) {
  LargeGraph graph = familyOf("conv_integer", x, window);
  graph.variant += "-" + std::string(name(w));
  graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
    Operands operands = operandsOf(window, size);
    std::vector<ValueId> values = {builder.input(x, operands.x, operands.rule),
                                   builder.input(w, operands.w, operands.rule),
                                   builder.input(x, {}),
                                   builder.input(w, {operands.out})};
    builder.output(builder.add("conv_integer", values, operands.attributes));
  };
  graph.weights = {1, 3};
  graph.isProduct = true;
  graph.dataSet = "bits";
  return graph;
}

/// A convolution with a bias per channel, then a residual or an activation.
LargeGraph fusedOf(DType dtype, const Window &window, const char *behind) {
  LargeGraph graph = familyOf("conv", dtype, window);
  graph.variant += std::string("-bias-") + behind;
  graph.known.clear();
  graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
    Operands operands = operandsOf(window, size);
    ValueId x = builder.input(dtype, operands.x, operands.rule);
    ValueId w = builder.input(dtype, operands.w, operands.rule);
    ValueId bias = builder.input(dtype, {operands.out});
    ValueId y = builder.add("conv", {x, w}, operands.attributes);
    Dims dims = builder.graph().type(y).dims;
    y = builder.add("add",
                    {y, builder.add("broadcast", {bias},
                                    {{"dims", dims}, {"axes", Sizes{1}}})});
    if (behind == std::string_view("residual"))
      y = builder.add("relu",
                      {builder.add("add", {y, builder.input(dtype, dims)})});
    else
      y = builder.add(behind, {y});
    builder.output(y);
  };
  graph.weights = {1, 2};
  graph.slots = 6;
  return graph;
}

void putAll(const Sink &sink, DType dtype, bool isTransposed) {
  bool isMain = dtype == DType::F32;
  for (const Window &window : isTransposed ? transposes() : windows()) {
    bool isUsual = window.window.size() == 2 &&
                   (window.window == Sizes{3, 3} ||
                    window.window == Sizes{1, 1} || isTransposed);
    if (!isMain && (!isUsual || window.dilations[0] > 1))
      continue;
    LargeGraph graph = convolutionOf(dtype, window);
    graph.isLargest =
        isFloat(dtype) && !isTransposed && window.name == "models-3x3";
    if (!isMain) {
      graph.share = isFloat(dtype) ? 0.06 : 0.01;
      graph.known.clear();
      graph.slots = isFloat(dtype) ? 8 : 2;
    }
    // Devices take ten times as long for them, as they gather.
    if (isTransposed)
      graph.share /= 10;
    if (!graph.numbers.empty())
      graph.slots = isMain ? 6 : 2;
    if (!isFloat(dtype))
      graph.weights.clear();
    makeLarge(sink, graph);
  }
}

void putIntegers(const Sink &sink) {
  for (DType x : {DType::I8, DType::U8})
    for (const Window &window :
         {windowOf({3, 3}, {1, 1}, 1), windowOf({1, 1}, {1, 1}, 1),
          windowOf({3, 3}, {2, 2}, -1)}) {
      LargeGraph graph = integersOf(x, DType::I8, window);
      graph.slots = 6;
      makeLarge(sink, graph);
    }
}

} // namespace

void makeModelConvolutions(const Sink &sink) {
  for (bool isTransposed : {false, true})
    for (DType dtype : dtypesOf("conv"))
      putAll(sink, dtype, isTransposed);
  for (DType dtype : {DType::F32, DType::F16})
    for (const char *behind : {"relu", "silu", "residual"})
      for (const Window &window :
           {windowOf({3, 3}, {1, 1}, 1), windowOf({1, 1}, {1, 1}, 1),
            windowOf({3, 3}, {1, 1}, -1)})
        makeLarge(sink, fusedOf(dtype, window, behind));
  putIntegers(sink);
}

} // namespace backplane::conformance
