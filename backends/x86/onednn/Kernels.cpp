// SPDX-License-Identifier: Apache-2.0
#include "Kernels.h"
#include "Work.h"

namespace backplane::onednn {
namespace {

constexpr const char *target = "x86-64-v*";

/// Attributes of a convolution, which a text has as numbers.
struct Geometry {
  int stride, dilation, low, high;
  /// Percent of the time of generated code, as measure.py finds them.
  const char *percent;
};

constexpr Geometry geometries[] = {
    {1, 1, 0, 0, "160"},
    {1, 1, 1, 1, "105"},
    // Of 5 by 5 elements and 64 channels.
    {1, 1, 2, 2,
     "select(equal(min(c, 64) + min(o, 64), 128) * equal(kh, 5) * equal(kw, "
     "5), "
     "96, 110)"},
    {1, 1, 3, 3, "110"},
    {1, 2, 2, 2, "120"},
    {1, 4, 4, 4, "120"},
    {2, 1, 0, 0, "160"},
    {2, 1, 0, 1, "120"},
    {2, 1, 1, 1, "120"},
    {2, 1, 3, 3, "109"},
};
/// Less than that of generated code from 64 rows, 256 terms and columns on.
constexpr const char *linearPercent =
    "select(equal(min(m, 64) + min(k, 256) + min(n, 256), 576), 92, 130)";

/// What a kernel costs that takes this percentage of generated code.
std::string costOf(const std::string &percent) {
  return "generated * (" + percent + ") floordiv 100";
}

/// Puts values in the place of $NAME.
std::string fill(std::string text,
                 const std::vector<std::pair<std::string, std::string>> &all) {
  for (const auto &[name, value] : all)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

/// What expressions over the symbols of a convolution are called here.
std::vector<std::pair<std::string, std::string>> namesOf(const Geometry &g,
                                                         bool relu) {
  auto number = [](int value) { return std::to_string(value); };
  const std::string suffix = relu ? "_relu" : "";
  // Names that hold others come first.
  return {
      {"NAME", "conv_s$S_d$D_p$L_$H" + suffix},
      {"GRID", "($OH ceildiv $ROWS)"},
      {"ROWS",
       "max(1, $OH ceildiv max(1, $OH ceildiv max(1, min($OH, 65536 floordiv "
       "max(1, c * $WIDE * $S + $OW * (o floordiv $CHUNKS))))))"},
      {"CHUNKS", "max(1, less($OH * $OW, 257) * equal(o mod "
                 "128, 0) * (o floordiv 128))"},
      {"WIDE", "(($OW - 1) * $S + $D * (kw - 1) + 1)"},
      {"OH", "((h + $L + $H - $D * (kh - 1) - 1) floordiv $S + 1)"},
      {"OW", "((w + $L + $H - $D * (kw - 1) - 1) floordiv $S + 1)"},
      {"RELU", relu ? "1" : "0"},
      {"S", number(g.stride)},
      {"D", number(g.dilation)},
      {"L", number(g.low)},
      {"H", number(g.high)},
  };
}

constexpr const char *convolutionText =
    R"(kernel $NAME version 1
where c >= 1, o >= 1, h >= 1, w >= 1, kh >= 1, kw >= 1,
  h + $L + $H > $D * (kh - 1), w + $L + $H > $D * (kw - 1)
{
  symbol n, c, h, w, o, kh, kw
  %x = input f32[n, c, h, w]
  %w = input f32[o, c, kh, kw]
  %b = optional input f32[o]
  %r = optional input f32[n, o, $OH, $OW]
  %p = conv(%x, %w) {strides = [$S, $S], dilations = [$D, $D], low = [$L, $L], high = [$H, $H], groups = 1}
  %bs = broadcast(%b) {dims = [n, o, $OH, $OW], axes = [1]}
  %s = add(%p, %bs)
  %y = add(%s, %r)
  $LAST
})";

constexpr const char *linearText =
    R"(kernel linear$SUFFIX version 1
where k >= 1, n >= 1
{
  symbol m, k, n
  %x = input f32[m, k]
  %w = input f32[k, n]
  %b = optional input f32[n]
  %p = matmul(%x, %w)
  %bs = broadcast(%b) {dims = [m, n], axes = [1]}
  %s = add(%p, %bs)
  $LAST
})";

/// The last op of a text, or what was in front of it.
std::string lastOf(const char *value, bool relu) {
  return relu ? std::string("%z = relu(") + value + ")\n  output %z"
              : std::string("output ") + value;
}

plugin::Launch launchOf(const char *name, size_t inputs,
                        std::vector<plugin::LaunchBinding> bindings,
                        std::vector<std::string> parameters) {
  plugin::Launch launch;
  launch.name = name;
  launch.access.assign(inputs, BP_ACCESS_READ);
  launch.access.push_back(BP_ACCESS_WRITE);
  launch.bindings = std::move(bindings);
  launch.parameters = std::move(parameters);
  return launch;
}

Status describeConvolution(const plugin::KernelSink &sink, const Geometry &g,
                           bool relu) {
  auto filled = [&, names = namesOf(g, relu)](std::string text) {
    return fill(std::move(text), names);
  };
  std::vector<std::string> parameters;
  for (const char *each :
       {"c", "h", "w", "o", "kh", "kw", "$OH", "$OW", "$S", "$D", "$L", "$ROWS",
        "$CHUNKS", "has_b", "has_r", "$RELU"})
    parameters.push_back(filled(each));
  const std::string bytes =
      filled("4 * $CHUNKS * (o floordiv $CHUNKS + 63) * (c + 15) * kh * kw");
  plugin::Compiled body;
  body.initLaunches = {launchOf("pack_convolution", 1,
                                {{1}, {BP_LAUNCH_PERSISTENT, "0", bytes}},
                                parameters)};
  body.initLaunches[0].grid[0] = filled("$CHUNKS");
  body.launches = {launchOf("convolution", 4,
                            {{0}, {BP_LAUNCH_PERSISTENT}, {2}, {3}, {4}},
                            parameters)};
  body.launches[0].grid = {filled("$GRID"), filled("$CHUNKS"), "n"};
  std::string text = convolutionText;
  text.replace(text.find("$LAST"), 5, lastOf("%y", relu));
  return sink.put(filled(text), target, body, costOf(g.percent));
}

Status describeLinear(const plugin::KernelSink &sink, bool relu) {
  const std::string chunks = "max(1, equal(n mod 512, 0) * (n floordiv 512))";
  std::vector<std::string> packed = {"1"}, called = {"m"};
  for (auto *all : {&packed, &called})
    all->insert(all->end(), {"k", "n", chunks, "has_b", relu ? "1" : "0"});
  const std::string bytes =
      "4 * " + chunks + " * (n floordiv " + chunks + " + 63) * (k + 15)";
  plugin::Compiled body;
  body.initLaunches = {launchOf(
      "pack_linear", 1, {{1}, {BP_LAUNCH_PERSISTENT, "0", bytes}}, packed)};
  body.initLaunches[0].grid[0] = chunks;
  body.launches = {
      launchOf("linear", 3, {{0}, {BP_LAUNCH_PERSISTENT}, {2}, {3}}, called)};
  body.launches[0].grid = {"m ceildiv " + std::to_string(linearRows), chunks,
                           "1"};
  std::string text = fill(linearText, {{"SUFFIX", relu ? "_relu" : ""},
                                       {"LAST", lastOf("%s", relu)}});
  return sink.put(text, target, body, costOf(linearPercent));
}

} // namespace

Status describe(plugin::KernelSink sink) {
  for (bool relu : {false, true}) {
    for (const Geometry &geometry : geometries)
      if (Status s = describeConvolution(sink, geometry, relu); !s.ok())
        return s;
    if (Status s = describeLinear(sink, relu); !s.ok())
      return s;
  }
  return {};
}

bp_cpu_entry_t functionOf(std::string_view entry) {
  if (entry == "pack_convolution")
    return packConvolution;
  if (entry == "convolution")
    return convolution;
  if (entry == "pack_linear")
    return packLinear;
  return entry == "linear" ? linear : nullptr;
}

} // namespace backplane::onednn
