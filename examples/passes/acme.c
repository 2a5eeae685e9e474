/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acme.c: a compiler in C99 for x86-64 CPUs whose code LLVM generates, with a
 * graph pass of its own: pow(x, 4) becomes the square of a square.
 */
#include <backplane/compiler.h>
#include <backplane/helpers.h>
#include <backplane/plugin.h>

#include <stdlib.h>
#include <string.h>

#define TEXT(literal) {(literal), sizeof(literal) - 1}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

enum { MOST_ATTRIBUTES = 32, MOST_OPERANDS = 64, MOST_RANK = 16 };

static int is(bp_string_t text, const char *name) {
  return text.size == strlen(name) && !memcmp(text.data, name, text.size);
}

static bp_status_t fail(void *self, bp_error_t *error, bp_status_t code,
                        const char *why) {
  const bp_host_t *host = self;
  const bp_string_t text = {why, strlen(why)};
  return host->error_set(host->self, error, code, text);
}

/* ---- The pass ---- */

/* A graph that is written anew without what nobody needs. */
typedef struct rewrite_t {
  void *self;
  bp_error_t *error;
  const bp_graph_table_t *table;
  const bp_graph_t *from;
  bp_graph_builder_t *to;
  uint32_t *values; /* new numbers of old values */
  uint8_t *needed;  /* of old values */
} rewrite_t;

static bp_op_info_t op_at(const rewrite_t *r, uint32_t op) {
  bp_op_info_t info;
  r->table->op_info(r->from, op, &info);
  return info;
}

/* Whether each element of a value is the number 4, of type f32. */
static int is_four(const rewrite_t *r, uint32_t value) {
  const bp_string_t name = TEXT("value");
  bp_value_info_t info;
  bp_attribute_t bytes;
  r->table->value_info(r->from, value, &info);
  if (info.producer == BP_NONE || info.dtype != BP_DTYPE_F32)
    return 0;
  if (is(op_at(r, info.producer).name, "broadcast"))
    return is_four(r, r->table->op_operand(r->from, info.producer, 0));
  if (!is(op_at(r, info.producer).name, "constant"))
    return 0;
  r->table->attribute(r->from, info.producer, name, &bytes);
  for (uint64_t at = 0; at + sizeof(float) <= bytes.bytes.size;
       at += sizeof(float)) {
    float element;
    memcpy(&element, (const char *)bytes.bytes.data + at, sizeof(element));
    if (element != 4.0f)
      return 0;
  }
  return bytes.bytes.size >= sizeof(float);
}

static int is_fourth_power(const rewrite_t *r, uint32_t op) {
  return is(op_at(r, op).name, "pow") &&
         is_four(r, r->table->op_operand(r->from, op, 1));
}

/* Backwards from the outputs. The exponent of a power is not needed. */
static void find_needed(rewrite_t *r, const bp_graph_info_t *graph) {
  for (uint32_t i = 0; i < graph->output_count; ++i)
    r->needed[r->table->output(r->from, i)] = 1;
  for (uint32_t op = graph->op_count; op-- > 0;) {
    const bp_op_info_t info = op_at(r, op);
    const uint32_t operands = is_fourth_power(r, op) ? 1 : info.operand_count;
    int needed = 0;
    for (uint32_t i = 0; i < info.result_count; ++i)
      needed |= r->needed[r->table->op_result(r->from, op, i)];
    for (uint32_t i = 0; needed && i < operands; ++i)
      r->needed[r->table->op_operand(r->from, op, i)] = 1;
  }
}

static bp_status_t copy_interface(rewrite_t *r, const bp_graph_info_t *graph) {
  bp_status_t status = BP_STATUS_OK;
  for (uint32_t i = 0; !status && i < graph->symbol_count; ++i) {
    bp_symbol_info_t symbol;
    r->table->symbol_info(r->from, i, &symbol);
    status = r->table->builder_symbol(r->to, &symbol);
  }
  for (uint32_t i = 0; !status && i < graph->input_count; ++i) {
    const uint32_t value = r->table->input(r->from, i);
    bp_value_info_t info;
    bp_string_t dims[MOST_RANK];
    r->table->value_info(r->from, value, &info);
    for (uint32_t axis = 0; axis < info.rank && axis < MOST_RANK; ++axis)
      dims[axis] = r->table->value_dim_text(r->from, value, axis);
    status = r->table->builder_input(r->to, info.name, info.dtype, dims,
                                     info.rank, &r->values[value], r->error);
  }
  return status;
}

/* mul(x, x) */
static bp_status_t add_square(rewrite_t *r, uint32_t x, bp_string_t location,
                              uint32_t *result) {
  const bp_string_t mul = TEXT("mul");
  const uint32_t operands[] = {x, x};
  return r->table->builder_op(r->to, mul, operands, 2, NULL, 0, location,
                              result, 1, r->error);
}

static bp_status_t copy_op(rewrite_t *r, uint32_t op) {
  const bp_op_info_t info = op_at(r, op);
  const int power = is_fourth_power(r, op);
  const uint32_t attributes = r->table->attribute_count(r->from, op);
  bp_attribute_t attribute[MOST_ATTRIBUTES];
  uint32_t operand[MOST_OPERANDS], result[MOST_OPERANDS];
  bp_status_t status;
  if (info.region_count || attributes > MOST_ATTRIBUTES ||
      info.operand_count > MOST_OPERANDS || info.result_count > MOST_OPERANDS)
    return fail(r->self, r->error, BP_STATUS_UNIMPLEMENTED,
                "an op has regions, or more operands than this pass copies");
  for (uint32_t i = 0; i < attributes; ++i)
    r->table->attribute_at(r->from, op, i, &attribute[i]);
  for (uint32_t i = 0; i < info.operand_count; ++i)
    operand[i] = r->values[r->table->op_operand(r->from, op, i)];
  if (power) {
    status = add_square(r, operand[0], info.location, result);
    if (!status)
      status = add_square(r, result[0], info.location, result);
  } else {
    status = r->table->builder_op(r->to, info.name, operand, info.operand_count,
                                  attribute, attributes, info.location, result,
                                  info.result_count, r->error);
  }
  for (uint32_t i = 0; !status && i < info.result_count; ++i)
    r->values[r->table->op_result(r->from, op, i)] = result[i];
  return status;
}

static bp_status_t copy_graph(rewrite_t *r, const bp_graph_info_t *graph,
                              const bp_bytes_sink_t *sink) {
  bp_graph_t *made = NULL;
  bp_status_t status = copy_interface(r, graph);
  find_needed(r, graph);
  for (uint32_t op = 0; !status && op < graph->op_count; ++op)
    if (r->needed[r->table->op_result(r->from, op, 0)])
      status = copy_op(r, op);
  for (uint32_t i = 0; !status && i < graph->output_count; ++i)
    status =
        r->table->builder_output(r->to, r->values[r->table->output(r->from, i)],
                                 r->table->output_name(r->from, i), r->error);
  if (!status)
    status = r->table->builder_finish(r->to, &made, r->error);
  if (!status)
    status = r->table->graph_write(made, sink);
  if (made)
    r->table->graph_close(made);
  return status;
}

/* A graph without such powers stays as it is; one with variables cannot be
 * built anew. */
static bp_status_t look_at(rewrite_t *r, const bp_graph_info_t *graph,
                           int *powers) {
  for (uint32_t op = 0; op < graph->op_count; ++op) {
    const bp_string_t name = op_at(r, op).name;
    if (is(name, "variable_read") || is(name, "variable_write"))
      return fail(r->self, r->error, BP_STATUS_UNIMPLEMENTED,
                  "the graph has variables");
    *powers |= is_fourth_power(r, op);
  }
  return BP_STATUS_OK;
}

static bp_status_t rewrite(rewrite_t *r, const bp_bytes_sink_t *sink) {
  bp_graph_info_t graph;
  bp_status_t status;
  int powers = 0;
  r->table->graph_info(r->from, &graph);
  status = look_at(r, &graph, &powers);
  if (status || !powers)
    return status;
  r->values = calloc(graph.value_count, sizeof(*r->values));
  r->needed = calloc(graph.value_count, sizeof(*r->needed));
  if (!r->values || !r->needed)
    status = fail(r->self, r->error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
  else
    status = r->table->builder_create(graph.name, &r->to);
  if (!status)
    status = copy_graph(r, &graph, sink);
  if (r->to)
    r->table->builder_destroy(r->to);
  free(r->values);
  free(r->needed);
  return status;
}

static bp_status_t graph_passes(void *self, bp_string_t target,
                                const bp_graph_pass_sink_t *sink,
                                bp_error_t *error) {
  const bp_string_t name = TEXT("squares"), stage = TEXT("partition");
  const bp_string_t description = TEXT("pow(x, 4) to squares");
  bp_graph_pass_t pass = {.header = BP_HEADER(bp_graph_pass_t)};
  (void)self, (void)target, (void)error;
  pass.name = name;
  pass.description = description;
  pass.stage = stage;
  return sink->put(sink->context, &pass);
}

static bp_status_t run_graph_pass(void *self,
                                  const bp_graph_pass_request_t *request,
                                  const bp_bytes_sink_t *sink,
                                  bp_error_t *error) {
  rewrite_t r = {self, error, request->graph_table, NULL, NULL, NULL, NULL};
  bp_graph_t *graph = NULL;
  bp_status_t status;
  if (!is(request->pass, "squares"))
    return fail(self, error, BP_STATUS_NOT_FOUND, "acme has the pass squares");
  status = r.table->graph_open(request->graph, &graph, error);
  if (status)
    return status;
  r.from = graph;
  status = rewrite(&r, sink);
  r.table->graph_close(graph);
  return status;
}

/* ---- The target ---- */

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  static const bp_string_t features[] = {TEXT("avx2"), TEXT("fma"),
                                         TEXT("f16c")};
  const bp_string_t name = TEXT("acme-squares"), driver = TEXT("host");
  const bp_string_t description = TEXT("x86-64 with AVX2 and FMA");
  const bp_string_t format = TEXT("elf-x86_64"), emitter = TEXT("llvm-elf");
  const bp_string_t triple = TEXT("x86_64-unknown-linux-gnu");
  const bp_string_t cpu = TEXT("x86-64"), flags = TEXT("+avx2,+fma,+f16c");
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  (void)self, (void)error;
  target.name = name;
  target.description = description;
  target.driver = driver;
  target.format = format;
  target.required_features = features;
  target.required_feature_count = COUNT(features);
  target.rank = 1;
  target.emitter = emitter;
  target.triple = triple;
  target.cpu = cpu;
  target.features = flags;
  target.storage_dtypes = 1u << BP_DTYPE_F32 | 1u << BP_DTYPE_BOOL |
                          1u << BP_DTYPE_I32 | 1u << BP_DTYPE_I64;
  target.vector_bits = 256;
  target.max_bindings = 64;
  target.max_constants = BP_MAX_CONSTANTS;
  target.fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE;
  target.max_fused_ops = 32;
  return sink->put(sink->context, &target);
}

static bp_status_t stages(void *self, bp_string_t target,
                          const bp_stage_sink_t *sink, bp_error_t *error) {
  static const bp_string_t lists[][2] = {
      {TEXT("tile"),
       TEXT("bp-bind-buffers,bp-contract{vector-bits=256},bp-distribute")},
      {TEXT("bufferize"), TEXT("bp-bufferize")},
      {TEXT("device"), TEXT("bp-vectorize{vector-bits=256},bp-expand-math,"
                            "bp-to-cpu-entry,bp-to-llvm")}};
  bp_status_t status = BP_STATUS_OK;
  (void)self, (void)target, (void)error;
  for (size_t i = 0; !status && i < COUNT(lists); ++i)
    status = sink->put(sink->context, lists[i][0], lists[i][1]);
  return status;
}

/* ---- The plug-in ---- */

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  (void)options, (void)error;
  *out_self = (void *)host;
  return BP_STATUS_OK;
}

static void shutdown(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {BP_HEADER(bp_plugin_table_t),
                                               initialize, shutdown, NULL};
static const bp_compiler_table_t compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .stages = stages,
    .graph_passes = graph_passes,
    .run_graph_pass = run_graph_pass};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host;
  info.name = bp_text("acme-passes");
  info.vendor = bp_text("Acme");
  info.version = bp_text("1.0.0");
  info.required_minor = 2;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &plugin_table;
  info.compiler = &compiler_table;
  return bp_plugin_info_give(&info, out);
}
