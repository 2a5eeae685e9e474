// SPDX-License-Identifier: Apache-2.0
//
// Partitions of plug-ins, and what is cut again when their compiler refuses:
// the compiler library with plug-ins whose code is the wire graph.
#include "sdk/compiler/test/Library.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/graph/Wire.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <unistd.h>

using namespace backplane;

namespace {

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

Toy &toy(void *self) { return *static_cast<Toy *>(self); }

Graph graphOf(const bp_graph_t *graph, const bp_graph_table_t *table) {
  Bytes bytes;
  bp_bytes_sink_t sink = {
      [](void *context, bp_bytes_t from) {
        const auto *data = static_cast<const uint8_t *>(from.data);
        static_cast<Bytes *>(context)->assign(data, data + from.size);
        return BP_STATUS_OK;
      },
      &bytes};
  EXPECT_EQ(table->graph_write(graph, &sink), BP_STATUS_OK);
  return *readGraph(bytes);
}

bp_status_t targets(void *self, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = target.driver = toC(toy(self).name);
  target.format = toC("wire");
  target.emitter = toC(toy(self).emitter);
  target.triple = toC("x86_64-unknown-linux-gnu");
  target.cpu = toC("x86-64-v3");
  target.vector_bits = 256;
  target.storage_dtypes = 1u << BP_DTYPE_F32;
  target.fusion = toy(self).fusion;
  target.flags = toy(self).flags;
  target.max_bindings = toy(self).maxBindings;
  return sink->put(sink->context, &target);
}

bp_status_t claim(void *, bp_string_t, const bp_graph_t *,
                  const bp_graph_table_t *, bp_claim_t *out, bp_error_t *) {
  out->supported = 1;
  return BP_STATUS_OK;
}

bp_status_t noClaim(void *, bp_string_t, const bp_graph_t *,
                    const bp_graph_table_t *, bp_claim_t *, bp_error_t *) {
  return BP_STATUS_UNIMPLEMENTED;
}

bp_status_t stages(void *self, bp_string_t, const bp_stage_sink_t *sink,
                   bp_error_t *) {
  if (!*toy(self).emitter)
    return BP_STATUS_OK;
  for (auto [stage, text] :
       {std::pair("tile", "bp-bind-buffers,bp-contract{vector-bits=256},"
                          "bp-distribute"),
        {"bufferize", "bp-bufferize"},
        {"device", "bp-vectorize{vector-bits=256},bp-expand-math,"
                   "bp-to-cpu-entry,bp-to-llvm"}})
    if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
      return s;
  return BP_STATUS_OK;
}

bp_status_t compile(void *self, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *) {
  Graph graph = graphOf(request->graph, request->graph_table);
  toy(self).compiled.push_back(graph.ops.size());
  if (toy(self).refuses(graph))
    return BP_STATUS_UNIMPLEMENTED;
  std::vector<bp_launch_binding_t> bindings;
  std::vector<uint8_t> access;
  for (uint32_t i = 0; i < graph.inputs.size() + graph.outputs.size(); ++i) {
    bp_bytes_t bytes;
    if (toy(self).bakes && i < graph.inputs.size() &&
        !request->weights->read(request->weights->context, i, nullptr, &bytes))
      continue;
    bindings.push_back({.binding = i});
    access.push_back(i < graph.inputs.size() ? BP_ACCESS_READ
                                             : BP_ACCESS_WRITE);
  }
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = request->entry_name;
  entry.binding_access = access.data();
  entry.binding_count = uint32_t(access.size());
  bp_launch_t launch = {BP_HEADER(bp_launch_t)};
  launch.entry = &entry;
  launch.bindings = bindings.data();
  for (bp_string_t &size : launch.grid)
    size = toC("1");
  const bp_launch_t *launches = &launch;
  bp_compiled_t compiled = {BP_HEADER(bp_compiled_t)};
  Bytes wire = writeGraph(graph);
  compiled.blob = {wire.data(), wire.size()};
  compiled.launches = &launches;
  compiled.launch_count = 1;
  compiled.log = toC(toy(self).log);
  bp_property_t ops = {.key = toC("toy.ops"),
                       .kind = BP_PROPERTY_I64,
                       .i64 = int64_t(graph.ops.size())};
  compiled.statistics = &ops;
  compiled.statistic_count = *toy(self).log ? 1 : 0;
  return sink->put(sink->context, &compiled);
}

bp_status_t partition(void *self, const bp_partition_request_t *request,
                      const bp_partition_sink_t *sink, bp_error_t *) {
  Graph graph = graphOf(request->graph, request->graph_table);
  std::vector<bool> refused(graph.ops.size(), false);
  for (size_t i = 0; request->refused && i < refused.size(); ++i)
    refused[i] = request->refused[i];
  for (const std::vector<uint32_t> &ops : toy(self).sets(graph, refused)) {
    bp_partition_t set = {BP_HEADER(bp_partition_t)};
    set.ops = ops.data();
    set.op_count = ops.size();
    set.cost_ns = toy(self).cost;
    set.reason = toC("they are mine");
    if (bp_status_t s = sink->put(sink->context, &set))
      return s;
  }
  return BP_STATUS_OK;
}

class PartitionTest : public testing::Test {
protected:
  void SetUp() override {
    entry_ = compilerEntry();
    ASSERT_TRUE(entry_);
    path_ = std::filesystem::temp_directory_path() /
            ("bp-partition-test-" + std::to_string(getpid()) + ".bpx");
    for (auto [one, table, name] :
         {std::tuple(&sun, &sunTable, "sun"), {&moon, &moonTable, "moon"}}) {
      one->name = name;
      *table = {BP_HEADER(bp_compiler_table_t)};
      table->targets = targets;
      table->claim = one == &sun ? noClaim : claim;
      table->stages = stages;
      table->compile = compile;
      table->graph_passes =
          [](void *, bp_string_t, const bp_graph_pass_sink_t *,
             bp_error_t *) -> bp_status_t { return BP_STATUS_UNIMPLEMENTED; };
      services.plugins.push_back({name, "1.0.0", "hash", table, one});
    }
    sunTable.partition = partition;
    services.graphTable = graphTable();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Status run(Model model, const char *target = "sun") {
    CompileRequest request;
    request.model = std::move(model);
    request.targets = {target};
    request.outputPath = path_;
    std::string message;
    bp_status_t code = entry_(&request, &services, &message);
    if (code)
      return Status(code, message);
    auto file = ArtifactFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.message();
    artifact = (*file)->metadata();
    dispatches.clear();
    for (const ExecutableInfo &executable : artifact.variants[0].executables) {
      auto graph = readGraph(executable.blob.bytes);
      std::string names = std::to_string(executable.device) + ":";
      for (const Op &op : graph ? graph->ops : std::vector<Op>())
        names += " " + op.name;
      dispatches.push_back(graph ? names : "code");
    }
    std::ranges::sort(dispatches);
    return {};
  }
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

  /// y = exp of neg of … of x[n].
  static Graph chain(int length) {
    Graph graph;
    EXPECT_TRUE(graph.addSymbol({"n", 1, 1024, 1}).ok());
    ValueId value = graph.addInput("x", {DType::F32, {Dim::symbol("n")}});
    for (int i = 0; i < length; ++i)
      value = (*graph.add(i % 2 ? "exp" : "neg", {value}))[0];
    graph.addOutput(value, "y");
    return graph;
  }

  Toy sun, moon; ///< sun has partitions and no claim
  bp_compiler_table_t sunTable, moonTable;
  CompileServices services;
  ArtifactInfo artifact;
  /// "DEVICE: op op", each executable of the variant.
  std::vector<std::string> dispatches;

private:
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  std::filesystem::path path_;
};

using Texts = std::vector<std::string>;

auto offers(std::vector<std::vector<uint32_t>> sets) {
  return [sets](const Graph &, const std::vector<bool> &) { return sets; };
}

TEST_F(PartitionTest, IsOneDispatch) {
  sun.sets = offers({{2, 1, 0}});
  sun.cost = 1500;
  sun.log = "all is well\nas ever";
  for (const char *round : {"compiled", "cached"}) {
    SCOPED_TRACE(round);
    Status status = run(chain(4));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg exp neg"}));
    EXPECT_EQ(lines("they are mine"), "target sun: partition of 3 ops, neg to "
                                      "neg, about 1500 ns: they are mine\n");
    EXPECT_EQ(lines("'partition_0' on sun"),
              "'partition_0' on sun: log: all is well\n"
              "'partition_0' on sun: log: as ever\n"
              "'partition_0' on sun: toy.ops=3\n");
    static std::map<std::string, Bytes> kept;
    services.cacheGet = [](const std::string &key) {
      auto found = kept.find(key);
      return found == kept.end() ? std::nullopt : std::optional(found->second);
    };
    services.cachePut = [](const std::string &key, auto blob) {
      kept[key].assign(blob.begin(), blob.end());
    };
    if (std::string_view(round) == "compiled") {
      ASSERT_TRUE(run(chain(4)).ok());
      sun.compiled.clear();
    }
  }
  EXPECT_TRUE(sun.compiled.empty());
}

TEST_F(PartitionTest, IsNotTakenWhereItCannotBe) {
  sun.sets = offers({{0, 2}, {0, 1}, {1, 2}});
  ASSERT_TRUE(run(chain(4)).ok());
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg", "0: neg exp"}));
  EXPECT_EQ(lines("not taken"),
            "target sun: a partition of 2 ops, neg to neg is not taken: a path "
            "leaves it and comes back through exp, which is not in it\n"
            "target sun: a partition of 2 ops, exp to neg is not taken: exp is "
            "in another partition\n");
  sun.maxBindings = 1;
  sun.sets = offers({{0, 1, 2, 3}});
  ASSERT_TRUE(run(chain(4)).ok());
  EXPECT_EQ(lines("not taken"),
            "target sun: a partition of 4 ops, neg to exp is not taken: it has "
            "2 bindings without its weights, the target has 1\n");
}

TEST_F(PartitionTest, ThatIsDamagedIsAnError) {
  sun.sets = offers({{4}});
  EXPECT_EQ(run(chain(4)).message(),
            "sun: partition: sun: partition: partition 0: it names op 4, the "
            "graph has 4");
  sun.sets = offers({{0}, {1, 1}});
  EXPECT_EQ(run(chain(4)).message(),
            "sun: partition: sun: partition: partition 1: it names op 1 twice");
  sun.sets = offers({{}});
  EXPECT_EQ(run(chain(4)).code(), BP_STATUS_INVALID_ARGUMENT);
}

TEST_F(PartitionTest, ThatIsRefusedIsCutAgain) {
  sun.refuses = [](const Graph &graph) { return graph.ops.size() > 2; };
  sun.sets = [](const Graph &, const std::vector<bool> &refused) {
    using Sets = std::vector<std::vector<uint32_t>>;
    return refused[3] ? Sets{{0, 1, 2, 3}, {0, 1}, {2, 3}} : Sets{{0, 1, 2, 3}};
  };
  Status status = run(chain(4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: neg exp"})); // two calls of one kernel
  EXPECT_EQ(std::ranges::count(sun.compiled, 4u), 1);
  EXPECT_EQ(lines("refused"),
            "target sun refused a partition of 4 ops, neg of f32 to exp of "
            "f32: partition_0: sun: compile: failed with UNIMPLEMENTED and "
            "gave no reason; it is cut "
            "again\n");
}

TEST_F(PartitionTest, ThatIsAlwaysRefusedLeavesItsOps) {
  sun.refuses = [](const Graph &graph) { return graph.ops.size() > 1; };
  sun.sets = offers({{0, 1, 2, 3}, {0, 1}});
  Status status = run(chain(4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg"}));
}

/// y = neg(exp(m)), m = (neg x)², a product.
Graph product() {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4, 4}});
  ValueId neg = (*graph.add("neg", {x}))[0];
  ValueId square = (*graph.add("matmul", {neg, neg}))[0];
  ValueId exp = (*graph.add("exp", {square}))[0];
  graph.addOutput((*graph.add("neg", {exp}))[0], "y");
  return graph;
}

TEST_F(PartitionTest, LeavesTheRestToTheOtherDevice) {
  sun.sets = offers({{1, 2}});
  Status status = run(product(), "sun+moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: matmul exp", "1: neg"}));
  EXPECT_EQ(lines("it is in no partition of the plug-in"),
            "neg of f32: on moon, as sun: it is in no partition of the "
            "plug-in\nneg of f32: on moon, as sun: it is in no partition of "
            "the plug-in\n");
  sun.refuses = [](const Graph &) { return true; };
  ASSERT_TRUE(run(product(), "sun+moon").ok());
  EXPECT_EQ(dispatches, (Texts{"1: exp", "1: matmul", "1: neg"}));
  EXPECT_NE(lines("refused a partition"), "");
}

TEST_F(PartitionTest, IsLeftWhereTransfersCostMore) {
  sun.sets = offers({{1, 2}});
  ASSERT_TRUE(run(chain(4), "sun+moon").ok());
  EXPECT_EQ(dispatches, (Texts{"1: exp", "1: neg"}));
  EXPECT_NE(lines("partition of 2 ops, exp to neg: they are mine: on moon, as "
                  "moon saves"),
            "");
}

TEST_F(PartitionTest, TravelsWithWhatLiesBetween) {
  sun.sets = [](const Graph &graph, const std::vector<bool> &) {
    std::vector<uint32_t> ops;
    for (uint32_t i = 0; i < graph.ops.size(); ++i)
      if (graph.ops[i].name != "broadcast")
        ops.push_back(i);
    return std::vector<std::vector<uint32_t>>{ops};
  };
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {4}});
  ValueId neg = (*graph.add("neg", {x}))[0];
  ValueId wide = (*graph.add(
      "broadcast", {neg},
      {{"dims", Dims{3, 4}}, {"axes", std::vector<int64_t>{1}}}))[0];
  graph.addOutput((*graph.add("exp", {wide}))[0], "y");
  graph.addOutput(wide, "z");
  Status status = run(graph);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(std::ranges::count(dispatches, "0: neg broadcast exp"))
      << dispatches.at(0);
}

TEST_F(PartitionTest, BakedWeightsAreNotKept) {
  sun.sets = offers({{1, 2}});
  Model model;
  auto id = model.weights.add({DType::F32, {4}}, Bytes(16, 1));
  ValueId x = model.graph.addInput("x", {DType::F32, {4}});
  ValueId w = (*model.graph.add(
      "weight", {},
      {{"id", *id}, {"dtype", int64_t(DType::F32)}, {"dims", Dims{4}}}))[0];
  ValueId sum = (*model.graph.add("add", {x, w}))[0];
  model.graph.addOutput((*model.graph.add("exp", {sum}))[0], "y");
  ASSERT_TRUE(run(model).ok());
  EXPECT_EQ(artifact.weights.size(), 1u);
  sun.bakes = true;
  Status status = run(model);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(artifact.weights.size(), 0u);
}

TEST_F(PartitionTest, AGroupThatIsRefusedIsCutIntoItsOps) {
  moon.fusion = BP_FUSE_ELEMENTWISE;
  moon.refuses = [](const Graph &graph) { return graph.ops.size() > 1; };
  Status status = run(chain(3), "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: exp", "0: neg"}));
  EXPECT_EQ(std::ranges::count(moon.compiled, 3u), 1);
  EXPECT_EQ(lines("target moon refused"),
            "target moon refused one dispatch of 3 ops, neg of f32 to neg of "
            "f32: neg_0: moon: compile: failed with UNIMPLEMENTED and gave no "
            "reason; each gets a "
            "dispatch of its own\n");
  moon.refuses = [](const Graph &) { return true; };
  EXPECT_EQ(run(chain(3), "moon").code(), BP_STATUS_UNIMPLEMENTED);
}

TEST_F(PartitionTest, ACompositeThatIsRefusedIsDecomposed) {
  moon.refuses = [](const Graph &graph) {
    return graph.ops[0].name == "softsign";
  };
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {7}});
  graph.addOutput((*graph.add("softsign", {x}, {}, "here"))[0], "y");
  Status status = run(graph, "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(dispatches.size(), 1u);
  EXPECT_EQ(lines("the composite"),
            "target moon refused the composite softsign (here) of f32: "
            "softsign_0: moon: compile: failed with UNIMPLEMENTED and gave no "
            "reason; it is "
            "decomposed\n");
}

TEST_F(PartitionTest, CompileIsAskedBeforeTheEmitter) {
  moon.emitter = "llvm-elf";
  moon.refuses = [](const Graph &graph) { return graph.ops[0].name == "exp"; };
  Status status = run(chain(2), "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(dispatches, (Texts{"0: neg", "code"}));
}

TEST_F(PartitionTest, StaticShapesAreAskedFor) {
  moon.flags = BP_TARGET_STATIC_SHAPES;
  Status status = run(chain(2), "moon");
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(status.message(),
            "moon: target moon takes sizes that are numbers, and n is none; "
            "compile with --dim n=SIZE");
  Graph fixed = chain(2);
  fixed.symbols[0].minimum = fixed.symbols[0].maximum = 7;
  status = run(fixed, "moon");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(artifact.inputs.at(0).type.dims, (Dims{7}));
  EXPECT_TRUE(artifact.symbols.empty());
  Graph bounded = chain(2);
  bounded.symbols[0].maximum = 64;
  EXPECT_EQ(run(bounded, "moon").code(), BP_STATUS_UNIMPLEMENTED);
}

} // namespace
