// SPDX-License-Identifier: Apache-2.0
//
// bp-compare on devices of this build: right ones, and one that leaves out the
// last term of sums.
#include "sdk/graph/Wire.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

namespace backplane {
namespace {

class CompareTool : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "bp-compare-" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
    setenv("BACKPLANE_MUTANT", "m3", 1);
    Graph graph;
    (void)graph.addSymbol({"n"});
    Dims left = {Dim::symbol("n"), Dim(9)}, right = {Dim(9), Dim(7)};
    ValueId x = graph.addInput("x", {DType::F32, left});
    ValueId y = graph.addInput("y", {DType::F32, right});
    ValueId value = graph.add("tanh", {x})->front();
    value = graph.add("matmul", {value, y})->front();
    graph.addOutput(graph.add("relu", {value})->front(), "z");
    save(graph);
  }
  void save(const Graph &graph) const {
    Bytes bytes = writeGraph(graph);
    std::ofstream(folder + "/model.bpg", std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  int run(const std::string &options) const {
    std::string command = std::string(BP_COMPARE) + " " + folder +
                          "/model.bpg --dim n=4 " + options + " > " + folder +
                          "/text";
    int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string text() const {
    std::ifstream file(folder + "/text");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder;
};

TEST_F(CompareTool, LetsRightDevicesAgree) {
  EXPECT_EQ(run("--a ref --b host"), 0) << text();
  EXPECT_NE(text().find("agree"), std::string::npos);
}

TEST_F(CompareTool, SavesTheOpThatIsWrong) {
  EXPECT_EQ(run("--a ref --b mutant --out " + folder + "/case"), 1);
  EXPECT_NE(text().find("mutant is wrong"), std::string::npos) << text();
  std::ifstream file(folder + "/case/graph.bpg", std::ios::binary);
  Bytes bytes((std::istreambuf_iterator<char>(file)), {});
  auto graph = readGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.message();
  ASSERT_EQ(graph->ops.size(), 1u) << graph->str();
  EXPECT_EQ(graph->ops[0].name, "matmul");
  EXPECT_TRUE(std::filesystem::exists(folder + "/case/input0.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/case/README.md"));
}

/// Registered kernels take part, as in an application.
TEST_F(CompareTool, FindsAKernelThatIsWrong) {
  Graph graph;
  (void)graph.addSymbol({"n"});
  TensorType type{DType::F32, {Dim::symbol("n")}};
  ValueId x = graph.addInput("x", type), y = graph.addInput("y", type);
  ValueId product = graph.add("mul", {x, y})->front();
  graph.addOutput(graph.add("relu", {product})->front(), "z");
  save(graph);
  EXPECT_EQ(run("--a ref --b host"), 0) << text();
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS ":" BP_MARKED_MANIFEST, 1);
  EXPECT_EQ(run("--a ref --b host"), 1) << text();
  EXPECT_NE(text().find("host is wrong"), std::string::npos) << text();
}

TEST_F(CompareTool, RefusesWhatItCannotRun) {
  EXPECT_EQ(run("--a nowhere --b host 2> /dev/null"), 2);
  EXPECT_EQ(run("--dim n 2> /dev/null"), 2);
  EXPECT_EQ(run("--input q=none.npy 2> /dev/null"), 2);
}

} // namespace
} // namespace backplane
