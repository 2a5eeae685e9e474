// SPDX-License-Identifier: Apache-2.0
//
// Units for faults that no family of ops has a place for: tensors without
// elements among others that are alive, and tensors of more elements than 16
// bits count.
#include "Maker.h"

namespace backplane::conformance {

namespace {

/// Empty values are computed after values that lie where they might.
bool makeEmptyAmongOthers(const Selection &selection, const Put &put,
                          DType dtype) {
  Maker maker(selection, "concat", dtype, "empty-among-others",
              {"zero-size", "in-place"});
  Dim none = maker.symbol("e"), n = maker.symbol("n");
  std::vector<ValueId> parts;
  ValueId empty = maker.input(dtype, {none}), x = maker.input(dtype, {n});
  ValueId nothing = maker.input(dtype, {none}), y = maker.input(dtype, {n});
  for (int i = 0; i < 8; ++i)
    parts.push_back(x = maker.add(i % 2 ? "max" : "sub", {x, y}));
  for (int i = 0; i < 4; ++i) {
    empty = maker.add(i % 2 ? "max" : "sub", {empty, nothing});
    parts.insert(parts.begin() + 2 * i, empty);
  }
  maker.output(maker.add("concat", parts, {{"axis", int64_t(0)}}));
  for (int64_t size : {1, 16, 17, 257})
    maker.addCase(size == 17 ? Depth::Smoke : Depth::Standard, "uniform",
                  {{"e", 0}, {"n", size}});
  maker.addCase(Depth::Standard, "uniform", {{"e", 3}, {"n", 17}});
  maker.addCase(Depth::Standard, "uniform", {{"e", 0}, {"n", 0}});
  return maker.finish(put);
}

/// More than 65536 elements, and no power of two.
bool makeManyElements(const Selection &selection, const Put &put, DType dtype) {
  Maker maker(selection, "sub", dtype, "many", {"large", "tail", "index"});
  Dim m = maker.symbol("m"), n = maker.symbol("n");
  ValueId x = maker.input(dtype, {m, n}), y = maker.input(dtype, {n});
  ValueId repeated =
      maker.add("broadcast", {y},
                {{"dims", Dims{m, n}}, {"axes", std::vector<int64_t>{1}}});
  maker.output(maker.add("sub", {x, repeated}));
  maker.addCase(Depth::Standard, "uniform", {{"m", 67}, {"n", 1021}});
  maker.addCase(Depth::Standard, "uniform", {{"m", 5}, {"n", 65539}});
  maker.addCase(Depth::Standard, "bits", {{"m", 65539}, {"n", 3}});
  return maker.finish(put);
}

} // namespace

bool makeCorners(const Selection &selection, const Put &put) {
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I64})
    if (!makeEmptyAmongOthers(selection, put, dtype) ||
        !makeManyElements(selection, put, dtype))
      return false;
  return true;
}

} // namespace backplane::conformance
