// SPDX-License-Identifier: Apache-2.0
//
// Units of pool and avg_pool.
#include "Geometry.h"
#include "Rules.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

const std::vector<Geometry> &windows() {
  static const std::vector<Geometry> all = {
      // name, {window, strides, dilations, low, high}, {groups, in, out, sizes}
      {"2x2", {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"uneven", {{3, 2}, {2, 1}, {1, 1}, {0, 1}, {2, 0}}},
      {"stride-over-window", {{2, 1}, {3, 4}, {1, 1}, {0, 0}, {0, 0}}},
      {"dilated", {{3, 2}, {1, 2}, {2, 3}, {2, 1}, {1, 2}}},
      {"1d", {{5}, {2}, {1}, {2}, {2}}},
      {"volume", {{2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}}},
      {"static-3x3",
       {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
       {1, 17, 0, {1, 14, 15}}},
      {"static-global",
       {{7, 9}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
       {1, 33, 0, {2, 7, 9}}},
  };
  return all;
}

/// Some windows lie in the padding alone: a mean of nothing has no value, so
/// avg_pool takes it with count_padding only.
const Geometry &padOverWindow() {
  static const Geometry geometry = {"pad-over-window",
                                    {{2, 3}, {1, 2}, {1, 1}, {3, 3}, {2, 4}}};
  return geometry;
}

int64_t sizeOf(const Geometry &geometry, int64_t size) {
  return geometry.window.size() == 3 ? size / 2 - 1 : size;
}

void addCases(CaseBuilder &builder, const Geometry &geometry, DType dtype,
              bool isSmoke) {
  auto values = [&](int64_t batch, int64_t channels, int64_t size) {
    SymbolValues symbols = symbolsOf(geometry, batch, sizeOf(geometry, size));
    if (!geometry.in)
      symbols["c"] = channels;
    return symbols;
  };
  Depth first = isSmoke ? Depth::Smoke : Depth::Standard;
  builder.addCase(first, "integers", values(2, 3, 9));
  std::vector<const char *> others = {"uniform", "special"};
  if (isFloat(dtype))
    others.insert(others.end(), {"corners", "cancel", "offset", "swamping"});
  for (const char *data : others)
    builder.addCase(Depth::Standard, data, values(2, 3, 9));
  if (geometry.isStatic())
    return;
  for (const char *data : {"integers", "uniform"})
    for (int64_t size : {8, 15, 17, 31})
      builder.addCase(Depth::Standard, data, values(1, size + 1, size));
  builder.addCase(Depth::Standard, "uniform", values(0, 2, 9));
  for (int64_t size : {14, 16, 33, 63})
    for (const char *data : {"uniform", "sparse"})
      builder.addCase(Depth::Full, data, values(3, 5, size));
}

/// What the op needs beside a geometry.
struct Pool {
  std::string op, variant;
  Attributes attributes;
};

void makePool(const Sink &sink, DType dtype, const Geometry &geometry,
              const Pool &pool) {
  CaseBuilder builder(
      sink, pool.op, dtype, pool.variant + "-" + geometry.name,
      tagsOf(geometry, {"index", "tail", "last-k", "nan", "zero-size"}));
  Dims dims = axesOf(geometry, builder);
  Dim channels = geometry.in ? Dim(geometry.in) : builder.symbol("c");
  dims.insert(dims.begin() + 1, channels);
  InputRule rule = termsOf(1);
  for (int64_t size : geometry.window)
    rule.terms = rule.terms * Dim(size);
  Attributes attributes = attributesOf(geometry);
  attributes["window"] = geometry.window;
  for (const auto &[name, value] : pool.attributes)
    attributes[name] = value;
  builder.output(builder.add(pool.op, {builder.input(dtype, dims, rule)},
                             std::move(attributes)));
  bool isSmoke = dtype == DType::F32 && pool.variant != "min" &&
                 (geometry.name == "uneven" || geometry.name == "dilated" ||
                  geometry.name == "pad-over-window");
  addCases(builder, geometry, dtype, isSmoke);
  builder.finish();
}

/// The widest and the roughest float take some of the geometries.
bool isTakenAsFloat(DType dtype, const Geometry &geometry) {
  return dtype == DType::F32 || dtype == DType::F16 ||
         (isFloat(dtype) &&
          (geometry.isDilated() || geometry.window.size() == 3 ||
           geometry.name == "uneven" || geometry.name == "static-3x3"));
}

void makePools(const Sink &sink, DType dtype) {
  bool isNarrow =
      dtype == DType::I8 || dtype == DType::U8 || dtype == DType::I32;
  for (const std::string kind : {"sum", "max", "min"}) {
    Pool pool = {"pool", kind, {{"kind", kind}}};
    for (const Geometry &geometry : windows()) {
      bool isTaken = geometry.name == "uneven" ||
                     (isNarrow && geometry.name == "static-3x3") ||
                     (isTakenAsFloat(dtype, geometry) && kind != "min");
      if (isTaken)
        makePool(sink, dtype, geometry, pool);
    }
    if (isFloat(dtype) || isNarrow)
      makePool(sink, dtype, padOverWindow(), pool);
  }
}

void makeMeans(const Sink &sink, DType dtype) {
  for (int64_t counts : {0, 1}) {
    Pool pool = {"avg_pool",
                 counts ? "include-pad" : "exclude-pad",
                 {{"count_padding", counts}}};
    for (const Geometry &geometry : windows())
      if (isTakenAsFloat(dtype, geometry))
        makePool(sink, dtype, geometry, pool);
    if (counts)
      makePool(sink, dtype, padOverWindow(), pool);
  }
}

} // namespace

void makePooling(const Sink &sink) {
  for (DType dtype : dtypesOf("pool"))
    makePools(sink, dtype);
  for (DType dtype : dtypesOf("avg_pool"))
    makeMeans(sink, dtype);
}

} // namespace backplane::conformance
