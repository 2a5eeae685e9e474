// SPDX-License-Identifier: Apache-2.0
//
// PartitionToys.h: two plug-ins, one of them with partitions, whose code is the
// wire graph, and the compiler library with them.
#ifndef BACKPLANE_COMPILER_TEST_PARTITIONTOYS_H
#define BACKPLANE_COMPILER_TEST_PARTITIONTOYS_H

#include "sdk/compiler/test/Library.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/TemporaryFolder.h"

#include <filesystem>
#include <functional>

namespace backplane {

/// One plug-in; its functions are those of the test.
struct Toy {
  const char *name = "";
  const char *emitter = "";
  uint32_t fusion = 0, flags = 0, maxBindings = 0;
  /// What `compile` does not take, or nothing.
  std::function<bool(const Graph &graph)> refuses = [](auto &) {
    return false;
  };
  bool bakes = false; ///< weights
  const char *log = "";
  /// Ops that partitions ask for, and whether they were refused before.
  std::function<std::vector<std::vector<uint32_t>>(
      const Graph &graph, const std::vector<bool> &refused)>
      sets;
  double cost = 0;
  std::vector<size_t> compiled; ///< ops of each call
};

class PartitionTest : public testing::Test {
protected:
  void SetUp() override;

  Status run(Model model, const char *target = "sun");
  Status run(const Graph &graph, const char *target = "sun") {
    return run(Model{graph, {}, {}}, target);
  }

  /// The lines of the report with a text in them.
  std::string lines(std::string_view text) const {
    std::string found;
    for (const std::string &line : artifact.variants[0].report)
      if (line.find(text) != line.npos)
        found += line + "\n";
    return found;
  }

  Toy sun, moon; ///< sun has partitions and no claim
  bp_compiler_table_t sunTable, moonTable;
  CompileServices services;
  ArtifactInfo artifact;
  /// "DEVICE: op op", each executable of the variant.
  std::vector<std::string> dispatches;

private:
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() + "/model.bpx";
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_TEST_PARTITIONTOYS_H
