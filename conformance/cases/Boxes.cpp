// SPDX-License-Identifier: Apache-2.0
//
// Units of ops on boxes: slice, pad, concat, reverse.
#include "Maker.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

ValueId slice(Maker &maker, ValueId x, Dims starts, Dims sizes, Axes strides) {
  return maker.add("slice", {x},
                   {{"starts", std::move(starts)},
                    {"sizes", std::move(sizes)},
                    {"strides", std::move(strides)}});
}

/// Steps, steps back from the end, a start that depends on the call, and the
/// two halves of a split.
bool makeSlice(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "slice", dtype, "steps",
              {"index", "stride", "tail", "negative-index", "offset"});
  Dims d = maker.symbols({"a", "b"});
  ValueId x = maker.input(dtype, d);
  ValueId back = maker.add("reverse", {x}, {{"axes", Axes{1}}});
  Dim half = floorDiv(d[1], 2);
  maker.output(
      slice(maker, x, {1, 2}, {d[0] - 1, ceilDiv(d[1] - 2, 3)}, {1, 3}));
  maker.output(slice(maker, back, {0, 0}, {d[0], ceilDiv(d[1], 2)}, {1, 2}));
  maker.output(slice(maker, x, {0, 0}, {d[0], half}, {1, 1}));
  maker.output(slice(maker, x, {0, half}, {d[0], d[1] - half}, {1, 1}));
  maker.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 11}});
  for (int64_t size : {2, 3, 16, 17, 33, 65, 127})
    maker.addCase(Depth::Standard, "bits", {{"a", 4}, {"b", size}});
  maker.addCase(Depth::Standard, "bits", {{"a", 1}, {"b", 6}});
  return maker.finish(put);
}

bool makeStaticSlice(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "slice", dtype, "static",
              {"index", "stride", "zero-size", "offset"});
  ValueId x = maker.input(dtype, {2, 3, 4, 3, 2, 5});
  ValueId line = maker.input(dtype, {33});
  ValueId scalar = maker.input(dtype, {});
  maker.output(slice(maker, x, {1, 0, 1, 2, 0, 1}, {1, 2, 2, 1, 2, 2},
                     {1, 2, 2, 1, 1, 3}));
  maker.output(slice(maker, line, {0}, {33}, {1}));
  maker.output(slice(maker, line, {32}, {1}, {100}));
  maker.output(slice(maker, line, {33}, {0}, {1}));
  maker.output(slice(maker, line, {1}, {16}, {2}));
  maker.output(slice(maker, scalar, {}, {}, {}));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

ValueId pad(Maker &maker, ValueId x, ValueId value, Dims low, Dims high,
            const std::string &mode) {
  return maker.add(
      "pad", {x, value},
      {{"low", std::move(low)}, {"high", std::move(high)}, {"mode", mode}});
}

bool makePad(const Selection &selection, const Put &put, DType dtype,
             const std::string &mode) {
  Maker maker(selection, "pad", dtype, mode, {"pads", "index", "tail"});
  Dims d = maker.symbols({"a", "b"});
  ValueId x = maker.input(dtype, d), value = maker.input(dtype, {});
  maker.output(pad(maker, x, value, {1, 2}, {0, 1}, mode));
  maker.output(pad(maker, x, value, {0, 0}, {2, 0}, mode));
  // As many as fit, by an amount that depends on the call.
  maker.output(pad(maker, x, value, {0, floorDiv(d[1], 2)}, {0, 0}, mode));
  maker.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 7}});
  for (int64_t size : {3, 15, 16, 17, 33, 65})
    maker.addCase(Depth::Standard, "bits", {{"a", 4}, {"b", size}});
  if (mode == "constant")
    maker.addCase(Depth::Standard, "bits", {{"a", 0}, {"b", 5}});
  return maker.finish(put);
}

bool makeStaticPad(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "pad", dtype, "static",
              {"pads", "index", "zero-size"});
  ValueId value = maker.input(dtype, {});
  ValueId x = maker.input(dtype, {2, 3, 2, 1, 2, 3});
  ValueId line = maker.input(dtype, {3}), none = maker.input(dtype, {0});
  ValueId scalar = maker.input(dtype, {});
  Dims low = {0, 1, 0, 2, 0, 0}, high = {1, 0, 0, 0, 0, 2};
  maker.output(pad(maker, x, value, low, high, "constant"));
  maker.output(pad(maker, x, value, low, high, "edge"));
  maker.output(pad(maker, line, value, {17}, {16}, "constant"));
  maker.output(pad(maker, line, value, {17}, {16}, "edge"));
  maker.output(pad(maker, line, value, {2}, {2}, "reflect"));
  maker.output(pad(maker, none, value, {2}, {3}, "constant"));
  maker.output(pad(maker, scalar, value, {}, {}, "constant"));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

/// Three parts along each axis, one of them given twice and one empty when
/// `b` is 0.
bool makeConcat(const Selection &selection, const Put &put, DType dtype,
                int64_t axis) {
  Maker maker(selection, "concat", dtype, "three-" + std::to_string(axis),
              {"index", "offset", "zero-size", "in-place"});
  Dims d = maker.symbols({"a", "b", "c"});
  Dims x = {2, 3, 2}, y = x, z = x;
  auto at = static_cast<size_t>(axis);
  x[at] = d[0];
  y[at] = d[1];
  z[at] = d[2];
  ValueId first = maker.input(dtype, x), second = maker.input(dtype, y);
  ValueId third = maker.input(dtype, z);
  maker.output(
      maker.add("concat", {first, second, third, first}, {{"axis", axis}}));
  maker.output(maker.add("concat", {second}, {{"axis", axis}}));
  maker.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}, {"c", 4}});
  for (int64_t size : {0, 1, 16, 33})
    maker.addCase(Depth::Standard, "bits", {{"a", 7}, {"b", size}, {"c", 13}});
  return maker.finish(put);
}

bool makeManyParts(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "concat", dtype, "many-static",
              {"index", "offset", "zero-size"});
  std::vector<ValueId> parts;
  for (int64_t size : {1, 0, 3, 16, 17, 2, 31, 1, 5, 64})
    parts.push_back(maker.input(dtype, {size}));
  maker.output(maker.add("concat", parts, {{"axis", int64_t(0)}}));
  maker.addCase(smokeOf(dtype), "bits");
  return maker.finish(put);
}

bool makeReverse(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "reverse", dtype, "rank6", {"index", "stride"});
  Dims d = maker.symbols({"a", "b"});
  ValueId x = maker.input(dtype, {2, d[0], 3, 2, d[1], 2});
  maker.output(maker.add("reverse", {x}, {{"axes", Axes{1, 2, 4}}}));
  maker.output(maker.add("reverse", {x}, {{"axes", Axes{}}}));
  maker.output(
      maker.add("reverse", {maker.input(dtype, {})}, {{"axes", Axes{}}}));
  maker.addCase(smokeOf(dtype), "bits", {{"a", 3}, {"b", 5}});
  for (int64_t size : {0, 1, 17})
    maker.addCase(Depth::Standard, "bits", {{"a", size}, {"b", 3}});
  return maker.finish(put);
}

} // namespace

bool makeBoxes(const Selection &selection, const Put &put) {
  for (DType dtype : dtypesOf("slice")) {
    if (!makeSlice(selection, put, dtype))
      return false;
    for (const char *mode : {"constant", "edge", "reflect"})
      if (!makePad(selection, put, dtype, mode))
        return false;
    for (int64_t axis : {0, 2})
      if (!makeConcat(selection, put, dtype, axis))
        return false;
  }
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I4,
                      DType::F8E4M3FN, DType::Bool})
    if (!makeStaticSlice(selection, put, dtype) ||
        !makeStaticPad(selection, put, dtype) ||
        !makeManyParts(selection, put, dtype) ||
        !makeReverse(selection, put, dtype))
      return false;
  return true;
}

} // namespace backplane::conformance
