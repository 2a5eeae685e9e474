// SPDX-License-Identifier: Apache-2.0
//
// FaultyCompiler.h: graph passes, partitions and kernels of Faulty.cpp.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYCOMPILER_H
#define BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYCOMPILER_H

#include "Fault.h"

#include <backplane/compiler.h>

namespace {

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = text("faulty");
  target.driver = text("faulty");
  return sink->put(sink->context, &target);
}

bp_status_t graphPasses(void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                        bp_error_t *) {
  bp_graph_pass_t pass = {BP_HEADER(bp_graph_pass_t)};
  pass.name = text("same");
  pass.stage = text(has(PASS_FOR_NO_STAGE) ? "fusion" : "lower");
  return sink->put(sink->context, &pass);
}

/// Reads the graph and writes it again.
bp_status_t runGraphPass(void *, const bp_graph_pass_request_t *request,
                         const bp_bytes_sink_t *sink, bp_error_t *error) {
  if (!has(RUNS_ANY_PASS) && request->pass.size != strlen("same"))
    return BP_STATUS_NOT_FOUND;
  if (has(PASSES_ANYTHING))
    return sink->put(sink->context, request->graph);
  bp_graph_t *graph = nullptr;
  bp_status_t status =
      request->graph_table->graph_open(request->graph, &graph, error);
  if (status != BP_STATUS_OK)
    return status;
  status = request->graph_table->graph_write(graph, sink);
  request->graph_table->graph_close(graph);
  return status;
}

bp_op_info_t opOf(const bp_partition_request_t *request, uint32_t op) {
  bp_op_info_t info;
  request->graph_table->op_info(request->graph, op, &info);
  return info;
}

/// Whether an op is one that partitions may have: all but a reverse.
bool isTaken(const bp_op_info_t &info) {
  return info.operand_count > 0 &&
         !(info.name.size == 7 && memcmp(info.name.data, "reverse", 7) == 0);
}

void lookAtRanks(const bp_partition_request_t *request, uint32_t op) {
  uint32_t value = request->graph_table->op_result(request->graph, op, 0);
  bp_value_info_t info;
  request->graph_table->value_info(request->graph, value, &info);
  if (has(CRASHES_ON_SCALARS) && info.rank == 0)
    std::abort();
}

/// Ops that follow each other, up to one that is not taken.
bp_status_t partition(void *, const bp_partition_request_t *request,
                      const bp_partition_sink_t *sink, bp_error_t *) {
  static uint32_t calls = 0;
  ++calls;
  bp_graph_info_t graph;
  request->graph_table->graph_info(request->graph, &graph);
  if (has(FAILS_WITHOUT_OPS) && !graph.op_count)
    return BP_STATUS_INTERNAL;
  uint32_t ops[1024], count = 0;
  auto put = [&] {
    bp_partition_t set = {BP_HEADER(bp_partition_t)};
    if (has(NAMES_NO_OP))
      ops[0] = graph.op_count;
    set.ops = ops;
    set.op_count = count;
    set.cost_ns = has(CHANGES_ITS_MIND) ? calls : 1;
    set.reason = text("they follow each other");
    bp_status_t status =
        count ? sink->put(sink->context, &set) : bp_status_t(BP_STATUS_OK);
    if (has(SHARES_OPS) && count && !status)
      status = sink->put(sink->context, &set);
    count = 0;
    return status;
  };
  for (uint32_t op = 0; op < graph.op_count && count < 1024; ++op) {
    bp_op_info_t info = opOf(request, op);
    lookAtRanks(request, op);
    if (isTaken(info))
      ops[count++] = op;
    else if (info.operand_count && !has(GOES_AROUND))
      if (bp_status_t status = put())
        return status;
  }
  return put();
}

/// The first byte of each weight, and the one behind it where that is asked.
uint8_t sumOfWeights(const bp_weight_reader_t &reader, uint32_t inputs) {
  uint8_t sum = 0;
  for (uint32_t i = 0; i < inputs + has(ASKS_FOR_NO_WEIGHT); ++i) {
    bp_bytes_t values;
    if (reader.read(reader.context, i, nullptr, &values))
      continue;
    auto *bytes = static_cast<const volatile uint8_t *>(values.data);
    sum += bytes[0];
    if (has(READS_OVER_WEIGHTS))
      sum += bytes[values.size];
  }
  return sum;
}

bp_status_t compile(void *, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *) {
  static uint8_t calls = 0;
  bp_graph_info_t graph;
  request->graph_table->graph_info(request->graph, &graph);
  const uint32_t bindings = graph.input_count + graph.output_count;
  uint8_t access[1024], blob[2] = {};
  if (bindings > sizeof(access))
    return BP_STATUS_UNIMPLEMENTED;
  for (uint32_t i = 0; i < bindings; ++i)
    access[i] = i < graph.input_count ? BP_ACCESS_READ : BP_ACCESS_WRITE;
  blob[0] = sumOfWeights(*request->weights, graph.input_count);
  blob[1] = has(COMPILES_THE_TIME) ? ++calls : 0;
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  entry.name = request->entry_name;
  entry.binding_access = access;
  entry.binding_count = bindings;
  bp_compiled_t made = {BP_HEADER(bp_compiled_t)};
  made.blob = {blob, sizeof(blob)};
  made.entry = &entry;
  for (bp_string_t &axis : made.grid)
    axis = text("1");
  return sink->put(sink->context, &made);
}

const bp_compiler_table_t compilerTable = {BP_HEADER(bp_compiler_table_t),
                                           targets,
                                           nullptr,
                                           nullptr,
                                           compile,
                                           nullptr,
                                           graphPasses,
                                           runGraphPass,
                                           partition};

} // namespace

#endif // BACKPLANE_CONFORMANCE_PLUGIN_TEST_FAULTYCOMPILER_H
