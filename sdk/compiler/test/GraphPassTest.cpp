// SPDX-License-Identifier: Apache-2.0
//
// Passes over graphs that plug-ins bring.
#include "sdk/compiler/test/Toy.h"
#include "sdk/support/Error.h"

#include <algorithm>

using namespace backplane;
using namespace backplane::toys;

namespace {

/// Another op in the place of the first.
Graph absFirst(Graph graph) {
  graph.ops[0].name = "abs";
  return graph;
}

TEST_F(CompileTest, GraphPassesChangeAProgram) {
  toy.graphPasses = {{"to-abs", "partition"}};
  toy.runPass = gives(absFirst);
  Status status = run(chain(2));
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(opsOf(**file), "abs:f32 exp:f32");
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage partition: toy: graph pass 'to-abs': 2 ops "
            "before, 2 after");
}

TEST_F(CompileTest, GraphPassesChangeDispatches) {
  toy.graphPasses = {{"to-abs", "lower"}};
  toy.runPass = gives([](const Graph &graph) {
    EXPECT_EQ(graph.symbols.at(0).name, "a");
    return absFirst(graph);
  });
  Status status = run(chain(2));
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(opsOf(**file), "abs:f32 exp:f32");
  const auto &report = (*file)->metadata().variants[0].report;
  EXPECT_TRUE(std::ranges::any_of(report, [](const std::string &line) {
    return line.ends_with(": toy: graph pass 'to-abs': 2 ops before, 2 after");
  })) << report.at(0);
}

TEST_F(CompileTest, GraphPassesChangeDispatchesOfAnEmitter) {
  auto code = [&](bool changed) {
    toy.emitter = "llvm-elf";
    if (changed)
      toy.graphPasses = {{"to-abs", "lower"}};
    toy.runPass = gives(absFirst);
    Status status = run(chain(2));
    toy.graphPasses = {};
    EXPECT_TRUE(status.ok()) << status.message();
    auto file = ArtifactFile::open(path("model.bpx"));
    auto bytes = (*file)->metadata().variants[0].executables.at(0).blob.bytes;
    return Bytes(bytes.begin(), bytes.end());
  };
  Bytes plain = code(false);
  EXPECT_FALSE(plain.empty());
  EXPECT_NE(code(true), plain);
}

TEST_F(CompileTest, APassThatPutsNothingLeavesTheGraph) {
  toy.graphPasses = {{"idle", "partition"}};
  toy.runPass = [](auto...) { return BP_STATUS_OK; };
  Status status = run(chain(1));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CompileTest, APassThatDoesNotDoAGraphIsPassedOver) {
  toy.graphPasses = {{"picky", "partition"}};
  toy.runPass = [](bp_bytes_t, const bp_bytes_sink_t *, bp_error_t *error) {
    return setError(error, unimplemented("no neg here"));
  };
  Status status = run(chain(1));
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage partition: toy: graph pass 'picky' passed it "
            "over: run_graph_pass: no neg here");
}

TEST_F(CompileTest, NamesThePassThatFailsOrBreaksTheGraph) {
  auto refusal = [&](auto pass, const char *stage) {
    toy.graphPasses = {{"bad", stage}};
    toy.runPass = pass;
    Status status = run(chain(2));
    EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("toy: graph pass 'bad'"), std::string::npos)
        << status.message();
    return status.message();
  };
  auto says = [](const std::string &message, const char *part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  for (const char *stage : {"partition", "lower"}) {
    says(refusal(
             [](bp_bytes_t, const bp_bytes_sink_t *, bp_error_t *error) {
               return setError(error, invalidArgument("out of luck"));
             },
             stage),
         "out of luck");
    says(refusal(
             [](bp_bytes_t bytes, const bp_bytes_sink_t *sink, bp_error_t *) {
               return sink->put(sink->context, {bytes.data, bytes.size / 2});
             },
             stage),
         "gave what is no graph");
    says(refusal(gives([](Graph graph) {
                   graph.outputs[0].value = graph.inputs[0];
                   graph.outputs[0].name = "z";
                   return graph;
                 }),
                 stage),
         "changed output 0");
    says(refusal(gives([](Graph graph) {
                   graph.addInput("more", {DType::F32, {}});
                   return graph;
                 }),
                 stage),
         "gave 2 inputs, not 1");
    says(refusal(gives([](Graph graph) {
                   graph.symbols[0].maximum = 7;
                   return graph;
                 }),
                 stage),
         "changed symbol 0");
  }
}

TEST_F(CompileTest, RefusesGraphPassesItCannotPlace) {
  auto refusal = [&](std::vector<std::array<const char *, 2>> passes) {
    toy.graphPasses = std::move(passes);
    Status status = run(chain(1));
    return status.message();
  };
  EXPECT_EQ(refusal({{"late", "partitions"}}),
            "toy: graph pass 'late' is for 'partitions'; did you mean "
            "'partition'?; graph passes are for partition, lower");
  EXPECT_EQ(refusal({{"twice", "lower"}, {"twice", "lower"}}),
            "toy: graph_passes: lists graph pass 'twice' twice");
  EXPECT_EQ(refusal({{"Not a name", "lower"}}),
            "toy: graph_passes: a graph pass has no name of a-z, 0-9 and -, "
            "of 64 letters at most");
}

} // namespace
