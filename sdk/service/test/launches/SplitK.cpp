// SPDX-License-Identifier: Apache-2.0
//
// A compiler plug-in with kernels of its own, for LaunchTest.cpp: target
// "split-k" runs products of two matrices of f32 on the host driver, in two
// launches over scratch. BP_SPLIT_K_BREAKS names a way to describe them
// wrongly.
#include "backplane/compiler.h"
#include "backplane/plugin.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// The kernels, as a vendor ships them: inside of the plug-in.
asm(".section .rodata\n"
    ".global splitKBegin\n"
    ".global splitKEnd\n"
    ".balign 64\n"
    "splitKBegin: .incbin \"" BP_SPLIT_K_IMAGE "\"\n"
    "splitKEnd:\n"
    ".previous\n");
extern "C" const char splitKBegin[], splitKEnd[];

namespace {

const bp_host_t *host = nullptr;

bp_string_t text(const std::string &from) { return {from.data(), from.size()}; }
bp_string_t text(const char *from) { return {from, std::strlen(from)}; }

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = text("split-k");
  target.driver = text("host");
  target.format = text(BP_SPLIT_K_FORMAT);
  target.storage_dtypes = bp_dtype_set_t(1) << BP_DTYPE_F32;
  target.max_bindings = 8;
  target.max_constants = BP_MAX_CONSTANTS;
  return sink->put(sink->context, &target);
}

/// The sizes m, k and n of a product, as expressions; false: it is none.
bool sizesOf(const bp_graph_t *graph, const bp_graph_table_t *table,
             std::string (&sizes)[3]) {
  bp_graph_info_t info = {};
  table->graph_info(graph, &info);
  bp_op_info_t op = {};
  table->op_info(graph, 0, &op);
  if (info.op_count != 1 || info.input_count != 2 || info.output_count != 1 ||
      std::string(op.name.data, op.name.size) != "matmul" ||
      table->op_operand(graph, 0, 0) != table->input(graph, 0) ||
      table->op_operand(graph, 0, 1) != table->input(graph, 1))
    return false;
  for (uint32_t i = 0; i < 2; ++i) {
    bp_value_info_t value = {};
    table->value_info(graph, table->input(graph, i), &value);
    if (value.rank != 2)
      return false;
  }
  auto size = [&](uint32_t input, uint32_t axis) {
    bp_string_t dim =
        table->value_dim_text(graph, table->input(graph, input), axis);
    return std::string(dim.data, dim.size);
  };
  sizes[0] = size(0, 0);
  sizes[1] = size(0, 1);
  sizes[2] = size(1, 1);
  return true;
}

/// A launch and what it points to.
struct Launch {
  std::vector<uint8_t> access;
  std::vector<bp_launch_binding_t> bindings;
  std::vector<std::string> parameters;
  std::vector<bp_string_t> texts;
  bp_entry_t entry = {BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {BP_HEADER(bp_launch_t)};

  const bp_launch_t *finish(const char *name, const std::string &groups,
                            const char *parts) {
    for (const std::string &parameter : parameters)
      texts.push_back(text(parameter));
    entry.name = text(name);
    entry.binding_access = access.data();
    entry.binding_count = uint32_t(access.size());
    entry.parameter_count = uint32_t(parameters.size());
    launch.entry = &entry;
    launch.grid[0] = text(groups);
    launch.grid[1] = text(parts);
    launch.grid[2] = text("1");
    launch.bindings = bindings.data();
    launch.parameters = texts.data();
    return &launch;
  }
};

/// Makes one thing wrong, for the tests of what the host then says.
void spoil(const std::string &how, Launch &partial, Launch &sum,
           bp_compiled_t &compiled) {
  if (how == "writes-input")
    partial.access[1] = BP_ACCESS_WRITE;
  if (how == "no-such-binding")
    partial.bindings[0].binding = 3;
  if (how == "no-scratch")
    compiled.scratch_bytes = {};
  if (how == "small-scratch")
    compiled.scratch_bytes = text("4");
  if (how == "no-output")
    sum.access[1] = BP_ACCESS_READ;
  if (how == "constants")
    sum.entry.constant_count = 7;
  if (how == "driver-data")
    sum.entry.driver_data = {"abc", 3};
  if (how == "cluster")
    sum.launch.cluster[0] = 2;
  if (how == "beyond-scratch")
    sum.bindings[0].offset = text("1000000");
  if (how == "long-parameter")
    partial.texts[0] = text("9223372036854775807*9223372036854775807");
}

bp_compiled_t compiledOf(const std::vector<const bp_launch_t *> &launches) {
  bp_compiled_t compiled = {BP_HEADER(bp_compiled_t)};
  compiled.blob = {splitKBegin, uint64_t(splitKEnd - splitKBegin)};
  compiled.launches = launches.data();
  compiled.launch_count = launches.size();
  return compiled;
}

/// Whether the second input is a weight; gets its values only where `values` is
/// not null.
bool isWeight(const bp_compile_request_t *request, bp_bytes_t *values) {
  return request->weights &&
         request->weights->read(request->weights->context, 1, nullptr,
                                values) == BP_STATUS_OK;
}

/// The one whole number that all values are, if so.
bool isUniform(bp_bytes_t values, int64_t &out) {
  const auto *all = static_cast<const float *>(values.data);
  for (uint64_t i = 0; i < values.size / sizeof(float); ++i)
    if (all[i] != all[0])
      return false;
  out = int64_t(all[0]);
  return float(out) == all[0];
}

bp_status_t bake(const std::string (&sizes)[3], int64_t value,
                 const bp_compiled_sink_t *sink) {
  Launch baked;
  baked.access = {BP_ACCESS_READ, BP_ACCESS_WRITE};
  baked.bindings = {{0, 0, {}, {}}, {2, 0, {}, {}}};
  baked.parameters = {sizes[1], sizes[2], "0-" + std::to_string(-value)};
  if (value >= 0)
    baked.parameters[2] = std::to_string(value);
  const std::vector<const bp_launch_t *> launches = {
      baked.finish("baked", sizes[0], "1")};
  bp_compiled_t compiled = compiledOf(launches);
  return sink->put(sink->context, &compiled);
}

bp_status_t packOnce(const std::string (&sizes)[3], uint64_t bytes,
                     const bp_compiled_sink_t *sink) {
  Launch pack, packed;
  pack.access = {BP_ACCESS_READ, BP_ACCESS_WRITE};
  pack.bindings = {{1, 0, {}, {}}, {BP_LAUNCH_PERSISTENT, 0, {}, {}}};
  pack.parameters = {sizes[1], sizes[2]};
  packed.access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_WRITE};
  packed.bindings = {
      {0, 0, {}, {}}, {BP_LAUNCH_PERSISTENT, 0, {}, {}}, {2, 0, {}, {}}};
  packed.parameters = {sizes[1], sizes[2]};
  const bp_launch_t *once[] = {pack.finish("pack", sizes[2], "1")};
  const std::vector<const bp_launch_t *> each = {
      packed.finish("packed", sizes[0], "1")};
  bp_compiled_t compiled = compiledOf(each);
  compiled.init_launches = once;
  compiled.init_launch_count = 1;
  compiled.persistent_bytes = bytes;
  if (const char *how = std::getenv("BP_SPLIT_K_BREAKS")) {
    std::string name = how;
    if (name == "init-input")
      pack.bindings[0].binding = 0;
    if (name == "init-scratch")
      pack.bindings[0].binding = BP_LAUNCH_SCRATCH;
    if (name == "init-size")
      pack.launch.grid[0] = text(sizes[0]);
    if (name == "persistent-written")
      packed.access[1] = BP_ACCESS_WRITE;
    if (name == "no-persistent")
      compiled.persistent_bytes = 0;
    if (name == "small-persistent")
      pack.bindings[1].length = text("1000000");
  }
  return sink->put(sink->context, &compiled);
}

bp_status_t compile(void *, const bp_compile_request_t *request,
                    const bp_compiled_sink_t *sink, bp_error_t *error) {
  std::string sizes[3];
  if (!sizesOf(request->graph, request->graph_table, sizes))
    return host->error_set(host->self, error, BP_STATUS_UNIMPLEMENTED,
                           text("split-k multiplies two matrices"));
  int64_t value = 0;
  bp_bytes_t values = {};
  if (isWeight(request, nullptr) && isWeight(request, &values))
    return isUniform(values, value) ? bake(sizes, value, sink)
                                    : packOnce(sizes, values.size, sink);
  const char *parts = "5";
  std::string rows = "(" + sizes[0] + ")*(" + sizes[2] + ")*4";
  // Each part of the scratch starts where the device lets bindings start.
  std::string stride = "((" + rows + ") ceildiv 256)*256";
  std::string scratch = std::string(parts) + "*(" + stride + ")";
  Launch partial, sum;
  partial.access = {BP_ACCESS_READ, BP_ACCESS_READ, BP_ACCESS_WRITE};
  partial.bindings = {
      {0, 0, {}, {}}, {1, 0, {}, {}}, {BP_LAUNCH_SCRATCH, 0, {}, {}}};
  partial.parameters = {sizes[0], sizes[1], sizes[2], stride};
  sum.access = {BP_ACCESS_READ, BP_ACCESS_WRITE};
  sum.bindings = {{BP_LAUNCH_SCRATCH, 0, text("0"), text(scratch)},
                  {2, 0, {}, {}}};
  sum.parameters = {sizes[2], stride, parts};
  const std::vector<const bp_launch_t *> launches = {
      partial.finish("partial", sizes[0], parts),
      sum.finish("sum", sizes[0], "1")};
  bp_compiled_t compiled = compiledOf(launches);
  compiled.scratch_bytes = text(scratch);
  if (const char *how = std::getenv("BP_SPLIT_K_BREAKS"))
    spoil(how, partial, sum, compiled);
  return sink->put(sink->context, &compiled);
}

const bp_compiler_table_t compilerTable = {BP_HEADER(bp_compiler_table_t),
                                           targets,
                                           nullptr,
                                           nullptr,
                                           compile,
                                           nullptr};

bp_status_t initialize(const bp_host_t *given, const bp_options_t *, void **,
                       bp_error_t *) {
  host = given;
  return BP_STATUS_OK;
}

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t), initialize,
                                       [](void *) {}, nullptr};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  out->name = text("split-k");
  out->vendor = text("test");
  out->version = text("1.0.0");
  out->required_minor = 2; // a host before it knows no launches
  out->built_minor = BP_ABI_MINOR;
  out->plugin = &pluginTable;
  out->compiler = &compilerTable;
  return BP_STATUS_OK;
}
