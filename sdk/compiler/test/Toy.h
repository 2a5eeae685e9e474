// SPDX-License-Identifier: Apache-2.0
//
// Toy.h: the compiler library with a plug-in whose code is the wire graph of
// each dispatch, and which says what a test wants.
#ifndef BACKPLANE_COMPILER_TEST_TOY_H
#define BACKPLANE_COMPILER_TEST_TOY_H

#include "sdk/compiler/test/Library.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/graph/Wire.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/TemporaryFolder.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

namespace backplane::toys {

/// What the plug-in says; each test starts from this.
struct Toy {
  const char *emitter = ""; ///< "llvm-elf": toys are x86 CPUs
  uint32_t declaredDot = 0; ///< BP_NUMERICS_ of products of f32
  uint64_t storedOnly = 0;  ///< dtypes that toys hold and do not compute in
  uint64_t computed = 0;    ///< of those, after all
  const char *toolchain = "toy-cc 1";
  int64_t tiles = 4;
  std::vector<bp_op_version_t> opVersions; ///< that toys list
  uint32_t maxOps = 2;
  const char *pipeline = nullptr;
  std::vector<const char *> preferred; ///< for the stage `tile`
  /// Stages of a program and pipelines.
  std::vector<std::array<const char *, 2>> programStages;
  Stages stages = cpuStages; ///< of a CPU
  const char *grid = "1";    ///< of what compile gives
  int compiledCount = 0;
  /// Names and stages, and what they do with the bytes of a graph.
  std::vector<std::array<const char *, 2>> graphPasses;
  std::function<bp_status_t(bp_bytes_t, const bp_bytes_sink_t *, bp_error_t *)>
      runPass;
};
inline Toy toy;

extern const bp_compiler_table_t table;

/// A pass that gives another graph.
inline auto gives(std::function<Graph(Graph)> change) {
  return [change](bp_bytes_t bytes, const bp_bytes_sink_t *sink, bp_error_t *) {
    const auto *from = static_cast<const uint8_t *>(bytes.data);
    Bytes wire = writeGraph(change(*readGraph({from, bytes.size})));
    return sink->put(sink->context, {wire.data(), wire.size()});
  };
}

class CompileTest : public testing::Test {
protected:
  void SetUp() override {
    entry_ = compilerEntry();
    ASSERT_TRUE(entry_);
    services.plugins.push_back({"toy", "1.0.0", "hash", &table, nullptr});
    services.graphTable = graphTable();
    toy = {};
  }

  Status run(const Graph &graph, const char *file = "model.bpx",
             const char *target = "toy") {
    CompileRequest request;
    request.model.graph = graph;
    request.targets = {target};
    request.outputPath = folder_ / file;
    std::string message;
    bp_status_t code = entry_(&request, &services, &message);
    return code ? Status(code, message) : Status();
  }
  std::string bytes(const char *file) {
    std::ifstream stream(folder_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string path(const char *file) { return folder_ / file; }

  CompileServices services;

private:
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

/// "cast:f32 neg:f32": the ops of all kernels.
inline std::string opsOf(const ArtifactFile &file) {
  std::string text;
  for (const ExecutableInfo &executable :
       file.metadata().variants[0].executables) {
    auto graph = readGraph(executable.blob.bytes);
    for (const Op &op : graph->ops)
      text += (text.empty() ? "" : " ") + op.name + ":" +
              std::string(name(graph->type(op.results[0]).dtype));
  }
  return text;
}

inline Graph product(int64_t m = 64) {
  Graph graph;
  ValueId a = graph.addInput("a", {DType::F32, {Dim(m), Dim(64)}});
  ValueId b = graph.addInput("b", {DType::F32, {Dim(64), Dim(64)}});
  graph.addOutput((*graph.add("matmul", {a, b}))[0], "y");
  return graph;
}

} // namespace backplane::toys

#endif // BACKPLANE_COMPILER_TEST_TOY_H
