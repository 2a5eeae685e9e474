/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c: the compile side. An interpreter needs no code, so the blob of a
 * dispatch is the dispatch itself, as wire bytes. A vendor puts its own code
 * generator into `compile`, reading the graph with request->graph_table.
 */
#include "ref.h"

#include <string.h>

/* ---- Targets ---- */

/* The classes of docs/reference/ops.md. */
static const char *const classes[] = {"EXACT",    "ULP", "REDUCE",
                                      "DECISION", "DOT", "RUNNING"};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))
#define DTYPES (BP_DTYPE_COUNT_ - 1u)

/* The significand bits that a class computes in: an op uses doubles or 64-bit
 * integers and rounds once, but composites run as several ops, each of which
 * rounds to the dtype. */
static uint32_t bits_of(const char *op_class, bp_dtype_t dtype) {
  if (!ref_is_float(dtype))
    return 64;
  if (strcmp(op_class, "RUNNING") != 0 || dtype == BP_DTYPE_F64)
    return 53;
  return dtype == BP_DTYPE_F32    ? 24
         : dtype == BP_DTYPE_F16  ? 11
         : dtype == BP_DTYPE_BF16 ? 8
                                  : 4;
}

/* Nothing is flushed or contracted, and sums have one order. */
static void declare(bp_numerics_t *numerics, const char *op_class,
                    bp_dtype_t dtype) {
  const bp_numerics_t declared = {.header = BP_HEADER(bp_numerics_t),
                                  .op_class = bp_text(op_class),
                                  .dtype = dtype,
                                  .accumulator_bits = bits_of(op_class, dtype),
                                  .rounding = BP_ROUNDING_NEAREST,
                                  .flags = BP_NUMERICS_DETERMINISTIC};
  *numerics = declared;
}

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  bp_numerics_t numerics[CLASSES * DTYPES];
  const bp_numerics_t *list[CLASSES * DTYPES];
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  uint32_t i;
  (void)self;
  (void)error;
  for (i = 0; i < CLASSES * DTYPES; ++i) {
    declare(&numerics[i], classes[i / DTYPES], 1u + i % DTYPES);
    list[i] = &numerics[i];
    target.storage_dtypes |= (bp_dtype_set_t)1 << numerics[i].dtype;
  }
  target.compute_dtypes = target.storage_dtypes;
  target.name = bp_text("ref");
  target.description = bp_text("interpreter of wire graphs");
  target.driver = bp_text("ref");
  target.format = bp_text("wire");
  target.max_bindings = 1024;
  target.max_constants = BP_MAX_CONSTANTS;
  target.fusion = BP_FUSE_ELEMENTWISE;
  target.max_fused_ops = 8;
  target.numerics = list;
  target.numerics_count = CLASSES * DTYPES;
  return sink->put(sink->context, &target);
}

/* ---- Claims ---- */

static bp_status_t claim(void *self, bp_string_t target,
                         const bp_graph_t *graph, const bp_graph_table_t *table,
                         bp_claim_t *out_claim, bp_error_t *error) {
  char reason[256];
  (void)self;
  (void)target;
  (void)error;
  out_claim->supported =
      ref_check(table, graph, reason, sizeof(reason)) == BP_STATUS_OK;
  if (out_claim->supported || !out_claim->reason)
    return BP_STATUS_OK;
  return out_claim->reason->put(out_claim->reason->context, bp_text(reason));
}

/* ---- Compiling ---- */

typedef struct delivery_t {
  const bp_compiled_sink_t *sink;
  bp_entry_t entry;
  const uint8_t *in_place;
} delivery_t;

/* Ops run one after another with temporaries of their own, so only the last one
 * writes to the result; when it is elementwise it reads each element before. */
static uint8_t can_run_in_place(const bp_graph_table_t *table,
                                const bp_graph_t *graph,
                                const bp_graph_info_t *info) {
  const uint32_t last = info->op_count - 1u;
  bp_op_info_t op;
  ref_kernel_t kernel;
  if (info->op_count == 0 || info->output_count != 1 ||
      table->op_result(graph, last, 0) != table->output(graph, 0))
    return 0;
  table->op_info(graph, last, &op);
  kernel = ref_kernel(op.name, ref_dtype_of(table, graph, last));
  return kernel == ref_elementwise || kernel == ref_select;
}

/* Receives the wire bytes and hands them on as the blob. */
static bp_status_t deliver(void *context, bp_bytes_t bytes) {
  const delivery_t *delivery = context;
  bp_compiled_t compiled = {.header = BP_HEADER(bp_compiled_t)};
  compiled.blob = bytes;
  compiled.entry = &delivery->entry;
  compiled.in_place = delivery->in_place;
  compiled.grid[0] = compiled.grid[1] = compiled.grid[2] = bp_text("1");
  return delivery->sink->put(delivery->sink->context, &compiled);
}

static bp_status_t compile(void *self, const bp_compile_request_t *request,
                           const bp_compiled_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = ((bp_device_t *)self)->host;
  delivery_t delivery = {sink, {.header = BP_HEADER(bp_entry_t)}, 0};
  const bp_bytes_sink_t bytes_sink = {deliver, &delivery};
  bp_entry_t *entry = &delivery.entry;
  bp_graph_info_t info;
  uint8_t *access; /* of each binding; behind it, whether it is in place */
  uint8_t in_place;
  char reason[256];
  uint32_t i;
  bp_status_t status = ref_no_options(host, &request->options, error);
  if (status)
    return status;
  status =
      ref_check(request->graph_table, request->graph, reason, sizeof(reason));
  if (status)
    return ref_error(host, error, status, "%s", reason);
  request->graph_table->graph_info(request->graph, &info);
  entry->name = request->entry_name;
  entry->binding_count = info.input_count + info.output_count;
  entry->constant_count = info.symbol_count;
  for (i = 0; i < 3; ++i)
    entry->workgroup_size[i] = 1;
  access = host->memory_allocate(host->self, 2u * entry->binding_count + 1u, 8);
  if (!access)
    return ref_error(host, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "no memory for %u bindings", entry->binding_count);
  in_place = can_run_in_place(request->graph_table, request->graph, &info);
  for (i = 0; i < entry->binding_count; ++i) {
    access[i] = i < info.input_count ? BP_ACCESS_READ : BP_ACCESS_WRITE;
    access[entry->binding_count + i] = i < info.input_count ? in_place : 0;
  }
  entry->binding_access = access;
  delivery.in_place = access + entry->binding_count;
  status = request->graph_table->graph_write(request->graph, &bytes_sink);
  host->memory_free(host->self, access);
  return status;
}

const bp_compiler_table_t ref_compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .claim = claim,
    .compile = compile,
};
