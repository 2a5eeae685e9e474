// SPDX-License-Identifier: Apache-2.0
//
// The compiler library as the host library uses it: what it makes of a model,
// and which kernels are compiled.
#include "sdk/compiler/test/Toy.h"

#include <set>

using namespace backplane;
using namespace backplane::toys;

namespace {

TEST_F(CompileTest, MakesAnArtifactThatOpens) {
  Status status = run(chain(2));
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  EXPECT_EQ(variant.program.commands.size(), 1u);
  ASSERT_EQ(variant.executables.size(), 1u);
  auto graph = readGraph(variant.executables[0].blob.bytes);
  ASSERT_TRUE(graph.ok()) << graph.message();
  EXPECT_EQ(graph->ops.size(), 2u);
}

TEST_F(CompileTest, EqualDispatchesShareAKernelAndClaimsCutGroups) {
  ASSERT_TRUE(run(chain(6)).ok());
  EXPECT_EQ(toy.compiledCount, 1);
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  EXPECT_EQ(variant.program.commands.size(), 5u); // two barriers
  bool told = false;
  for (const std::string &line : variant.report)
    told |= line.find("toys take two ops") != std::string::npos;
  EXPECT_TRUE(told);
}

/// y_i = neg(x_i) for x_i of two sizes of its own, named first to last or the
/// other way round.
Graph pairs(const std::vector<std::array<std::string, 2>> &sizes) {
  Graph graph;
  for (const auto &names : sizes) {
    Dims dims;
    for (const std::string &name : names) {
      EXPECT_TRUE(graph.addSymbol({name, 1, 1024, 1}).ok());
      dims.push_back(Dim::symbol(name));
    }
    ValueId x = graph.addInput("x_" + names[0], {DType::F32, dims});
    graph.addOutput((*graph.add("neg", {x}))[0], "y_" + names[0]);
  }
  return graph;
}

TEST_F(CompileTest, DispatchesThatDifferInNamesOfSymbolsShareAKernel) {
  toy.grid = "a + 2*b"; // what the kernel calls its symbols
  Status status =
      run(pairs({{"rows", "columns"}, {"m", "n"}, {"b", "a"}, {"s10", "s9"}}));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(toy.compiledCount, 1);
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  std::vector<std::string> found;
  for (const program::Command &command :
       (*file)->metadata().variants[0].program.commands)
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
      EXPECT_EQ(dispatch->entry, 0u);
      std::string text = dispatch->grid[0].str();
      for (const Dim &symbol : dispatch->constants)
        text += " " + symbol.str();
      found.push_back(text);
    }
  EXPECT_EQ(found, (std::vector<std::string>{"2*columns + rows rows columns",
                                             "m + 2*n m n", "2*a + b b a",
                                             "s10 + 2*s9 s10 s9"}));
}

TEST_F(CompileTest, IsDeterministic) {
  ASSERT_TRUE(run(chain(5), "a.bpx").ok());
  ASSERT_TRUE(run(chain(5), "b.bpx").ok());
  EXPECT_FALSE(bytes("a.bpx").empty());
  EXPECT_EQ(bytes("a.bpx"), bytes("b.bpx"));
}

TEST_F(CompileTest, TakesKernelsFromTheCache) {
  std::map<std::string, Bytes> cache;
  services.cacheGet = [&](const std::string &key) -> std::optional<Bytes> {
    auto found = cache.find(key);
    return found == cache.end() ? std::nullopt : std::optional(found->second);
  };
  services.cachePut = [&](const std::string &key,
                          std::span<const uint8_t> blob) {
    cache[key].assign(blob.begin(), blob.end());
  };
  ASSERT_TRUE(run(chain(2), "a.bpx").ok());
  ASSERT_TRUE(run(chain(2), "b.bpx").ok());
  EXPECT_EQ(toy.compiledCount, 1);
  EXPECT_EQ(bytes("a.bpx"), bytes("b.bpx"));
  // A damaged entry is not used.
  for (auto &[key, blob] : cache)
    blob.resize(blob.size() / 2);
  ASSERT_TRUE(run(chain(2), "c.bpx").ok());
  EXPECT_EQ(toy.compiledCount, 2);
  EXPECT_EQ(bytes("a.bpx"), bytes("c.bpx"));
}

TEST_F(CompileTest, CompilesAgainForAnotherToolchainOrProperty) {
  std::set<std::string> keys;
  services.cacheGet = [&](const std::string &key) -> std::optional<Bytes> {
    keys.insert(key);
    return std::nullopt;
  };
  ASSERT_TRUE(run(chain(2)).ok());
  ASSERT_TRUE(run(chain(2)).ok());
  EXPECT_EQ(keys.size(), 1u);
  toy.toolchain = "toy-cc 2";
  ASSERT_TRUE(run(chain(2)).ok());
  EXPECT_EQ(keys.size(), 2u);
  toy.tiles = 8;
  ASSERT_TRUE(run(chain(2)).ok());
  EXPECT_EQ(keys.size(), 3u);
}

TEST_F(CompileTest, NamesTheTargetsThatThereAre) {
  Status status = run(chain(1), "model.bpx", "tyo");
  EXPECT_EQ(status.code(), BP_STATUS_NOT_FOUND);
  EXPECT_NE(status.message().find("toy"), std::string::npos);
}

} // namespace
