// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/GraphFile.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace backplane;

namespace {

class GraphFileTest : public testing::Test {
protected:
  GraphFileTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const float numbers[] = {1, 2, 3};
    Bytes bytes(sizeof(numbers));
    std::memcpy(bytes.data(), numbers, sizeof(numbers));
    id_ = *WeightPool().add({DType::F32, {3}}, bytes);
    Graph graph;
    ValueId x = graph.addInput("x", {DType::F32, {3}});
    ValueId w = graph
                    .add("weight", {},
                         {{"id", id_},
                          {"dtype", int64_t(DType::F32)},
                          {"dims", Dims{3}}})
                    ->front();
    graph.addOutput(graph.add("add", {x, w})->front(), "y");
    Bytes wire = writeGraph(graph);
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char *>(wire.data()), long(wire.size()));
  }
  ~GraphFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/graph.bpg"; }
  void writeWeight(std::vector<float> numbers) const {
    auto tensor = Tensor::create(BP_DTYPE_F32, {int64_t(numbers.size())});
    std::memcpy(tensor->data(), numbers.data(), tensor->size());
    ASSERT_TRUE(writeNpy(folder_ + "/weight-" + id_ + ".npy", *tensor).ok());
  }

  std::string folder_ =
      testing::TempDir() + "bp-graph-file-" + std::to_string(getpid());
  WeightId id_;
};

TEST_F(GraphFileTest, TakesTheWeightsBesideIt) {
  writeWeight({1, 2, 3});
  auto model = readGraphFile(path());
  ASSERT_TRUE(model.ok()) << model.message();
  ASSERT_TRUE(model->weights.find(id_));
  EXPECT_EQ(model->weights.find(id_)->data.size(), 12u);
  EXPECT_EQ(model->externalFiles,
            (std::vector<std::string>{"weight-" + id_ + ".npy"}));
}

TEST_F(GraphFileTest, LeavesOutAWeightThatIsNotThere) {
  auto model = readGraphFile(path());
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_TRUE(model->weights.all().empty());
}

TEST_F(GraphFileTest, RefusesAnotherWeightUnderItsName) {
  writeWeight({1, 2, 4});
  EXPECT_EQ(readGraphFile(path()).code(), BP_STATUS_DATA_LOSS);
  writeWeight({1, 2});
  EXPECT_FALSE(readGraphFile(path()).ok());
}

TEST_F(GraphFileTest, RefusesWhatIsNoGraph) {
  EXPECT_EQ(readGraphFile(folder_).code(), BP_STATUS_NOT_FOUND);
  std::ofstream(path(), std::ios::binary | std::ios::trunc) << "not a graph";
  EXPECT_FALSE(readGraphFile(path()).ok());
}

} // namespace
