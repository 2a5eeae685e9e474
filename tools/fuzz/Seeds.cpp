// SPDX-License-Identifier: Apache-2.0
//
// fuzz_seeds FOLDER: good inputs to start from, in one folder per target. ONNX
// models come from the tests of the tool (run_fuzz.py).
#include "ManifestSeeds.h"
#include "RunSeeds.h"
#include "backends/vulkan/driver/test/MatrixSample.h"
#include "conformance/publish/Archive.h"
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"
#include "hal/worker/Bundle.h"
#include "sdk/graph/Wire.h"
#include "sdk/package/KernelPack.h"
#include "sdk/package/Layout.h"
#include "sdk/package/test/Sample.h"
#include "sdk/support/Hash.h"
#include "sdk/support/Npy.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

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

void writeTexts(const fs::path &folder, const std::vector<std::string> &texts) {
  int number = 0;
  for (const std::string &text : texts)
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

/// A size that data decide, well and wrongly.
Status writeReads(const fs::path &folder) {
  for (const char *name : {"", "other", "n"}) {
    Graph graph;
    if (Status s = graph.addSymbol({"n", 0, 64, 1}); !s.ok())
      return s;
    ValueId x = graph.addInput("x", {DType::I64, {}});
    auto size = graph.add("read", {x},
                          {{"symbol", std::string("n")}, {"bound", Dims{64}}});
    if (!size)
      return size.status();
    if (std::string(name) == "n")
      graph.ops.push_back(graph.ops[0]);
    else if (*name)
      graph.ops[0].attributes["symbol"] = std::string(name);
    graph.addOutput((*size)[0], "y");
    write(folder / (std::string("read") + name), writeGraph(graph));
  }
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

Bytes readAll(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// Packs metadata that no writer would take into the file of another artifact;
/// the target puts the hash right.
void writeBroken(const fs::path &path, const Bytes &good,
                 const fb::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishArtifactBuffer(builder, fb::Artifact::Pack(builder, &artifact));
  layout::Header header;
  std::memcpy(&header, good.data(), sizeof(header));
  uint64_t weights =
      layout::alignUp(sizeof(header) + builder.GetSize(), layout::pageBytes);
  Bytes bytes(weights + header.weightsBytes);
  std::copy_n(good.begin() + long(header.weightsOffset), header.weightsBytes,
              bytes.begin() + long(weights));
  header.metadataBytes = builder.GetSize();
  header.weightsOffset = weights;
  header.fileBytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), builder.GetBufferPointer(),
              builder.GetSize());
  write(path, bytes);
}

/// What is wrong with an executable.
std::vector<std::function<void(fb::VariantT &)>> breaksOfExecutables() {
  using V = fb::VariantT;
  return {
      [](V &v) { v.executables[0]->entries[0]->subgroup_size = 3; },
      [](V &v) { v.executables[0]->entries[0]->parameter_count = 99; },
      [](V &v) { v.executables[0]->entries[0]->driver_data.resize(9999); },
      [](V &v) { v.executables[0]->entries[0]->access.resize(999); },
      [](V &v) { v.executables[0]->entries.clear(); },
      [](V &v) {
        v.executables[0]->native = std::make_unique<fb::NativeKernelT>();
      },
      [](V &v) {
        v.executables[0]->native = std::make_unique<fb::NativeKernelT>();
        v.executables[0]->blob.clear();
        v.executables[0]->format = "native";
      },
  };
}

/// What is wrong in one place, in the sample that is split over two devices.
std::vector<std::function<void(fb::VariantT &)>> breaks() {
  using V = fb::VariantT;
  auto command = [](V &v, size_t i) { return v.program->commands[i].get(); };
  auto choice = [=](V &v) { return command(v, 7)->body.AsControl(); };
  auto loop = [=](V &v) { return command(v, 8)->body.AsControl(); };
  auto first = [=](V &v) { return command(v, 0)->body.AsDispatch(); };
  auto slots = [](V &v) -> auto & { return v.program->slots; };
  return {
      [](V &) {},
      [=](V &v) { slots(v)[11]->device = 2; },
      [=](V &v) { slots(v)[12]->device = 0; },
      [=](V &v) { slots(v)[12]->reuse = 9; },
      [=](V &v) { slots(v)[9]->device = 1; },
      [=](V &v) { slots(v)[12]->offset = 0; },
      [=](V &v) { slots(v)[5]->bytes = "0-1"; },
      [=](V &v) { slots(v)[3]->bytes = "20"; },
      [=](V &v) { slots(v)[0]->index = 7; },
      [=](V &v) { slots(v)[2]->index = 7; },
      [=](V &v) { slots(v)[3]->index = 7; },
      [=](V &v) { slots(v)[4]->index = 7; },
      [=](V &v) { slots(v)[7]->reuse = 77; },
      [](V &v) { v.executables[1]->device = 7; },
      [](V &v) { v.regions[0]->device = 2; },
      [](V &v) { v.regions[0]->device = 1; },
      [](V &v) { v.regions[0]->program.reset(); },
      [](V &v) { v.regions[1]->iteration = "n"; },
      [](V &v) { v.regions.resize(1); },
      [](V &v) { v.init->slots[1]->device = 1; },
      [](V &v) { v.init->slots[1]->bytes = "n"; },
      [](V &v) { v.init->slots[2]->bytes = "n"; },
      [](V &v) { v.init->commands.resize(1); },
      [](V &v) { v.devices[0]->driver.clear(); },
      [](V &v) { v.program->arenas = {128, 128}; },
      [](V &v) { v.program->arenas.clear(); },
      [=](V &v) { choice(v)->kind = fb::ControlKind(9); },
      [=](V &v) { choice(v)->regions.pop_back(); },
      [=](V &v) { choice(v)->regions[1] = 2; },
      [=](V &v) { choice(v)->results[0] = 0; },
      [=](V &v) { choice(v)->results[0] = 70; },
      [=](V &v) { choice(v)->results[0] = 3; },
      [=](V &v) { choice(v)->results[0] = 4; },
      [=](V &v) { choice(v)->condition = ""; },
      [=](V &v) {
        v.init->commands.push_back(std::make_unique<fb::CommandT>());
        v.init->commands.back()->body.Set(fb::ControlT(*choice(v)));
      },
      [](V &v) { v.regions[0]->program->slots[0]->index = 1; },
      [](V &v) { v.regions[0]->inputs = {"0-1"}; },
      [](V &v) { v.regions[0]->outputs = {"n*"}; },
      [=](V &v) { loop(v)->limit = ""; },
      [=](V &v) { loop(v)->limit = "0-1"; },
      [=](V &v) { loop(v)->carried = 2; },
      [=](V &v) { first(v)->executable = 9; },
      [=](V &v) { first(v)->entry = 9; },
      [=](V &v) { first(v)->grid.pop_back(); },
      [=](V &v) { first(v)->constants.clear(); },
      [=](V &v) { first(v)->flops = "n*0-1"; },
      [=](V &v) { first(v)->workspace = "0-1"; },
      [=](V &v) { first(v)->bindings[0]->slot = 99; },
      [=](V &v) { first(v)->bindings[0]->offset = "4096"; },
      [=](V &v) { first(v)->bindings[0]->length = "64"; },
      [=](V &v) { command(v, 5)->body.AsFill()->pattern_size = 3; },
      [=](V &v) { command(v, 4)->body.AsCopy()->source.reset(); },
  };
}

Status writeArtifacts(const fs::path &folder) {
  const fs::path path = folder / "sample.bpx";
  int number = 0;
  auto changes = breaks();
  for (const auto &change : breaksOfExecutables())
    changes.push_back(change);
  for (const auto &change : changes) {
    fb::ArtifactT artifact;
    WeightPool pool;
    sample::fullArtifact(artifact, pool);
    if (number == 0)
      if (Status s = sample::write(path.string(), artifact, pool); !s.ok())
        return s;
    Bytes good = readAll(path);
    std::unique_ptr<fb::ArtifactT> whole(
        fb::GetArtifact(good.data() + sizeof(layout::Header))->UnPack());
    sample::split(*whole);
    change(*whole->variants[0]);
    std::memcpy(good.data() + offsetof(layout::Header, version),
                &splitArtifactVersion, sizeof(splitArtifactVersion));
    writeBroken(folder / ("split" + std::to_string(number++)), good, *whole);
  }
  fb::ArtifactT launching;
  WeightPool pool;
  sample::fullArtifact(launching, pool);
  sample::extendLaunches(launching);
  if (Status s =
          sample::write((folder / "launches.bpx").string(), launching, pool);
      !s.ok())
    return s;
  fb::ArtifactT reading;
  sample::fullArtifact(reading, pool);
  sample::addRead(reading);
  if (Status s = sample::write((folder / "reads.bpx").string(), reading, pool);
      !s.ok())
    return s;
  // As they are: cut at sizes that the target leaves alone, and damaged.
  for (size_t size : {size_t(7), size_t(71), size_t(1023)}) {
    Bytes good = readAll(path);
    good.resize(size);
    write(folder / ("cut" + std::to_string(size)), good);
  }
  return {};
}

/// A .npy file of version 1 with this header.
std::string npy(const std::string &header, size_t dataBytes) {
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' +
         header + std::string(dataBytes, '\1');
}

Status writeArrays(const fs::path &folder) {
  writeTexts(
      folder,
      {npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }\n", 8),
       npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n", 4),
       npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", 8),
       npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 8),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }\n", 0),
       npy("{'descr': '<f4', 'fortran_order': False, "
           "'shape': (0, 9223372036854775807, 3), }\n",
           0),
       npy("{'descr': '<f4', 'fortran_order': False, "
           "'shape': (9223372036854775807, 3), }\n",
           8),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n", 8),
       npy("{'shape': (), 'fortran_order': False, 'descr': '|b1'}", 1),
       npy("{'descr': '<f4', 'descr': '<f4', 'shape': ()}", 4),
       npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': [1]}", 4),
       npy("{'descr': '<f4", 0),
       std::string("\x93NUMPY\x03\x00\xff\xff\xff\x7f", 12),
       std::string("\x93NUMPY\x01\x00\x76\x00{'descr'", 18)});
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

/// Messages in one frame and in pieces, which fit together or do not.
void writeStreams(const fs::path &folder, const worker::Payload &whole) {
  using namespace worker;
  auto stream = [&](const char *name, std::initializer_list<Frame> frames) {
    std::vector<uint8_t> bytes = encodeFrame({FrameType::Run, 1, whole});
    for (const Frame &frame : frames) {
      std::vector<uint8_t> piece = encodeFrame(frame);
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    write(folder / name, bytes);
  };
  const Payload piece(20, 1), large(1 << 12, 2);
  const Frame part{FrameType::Part, 2, piece}, more{FrameType::Part, 2, large};
  stream("stream", {part, part, {FrameType::Run, 2, piece}});
  stream("mixed", {part, {FrameType::Run, 3, piece}});
  stream("empty", {part, {FrameType::Part, 2, {}}});
  stream("long", {more, more, more, {FrameType::Run, 2, large}});
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
  put(JobMessage{"m.onnx", "m.bpx", "", {"ref"}, {"n"}, {1}, {9}});
  put(JobMessage{"m.onnx", "m.bpx", "", {"ref"}, {"n"}});
  put(BatchMessage{{run, run}, BatchMessage::Threads, 3, 4096});
  put(BatchMessage{{run}, BatchMessage::Mode(9), 0});
  put(BatchedMessage{{result, result}, {result}, 1, 2});
  put(BeginMessage{"ref", 2, 1 << 30, "-"});
  put(SurroundMessage{{"A=b"}, "/", "C", 022, 3, 2, 1, 64});
  writeStreams(frames, encode(run));
  auto writer = BundleWriter::create((folder / "bundle").string(), head);
  if (!writer)
    return writer.status();
  Status status = writer->artifact(artifact);
  for (const Status &next :
       {writer->run(run),
        writer->answer({hashBytes(encode(run)), uint32_t(FrameType::Result),
                        encode(result)}),
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
  KernelLaunch launch;
  launch.name = "matmul";
  launch.grid = {"n", "m floordiv 4", "1"};
  launch.workspace = "64*n";
  launch.access = {1, 1, 2};
  launch.driverData = {5, 6};
  launch.parameters = {"m*n"};
  launch.sharedBytes = "4*n";
  launch.bindings = {{0, "", ""}, {1, "64", ""}, {0xFFFFFFFF, "", "n"}};
  kernel.launches = {launch, launch};
  kernel.scratch = "n";
  kernel.initLaunches = {launch};
  kernel.persistentBytes = 64;
  kernel.inPlace = {0};
  write(folder / "kernel", packKernel(kernel));
}

/// The text of facts with one value of another kind each, and what it stood for
/// under an unknown name.
std::vector<std::string> withWrongMembers(const std::string &facts) {
  std::vector<std::string> texts;
  for (const auto &[name, value] :
       std::initializer_list<std::pair<std::string, std::string>>{
           {"device", "1"},
           {"device", R"("\u0001")"},
           {"device", '"' + std::string(5000, 'x') + '"'},
           {"strict", "1"},
           {"shard", "4294967296"},
           {"shard", "-1"},
           {"filters", "1"},
           {"filters", R"(["a", 1])"},
           {"filters", R"(["a"])"},
           {"models", "1"},
           {"models", R"({"a": 1})"},
           {"numerics", "1"},
           {"numerics", "[1]"}}) {
    const std::string key = '"' + name + "\":";
    std::string text = facts;
    if (size_t at = text.find(key); at != text.npos)
      text.replace(at, key.size(), key + " " + value + ", \"more\":");
    texts.push_back(text);
  }
  return texts;
}

Status writeSubmissions(const fs::path &root) {
  conformance::Record record;
  record.id = "L3/exp/f32/n/special";
  conformance::RunFacts facts;
  facts.date = "2026-11-21T10:00:00Z";
  facts.numerics = {{"DOT", "f32", 24, 0, 8}};
  facts.environment = {{"processor", "x"}};
  std::vector<std::string> texts = withWrongMembers(conformance::toJson(facts));
  texts.push_back(conformance::toJson(record));
  texts.push_back(conformance::toJson(facts));
  texts.push_back(
      conformance::mustpassText({record.id, "L3/add/f32/n/uniform"}));
  writeTexts(folderOf(root, "records"), texts);
  const std::string waivers =
      R"({"format": 1, "waivers": [{"id": "a", "cases": ["L3/exp/*"],
           "devices": ["acme:*"], "suite_versions": ["0.2.*"],
           "reason": "r", "url": "https://x", "owner": "o",
           "expires": "2027-01-01"}]})";
  writeTexts(folderOf(root, "waivers"), {waivers});
  writeTexts(folderOf(root, "run"), fuzz::runSeeds());
  return conformance::packArchive(
      (root / "waivers").string(),
      (folderOf(root, "submission") / "sample.tar.zst").string());
}

/// Names of devices, targets and launchers, conditions, and files of workers.
std::vector<std::string> names() {
  std::vector<std::string> texts = {
      "host",
      "ref://interpreter?a=1&b=2",
      "vulkan://0,host",
      "auto:latency",
      "worker:board/npu,host",
      "npu+host+a+b",
      "ssh -p 22 'user@board' bp-worker \"a b\"",
      "worker:board/npu",
      "worker:board/npu://0?a=1,host",
      "worker:local/ref",
      "worker:board/npu+worker:board/host",
      "worker:board/npu+worker:other/host",
      "worker:local/npu+host",
      "auto:power",
      "cpu,auto:throughput",
      "subgroup_size>=8",
      "acme.tiles!=-4",
      "cache_bytes.2<1048576",
      R"({"workers": {}})",
      R"({"workers": 1})",
      R"({"workers": {"Board!": {}}})",
      R"({"workers": {"b": {"x": 1}}})",
      R"({"workers": {"board": {"launcher": "ssh board"}}})",
      R"({"workers": {"board": {"launcher": ["ssh", "a"],
                  "arguments": ["-v"]}}})",
      R"({"workers": {"board": {"launcher": ["ssh", "board"],
                  "worker": "bp-worker", "arguments": "-v", "shell": true,
                  "timeout": 10}}})"};
  for (const char *member :
       {R"("launcher": "ssh 'a")", R"("launcher": 1)", R"("launcher": [1])",
        R"("launcher": [])", R"("launcher": "qemu -L /x", "shell": false)",
        R"("arguments": ["\u0000"])", R"("worker": "")", R"("shell": 1)",
        R"("timeout": 0)", R"("timeout": 99999)",
        R"("worker": "/w", "timeout": 1)"})
    for (const char *name : {"board", "local"})
      texts.push_back(std::string(R"({"workers": {")") + name + R"(": {)" +
                      member + "}}}");
  std::string many;
  for (int i = 0; i < 257; ++i)
    many += (i ? ", \"" : "\"") + std::to_string(i) + "\": {}";
  texts.push_back(R"({"workers": {)" + many + "}}");
  return texts;
}

/// Values of attributes and orders of axes that a list chooses from, and what
/// is wrong with one thing of them.
std::vector<std::string> kernelVariables() {
  std::vector<std::string> texts;
  for (const char *where :
       {"S in [[1, 1], [2, 2]], L in [[0, 1, 2, 3], [0, 2, 3, 1]]",
        "S in [[1, 1]], L in [[0, 0, 2, 3]]", "S in [1], L in [[0, 1]]",
        "S in [[1, 1]], L in [\"x\"]", "S in [[1, 1]], M in [[0]]",
        "S in [[1, 1]], L in [[0, 1, 2, 3]], M in [[0]]"})
    texts.push_back("kernel c version 1 where " + std::string(where) + R"( {
  symbol c, h, w, o
  %x = input f32[1, c, h, w] layout L
  %w = input f32[o, c, 3, 3]
  %r = optional input f32[1, o, (h - 1) floordiv 2 + 1, w] layout L
  %y = conv(%x, %w) {strides = S, dilations = [1, 1], low = [1, 1],
                     high = [1, 1], groups = 1}
  output %y layout L
})");
  for (const char *where : {"[[0, 1], [1, 0]]", "[[0, 2]]", "[[1]]"})
    texts.push_back("kernel k version 1\nwhere L in " + std::string(where) +
                    R"(
{
  symbol m, n
  %x = input f32[m, n]
  %b = optional input f32[m, n] layout L
  %e = exp(%x)
  %y = add(%e, %b)
  output %y layout L
})");
  for (const char *body :
       {"%y = reduce(%x) {kind = K, axes = A} output %y", "output %x",
        "%y = relu(%x) output %y, %y", "%y = leaky_relu(%x) {alpha = 0.5}",
        "%z = random(%x) output %z", "output %o",
        "%i = constant() {value = 3e9, dtype = i8, dims = []} output %i"})
    for (const char *where : {"K in [\"max\", \"min\"], A in [[0], [1]]",
                              "m < 3, m > 3, K in [1]", "m * m * n <= 3"})
      texts.push_back("kernel r version 1 where " + std::string(where) +
                      " {\n symbol m, n\n %x = input f32[m, n]\n"
                      " %o = optional input f32[m]\n " +
                      body + "\n}");
  return texts;
}

std::vector<std::string> kernelTexts() {
  return {R"(kernel attention version 1
where T in [f32, f16], d <= 128, d mod 8 == 0, m <= n // and more
{
  symbol b, m, n, d
  %q = input T[b, m, d]
  %k = input T[b, n, d]
  %bias = optional input T[n]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %all = broadcast(%bias) {dims = [b, m, n], axes = [2]}
  %c = add(%s, %all)
  output %c
})",
          R"(kernel k version 2 where n == 4, 1 != m, m < 9, 2 >= k, m > 0 {
  symbol n, m, k
  %x = input f32[n, max(m, 2 * (k + 1))]
  %half = constant() {value = 0.5, dtype = f32, dims = []}
  %two = constant() {value = [1, -2], dtype = i8, dims = [2]}
  %raw = constant() {value = 0x00ff, dtype = bf16, dims = []}
  %values, %indices = top_k(%x) {k = [1], axis = 1, largest = true}
  %g = gelu(%x) {approximate = "tanh"}
  output %values, %indices, %half, %two
  output %raw, %g
})"};
}

template <typename Word>
void writeWords(const fs::path &path, const std::vector<Word> &words) {
  write(path, {reinterpret_cast<const uint8_t *>(words.data()),
               words.size() * sizeof(Word)});
}

/// Modules that multiply matrices, good and wrong in one place.
void writeMatrices(const fs::path &folder) {
  using namespace vulkan::matrixsample;
  int number = 0;
  for (const Change &change : {Change{},
                               {.right = A},
                               {.layout = Zero},
                               {.layout = Two},
                               {.scope = Two},
                               {.opcode = 4460},
                               {.opcode = 5361}})
    writeWords(folder / ("matrix" + std::to_string(number++)), module(change));
}

/// What lies beside a kernel that copies two tensors, and one of four axes.
void writeTensors(const fs::path &folder) {
  writeWords<int64_t>(folder / "two", {2, 1, 2, 2, 72, 300, 144, 64, 128, 0, 1,
                                       2, 64, 48, 64, 128, 48});
  writeWords<int64_t>(folder / "axes",
                      {1, 0, 2, 4, 64, 48, 3, 2, 128, 6144, 18432, 64, 48});
  constexpr int64_t size = int64_t(1) << 32, stride = (int64_t(1) << 40) - 1;
  writeWords<int64_t>(folder / "large", {1, 0, 2, 2, 64, size, stride, 64, 64});
}

Status writeAll(const fs::path &root) {
  writeMatrices(folderOf(root, "spirv"));
  writeTensors(folderOf(root, "tensors"));
  std::vector<std::string> texts = kernelTexts();
  for (const std::string &text : kernelVariables())
    texts.push_back(text);
  writeTexts(folderOf(root, "kernel_text"), texts);
  writeTexts(folderOf(root, "dim"),
             {"12", "n", "4*n*m - 2", "(n + 3) floordiv 4", "64*(n ceildiv 64)",
              "min(n, max(m, 3))", "n mod 8", "truncdiv(n - m, 2)",
              "select(less(n, m), equal(n, 2), 3)"});
  writeTexts(folderOf(root, "manifest"), fuzz::manifestSeeds());
  writeTexts(folderOf(root, "names"), names());
  writeTexts(folderOf(root, "cache"), {"BPCACHE1", "x"});
  writeKernels(folderOf(root, "kernel"));
  if (Status s = writeBundles(root); !s.ok())
    return s;
  for (auto *put : {writeGraphs, writeReads, writeControl})
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
