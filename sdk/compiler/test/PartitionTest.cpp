// SPDX-License-Identifier: Apache-2.0
//
// Partitions of plug-ins, and what is cut again when their compiler refuses:
// the compiler library with plug-ins whose code is the wire graph.
#include "sdk/compiler/test/PartitionToys.h"

#include <algorithm>

using namespace backplane;

namespace {

using Texts = std::vector<std::string>;

auto offers(std::vector<std::vector<uint32_t>> sets) {
  return [sets](const Graph &, const std::vector<bool> &) { return sets; };
}

TEST_F(PartitionTest, IsOneDispatch) {
  sun.sets = offers({{2, 1, 0}});
  sun.cost = 1500;
  sun.log = "all is well\nas ever";
  for (const char *round : {"compiled", "cached"}) {
    SCOPED_TRACE(round);
    Status status = run(chain(4));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg exp neg"}));
    EXPECT_EQ(lines("they are mine"), "target sun: partition of 3 ops, neg to "
                                      "neg, about 1500 ns: they are mine\n");
    EXPECT_EQ(lines("'partition_0' on sun"),
              "'partition_0' on sun: log: all is well\n"
              "'partition_0' on sun: log: as ever\n"
              "'partition_0' on sun: toy.ops=3\n");
    static std::map<std::string, Bytes> kept;
    services.cacheGet = [](const std::string &key) {
      auto found = kept.find(key);
      return found == kept.end() ? std::nullopt : std::optional(found->second);
    };
    services.cachePut = [](const std::string &key, auto blob) {
      kept[key].assign(blob.begin(), blob.end());
    };
    if (std::string_view(round) == "compiled") {
      ASSERT_TRUE(run(chain(4)).ok());
      sun.compiled.clear();
    }
  }
  EXPECT_TRUE(sun.compiled.empty());
}

TEST_F(PartitionTest, IsNotTakenWhereItCannotBe) {
  sun.sets = offers({{0, 2}, {0, 1}, {1, 2}});
  ASSERT_TRUE(run(chain(4)).ok());
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg", "0: neg exp"}));
  EXPECT_EQ(lines("not taken"),
            "target sun: a partition of 2 ops, neg to neg is not taken: a path "
            "leaves it and comes back through exp, which is not in it\n"
            "target sun: a partition of 2 ops, exp to neg is not taken: exp is "
            "in another partition\n");
  sun.maxBindings = 1;
  sun.sets = offers({{0, 1, 2, 3}});
  ASSERT_TRUE(run(chain(4)).ok());
  EXPECT_EQ(lines("not taken"),
            "target sun: a partition of 4 ops, neg to exp is not taken: it has "
            "2 bindings without its weights, the target has 1\n");
}

TEST_F(PartitionTest, ThatIsDamagedIsAnError) {
  sun.sets = offers({{4}});
  EXPECT_EQ(run(chain(4)).message(),
            "sun: partition: sun: partition: partition 0: it names op 4, the "
            "graph has 4");
  sun.sets = offers({{0}, {1, 1}});
  EXPECT_EQ(run(chain(4)).message(),
            "sun: partition: sun: partition: partition 1: it names op 1 twice");
  sun.sets = offers({{}});
  EXPECT_EQ(run(chain(4)).code(), BP_STATUS_INVALID_ARGUMENT);
}

TEST_F(PartitionTest, ThatIsRefusedIsCutAgain) {
  sun.refuses = [](const Graph &graph) { return graph.ops.size() > 2; };
  sun.sets = [](const Graph &, const std::vector<bool> &refused) {
    using Sets = std::vector<std::vector<uint32_t>>;
    return refused[3] ? Sets{{0, 1, 2, 3}, {0, 1}, {2, 3}} : Sets{{0, 1, 2, 3}};
  };
  Status status = run(chain(4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: neg exp"})); // two calls of one kernel
  EXPECT_EQ(std::ranges::count(sun.compiled, 4u), 1);
  EXPECT_EQ(lines("refused"),
            "target sun refused a partition of 4 ops, neg of f32 to exp of "
            "f32: partition_0: sun: compile: failed with UNIMPLEMENTED and "
            "gave no reason; it is cut "
            "again\n");
}

TEST_F(PartitionTest, ThatIsAlwaysRefusedLeavesItsOps) {
  sun.refuses = [](const Graph &graph) { return graph.ops.size() > 1; };
  sun.sets = offers({{0, 1, 2, 3}, {0, 1}});
  Status status = run(chain(4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg"}));
}

/// y = neg(exp(m)), m = (neg x)², a product.
Graph product() {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4, 4}});
  ValueId neg = (*graph.add("neg", {x}))[0];
  ValueId square = (*graph.add("matmul", {neg, neg}))[0];
  ValueId exp = (*graph.add("exp", {square}))[0];
  graph.addOutput((*graph.add("neg", {exp}))[0], "y");
  return graph;
}

TEST_F(PartitionTest, LeavesTheRestToTheOtherDevice) {
  sun.sets = offers({{1, 2}});
  Status status = run(product(), "sun+moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: matmul exp", "1: neg"}));
  EXPECT_EQ(lines("it is in no partition of the plug-in"),
            "neg of f32: on moon, as sun: it is in no partition of the "
            "plug-in\nneg of f32: on moon, as sun: it is in no partition of "
            "the plug-in\n");
  sun.refuses = [](const Graph &) { return true; };
  ASSERT_TRUE(run(product(), "sun+moon").ok());
  EXPECT_EQ(dispatches, (Texts{"1: exp", "1: matmul", "1: neg"}));
  EXPECT_NE(lines("refused a partition"), "");
}

TEST_F(PartitionTest, IsLeftWhereTransfersCostMore) {
  sun.sets = offers({{1, 2}});
  ASSERT_TRUE(run(chain(4), "sun+moon").ok());
  EXPECT_EQ(dispatches, (Texts{"1: exp", "1: neg"}));
  EXPECT_NE(lines("partition of 2 ops, exp to neg: they are mine: on moon, as "
                  "moon saves"),
            "");
}

TEST_F(PartitionTest, TravelsWithWhatLiesBetween) {
  sun.sets = [](const Graph &graph, const std::vector<bool> &) {
    std::vector<uint32_t> ops;
    for (uint32_t i = 0; i < graph.ops.size(); ++i)
      if (graph.ops[i].name != "broadcast")
        ops.push_back(i);
    return std::vector<std::vector<uint32_t>>{ops};
  };
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4}});
  ValueId neg = (*graph.add("neg", {x}))[0];
  ValueId wide = (*graph.add(
      "broadcast", {neg},
      {{"dims", Dims{3, 4}}, {"axes", std::vector<int64_t>{1}}}))[0];
  graph.addOutput((*graph.add("exp", {wide}))[0], "y");
  graph.addOutput(wide, "z");
  Status status = run(graph);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(std::ranges::count(dispatches, "0: neg broadcast exp"))
      << dispatches.at(0);
}

TEST_F(PartitionTest, BakedWeightsAreNotKept) {
  sun.sets = offers({{1, 2}});
  Model model;
  auto id = model.weights.add({DType::F32, {4}}, Bytes(16, 1));
  ValueId x = model.graph.addInput("x", {DType::F32, {4}});
  ValueId w = (*model.graph.add(
      "weight", {},
      {{"id", *id}, {"dtype", int64_t(DType::F32)}, {"dims", Dims{4}}}))[0];
  ValueId sum = (*model.graph.add("add", {x, w}))[0];
  model.graph.addOutput((*model.graph.add("exp", {sum}))[0], "y");
  ASSERT_TRUE(run(model).ok());
  EXPECT_EQ(artifact.weights.size(), 1u);
  sun.bakes = true;
  Status status = run(model);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(artifact.weights.size(), 0u);
}

TEST_F(PartitionTest, AGroupThatIsRefusedIsCutIntoItsOps) {
  moon.fusion = BP_FUSE_ELEMENTWISE;
  moon.refuses = [](const Graph &graph) { return graph.ops.size() > 1; };
  Status status = run(chain(3), "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg"}));
  EXPECT_EQ(std::ranges::count(moon.compiled, 3u), 1);
  EXPECT_EQ(lines("target moon refused"),
            "target moon refused one dispatch of 3 ops, neg of f32 to neg of "
            "f32: neg_0: moon: compile: failed with UNIMPLEMENTED and gave no "
            "reason; each gets a "
            "dispatch of its own\n");
  moon.refuses = [](const Graph &) { return true; };
  EXPECT_EQ(run(chain(3), "moon").code(), BP_STATUS_UNIMPLEMENTED);
}

TEST_F(PartitionTest, ACompositeThatIsRefusedIsDecomposed) {
  moon.refuses = [](const Graph &graph) {
    return graph.ops[0].name == "softsign";
  };
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {7}});
  graph.addOutput((*graph.add("softsign", {x}, {}, "here"))[0], "y");
  Status status = run(graph, "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(dispatches.size(), 1u);
  EXPECT_EQ(lines("the composite"),
            "target moon refused the composite softsign (here) of f32: "
            "softsign_0: moon: compile: failed with UNIMPLEMENTED and gave no "
            "reason; it is "
            "decomposed\n");
}

TEST_F(PartitionTest, CompileIsAskedBeforeTheEmitter) {
  moon.emitter = "llvm-elf";
  moon.refuses = [](const Graph &graph) { return graph.ops[0].name == "exp"; };
  Status status = run(chain(2), "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: neg", "code"}));
}

TEST_F(PartitionTest, StaticShapesAreAskedFor) {
  moon.flags = BP_TARGET_STATIC_SHAPES;
  Status status = run(chain(2), "moon");
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(status.message(),
            "moon: target moon takes sizes that are numbers, and n is none; "
            "compile with --dim n=SIZE");
  Graph fixed = chain(2);
  fixed.symbols[0].minimum = fixed.symbols[0].maximum = 7;
  status = run(fixed, "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(artifact.inputs.at(0).type.dims, (Dims{7}));
  EXPECT_TRUE(artifact.symbols.empty());
  Graph bounded = chain(2);
  bounded.symbols[0].maximum = 64;
  EXPECT_EQ(run(bounded, "moon").code(), BP_STATUS_UNIMPLEMENTED);
}

} // namespace
