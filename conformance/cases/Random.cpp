// SPDX-License-Identifier: Apache-2.0
//
// Units of random_bits: keys and counters that are data, that are known when
// the graph is compiled, and those whose answers were published.
#include "LargeBuilder.h"

namespace backplane::conformance {

namespace {

ValueId known(CaseBuilder &builder, uint64_t value) {
  Bytes bytes(8);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(value >> 8 * i);
  return builder.add("constant", {},
                     {{"value", bytes},
                      {"dtype", static_cast<int64_t>(DType::U64)},
                      {"dims", Dims()}});
}

ValueId randomBits(CaseBuilder &builder, ValueId key, ValueId counter,
                   Dims dims) {
  return builder.add("random_bits", {key, counter},
                     {{"dims", std::move(dims)}});
}

/// Sizes that end within a block of four, and more than one axis.
void makeData(const Sink &sink) {
  CaseBuilder builder(sink, "random_bits", DType::U64, "data",
                      {"index", "tail", "wrap"});
  Dim n = builder.symbol("n");
  ValueId key = builder.input(DType::U64, {});
  ValueId counter = builder.input(DType::U64, {});
  ValueId x = builder.input(DType::U32, {n});
  ValueId bits = randomBits(builder, key, counter, {n});
  builder.output(bits);
  builder.output(randomBits(builder, counter, key, {3, n, 2}));
  builder.output(randomBits(builder, key, key, {}));
  builder.output(builder.add("xor", {bits, x}));
  for (int64_t size : {17, 0, 1, 2, 3, 4, 5, 255, 4099})
    builder.addCase(size == 17 ? Depth::Smoke : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

/// What a compiler may fold, and keys that differ in one bit.
void makeKnown(const Sink &sink) {
  CaseBuilder builder(sink, "random_bits", DType::U64, "constants",
                      {"fold", "cse", "index"});
  Dim n = builder.symbol("n");
  ValueId x = builder.input(DType::U32, {n});
  ValueId zero = known(builder, 0), ones = known(builder, ~uint64_t(0));
  ValueId top = known(builder, uint64_t(1) << 63);
  builder.output(randomBits(builder, zero, zero, {4}));
  builder.output(randomBits(builder, ones, ones, {7}));
  for (ValueId key : {zero, top, ones})
    builder.output(
        builder.add("xor", {x, randomBits(builder, key, zero, {n})}));
  for (int64_t size : {33, 0, 1})
    builder.addCase(size == 33 ? Depth::Smoke : Depth::Standard, "bits",
                    {{"n", size}});
  builder.finish();
}

} // namespace

void makeRandomBits(const Sink &sink) {
  makeData(sink);
  makeKnown(sink);
}

void makeModelRandom(const Sink &sink) {
  LargeGraph graph{.op = "random_bits",
                   .dtype = DType::U64,
                   .variant = "models",
                   .tags = {"size", "index", "tail"},
                   .axes = {{"a", 1, 64}, {"b", 1, 4096}, {"c", 1, 4096}},
                   .repeated = {},
                   .build = {}};
  graph.build = [](CaseBuilder &builder, const SizeOf &size) {
    Dims dims = {size("a"), size("b"), size("c")};
    ValueId key = builder.input(DType::U64, {});
    ValueId counter = builder.input(DType::U64, {});
    builder.output(builder.add("reverse", {builder.input(DType::Bool, dims)},
                               {{"axes", std::vector<int64_t>{1}}}));
    builder.output(randomBits(builder, key, counter, dims));
  };
  graph.dataSet = "bits";
  graph.slots = 3;
  makeLarge(sink, graph);
}

} // namespace backplane::conformance
