// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/test/Toy.h"

namespace backplane::toys {

namespace {

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("toy");
  target.driver = toC("toy");
  target.format = toC("wire");
  target.storage_dtypes = 1u << BP_DTYPE_F32 | toy.storedOnly;
  target.compute_dtypes = 1u << BP_DTYPE_F32 | toy.computed;
  target.fusion = BP_FUSE_ELEMENTWISE;
  target.emitter = toC(toy.emitter);
  target.triple = toC("x86_64-unknown-linux-gnu");
  target.cpu = toC("x86-64-v3");
  target.vector_bits = 256;
  bp_numerics_t dot = {BP_HEADER(bp_numerics_t)};
  dot.op_class = toC("DOT");
  dot.dtype = BP_DTYPE_F32;
  dot.accumulator_bits = 24;
  dot.flags = toy.declaredDot;
  const bp_numerics_t *numerics = &dot;
  target.numerics = &numerics;
  target.numerics_count = 1;
  const bp_property_t property = {
      .key = toC("toy.tiles"), .kind = BP_PROPERTY_I64, .i64 = toy.tiles};
  target.properties = &property;
  target.property_count = 1;
  target.toolchain = toC(toy.toolchain);
  target.op_versions = toy.opVersions.data();
  target.op_version_count = toy.opVersions.size();
  return sink->put(sink->context, &target);
}

bp_status_t claim(void *, bp_string_t, const bp_graph_t *graph,
                  const bp_graph_table_t *table, bp_claim_t *out,
                  bp_error_t *) {
  bp_graph_info_t info;
  table->graph_info(graph, &info);
  out->supported = info.op_count <= toy.maxOps;
  if (!out->supported)
    out->reason->put(out->reason->context, toC("toys take two ops"));
  return BP_STATUS_OK;
}

bp_status_t stages(void *, bp_string_t, const bp_stage_sink_t *sink,
                   bp_error_t *) {
  for (auto [stage, text] : toy.programStages)
    if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
      return s;
  for (const char *text : toy.preferred)
    if (bp_status_t s = sink->put(sink->context, toC("tile"), toC(text)))
      return s;
  if (*toy.emitter) {
    for (auto [stage, text] : toy.stages)
      if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
        return s;
    return BP_STATUS_OK;
  }
  if (!toy.pipeline)
    return toy.programStages.empty() ? BP_STATUS_UNIMPLEMENTED : BP_STATUS_OK;
  return sink->put(sink->context, toC("tile"), toC(toy.pipeline));
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

bp_status_t compile(void *, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *) {
  if (*toy.emitter)
    return BP_STATUS_UNIMPLEMENTED;
  ++toy.compiledCount;
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
    size = toC(toy.grid);
  bp_bytes_sink_t bytes{Delivery::put, &delivery};
  return request->graph_table->graph_write(request->graph, &bytes);
}

bp_status_t listPasses(void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                       bp_error_t *) {
  for (auto [name, stage] : toy.graphPasses) {
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
  return toy.runPass(request->graph, sink, error);
}

} // namespace

const bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t),
                                   targets,
                                   claim,
                                   stages,
                                   compile,
                                   nullptr,
                                   listPasses,
                                   passGraph};

} // namespace backplane::toys
