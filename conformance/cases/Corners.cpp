// SPDX-License-Identifier: Apache-2.0
//
// Units for faults that no family of ops has a place for: tensors without
// elements among others that are alive, and tensors of more elements than 16
// bits count.
#include "CaseBuilder.h"

namespace backplane::conformance {

namespace {

/// Empty values are computed after values that lie where they might.
void makeEmptyAmongOthers(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "concat", dtype, "empty-among-others",
                      {"zero-size", "in-place"});
  Dim none = builder.symbol("e"), n = builder.symbol("n");
  std::vector<ValueId> parts;
  ValueId empty = builder.input(dtype, {none}), x = builder.input(dtype, {n});
  ValueId nothing = builder.input(dtype, {none}), y = builder.input(dtype, {n});
  for (int i = 0; i < 8; ++i)
    parts.push_back(x = builder.add(i % 2 ? "max" : "sub", {x, y}));
  for (int i = 0; i < 4; ++i) {
    empty = builder.add(i % 2 ? "max" : "sub", {empty, nothing});
    parts.insert(parts.begin() + 2 * i, empty);
  }
  builder.output(builder.add("concat", parts, {{"axis", 0}}));
  for (int64_t size : {1, 16, 17, 257})
    builder.addCase(size == 17 ? Depth::Smoke : Depth::Standard, "uniform",
                    {{"e", 0}, {"n", size}});
  builder.addCase(Depth::Standard, "uniform", {{"e", 3}, {"n", 17}});
  builder.addCase(Depth::Standard, "uniform", {{"e", 0}, {"n", 0}});
  builder.finish();
}

/// More than 65536 elements, and no power of two.
void makeManyElements(const Sink &sink, DType dtype) {
  CaseBuilder builder(sink, "sub", dtype, "many", {"large", "tail", "index"});
  Dim m = builder.symbol("m"), n = builder.symbol("n");
  ValueId x = builder.input(dtype, {m, n}), y = builder.input(dtype, {n});
  ValueId repeated =
      builder.add("broadcast", {y},
                  {{"dims", Dims{m, n}}, {"axes", std::vector<int64_t>{1}}});
  builder.output(builder.add("sub", {x, repeated}));
  builder.addCase(Depth::Standard, "uniform", {{"m", 67}, {"n", 1021}});
  builder.addCase(Depth::Standard, "uniform", {{"m", 5}, {"n", 65539}});
  builder.addCase(Depth::Standard, "bits", {{"m", 65539}, {"n", 3}});
  builder.finish();
}

} // namespace

void makeCorners(const Sink &sink) {
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I64}) {
    makeEmptyAmongOthers(sink, dtype);
    makeManyElements(sink, dtype);
  }
}

} // namespace backplane::conformance
