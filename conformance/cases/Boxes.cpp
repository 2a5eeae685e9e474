// SPDX-License-Identifier: Apache-2.0
//
// Units of ops on boxes: slice, pad, concat, reverse.
#include "CaseBuilder.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

ValueId slice(CaseBuilder &builder, ValueId x, Dims starts, Dims sizes,
              Axes strides) {
  return builder.add("slice", {x},
                     {{"starts", std::move(starts)},
                      {"sizes", std::move(sizes)},
                      {"strides", std::move(strides)}});
}

/// Steps, steps back from the end, a start that depends on the call, and the
/// two halves of a split.
void makeSlice(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "slice", dtype, "steps",
                      {"index", "stride", "tail", "negative-index", "offset"});
  Dims d = builder.symbols({"a", "b"});
  ValueId x = builder.input(dtype, d);
  ValueId back = builder.add("reverse", {x}, {{"axes", Axes{1}}});
  Dim half = floorDiv(d[1], 2);
  builder.output(
      slice(builder, x, {1, 2}, {d[0] - 1, ceilDiv(d[1] - 2, 3)}, {1, 3}));
  builder.output(
      slice(builder, back, {0, 0}, {d[0], ceilDiv(d[1], 2)}, {1, 2}));
  builder.output(slice(builder, x, {0, 0}, {d[0], half}, {1, 1}));
  builder.output(slice(builder, x, {0, half}, {d[0], d[1] - half}, {1, 1}));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 11}});
  for (int64_t size : {2, 3, 16, 17, 33, 65, 127})
    builder.addCase(Depth::Standard, "bits", {{"a", 4}, {"b", size}});
  builder.addCase(Depth::Standard, "bits", {{"a", 1}, {"b", 6}});
  builder.finish();
}

void makeStaticSlice(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "slice", dtype, "static",
                      {"index", "stride", "zero-size", "offset"});
  ValueId x = builder.input(dtype, {2, 3, 4, 3, 2, 5});
  ValueId line = builder.input(dtype, {33});
  ValueId scalar = builder.input(dtype, {});
  builder.output(slice(builder, x, {1, 0, 1, 2, 0, 1}, {1, 2, 2, 1, 2, 2},
                       {1, 2, 2, 1, 1, 3}));
  builder.output(slice(builder, line, {0}, {33}, {1}));
  builder.output(slice(builder, line, {32}, {1}, {100}));
  builder.output(slice(builder, line, {33}, {0}, {1}));
  builder.output(slice(builder, line, {1}, {16}, {2}));
  builder.output(slice(builder, scalar, {}, {}, {}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

ValueId pad(CaseBuilder &builder, ValueId x, ValueId value, Dims low, Dims high,
            const std::string &mode) {
  return builder.add(
      "pad", {x, value},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"mode", mode}});
}

void makePad(const Sink &sink, DType dtype, const std::string &mode) {
  CaseBuilder builder(sink, "pad", dtype, mode, {"pads", "index", "tail"});
  Dims d = builder.symbols({"a", "b"});
  ValueId x = builder.input(dtype, d), value = builder.input(dtype, {});
  builder.output(pad(builder, x, value, {1, 2}, {0, 1}, mode));
  builder.output(pad(builder, x, value, {0, 0}, {2, 0}, mode));
  // As many as fit, by an amount that depends on the call.
  builder.output(pad(builder, x, value, {0, floorDiv(d[1], 2)}, {0, 0}, mode));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 7}});
  for (int64_t size : {3, 15, 16, 17, 33, 65})
    builder.addCase(Depth::Standard, "bits", {{"a", 4}, {"b", size}});
  if (mode == "constant")
    builder.addCase(Depth::Standard, "bits", {{"a", 0}, {"b", 5}});
  builder.finish();
}

void makeStaticPad(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "pad", dtype, "static",
                      {"pads", "index", "zero-size"});
  ValueId value = builder.input(dtype, {});
  ValueId x = builder.input(dtype, {2, 3, 2, 1, 2, 3});
  ValueId line = builder.input(dtype, {3}), none = builder.input(dtype, {0});
  ValueId scalar = builder.input(dtype, {});
  Dims low = {0, 1, 0, 2, 0, 0}, high = {1, 0, 0, 0, 0, 2};
  builder.output(pad(builder, x, value, low, high, "constant"));
  builder.output(pad(builder, x, value, low, high, "edge"));
  builder.output(pad(builder, line, value, {17}, {16}, "constant"));
  builder.output(pad(builder, line, value, {17}, {16}, "edge"));
  builder.output(pad(builder, line, value, {2}, {2}, "reflect"));
  builder.output(pad(builder, none, value, {2}, {3}, "constant"));
  builder.output(pad(builder, scalar, value, {}, {}, "constant"));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

/// Three parts along each axis, one of them given twice and one empty when
/// `b` is 0.
void makeConcat(const Sink &sink, DType dtype, int64_t axis) {
  CaseBuilder builder(sink, "concat", dtype, "three-" + std::to_string(axis),
                      {"index", "offset", "zero-size", "in-place"});
  Dims d = builder.symbols({"a", "b", "c"});
  Dims x = {2, 3, 2}, y = x, z = x;
  auto at = static_cast<size_t>(axis);
  x[at] = d[0];
  y[at] = d[1];
  z[at] = d[2];
  ValueId first = builder.input(dtype, x), second = builder.input(dtype, y);
  ValueId third = builder.input(dtype, z);
  builder.output(
      builder.add("concat", {first, second, third, first}, {{"axis", axis}}));
  builder.output(builder.add("concat", {second}, {{"axis", axis}}));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}, {"c", 4}});
  for (int64_t size : {0, 1, 16, 33})
    builder.addCase(Depth::Standard, "bits",
                    {{"a", 7}, {"b", size}, {"c", 13}});
  builder.finish();
}

void makeManyParts(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "concat", dtype, "many-static",
                      {"index", "offset", "zero-size"});
  std::vector<ValueId> parts;
  for (int64_t size : {1, 0, 3, 16, 17, 2, 31, 1, 5, 64})
    parts.push_back(builder.input(dtype, {size}));
  builder.output(builder.add("concat", parts, {{"axis", 0}}));
  builder.addCase(smokeOf(dtype), "bits");
  builder.finish();
}

void makeReverse(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "reverse", dtype, "rank6", {"index", "stride"});
  Dims d = builder.symbols({"a", "b"});
  ValueId x = builder.input(dtype, {2, d[0], 3, 2, d[1], 2});
  builder.output(builder.add("reverse", {x}, {{"axes", Axes{1, 2, 4}}}));
  builder.output(builder.add("reverse", {x}, {{"axes", Axes{}}}));
  builder.output(
      builder.add("reverse", {builder.input(dtype, {})}, {{"axes", Axes{}}}));
  builder.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}});
  for (int64_t size : {0, 1, 17})
    builder.addCase(Depth::Standard, "bits", {{"a", size}, {"b", 3}});
  builder.finish();
}

} // namespace

void makeBoxes(const Sink &sink) {
  for (DType dtype : dtypesOf("slice")) {
    makeSlice(sink, dtype);
    for (const char *mode : {"constant", "edge", "reflect"})
      makePad(sink, dtype, mode);
    for (int64_t axis : {0, 2})
      makeConcat(sink, dtype, axis);
  }
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I4,
                      DType::F8E4M3FN, DType::Bool}) {
    makeStaticSlice(sink, dtype);
    makeStaticPad(sink, dtype);
    makeManyParts(sink, dtype);
    makeReverse(sink, dtype);
  }
}

} // namespace backplane::conformance
