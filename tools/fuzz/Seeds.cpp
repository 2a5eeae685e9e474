// SPDX-License-Identifier: Apache-2.0
//
// fuzz_seeds FOLDER: good inputs to start from, in one folder per target. ONNX
// models come from the tests of the tool (run_fuzz.py).
#include "conformance/publish/Archive.h"
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"
#include "sdk/graph/Wire.h"
#include "sdk/package/test/Sample.h"
#include "tools/bp/Npy.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

fs::path folderOf(const fs::path &root, const char *target) {
  fs::create_directories(root / target);
  return root / target;
}

void write(const fs::path &path, std::span<const uint8_t> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

void writeTexts(const fs::path &folder,
                std::initializer_list<std::string_view> texts) {
  int number = 0;
  for (std::string_view text : texts)
    write(folder / std::to_string(number++),
          {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

Status writeGraphs(const fs::path &folder) {
  Graph graph;
  if (Status s = graph.addSymbol({"n", 1, 64, 1}); !s.ok())
    return s;
  ValueId x = graph.addInput("x", {DType::F32, {Dim::symbol("n"), 8}});
  ValueId y = graph.addInput("y", {DType::F32, {8, 8}});
  auto product = graph.add("matmul", {x, y});
  if (!product)
    return product.status();
  auto sum = graph.add(
      "reduce", *product,
      {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{1}}});
  if (!sum)
    return sum.status();
  graph.addOutput((*sum)[0], "z");
  write(folder / "matmul", writeGraph(graph));
  return {};
}

/// A loop with a choice in each iteration.
Status writeControl(const fs::path &folder) {
  TensorType type{DType::F32, {4}};
  Graph branch;
  ValueId taken = branch.addInput("x", type);
  branch.addOutput(taken, "y");
  Graph body;
  body.symbols = {{"i"}};
  ValueId carried = body.addInput("x", type);
  auto chosen = body.addControl(
      {.name = "if",
       .operands = {carried},
       .attributes = {{"condition", Dims{mod(Dim::symbol("i"), Dim(2))}}},
       .regions = {branch, branch}});
  if (!chosen)
    return chosen.status();
  body.addOutput((*chosen)[0], "y");
  Graph graph;
  ValueId x = graph.addInput("x", type);
  auto results =
      graph.addControl({.name = "while",
                        .operands = {x},
                        .attributes = {{"carried", int64_t(1)},
                                       {"conditional", int64_t(0)},
                                       {"iteration", std::string("i")},
                                       {"limit", Dims{5}}},
                        .regions = {body}});
  if (!results)
    return results.status();
  graph.addOutput((*results)[0], "z");
  write(folder / "control", writeGraph(graph));
  return {};
}

Status writeArtifacts(const fs::path &folder) {
  fb::ArtifactT artifact;
  WeightPool pool;
  sample::fullArtifact(artifact, pool);
  return writeArtifact((folder / "sample.bpx").string(), artifact, pool);
}

Status writeArrays(const fs::path &folder) {
  for (bp_dtype_t dtype : {BP_DTYPE_F32, BP_DTYPE_I64, BP_DTYPE_BOOL}) {
    auto tensor = Tensor::create(dtype, {2, 3});
    if (!tensor)
      return tensor.status();
    std::string name = dtypeName(dtype) + ".npy";
    if (Status s = writeNpy((folder / name).string(), *tensor); !s.ok())
      return s;
  }
  return {};
}

Status writeSubmissions(const fs::path &root) {
  conformance::Record record;
  record.id = "L3/exp/f32/n/special";
  conformance::RunFacts facts;
  facts.date = "2026-11-21T10:00:00Z";
  facts.numerics = {{"DOT", "f32", 24, 0, 8}};
  facts.environment = {{"processor", "x"}};
  writeTexts(folderOf(root, "records"),
             {conformance::toJson(record), conformance::toJson(facts),
              conformance::mustpassText({record.id, "L3/add/f32/n/uniform"})});
  writeTexts(folderOf(root, "waivers"),
             {R"({"format": 1, "waivers": [{"id": "a", "cases": ["L3/exp/*"],
           "devices": ["acme:*"], "suite_versions": ["0.2.*"],
           "reason": "r", "url": "https://x", "owner": "o",
           "expires": "2027-01-01"}]})"});
  return conformance::packArchive(
      (root / "waivers").string(),
      (folderOf(root, "submission") / "sample.tar.zst").string());
}

Status writeAll(const fs::path &root) {
  writeTexts(folderOf(root, "dim"),
             {"12", "n", "4*n*m - 2", "(n + 3) floordiv 4", "64*(n ceildiv 64)",
              "min(n, max(m, 3))", "n mod 8"});
  writeTexts(
      folderOf(root, "manifest"),
      {R"({"format": 1, "name": "acme", "version": "1.0.0", "vendor": "Acme",
           "arch": "x86_64", "abi": {"major": 0, "minor_low": 1},
           "driver": "libacme.so", "compiler": "libacme.so",
           "cpu_features": ["avx2"]})"});
  for (auto *put : {writeGraphs, writeControl})
    if (Status s = put(folderOf(root, "wire")); !s.ok())
      return s;
  if (Status s = writeArtifacts(folderOf(root, "artifact")); !s.ok())
    return s;
  if (Status s = writeSubmissions(root); !s.ok())
    return s;
  return writeArrays(folderOf(root, "npy"));
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_seeds: expected one folder\n");
    return 2;
  }
  Status status = writeAll(arguments[1]);
  if (!status.ok())
    std::fprintf(stderr, "fuzz_seeds: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
