// SPDX-License-Identifier: Apache-2.0
//
// Pipelines that plug-ins give for the stages.
#include "sdk/compiler/StageTable.h"
#include "sdk/compiler/test/Toy.h"

using namespace backplane;
using namespace backplane::toys;

namespace {

TEST_F(CompileTest, RefusesPassesThatAreNotPublished) {
  toy.pipeline = "func.func(bp-vectorize{vector-bits=512},inline)";
  Status status = run(chain(1));
  EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("'inline'"), std::string::npos);
}

TEST_F(CompileTest, TakesTheFirstPipelineThatThisHostHas) {
  toy.emitter = "llvm-elf";
  toy.preferred = {"bp-bind-buffers,bp-contract-next",
                   "bp-bind-buffers,bp-contract{lanes=4}", "inline"};
  Status status = run(product());
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage tile: pipeline 4 of 4; pipeline 1: "
            "'bp-contract-next' is no published pass; did you mean "
            "'bp-contract'?; pipeline 2: no such option lanes: failed to add "
            "`bp-contract` with options `lanes=4`; pipeline 3: 'inline' is no "
            "published "
            "pass");
}

TEST_F(CompileTest, TellsWhyItHasNoPipelineForAStage) {
  toy.emitter = "llvm-elf";
  toy.stages[0].second = "bp-next";
  toy.preferred = {"inline"};
  Status status = run(product());
  // Joined with another, it is no less known.
  EXPECT_EQ(run(product(), "model.bpx", "toy+toy").message(), status.message());
  EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "toy: target 'toy', stage tile: this host has no passes for its "
            "pipelines; pipeline 1: 'inline' is no published pass; pipeline 2: "
            "'bp-next' is no published pass");
}

TEST_F(CompileTest, RunsPipelinesAtTheStagesOfAProgram) {
  for (const char *stage : {"import", "optimize", "partition", "layout"}) {
    toy.programStages = {{stage, "func.func(bp-simplify)"}};
    Status status = run(chain(2));
    ASSERT_TRUE(status.ok()) << status.message();
    auto file = ArtifactFile::open(path("model.bpx"));
    ASSERT_TRUE(file.ok()) << file.message();
    EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
              std::string("target toy, stage ") + stage +
                  ": ran func.func(bp-simplify), 2 ops before, 2 after");
  }
}

TEST_F(CompileTest, APipelineOfAProgramChangesIt) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(8)}});
  ValueId there = (*graph.add("neg", {x}))[0];
  graph.addOutput((*graph.add("neg", {there}))[0], "y");
  toy.programStages = {{"import", "bp-simplify"}};
  Status status = run(graph);
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage import: ran bp-simplify, 2 ops before, 0 after");
}

TEST_F(CompileTest, RunsAPipelineAtLower) {
  toy.emitter = "llvm-elf";
  toy.programStages = {{"lower", "bp-expand-math"}};
  Status status = run(product());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CompileTest, RefusesStagesThatTakeNoPipeline) {
  auto refusal = [&](const char *stage) {
    toy.programStages = {{stage, "bp-simplify"}};
    Status status = run(chain(1));
    EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
    return status.message();
  };
  const std::string there =
      "; pipelines are for import, optimize, partition, layout, lower, tile, "
      "bufferize, device";
  EXPECT_EQ(refusal("optimise"), "toy: target 'toy': there is no stage "
                                 "'optimise'; did you mean 'optimize'?" +
                                     there);
  for (const Stage *stage : backplane::stages)
    if (stage->pipelines == PipelineScope::None)
      EXPECT_EQ(refusal(stage->name.data()), "toy: target 'toy': stage " +
                                                 std::string(stage->name) +
                                                 " takes no pipeline" + there);
}

} // namespace
