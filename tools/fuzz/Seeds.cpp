// SPDX-License-Identifier: Apache-2.0
//
// fuzz_seeds FOLDER: good inputs to start from, in one folder per target. ONNX
// models come from the tests of the tool (run_fuzz.py).
#include "conformance/publish/Archive.h"
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"
#include "hal/worker/Bundle.h"
#include "sdk/compiler/KernelPack.h"
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
                std::initializer_list<std::string> texts) {
  int number = 0;
  for (const std::string &text : texts)
    write(folder / std::to_string(number++),
          {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

/// With a library that is there.
std::string manifest(const std::string &members) {
  return R"({"format": 1, "name": "acme", "version": "1.10.0",
             "driver": "libacme.so", )" +
         members + "}";
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
  for (bp_dtype_t dtype :
       {BP_DTYPE_F32, BP_DTYPE_F64, BP_DTYPE_F16, BP_DTYPE_I64, BP_DTYPE_I32,
        BP_DTYPE_I16, BP_DTYPE_I8, BP_DTYPE_U8, BP_DTYPE_U64, BP_DTYPE_BOOL}) {
    auto tensor = Tensor::create(dtype, {2, 3});
    if (!tensor)
      return tensor.status();
    std::string name = dtypeName(dtype) + ".npy";
    if (Status s = writeNpy((folder / name).string(), *tensor); !s.ok())
      return s;
  }
  return {};
}

/// A bundle, its results, and each payload alone.
Status writeBundles(const fs::path &root) {
  using namespace worker;
  WireTensor tensor{BP_DTYPE_F32, {2}, Payload(8, 1)};
  ArtifactMessage artifact{"0123456789abcdef0123456789abcdef", Payload(16, 2)};
  RunMessage run{artifact.hash, {tensor}};
  ResultMessage result{{tensor}, 1.5, 1.25, "none"};
  CheckMessage check{"L1/copy/small", artifact.hash, artifact.hash};
  Hello hello;
  hello.version = "0.1.0";
  hello.devices.resize(2);
  hello.devices[0].formats = {"elf-x86_64"};
  BundleMessage head{"cases", "0.1.0", "host", "host", {"a", "b"}, "c"};
  fs::path frames = folderOf(root, "frames"), folder = folderOf(root, "bundle");
  int number = 0;
  auto put = [&](const auto &message) {
    write(frames / std::to_string(number++), encode(message));
  };
  put(artifact), put(run), put(result), put(check), put(hello), put(head);
  put(CompileMessage{Payload(9, 3), {tensor}});
  put(CompiledMessage{Payload(5, 4), 2});
  put(CheckedMessage{1, "wrong", 3});
  put(ErrorMessage{BP_STATUS_INTERNAL, "no"});
  put(OfferMessage{artifact.hash}), put(OpenMessage{artifact.hash, 1, 2});
  put(OpenedMessage{1, 2, "why"}), put(SessionMessage{3}), put(EndMessage{4});
  put(AnswerMessage{"run", uint32_t(FrameType::Result), encode(result)});
  std::vector<uint8_t> stream = encodeFrame({FrameType::Run, 1, encode(run)});
  for (FrameType type : {FrameType::Part, FrameType::Part, FrameType::Run}) {
    std::vector<uint8_t> piece = encodeFrame({type, 2, Payload(20, 1)});
    stream.insert(stream.end(), piece.begin(), piece.end());
  }
  write(frames / "stream", stream);
  auto writer = BundleWriter::create((folder / "bundle").string(), head);
  if (!writer)
    return writer.status();
  Status status = writer->artifact(artifact);
  for (const Status &next :
       {writer->run(run),
        writer->answer(
            {hashOf(encode(run)), uint32_t(FrameType::Result), encode(result)}),
        writer->put(FrameType::Check, encode(check)), writer->finish()})
    if (status.ok())
      status = next;
  auto results = BundleWriter::create((folder / "results").string(), head);
  if (!results)
    return results.status();
  for (const Status &next :
       {results->put(FrameType::Hello, encode(hello)),
        results->answer({"run", uint32_t(FrameType::Result), encode(result)}),
        results->finish()})
    if (status.ok())
      status = next;
  return status;
}

void writeKernels(const fs::path &folder) {
  Kernel kernel;
  kernel.code = {1, 2, 3, 4};
  kernel.name = "matmul";
  kernel.grid = {"n", "m floordiv 4", "1"};
  kernel.workspace = "64*n";
  kernel.access = {1, 1, 2};
  kernel.inPlace = {0};
  write(folder / "kernel", packKernel(kernel));
}

/// The files of a run as Run.cpp cuts them.
void writeRuns(const fs::path &folder, conformance::RunFacts facts,
               const conformance::Record &record, const std::string &waivers) {
  const std::string sep = "\x1E", lines = conformance::toJson(record) + "\n";
  const std::string sealed = R"({"version": 1, "root": "00", "files": {)"
                             R"("run.json": "00"}})";
  const std::string key = std::string(64, '0') + "\n" + std::string(128, '1');
  facts.date = "2026-11-21";
  facts.shard = facts.shards = 1;
  facts.cases = 1;
  std::string head = conformance::toJson(facts);
  facts.waiversHash = "made right";
  std::string waived = conformance::toJson(facts);
  writeTexts(folder,
             {head + sep + lines + sep + waivers + sep + "{}" + sep + sealed,
              waived + sep + lines + sep + waivers + sep +
                  R"({"title": "x", "passed": true, "badge": "none"})",
              head + sep + lines + lines, head + sep + lines + "cut {",
              head + sep + sep + sep + sep + sep + key,
              head + sep + lines + sep + sep + sep + "{}" + sep + "x"});
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
  const std::string waivers =
      R"({"format": 1, "waivers": [{"id": "a", "cases": ["L3/exp/*"],
           "devices": ["acme:*"], "suite_versions": ["0.2.*"],
           "reason": "r", "url": "https://x", "owner": "o",
           "expires": "2027-01-01"}]})";
  writeTexts(folderOf(root, "waivers"), {waivers});
  writeRuns(folderOf(root, "run"), facts, record, waivers);
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
           "cpu_features": ["avx2"]})",
       manifest(R"("arch": "arm", "abi": {"major": 0, "minor_low": 1})"),
       manifest(R"("abi": {"major": 0, "minor_low": 77})"),
       manifest(R"("abi": {"major": 3, "minor_low": 1})"),
       manifest(R"("abi": {"major": 0}, "sha256": {"driver": "00"})"),
       manifest(
           R"("abi": {"major": 0, "minor_low": 1}, "sha256": {"driver": ")" +
           std::string(64, 'a') + "\"}"),
       manifest(R"("abi": {"major": 0, "minor_low": 1}, "cpu_features": [1])"),
       manifest(R"("abi": {"major": 0, "minor_low": 1},
                   "cpu_features": ["sve"])")});
  writeTexts(folderOf(root, "names"),
             {"host", "ref://interpreter?a=1&b=2", "vulkan://0,host",
              "auto:latency", "worker:board/npu,host", "npu+host+a+b",
              "ssh -p 22 'user@board' bp-worker \"a b\"", "worker:board/npu",
              "worker:board/npu://0?a=1,host", "auto:power",
              "cpu,auto:throughput", R"({"workers": {}})", R"({"workers": 1})",
              R"({"workers": {"Board!": {}}})",
              R"({"workers": {"b": {"x": 1}}})",
              R"({"workers": {"board": {"launcher": "ssh board"}}})",
              R"({"workers": {"board": {"launcher": ["ssh", "a"],
                  "arguments": ["-v"]}}})",
              R"({"workers": {"board": {"launcher": ["ssh", "board"],
                  "worker": "bp-worker", "arguments": "-v", "shell": true,
                  "timeout": 10}}})"});
  writeTexts(folderOf(root, "cache"), {"BPCACHE1", "x"});
  writeKernels(folderOf(root, "kernel"));
  if (Status s = writeBundles(root); !s.ok())
    return s;
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
