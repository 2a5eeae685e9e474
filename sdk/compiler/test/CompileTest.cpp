// SPDX-License-Identifier: Apache-2.0
//
// The compiler library as the host library uses it: opened late with
// RTLD_LOCAL, with a plug-in whose code is the wire graph of each dispatch.
#include "sdk/compiler/Compile.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/graph/OpTable.h"
#include "sdk/graph/Wire.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace backplane;

namespace {

const char *emitter = ""; ///< "llvm-elf": toys are x86 CPUs
uint32_t declaredDot = 0; ///< BP_NUMERICS_ of products of f32
uint64_t storedOnly = 0;  ///< dtypes that toys hold and do not compute in
uint64_t computed = 0;    ///< of those, after all
const char *toolchain = "toy-cc 1";
int64_t tiles = 4;
std::vector<bp_op_version_t> opVersions; ///< that toys list

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("toy");
  target.driver = toC("toy");
  target.format = toC("wire");
  target.storage_dtypes = 1u << BP_DTYPE_F32 | storedOnly;
  target.compute_dtypes = 1u << BP_DTYPE_F32 | computed;
  target.fusion = BP_FUSE_ELEMENTWISE;
  target.emitter = toC(emitter);
  target.triple = toC("x86_64-unknown-linux-gnu");
  target.cpu = toC("x86-64-v3");
  target.vector_bits = 256;
  bp_numerics_t dot = {BP_HEADER(bp_numerics_t)};
  dot.op_class = toC("DOT");
  dot.dtype = BP_DTYPE_F32;
  dot.accumulator_bits = 24;
  dot.flags = declaredDot;
  const bp_numerics_t *numerics = &dot;
  target.numerics = &numerics;
  target.numerics_count = 1;
  const bp_property_t property = {
      .key = toC("toy.tiles"), .kind = BP_PROPERTY_I64, .i64 = tiles};
  target.properties = &property;
  target.property_count = 1;
  target.toolchain = toC(toolchain);
  target.op_versions = opVersions.data();
  target.op_version_count = opVersions.size();
  return sink->put(sink->context, &target);
}

uint32_t maxOps = 2;

bp_status_t claim(void *, bp_string_t, const bp_graph_t *graph,
                  const bp_graph_table_t *table, bp_claim_t *out,
                  bp_error_t *) {
  bp_graph_info_t info;
  table->graph_info(graph, &info);
  out->supported = info.op_count <= maxOps;
  if (!out->supported)
    out->reason->put(out->reason->context, toC("toys take two ops"));
  return BP_STATUS_OK;
}

const char *pipeline = nullptr;
std::vector<const char *> preferred; ///< for the stage `tile`
std::vector<std::array<const char *, 2>> programStages; ///< and pipelines
constexpr const char *cpuTile =
    "bp-bind-buffers,bp-contract{vector-bits=256},bp-distribute";
const char *cpuStages[][2] = {
    {"tile", cpuTile},
    {"bufferize", "bp-bufferize"},
    {"device", "bp-vectorize{vector-bits=256},bp-expand-math,bp-to-cpu-entry,"
               "bp-to-llvm"}};

bp_status_t stages(void *, bp_string_t, const bp_stage_sink_t *sink,
                   bp_error_t *) {
  for (auto [stage, text] : programStages)
    if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
      return s;
  for (const char *text : preferred)
    if (bp_status_t s = sink->put(sink->context, toC("tile"), toC(text)))
      return s;
  if (*emitter) {
    for (auto [stage, text] : cpuStages)
      if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
        return s;
    return BP_STATUS_OK;
  }
  if (!pipeline)
    return programStages.empty() ? BP_STATUS_UNIMPLEMENTED : BP_STATUS_OK;
  return sink->put(sink->context, toC("tile"), toC(pipeline));
}

struct Delivery {
  const bp_compiled_sink_t *sink;
  bp_compiled_t compiled;

  static bp_status_t put(void *context, bp_bytes_t bytes) {
    auto *self = static_cast<Delivery *>(context);
    self->compiled.blob = bytes;
    return self->sink->put(self->sink->context, &self->compiled);
  }
};

int compiledCount = 0;
const char *grid = "1"; ///< of what compile gives

bp_status_t compile(void *, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *) {
  if (*emitter)
    return BP_STATUS_UNIMPLEMENTED;
  ++compiledCount;
  bp_graph_info_t info;
  request->graph_table->graph_info(request->graph, &info);
  std::vector<uint8_t> access(info.input_count, BP_ACCESS_READ);
  access.resize(info.input_count + info.output_count, BP_ACCESS_WRITE);
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = request->entry_name;
  entry.binding_access = access.data();
  entry.binding_count = uint32_t(access.size());
  entry.constant_count = info.symbol_count;
  Delivery delivery{sink, {BP_HEADER(bp_compiled_t)}};
  delivery.compiled.entry = &entry;
  for (bp_string_t &size : delivery.compiled.grid)
    size = toC(grid);
  bp_bytes_sink_t bytes{Delivery::put, &delivery};
  return request->graph_table->graph_write(request->graph, &bytes);
}

std::vector<std::array<const char *, 2>> graphPasses; ///< names and stages
/// What they do with the bytes of a graph.
std::function<bp_status_t(bp_bytes_t, const bp_bytes_sink_t *, bp_error_t *)>
    runPass;

bp_status_t listPasses(void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                       bp_error_t *) {
  for (auto [name, stage] : graphPasses) {
    bp_graph_pass_t pass = {BP_HEADER(bp_graph_pass_t)};
    pass.name = toC(name);
    pass.stage = toC(stage);
    if (bp_status_t s = sink->put(sink->context, &pass))
      return s;
  }
  return BP_STATUS_OK;
}

bp_status_t passGraph(void *, const bp_graph_pass_request_t *request,
                      const bp_bytes_sink_t *sink, bp_error_t *error) {
  return runPass(request->graph, sink, error);
}

/// A pass that gives another graph.
auto gives(std::function<Graph(Graph)> change) {
  return [change](bp_bytes_t bytes, const bp_bytes_sink_t *sink, bp_error_t *) {
    const auto *from = static_cast<const uint8_t *>(bytes.data);
    Bytes wire = writeGraph(change(*readGraph({from, bytes.size})));
    return sink->put(sink->context, {wire.data(), wire.size()});
  };
}

const bp_compiler_table_t toyTable = {BP_HEADER(bp_compiler_table_t),
                                      targets,
                                      claim,
                                      stages,
                                      compile,
                                      nullptr,
                                      listPasses,
                                      passGraph};

class CompileTest : public testing::Test {
protected:
  void SetUp() override {
    void *library =
        dlopen(BP_COMPILER_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_TRUE(library) << dlerror();
    entry_ = reinterpret_cast<decltype(&bp_compile_model_internal)>(
        dlsym(library, "bp_compile_model_internal"));
    ASSERT_TRUE(entry_);
    folder_ = std::filesystem::temp_directory_path() /
              ("bp-compile-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    services.plugins.push_back({"toy", "1.0.0", "hash", &toyTable, nullptr});
    services.graphTable = graphTable();
    compiledCount = 0;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

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

  /// y = exp of neg of exp of neg … of x[n].
  static Graph chain(int length, DType type = DType::F32) {
    Graph graph;
    EXPECT_TRUE(graph.addSymbol({"n", 1, 1024, 1}).ok());
    ValueId value = graph.addInput("x", {type, {Dim::symbol("n")}});
    for (int i = 0; i < length; ++i)
      value = (*graph.add(i % 2 ? "exp" : "neg", {value}))[0];
    graph.addOutput(value, "y");
    return graph;
  }

  CompileServices services;

private:
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  std::filesystem::path folder_;
};

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
  EXPECT_EQ(compiledCount, 1);
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  const VariantInfo &variant = (*file)->metadata().variants[0];
  EXPECT_EQ(variant.program.commands.size(), 5u); // two barriers
  bool told = false;
  for (const std::string &line : variant.report)
    told |= line.find("toys take two ops") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST_F(CompileTest, OpsThatAPluginDoesNotListAreRefusedBeforeItSeesThem) {
  opVersions = {{toC("exp"), 1, 0}};
  Status status = run(chain(2));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find("'toy' does not list the op neg"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(compiledCount, 0);
  opVersions = {{toC("exp"), 1, 0}, {toC("neg"), 3, 0}};
  status = run(chain(2));
  EXPECT_TRUE(status.ok()) << status.message();
  opVersions.clear();
}

TEST_F(CompileTest, NewerVersionsAreRefusedAndOlderOnesUsedWhereTheyDo) {
  auto product = [](int64_t wide) {
    Graph graph;
    ValueId a = graph.addInput("a", {DType::F16, {4, 4}});
    auto y = graph.add("matmul", {a, a}, {{"wide", wide}});
    EXPECT_TRUE(y.ok()) << y.message();
    graph.addOutput((*y)[0], "y");
    return graph;
  };
  storedOnly = uint64_t(1) << BP_DTYPE_F16;
  computed = storedOnly;
  opVersions = {{toC("matmul"), 1, 0}};
  EXPECT_TRUE(run(product(0)).ok()) << "version 1 says it";
  Status status = run(product(1));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find(
                "matmul needs version 2, 'toy' knows up to version 1"),
            std::string::npos)
      << status.message();
  opVersions.clear();
  storedOnly = computed = 0;
}

/// A composite that is not listed is decomposed into what is.
TEST_F(CompileTest, CompositesThatAPluginDoesNotListAreDecomposed) {
  Attributes blocks{{"axes", std::vector<int64_t>{0}},
                    {"tiles", std::vector<int64_t>{4}}};
  for (const auto &[op, attributes] :
       {std::pair("softsign", Attributes()), {"pack", blocks}}) {
    Graph graph;
    ValueId x = graph.addInput("x", {DType::F32, {7}});
    graph.addOutput((*graph.add(op, {x}, attributes))[0], "y");
    for (const OpSpec &spec : opTable())
      if (!spec.composite)
        opVersions.push_back({toC(spec.name), 1, 0});
    opVersions.push_back({toC(op), 1, 0});
    auto hasOp = [&] {
      Status status = run(graph);
      EXPECT_TRUE(status.ok()) << status.message();
      auto file = ArtifactFile::open(path("model.bpx"));
      auto kernel =
          readGraph((*file)->metadata().variants[0].executables[0].blob.bytes);
      return kernel.ok() && kernel->ops.size() == 1 &&
             kernel->ops[0].name == op;
    };
    EXPECT_TRUE(hasOp()) << op;
    opVersions.pop_back();
    maxOps = 100;
    EXPECT_FALSE(hasOp()) << op;
    maxOps = 2;
    opVersions.clear();
  }
}

/// y_i = neg(x_i) for x_i of two sizes of its own, named first to last or the
/// other way round.
static Graph pairs(const std::vector<std::array<std::string, 2>> &sizes) {
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
  grid = "a + 2*b"; // what the kernel calls its symbols
  Status status =
      run(pairs({{"rows", "columns"}, {"m", "n"}, {"b", "a"}, {"s10", "s9"}}));
  grid = "1";
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(compiledCount, 1);
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
  EXPECT_EQ(compiledCount, 1);
  EXPECT_EQ(bytes("a.bpx"), bytes("b.bpx"));
  // A damaged entry is not used.
  for (auto &[key, blob] : cache)
    blob.resize(blob.size() / 2);
  ASSERT_TRUE(run(chain(2), "c.bpx").ok());
  EXPECT_EQ(compiledCount, 2);
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
  toolchain = "toy-cc 2";
  ASSERT_TRUE(run(chain(2)).ok());
  EXPECT_EQ(keys.size(), 2u);
  tiles = 8;
  ASSERT_TRUE(run(chain(2)).ok());
  EXPECT_EQ(keys.size(), 3u);
  toolchain = "toy-cc 1";
  tiles = 4;
}

TEST_F(CompileTest, NamesTheTargetsThatThereAre) {
  Status status = run(chain(1), "model.bpx", "tyo");
  EXPECT_EQ(status.code(), BP_STATUS_NOT_FOUND);
  EXPECT_NE(status.message().find("toy"), std::string::npos);
}

TEST_F(CompileTest, RefusesPassesThatAreNotPublished) {
  pipeline = "func.func(bp-vectorize{vector-bits=512},inline)";
  Status status = run(chain(1));
  pipeline = nullptr;
  EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(status.message().find("'inline'"), std::string::npos);
}

/// "cast:f32 neg:f32": the ops of all kernels.
static std::string opsOf(const ArtifactFile &file) {
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

TEST_F(CompileTest, ComputesInAWiderFloatWhatTheTargetOnlyHolds) {
  storedOnly = 1u << BP_DTYPE_F16;
  maxOps = 3;
  Status status = run(chain(1, DType::F16));
  storedOnly = 0;
  maxOps = 2;
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(opsOf(**file), "cast:f32 neg:f32 cast:f16");
}

TEST_F(CompileTest, RefusesToComputeInADtypeThatHasNoWiderOne) {
  storedOnly = 1u << BP_DTYPE_F64 | 1u << BP_DTYPE_I8;
  for (DType type : {DType::F64, DType::I8}) {
    Graph graph;
    ValueId x = graph.addInput("x", {type, {Dim(4)}});
    graph.addOutput((*graph.add("neg", {x}))[0], "y");
    Status status = run(graph);
    EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
    EXPECT_NE(
        status.message().find("does not compute in " + std::string(name(type))),
        std::string::npos)
        << status.message();
  }
  storedOnly = 0;
}

static Graph product(int64_t m = 64) {
  Graph graph;
  ValueId a = graph.addInput("a", {DType::F32, {Dim(m), Dim(64)}});
  ValueId b = graph.addInput("b", {DType::F32, {Dim(64), Dim(64)}});
  graph.addOutput((*graph.add("matmul", {a, b}))[0], "y");
  return graph;
}

/// How many fused products x86 code has: vfmadd and its kin, VEX-encoded.
static int fusedProducts(std::span<const uint8_t> code) {
  int count = 0;
  for (size_t i = 0; i + 4 <= code.size(); ++i) {
    bool map = code[i] == 0xC4 && (code[i + 1] & 0x1F) == 2;
    bool prefix = (code[i + 2] & 3) == 1;
    uint8_t opcode = code[i + 3];
    count += map && prefix && opcode >= 0x96 && opcode <= 0xBF &&
             (opcode & 0xF) >= 6;
  }
  return count;
}

TEST_F(CompileTest, FusesProductsWhereTheTargetContracts) {
  for (const char *rows : {"many", "one"})
    for (uint32_t flags : {BP_NUMERICS_CONTRACT, 0u}) {
      emitter = "llvm-elf";
      declaredDot = flags;
      Status status = run(product(rows == std::string("one") ? 1 : 64));
      emitter = "";
      declaredDot = 0;
      ASSERT_TRUE(status.ok()) << status.message();
      auto file = ArtifactFile::open(path("model.bpx"));
      ASSERT_TRUE(file.ok()) << file.message();
      const VariantInfo &variant = (*file)->metadata().variants[0];
      ASSERT_EQ(variant.executables.size(), 1u);
      EXPECT_EQ(fusedProducts(variant.executables[0].blob.bytes) > 0,
                flags != 0)
          << rows << " rows";
    }
}

TEST_F(CompileTest, TakesTheFirstPipelineThatThisHostHas) {
  emitter = "llvm-elf";
  preferred = {"bp-bind-buffers,bp-contract-next",
               "bp-bind-buffers,bp-contract{lanes=4}", "inline"};
  Status status = run(product());
  preferred = {};
  emitter = "";
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
  emitter = "llvm-elf";
  cpuStages[0][1] = "bp-next";
  preferred = {"inline"};
  Status status = run(product());
  // Joined with another, it is no less known.
  EXPECT_EQ(run(product(), "model.bpx", "toy+toy").message(), status.message());
  preferred = {};
  cpuStages[0][1] = cpuTile;
  emitter = "";
  EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(),
            "toy: target 'toy', stage tile: this host has no passes for its "
            "pipelines; pipeline 1: 'inline' is no published pass; pipeline 2: "
            "'bp-next' is no published pass");
}

TEST_F(CompileTest, RunsPipelinesAtTheStagesOfAProgram) {
  for (const char *stage : {"import", "optimize", "partition", "layout"}) {
    programStages = {{stage, "func.func(bp-simplify)"}};
    Status status = run(chain(2));
    programStages = {};
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
  programStages = {{"import", "bp-simplify"}};
  Status status = run(graph);
  programStages = {};
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage import: ran bp-simplify, 2 ops before, 0 after");
}

TEST_F(CompileTest, RunsAPipelineAtLower) {
  emitter = "llvm-elf";
  programStages = {{"lower", "bp-expand-math"}};
  Status status = run(product());
  programStages = {};
  emitter = "";
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CompileTest, RefusesStagesThatTakeNoPipeline) {
  auto refusal = [&](const char *stage) {
    programStages = {{stage, "bp-simplify"}};
    Status status = run(chain(1));
    programStages = {};
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

/// Another op in the place of the first.
static Graph absFirst(Graph graph) {
  graph.ops[0].name = "abs";
  return graph;
}

TEST_F(CompileTest, GraphPassesChangeAProgram) {
  graphPasses = {{"to-abs", "partition"}};
  runPass = gives(absFirst);
  Status status = run(chain(2));
  graphPasses = {};
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(opsOf(**file), "abs:f32 exp:f32");
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage partition: toy: graph pass 'to-abs': 2 ops "
            "before, 2 after");
}

TEST_F(CompileTest, GraphPassesChangeDispatches) {
  graphPasses = {{"to-abs", "lower"}};
  runPass = gives([](const Graph &graph) {
    EXPECT_EQ(graph.symbols.at(0).name, "a");
    return absFirst(graph);
  });
  Status status = run(chain(2));
  graphPasses = {};
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
    emitter = "llvm-elf";
    if (changed)
      graphPasses = {{"to-abs", "lower"}};
    runPass = gives(absFirst);
    Status status = run(chain(2));
    graphPasses = {};
    emitter = "";
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
  graphPasses = {{"idle", "partition"}};
  runPass = [](auto...) { return BP_STATUS_OK; };
  Status status = run(chain(1));
  graphPasses = {};
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CompileTest, APassThatDoesNotDoAGraphIsPassedOver) {
  graphPasses = {{"picky", "partition"}};
  runPass = [](bp_bytes_t, const bp_bytes_sink_t *, bp_error_t *error) {
    return setError(error, unimplemented("no neg here"));
  };
  Status status = run(chain(1));
  graphPasses = {};
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  EXPECT_EQ((*file)->metadata().variants[0].report.at(0),
            "target toy, stage partition: toy: graph pass 'picky' passed it "
            "over: run_graph_pass: no neg here");
}

TEST_F(CompileTest, NamesThePassThatFailsOrBreaksTheGraph) {
  auto refusal = [&](auto pass, const char *stage) {
    graphPasses = {{"bad", stage}};
    runPass = pass;
    Status status = run(chain(2));
    graphPasses = {};
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
    graphPasses = std::move(passes);
    Status status = run(chain(1));
    graphPasses = {};
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

TEST_F(CompileTest, RefusesADtypeThatTheTargetLacks) {
  Status status = run(chain(1, DType::F64));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find("f64"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("model.bpx")));
}

} // namespace
