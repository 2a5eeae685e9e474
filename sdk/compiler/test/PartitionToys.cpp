// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/test/PartitionToys.h"
#include "sdk/graph/Wire.h"

#include <algorithm>

namespace backplane {

namespace {

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
  for (auto [stage, text] : cpuStages)
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

} // namespace

void PartitionTest::SetUp() {
  entry_ = compilerEntry();
  ASSERT_TRUE(entry_);
  for (auto [one, table, name] :
       {std::tuple(&sun, &sunTable, "sun"), {&moon, &moonTable, "moon"}}) {
    one->name = name;
    *table = {BP_HEADER(bp_compiler_table_t)};
    table->targets = targets;
    table->claim = one == &sun ? noClaim : claim;
    table->stages = stages;
    table->compile = compile;
    table->graph_passes = [](void *, bp_string_t, const bp_graph_pass_sink_t *,
                             bp_error_t *) -> bp_status_t {
      return BP_STATUS_UNIMPLEMENTED;
    };
    services.plugins.push_back({name, "1.0.0", "hash", table, one});
  }
  sunTable.partition = partition;
  services.graphTable = graphTable();
}

Status PartitionTest::run(Model model, const char *target) {
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

} // namespace backplane
