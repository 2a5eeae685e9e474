// SPDX-License-Identifier: Apache-2.0
//
// Blobs come from files: whatever bytes are changed, a blob is refused, or it
// loads and then runs or fails without touching memory that is not its own.
#include "Harness.h"

#include <algorithm>

using namespace reftest;

namespace {

constexpr int64_t maxBytes = 1 << 16;

std::vector<uint8_t> wire(bp_graph_t *graph) {
  std::vector<uint8_t> bytes;
  bp_bytes_sink_t sink = {
      [](void *context, bp_bytes_t from) -> bp_status_t {
        auto *data = static_cast<const uint8_t *>(from.data);
        static_cast<std::vector<uint8_t> *>(context)->assign(data,
                                                             data + from.size);
        return BP_STATUS_OK;
      },
      &bytes};
  EXPECT_EQ(graphTable().graph_write(graph, &sink), 0);
  graphTable().graph_close(graph);
  return bytes;
}

/// Ops whose attributes say where they read, over a symbol.
std::vector<uint8_t> movementGraph() {
  Builder b;
  b.symbol("n", 20);
  uint32_t x = b.input(BP_DTYPE_F32, {"n + 6", "5"});
  uint32_t i = b.input(BP_DTYPE_I64, {"4"});
  x = b.op("slice", {x},
           {{"starts", DimTexts{{"n", "1"}}},
            {"sizes", dims({3, 3})},
            {"strides", Dims{2, 1}}});
  x = b.op("pad",
           {x, b.op("reshape", {b.input(BP_DTYPE_F32, {"1"})},
                    {{"dims", dims({})}})},
           {{"low", dims({1, 0})},
            {"high", dims({0, 2})},
            {"mode", std::string("reflect")}});
  x = b.op("gather", {x, i}, {{"axis", int64_t(0)}});
  x = b.op("reverse", {x}, {{"axes", Dims{1}}});
  x = b.op("broadcast", {x}, {{"dims", dims({4, 2, 5})}, {"axes", Dims{0, 2}}});
  x = b.op("transpose", {x}, {{"permutation", Dims{2, 0, 1}}});
  b.output(b.op("concat", {x, x}, {{"axis", int64_t(1)}}));
  return wire(b.finish());
}

std::vector<uint8_t> windowGraph() {
  Builder b;
  uint32_t x = b.input(BP_DTYPE_F32, {"1", "4", "6", "7"});
  uint32_t w = b.input(BP_DTYPE_F32, {"4", "2", "3", "2"});
  Attributes window = {{"strides", Dims{2, 1}},
                       {"dilations", Dims{1, 2}},
                       {"low", Dims{1, 0}},
                       {"high", Dims{1, 1}}};
  Attributes conv = window, pool = window;
  conv.push_back({"groups", int64_t(2)});
  x = b.op("conv", {x, w}, conv);
  conv.push_back({"output_padding", Dims{0, 0}});
  x = b.op("conv_transpose", {x, w}, conv);
  pool.push_back({"window", Dims{2, 2}});
  pool.push_back({"kind", std::string("max")});
  x = b.op("pool", {x}, pool);
  x = b.op("reduce", {x},
           {{"kind", std::string("sum")},
            {"axes", Dims{0, 1}},
            {"keep", int64_t(0)}});
  x = b.op("matmul", {x, x},
           {{"transpose_a", int64_t(1)}, {"transpose_b", int64_t(0)}});
  b.output(b.op("arg_reduce", {x},
                {{"kind", std::string("max")},
                 {"axis", int64_t(0)},
                 {"keep", int64_t(0)},
                 {"last", int64_t(0)}}));
  return wire(b.finish());
}

/// Ops that work on lines and slices, over packed elements too.
std::vector<uint8_t> lineGraph() {
  Builder b;
  b.symbol("n", 6);
  uint32_t x = b.input(BP_DTYPE_F32, {"5", "n + 4"});
  uint32_t u = b.input(BP_DTYPE_F32, {"3", "n + 4"});
  uint32_t i = b.input(BP_DTYPE_I64, {"3"});
  x = b.op("scatter", {x, i, u},
           {{"axis", int64_t(0)}, {"combine", std::string("add")}});
  x = b.op("cumulative", {x},
           {{"kind", std::string("max")},
            {"axis", int64_t(1)},
            {"exclusive", int64_t(1)},
            {"reverse", int64_t(1)}});
  std::vector<uint32_t> top = b.results(
      "top_k", 2, {x},
      {{"k", DimTexts{{"n"}}}, {"axis", int64_t(1)}, {"largest", int64_t(1)}});
  x = b.op("cast", {top[0]}, {{"dtype", int64_t(BP_DTYPE_I4)}});
  b.output(b.op("reverse", {x}, {{"axes", Dims{0}}}));
  b.output(top[1]);
  return wire(b.finish());
}

/// The bytes of the graph as a runnable, small enough graph, if they are one.
bp_graph_t *openSmall(const std::vector<uint8_t> &bytes,
                      std::vector<Tensor> &inputs,
                      std::vector<uint32_t> &symbols) {
  const bp_graph_table_t &table = graphTable();
  bp_graph_t *graph = nullptr;
  if (table.graph_open({bytes.data(), bytes.size()}, &graph, errorSlot()))
    return nullptr;
  bp_graph_info_t info;
  table.graph_info(graph, &info);
  symbols.assign(info.symbol_count, 3);
  std::vector<int64_t> wide(info.symbol_count, 3);
  bool fits = true;
  for (uint32_t value = 0; value < info.value_count && fits; ++value) {
    bp_value_info_t type;
    table.value_info(graph, value, &type);
    Dims dims(type.rank);
    fits = type.rank <= 8 && type.dtype != BP_DTYPE_INVALID &&
           table.value_shape(graph, value, wide.data(), dims.data()) == 0;
    int64_t bytes = 8;
    for (int64_t dim : dims)
      fits = fits && dim <= maxBytes &&
             (bytes *= std::max<int64_t>(dim, 1)) <= maxBytes;
    if (fits && type.producer == BP_NONE)
      inputs.push_back(randomTensor(type.dtype, dims, value));
  }
  if (fits)
    return graph;
  table.graph_close(graph);
  return nullptr;
}

void damage(const std::vector<uint8_t> &whole, unsigned rounds) {
  Plugin plugin;
  std::mt19937 random(11);
  unsigned ran = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<uint8_t> bytes = whole;
    for (unsigned i = 0; i <= round % 3; ++i) {
      uint8_t &byte = bytes[random() % bytes.size()];
      byte = round % 2 ? uint8_t(random()) : uint8_t(byte + random() % 5 - 2);
    }
    std::vector<Tensor> inputs;
    std::vector<uint32_t> symbols;
    bp_graph_t *graph = openSmall(bytes, inputs, symbols);
    if (!graph)
      continue;
    int64_t before = liveAllocations();
    plugin.run(graph, inputs, symbols);
    EXPECT_EQ(liveAllocations(), before);
    ++ran;
  }
  EXPECT_GT(ran, 0u);
}

} // namespace

TEST(Damage, MovementGraphs) { damage(movementGraph(), 3000); }

TEST(Damage, WindowGraphs) { damage(windowGraph(), 3000); }

TEST(Damage, LineGraphs) { damage(lineGraph(), 3000); }
