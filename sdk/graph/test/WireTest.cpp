// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/Wire.h"

#include "TestGraphs.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/graph_generated.h"

#include <chrono>
#include <cmath>
#include <random>

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(Wire, RoundTrips) {
  for (const Graph &graph : {smallGraph(), bertGraph(1), Graph()}) {
    auto again = readGraph(writeGraph(graph));
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(*again, graph) << again->str() << graph.str();
  }
}

TEST(Wire, KeepsWhatOnlySomeGraphsHave) {
  Builder b;
  b.graph.name = "quoted \" \xc3\xa9";
  ASSERT_TRUE(b.graph.addSymbol({"n", 2, 1024, 2}).ok());
  b.graph.assertions.push_back({D("n mod 4"), D("0"), "why"});
  b.graph.variables.push_back({"v", T("f16[2]"), std::string(32, 'b')});
  ValueId x = b.graph.addInput("x", T("f32[n floordiv 2, 0]"));
  ValueId y = b.add("clamp", {x}, {{"low", -INFINITY}, {"high", 6.5}});
  b.add("dim", {}, {{"value", Ds("n - 5, -3, 7, -1")}});
  b.graph.addOutput(y, "");
  auto again = readGraph(writeGraph(b.graph));
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(*again, b.graph);
}

TEST(Wire, IsDeterministic) {
  EXPECT_EQ(writeGraph(bertGraph(1)), writeGraph(bertGraph(1)));
  Graph small = smallGraph();
  auto again = readGraph(writeGraph(small));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(writeGraph(*again), writeGraph(small));
}

TEST(Wire, CarriesRegions) {
  Graph graph = smallGraph();
  graph.ops[2].regions.push_back(smallGraph());
  auto again = readGraph(writeGraph(graph));
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.message().find("takes no regions, found 1"),
            std::string::npos)
      << again.message();
}

TEST(Wire, BoundsTheDepthOfRegions) {
  Graph graph = smallGraph();
  for (int i = 0; i < 200; ++i) {
    Graph outer = smallGraph();
    outer.ops[2].regions.push_back(std::move(graph));
    graph = std::move(outer);
  }
  EXPECT_EQ(readGraph(writeGraph(graph)).code(), BP_STATUS_DATA_LOSS);
}

TEST(Wire, ReadsUnalignedBytes) {
  Bytes wire = writeGraph(smallGraph());
  wire.insert(wire.begin(), 3, 0);
  EXPECT_TRUE(readGraph(std::span(wire).subspan(3)).ok());
}

/// A graph whose `count` ops share one location of 4 KiB.
Bytes sharingWire(size_t count) {
  flatbuffers::FlatBufferBuilder b;
  auto location = b.CreateString(std::string(4096, 'x'));
  auto name = b.CreateString("neg");
  std::vector<flatbuffers::Offset<wire::Op>> ops;
  for (size_t i = 0; i < count; ++i)
    ops.push_back(wire::CreateOp(b, name, 1, 0, 0, 0, 0, location));
  auto list = b.CreateVector(ops);
  auto graph = wire::CreateGraph(b, 0, 0, 0, 0, 0, list);
  wire::FinishModuleBuffer(b, wire::CreateModule(b, 1, graph));
  return Bytes(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
}

TEST(Wire, CopiesNoMoreThanTheBytesHold) {
  Result<Graph> one = readGraph(sharingWire(1));
  EXPECT_NE(one.message().find("takes 1 operands"), std::string::npos)
      << one.message();
  EXPECT_EQ(readGraph(sharingWire(100)).message(),
            "wire graph uses parts of its bytes more than once");
}

TEST(Wire, RefusesANewerFormat) {
  flatbuffers::FlatBufferBuilder b;
  auto graph = wire::CreateGraph(b);
  wire::FinishModuleBuffer(b, wire::CreateModule(b, 2, graph));
  Result<Graph> read = readGraph({b.GetBufferPointer(), b.GetSize()});
  EXPECT_EQ(read.code(), BP_STATUS_UNIMPLEMENTED);
}

TEST(Wire, RefusesOtherBytes) {
  EXPECT_EQ(readGraph({}).code(), BP_STATUS_DATA_LOSS);
  EXPECT_EQ(readGraph(Bytes(7)).code(), BP_STATUS_DATA_LOSS);
  EXPECT_EQ(readGraph(Bytes(4096)).code(), BP_STATUS_DATA_LOSS);
  EXPECT_EQ(readGraph(Bytes(4096, 0xff)).code(), BP_STATUS_DATA_LOSS);
}

TEST(Wire, RefusesEveryTruncation) {
  Bytes wire = writeGraph(smallGraph());
  // At the end stands up to one word of padding.
  for (size_t size = 0; size + 8 < wire.size(); ++size)
    ASSERT_FALSE(readGraph(std::span(wire).first(size)).ok()) << size;
}

/// Damages bytes: flips bits, or overwrites a word with a telling value.
void mutate(Bytes &wire, std::mt19937 &random) {
  constexpr uint32_t words[] = {0,          1,          0xffffffff, 0x7fffffff,
                                0x80000000, 0xfffffffc, 64,         4};
  for (uint32_t count = 1 + random() % 4; count > 0; --count) {
    size_t at = random() % wire.size();
    if (random() % 2) {
      wire[at] ^= static_cast<uint8_t>(1u << (random() % 8));
      continue;
    }
    at = at / 4 * 4;
    uint32_t word = words[random() % std::size(words)];
    for (size_t i = 0; i < 4 && at + i < wire.size(); ++i)
      wire[at + i] = static_cast<uint8_t>(word >> (8 * i));
  }
}

TEST(Wire, SurvivesDamage) {
  const Bytes originals[] = {writeGraph(smallGraph()),
                             writeGraph(bertGraph(1))};
  int accepted = 0;
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    Bytes wire = originals[seed % 2];
    mutate(wire, random);
    if (random() % 8 == 0)
      wire.resize(random() % wire.size());
    Result<Graph> graph = readGraph(wire);
    if (!graph) {
      ASSERT_FALSE(graph.message().empty());
      continue;
    }
    // What is accepted is a graph in every respect.
    ++accepted;
    ASSERT_TRUE(graph->verify().ok());
    auto again = readGraph(writeGraph(*graph));
    ASSERT_TRUE(again.ok()) << again.message();
  }
  EXPECT_GT(accepted, 0);
}

TEST(Wire, ReadsBertFast) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto since = [&](auto start) {
    return std::chrono::duration<double, std::milli>(now() - start).count();
  };
  Graph graph = *decompose(bertGraph(12), [](const Op &) { return false; });
  auto start = now();
  ASSERT_TRUE(graph.verify().ok());
  double verify = since(start);
  start = now();
  Bytes wire = writeGraph(graph);
  double write = since(start);
  start = now();
  auto again = readGraph(wire);
  double read = since(start);
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(*again, graph);
  std::printf("%zu ops, %zu bytes: write %.2f ms, read %.2f ms of which "
              "verify %.2f ms\n",
              graph.ops.size(), wire.size(), write, read, verify);
}

} // namespace
