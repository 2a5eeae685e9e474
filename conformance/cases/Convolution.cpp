// SPDX-License-Identifier: Apache-2.0
//
// Units of conv, conv_transpose and conv_integer: one geometry each, with
// symbolic sizes where the op allows it and static ones besides.
#include "Geometry.h"
#include "sdk/graph/Rounding.h"

namespace backplane::conformance {

namespace {

const std::vector<Geometry> &convolutions() {
  static const std::vector<Geometry> all = {
      // name, {window, strides, dilations, low, high}, {groups, in, out, sizes}
      {"1x1", {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"3x3", {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"uneven", {{3, 2}, {2, 1}, {1, 1}, {0, 2}, {1, 0}}},
      {"stride-over-window", {{2, 1}, {3, 4}, {1, 1}, {0, 0}, {0, 0}}},
      {"pad-over-window", {{2, 3}, {1, 2}, {1, 1}, {3, 3}, {2, 4}}},
      {"dilated", {{3, 2}, {1, 2}, {2, 3}, {2, 0}, {1, 3}}},
      {"depthwise", {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, {8, 8, 8}},
      {"depthwise-twice", {{2, 3}, {2, 1}, {1, 2}, {1, 2}, {0, 1}}, {5, 5, 10}},
      {"groups", {{3, 3}, {1, 1}, {1, 1}, {1, 0}, {0, 1}}, {3, 6, 9}},
      {"1d", {{5}, {2}, {2}, {4}, {1}}},
      {"volume", {{2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {0, 1, 1}}},
      {"window-over-input",
       {{5, 7}, {1, 1}, {1, 1}, {4, 3}, {3, 5}},
       {1, 3, 4, {2, 2, 3}}},
      {"static-3x3",
       {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
       {1, 16, 17, {1, 14, 15}}},
      {"static-1x1",
       {{1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
       {1, 64, 33, {2, 7, 7}}},
      {"static-stem",
       {{7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
       {1, 3, 16, {1, 31, 33}}},
      {"static-depthwise",
       {{3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
       {32, 32, 32, {1, 16, 15}}},
  };
  return all;
}

const std::vector<Geometry> &transposes() {
  static const std::vector<Geometry> all = {
      {"1x1", {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"2x2-twice", {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"3x3-cut", {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
      {"uneven", {{3, 2}, {2, 1}, {1, 1}, {0, 1}, {2, 0}}},
      {"stride-over-window", {{2, 1}, {3, 4}, {1, 1}, {0, 0}, {0, 0}}},
      {"dilated", {{3, 2}, {1, 2}, {2, 3}, {1, 0}, {0, 2}}},
      {"groups", {{3, 3}, {2, 1}, {1, 1}, {1, 0}, {0, 1}}, {2, 4, 6}},
      {"1d", {{5}, {3}, {1}, {2}, {1}}},
      {"volume", {{2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}}},
      {"static-4x4",
       {{4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
       {1, 16, 9, {1, 7, 8}}},
  };
  return all;
}

/// One unit of a family, before its cases.
struct Windowed {
  Geometry geometry;
  Dim in, out; ///< channels
  Dims x, w;
  InputRule ruleX, ruleW;
};

/// conv has w[o, c / groups, window], conv_transpose w[c, o / groups, window].
Windowed operandsOf(const Geometry &geometry, CaseBuilder &builder,
                    bool isTransposed) {
  Windowed unit{geometry, {}, {}, {}, {}, {}, {}};
  unit.in = geometry.in ? Dim(geometry.in) : builder.symbol("c");
  unit.out = geometry.out ? Dim(geometry.out) : builder.symbol("o");
  unit.x = axesOf(geometry, builder);
  unit.x.insert(unit.x.begin() + 1, unit.in);
  Dim in = geometry.in ? Dim(geometry.in / geometry.groups) : unit.in;
  Dim out = geometry.out ? Dim(geometry.out / geometry.groups) : unit.out;
  unit.w = isTransposed ? Dims{unit.in, out} : Dims{unit.out, in};
  Dim terms = in;
  for (int64_t size : geometry.window) {
    unit.w.emplace_back(size);
    terms = terms * Dim(size);
  }
  unit.ruleX.terms = unit.ruleW.terms = terms;
  // All axes of the window and of the channels that are summed over.
  unit.ruleW.contracted =
      ((4u << geometry.window.size()) - 1) ^ (isTransposed ? 2u : 1u);
  return unit;
}

SymbolValues valuesOf(const Geometry &geometry, int64_t batch, int64_t size,
                      int64_t in, int64_t out) {
  SymbolValues symbols = symbolsOf(geometry, batch, size);
  if (!geometry.in)
    symbols["c"] = in;
  if (!geometry.out)
    symbols["o"] = out;
  return symbols;
}

/// A size that holds every window and stays cheap in three dimensions.
int64_t sizeOf(const Geometry &geometry, int64_t size) {
  return geometry.window.size() == 3 ? size / 2 - 1 : size;
}

void addCases(CaseBuilder &builder, const Geometry &geometry, DType dtype,
              bool isSmoke) {
  Depth first = isSmoke ? Depth::Smoke : Depth::Standard;
  SymbolValues plain = valuesOf(geometry, 2, sizeOf(geometry, 9), 3, 5);
  for (const char *data : {"integers", "one-hot"})
    builder.addCase(first, data, plain);
  std::vector<const char *> others = {"uniform", "special"};
  if (isFloat(dtype))
    others.insert(others.end(), {"corners", "cancel", "sparse"});
  for (const char *data : others)
    builder.addCase(Depth::Standard, data, plain);
  if (isFloat(dtype))
    builder.addCase(Depth::Standard, "swamping",
                    valuesOf(geometry, 1, sizeOf(geometry, 8), 32, 3));
  if (geometry.isStatic())
    return;
  for (const char *data : {"integers", "one-hot", "uniform"}) {
    for (int64_t size : {15, 17})
      builder.addCase(Depth::Standard, data,
                      valuesOf(geometry, 1, sizeOf(geometry, size), 16, 17));
    builder.addCase(Depth::Standard, data,
                    valuesOf(geometry, 3, sizeOf(geometry, 8), 1, 1));
  }
  for (int64_t size : {14, 16, 31, 33})
    for (const char *data : {"integers", "uniform"})
      builder.addCase(Depth::Full, data,
                      valuesOf(geometry, 2, sizeOf(geometry, size), 5, 33));
  builder.addCase(Depth::Standard, "uniform",
                  valuesOf(geometry, 0, sizeOf(geometry, 8), 2, 3));
}

void makeConv(const Sink &sink, DType dtype, const Geometry &geometry,
              bool isTransposed, bool isWide) {
  CaseBuilder builder(
      sink, isTransposed ? "conv_transpose" : "conv", dtype,
      (isWide ? "wide-" : "") + geometry.name,
      tagsOf(geometry, {"index", "tail", "last-k", "kernel-flip", "accumulate",
                        "zero-size"}));
  Windowed unit = operandsOf(geometry, builder, isTransposed);
  ValueId x = builder.input(dtype, unit.x, unit.ruleX);
  ValueId w = builder.input(dtype, unit.w, unit.ruleW);
  Attributes attributes = attributesOf(geometry);
  attributes["groups"] = geometry.groups;
  attributes["wide"] = int64_t(isWide);
  if (isTransposed) {
    // Fits every stride of the table.
    Sizes padding(geometry.window.size(), 0);
    padding.back() = geometry.strides.back() - 1;
    attributes["output_padding"] = padding;
  }
  builder.output(builder.add(isTransposed ? "conv_transpose" : "conv", {x, w},
                             attributes));
  bool isSmoke = dtype == DType::F32 ||
                 (dtype == DType::F16 && geometry.name == "static-3x3") ||
                 (dtype == DType::I8 && geometry.name == "uneven");
  addCases(builder, geometry, dtype, isSmoke);
  builder.finish();
}

/// Floats take every geometry, integers and sums in f32 a few.
void makeAll(const Sink &sink, bool isTransposed) {
  for (DType dtype : dtypesOf(isTransposed ? "conv_transpose" : "conv"))
    for (const Geometry &geometry :
         isTransposed ? transposes() : convolutions()) {
      bool isNarrow =
          dtype == DType::I8 || dtype == DType::U8 || dtype == DType::I32;
      bool isTaken = geometry.name == "uneven" ||
                     (isNarrow && (geometry.name == "groups" ||
                                   geometry.name.starts_with("static-")));
      if (isFloat(dtype) || isTaken)
        makeConv(sink, dtype, geometry, isTransposed, false);
      if (isNarrowFloat(dtype) && isTaken)
        makeConv(sink, dtype, geometry, isTransposed, true);
    }
}

// ---- small integers ----

void makeInteger(const Sink &sink, DType x, DType w, const Geometry &geometry,
                 bool perChannel) {
  std::string variant = geometry.name + "-" + std::string(name(w)) +
                        (perChannel ? "-channels" : "");
  CaseBuilder builder(sink, "conv_integer", x, variant,
                      tagsOf(geometry, {"zero-point", "integer-sign", "last-k",
                                        "index", "kernel-flip"}));
  Windowed unit = operandsOf(geometry, builder, false);
  std::vector<ValueId> operands = {
      builder.input(x, unit.x, unit.ruleX),
      builder.input(w, unit.w, unit.ruleW), builder.input(x, {}),
      builder.input(w, perChannel ? Dims{unit.out} : Dims{})};
  Attributes attributes = attributesOf(geometry);
  attributes["groups"] = geometry.groups;
  builder.output(builder.add("conv_integer", operands, attributes));
  bool isSmoke = geometry.name == "uneven";
  SymbolValues plain = valuesOf(geometry, 2, 9, 3, 5);
  builder.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "bits", plain);
  for (const char *data : {"uniform", "special"})
    builder.addCase(Depth::Standard, data, plain);
  if (!geometry.isStatic())
    for (int64_t size : {8, 16})
      builder.addCase(Depth::Standard, "bits",
                      valuesOf(geometry, 1, size, size + 1, size + 1));
  builder.finish();
}

void makeIntegers(const Sink &sink) {
  for (DType x : {DType::I8, DType::U8})
    for (DType w : {DType::I8, DType::U8})
      for (const Geometry &geometry : convolutions())
        for (bool perChannel : {false, true}) {
          bool isTaken = geometry.name == "uneven" ||
                         geometry.name == "groups" ||
                         geometry.name == "static-3x3";
          if (isTaken)
            makeInteger(sink, x, w, geometry, perChannel);
        }
}

} // namespace

void makeConvolutions(const Sink &sink) {
  makeAll(sink, false);
  makeAll(sink, true);
  makeIntegers(sink);
}

} // namespace backplane::conformance
