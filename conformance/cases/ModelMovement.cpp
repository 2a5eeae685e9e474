// SPDX-License-Identifier: Apache-2.0
//
// Ops that make and move elements at sizes that models have.
#include "LargeBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

using I64s = std::vector<int64_t>;

/// One graph, for several dtypes.
struct Move {
  const char *op, *variant;
  std::vector<Axis> axes;
  std::vector<std::string> repeated;
  void (*build)(CaseBuilder &builder, DType dtype, const SizeOf &size);
};

constexpr int64_t large = 1 << 20;

std::vector<Axis> threeAxes() {
  return {{"a", 1, 4096}, {"b", 2, 65536}, {"c", 1, 4096}};
}

ValueId threeDims(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  return builder.input(dtype, {size("a"), size("b"), size("c")});
}

// ---- transpose, reverse, slice, concat, pad, broadcast, reshape ----

template <size_t Rank>
void transpose(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  static const I64s permutations[] = {
      {}, {}, {1, 0}, {0, 2, 1}, {0, 2, 1, 3}, {}, {0, 3, 1, 4, 2, 5}};
  static constexpr const char *names[] = {"a", "b", "c", "d", "e", "f"};
  Dims dims;
  for (size_t axis = 0; axis < Rank; ++axis)
    dims.push_back(size(names[axis]));
  builder.output(builder.add("transpose", {builder.input(dtype, dims)},
                             {{"permutation", permutations[Rank]}}));
}

void channelsLast(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b"), size("c"), size("d")};
  builder.output(builder.add("transpose", {builder.input(dtype, dims)},
                             {{"permutation", I64s{0, 2, 3, 1}}}));
}

void reverse(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  builder.output(builder.add("reverse", {threeDims(builder, dtype, size)},
                             {{"axes", I64s{1}}}));
}

/// From a quarter on, half of the axis; and every other element.
void slice(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dim b = size("b"), half = floorDiv(b, 2);
  ValueId x = threeDims(builder, dtype, size);
  builder.output(builder.add("slice", {x},
                             {{"starts", Dims{0, floorDiv(b, 4), 0}},
                              {"sizes", Dims{size("a"), half, size("c")}},
                              {"strides", I64s{1, 1, 1}}}));
  builder.output(builder.add("slice", {x},
                             {{"starts", Dims{0, 0, 0}},
                              {"sizes", Dims{size("a"), half, size("c")}},
                              {"strides", I64s{1, 2, 1}}}));
}

void concat(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId x = threeDims(builder, dtype, size);
  ValueId y = builder.input(dtype, {size("a"), size("d"), size("c")});
  builder.output(builder.add("concat", {x, y, x}, {{"axis", 1}}));
}

void pad(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId x = threeDims(builder, dtype, size), value = builder.input(dtype, {});
  for (const char *mode : {"constant", "edge", "reflect"})
    builder.output(builder.add("pad", {x, value},
                               {{"low", Dims{0, 1, 0}},
                                {"high", Dims{0, floorDiv(size("b"), 2), 0}},
                                {"mode", std::string(mode)}}));
}

void broadcast(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b"), size("c")};
  builder.output(builder.add("broadcast", {builder.input(dtype, {size("b")})},
                             {{"dims", dims}, {"axes", I64s{1}}}));
  builder.output(builder.add("broadcast",
                             {builder.input(dtype, {size("a"), 1, size("c")})},
                             {{"dims", dims}, {"axes", I64s{0, 1, 2}}}));
}

void reshape(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b") * size("c")};
  // What is reshaped is computed, so that the reshape has work to do.
  ValueId x = builder.add("transpose", {threeDims(builder, dtype, size)},
                          {{"permutation", I64s{0, 2, 1}}});
  builder.output(builder.add("reshape", {x}, {{"dims", dims}}));
}

// ---- pack, unpack ----

/// Blocks of channels, with a last one that need not be full.
void pack(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b"), size("c"), size("d")};
  builder.output(builder.add("pack", {builder.input(dtype, dims)},
                             {{"axes", I64s{1}}, {"tiles", I64s{16}}}));
}

void unpack(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b"), size("c"), size("d")};
  Dims packed = {dims[0], ceilDiv(dims[1], 16), dims[2], dims[3], 16};
  builder.output(builder.input(DType::Bool, {dims[1]}));
  builder.output(
      builder.add("unpack", {builder.input(dtype, packed)},
                  {{"axes", I64s{1}}, {"tiles", I64s{16}}, {"sizes", dims}}));
}

// ---- gather, scatter ----

/// Rows of a table, as embeddings are taken.
void gatherRows(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId table = builder.input(dtype, {size("v"), size("c")});
  ValueId indices =
      builder.input(DType::I64, {size("a"), size("n")}, indexBelow(size("v")));
  builder.output(builder.add("gather", {table, indices}, {{"axis", 0}}));
}

void gatherColumns(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId x = builder.input(dtype, {size("a"), size("v")});
  ValueId indices =
      builder.input(DType::I32, {size("n")}, indexBelow(size("v")));
  builder.output(builder.add("gather", {x, indices}, {{"axis", 1}}));
}

/// Of each row of a matrix several, by a table of short indices.
void gatherInner(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId x = builder.input(dtype, {size("a"), size("v"), size("c")});
  ValueId indices =
      builder.input(DType::I32, {size("n"), 2}, indexBelow(size("v")));
  builder.output(builder.add("gather", {x, indices}, {{"axis", 1}}));
}

void scatterBy(CaseBuilder &builder, DType dtype, const SizeOf &size,
               const char *combine) {
  InputRule values;
  values.terms = size("n") + 1;
  ValueId x = builder.input(dtype, {size("v"), size("c")}, values);
  ValueId indices =
      builder.input(DType::I64, {size("n")}, indexBelow(size("v")));
  ValueId updates = builder.input(dtype, {size("n"), size("c")}, values);
  builder.output(builder.add("scatter", {x, indices, updates},
                             {{"axis", 0}, {"combine", std::string(combine)}}));
}

void scatterLast(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  scatterBy(builder, dtype, size, "none");
}

void scatterSums(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  scatterBy(builder, dtype, size, isFloat(dtype) ? "max" : "add");
}

// ---- what has no operands; an input tells the sizes ----

void iota(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  builder.output(threeDims(builder, dtype, size));
  builder.output(builder.add("iota", {},
                             {{"dtype", static_cast<int64_t>(dtype)},
                              {"dims", Dims{size("a"), size("b"), size("c")}},
                              {"axis", 1}}));
}

void constant(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  builder.output(threeDims(builder, dtype, size));
  Bytes value(std::max(bitWidth(dtype) / 8, 1u), dtype == DType::Bool ? 1 : 7);
  builder.output(
      builder.add("constant", {},
                  {{"value", value},
                   {"dtype", static_cast<int64_t>(dtype)},
                   {"dims", Dims{size("a"), size("b"), size("c")}}}));
}

void dims(CaseBuilder &builder, DType, const SizeOf &size) {
  Dim a = size("a"), b = size("b");
  ValueId x = builder.input(DType::I64, {a, b});
  ValueId counts = builder.add(
      "dim", {}, {{"value", Dims{a * b, a + b, floorDiv(a * b, 7), b}}});
  builder.output(counts);
  builder.output(builder.add("neg", {x}));
}

/// The second operand is a weight of the unit.
void weight(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims dims = {size("a"), size("b"), size("c")};
  ValueId x = builder.input(DType::Bool, dims), y = builder.input(dtype, dims);
  builder.output(builder.add("select", {x, y, builder.input(dtype, dims)}));
}

std::vector<Move> moves() {
  std::vector<std::string> all = {"a", "b", "c"}, outer = {"a", "c"};
  std::vector<Axis> images = {
      {"a", 1, 32}, {"b", 1, 2048}, {"c", 1, 224}, {"d", 1, 224}};
  std::vector<Axis> six;
  for (const char *name : {"a", "b", "c", "d", "e", "f"})
    six.push_back({name, 1, 256});
  std::vector<Axis> joined = threeAxes();
  joined.push_back({"d", 1, 65536});
  return {
      {"transpose",
       "models",
       {{"a", 1, 65536}, {"b", 1, 65536}},
       {"a", "b"},
       transpose<2>},
      {"transpose", "models-rank3", threeAxes(), all, transpose<3>},
      {"transpose", "models-heads", images, {"a", "b", "c", "d"}, transpose<4>},
      {"transpose",
       "models-channels-last",
       images,
       {"a", "b", "c", "d"},
       channelsLast},
      {"transpose",
       "models-rank6",
       six,
       {"a", "b", "c", "d", "e", "f"},
       transpose<6>},
      {"reverse", "models", threeAxes(), outer, reverse},
      {"slice", "models", threeAxes(), outer, slice},
      {"concat", "models", joined, outer, concat},
      {"pad", "models", threeAxes(), outer, pad},
      {"broadcast", "models", threeAxes(), all, broadcast},
      {"reshape", "models", threeAxes(), {"a"}, reshape},
      {"pack", "models", images, {"a", "c", "d"}, pack},
      {"unpack", "models", images, {"a", "c", "d"}, unpack},
      {"gather",
       "models",
       {{"v", 1, 131072}, {"c", 1, 4096}, {"a", 1, 64}, {"n", 1, 32768}},
       {"c", "a", "n"},
       gatherRows},
      {"gather",
       "models-columns",
       {{"v", 1, 131072}, {"a", 1, 65536}, {"n", 1, 131072}},
       {"a", "n"},
       gatherColumns},
      {"gather",
       "models-inner",
       {{"a", 1, 4096}, {"v", 1, 65536}, {"c", 1, 4096}, {"n", 1, 32768}},
       {"a", "c", "n"},
       gatherInner},
      {"scatter",
       "models",
       {{"v", 1, 131072}, {"c", 1, 4096}, {"n", 1, 32768}},
       {"c"},
       scatterLast},
      {"scatter",
       "models-combine",
       {{"v", 1, 131072}, {"c", 1, 4096}, {"n", 1, 32768}},
       {"c"},
       scatterSums},
      {"iota", "models", threeAxes(), outer, iota},
      {"constant", "models", threeAxes(), all, constant},
      {"dim", "models", {{"a", 1, large}, {"b", 1, large}}, {}, dims},
  };
}

void putMove(const Sink &sink, const Move &move) {
  for (DType dtype : dtypesOf(move.op)) {
    bool isMain =
        dtype == (move.op == std::string_view("dim") ? DType::I64 : DType::F32);
    bool isUsual = dtype == DType::F16 || dtype == DType::I8 ||
                   dtype == DType::I64 || dtype == DType::I4;
    bool isPlain = move.variant == std::string_view("models");
    if (!isMain && (!isPlain || move.op == std::string_view("dim")))
      continue;
    LargeGraph graph{.op = move.op,
                     .dtype = dtype,
                     .variant = move.variant,
                     .tags = {"size", "index", "tail", "stride"},
                     .axes = move.axes,
                     .repeated = move.repeated,
                     .build = {}};
    auto build = move.build;
    graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
      build(builder, dtype, size);
    };
    bool isCombining = move.variant == std::string_view("models-combine");
    graph.dataSet = isCombining ? "uniform" : "bits";
    graph.isLargest = isMain && isPlain;
    graph.slots = isMain ? SIZE_MAX : isUsual ? 5 : 2;
    graph.statics = isMain ? 1 : 0;
    makeLarge(sink, graph);
  }
}

void putWeight(const Sink &sink, DType dtype) {
  LargeGraph graph{.op = "weight",
                   .dtype = dtype,
                   .variant = "models",
                   .tags = {"size", "index", "tail"},
                   .axes = threeAxes(),
                   .repeated = {"a", "b", "c"},
                   .build = {}};
  graph.build = [dtype](CaseBuilder &builder, const SizeOf &size) {
    weight(builder, dtype, size);
  };
  graph.numbers = {"a", "b", "c"};
  graph.repeated.clear();
  graph.weights = {1};
  graph.dataSet = "bits";
  graph.slots = 1;
  makeLarge(sink, graph);
}

} // namespace

void makeModelMovement(const Sink &sink) {
  for (const Move &move : moves())
    putMove(sink, move);
  for (DType dtype : {DType::F32, DType::F16, DType::I8, DType::I64})
    putWeight(sink, dtype);
}

} // namespace backplane::conformance
