/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c: a graph is checked once, when it is loaded, and then run per
 * dispatch: shapes from the symbols, inputs and outputs in the bindings,
 * temporaries from the host, one op after another.
 */
#include "ref.h"

#include <stdio.h>
#include <string.h>

/* ---- What ops use ---- */

bp_status_t ref_fail(ref_op_t *op, bp_status_t status, const char *reason) {
  op->reason = reason;
  return status;
}

const ref_tensor_t *ref_operand(const ref_op_t *op, uint32_t index) {
  return &op->values[op->table->op_operand(op->graph, op->index, index)];
}

int64_t ref_i64(const ref_op_t *op, const char *name) {
  bp_attribute_t attribute;
  op->table->attribute(op->graph, op->index, ref_string(name), &attribute);
  return attribute.i64;
}

const int64_t *ref_i64s(const ref_op_t *op, const char *name,
                        uint32_t *out_count) {
  bp_attribute_t attribute;
  op->table->attribute(op->graph, op->index, ref_string(name), &attribute);
  if (out_count)
    *out_count = attribute.count;
  return attribute.i64s;
}

int ref_is(const ref_op_t *op, const char *name, const char *value) {
  bp_attribute_t attribute;
  op->table->attribute(op->graph, op->index, ref_string(name), &attribute);
  return ref_equal(attribute.string, value);
}

bp_status_t ref_dims(ref_op_t *op, const char *name, int64_t *out_dims,
                     uint32_t capacity) {
  bp_status_t status = op->table->attribute_dims(
      op->graph, op->index, ref_string(name), op->symbols, out_dims, capacity);
  return status ? ref_fail(op, status, "a dim has no value") : BP_STATUS_OK;
}

/* ---- Checking a graph ---- */

static const struct {
  const char *name;
  ref_kernel_t kernel;
} kernels_by_name[] = {
    {"constant", ref_constant},
    {"iota", ref_iota},
    {"dim", ref_dim},
    {"broadcast", ref_broadcast},
    {"reshape", ref_reshape},
    {"transpose", ref_transpose},
    {"slice", ref_slice},
    {"concat", ref_concat},
    {"pad", ref_pad},
    {"reverse", ref_reverse},
    {"gather", ref_gather},
    {"select", ref_select},
    {"compare", ref_elementwise},
    {"reduce", ref_reduce},
    {"arg_reduce", ref_arg_reduce},
    {"matmul", ref_matmul},
    {"conv", ref_conv},
    {"conv_transpose", ref_conv_transpose},
    {"pool", ref_pool},
};

/* The function of an op whose first operand has this dtype, or NULL. */
static ref_kernel_t find_kernel(bp_string_t name, bp_dtype_t dtype) {
  const ref_scalar_t *scalar;
  size_t i;
  for (i = 0; i < sizeof(kernels_by_name) / sizeof(kernels_by_name[0]); ++i)
    if (ref_equal(name, kernels_by_name[i].name))
      return kernels_by_name[i].kernel;
  scalar = ref_scalar_find(name);
  if (scalar && (ref_is_float(dtype) ? scalar->unary || scalar->binary
                                     : scalar->integer != 0))
    return ref_elementwise;
  return 0;
}

/* Whether this backend holds the value; writes the reason if not. */
static int check_value(const bp_graph_table_t *table, const bp_graph_t *graph,
                       uint32_t value, const bp_op_info_t *op, char *reason,
                       uint64_t size) {
  bp_value_info_t info;
  table->value_info(graph, value, &info);
  if (ref_size(info.dtype) && info.rank <= REF_MAX_RANK)
    return 1;
  snprintf(reason, size, "ref has no op '%.*s' for dtype %u and rank %u (%.*s)",
           (int)op->name.size, op->name.data, info.dtype, info.rank,
           (int)op->location.size, op->location.data);
  return 0;
}

static bp_status_t resolve_op(const bp_graph_table_t *table,
                              const bp_graph_t *graph, uint32_t index,
                              ref_kernel_t *out_kernel, char *reason,
                              uint64_t size) {
  bp_op_info_t op;
  bp_value_info_t first;
  uint32_t i;
  table->op_info(graph, index, &op);
  for (i = 0; i < op.operand_count; ++i)
    if (!check_value(table, graph, table->op_operand(graph, index, i), &op,
                     reason, size))
      return BP_STATUS_UNIMPLEMENTED;
  for (i = 0; i < op.result_count; ++i)
    if (!check_value(table, graph, table->op_result(graph, index, i), &op,
                     reason, size))
      return BP_STATUS_UNIMPLEMENTED;
  table->value_info(graph,
                    op.operand_count ? table->op_operand(graph, index, 0)
                                     : table->op_result(graph, index, 0),
                    &first);
  *out_kernel = find_kernel(op.name, first.dtype);
  if (*out_kernel && op.version == 1)
    return BP_STATUS_OK;
  snprintf(reason, size, "ref has no op '%.*s' version %u (%.*s)",
           (int)op.name.size, op.name.data, op.version, (int)op.location.size,
           op.location.data);
  return BP_STATUS_UNIMPLEMENTED;
}

bp_status_t ref_resolve(const bp_graph_table_t *table, const bp_graph_t *graph,
                        ref_kernel_t *kernels, char *reason, uint64_t size) {
  bp_graph_info_t info;
  bp_op_info_t passed = {{"input", 5}, {"", 0}, 1, 0, 0, 0};
  ref_kernel_t kernel;
  uint32_t i;
  bp_status_t status = BP_STATUS_OK;
  table->graph_info(graph, &info);
  if (info.symbol_count > BP_MAX_CONSTANTS) {
    snprintf(reason, size, "ref takes %u symbols, found %u", BP_MAX_CONSTANTS,
             info.symbol_count);
    return BP_STATUS_UNIMPLEMENTED;
  }
  for (i = 0; i < info.input_count; ++i)
    if (!check_value(table, graph, table->input(graph, i), &passed, reason,
                     size))
      return BP_STATUS_UNIMPLEMENTED;
  for (i = 0; i < info.op_count && status == BP_STATUS_OK; ++i)
    status = resolve_op(table, graph, i, kernels ? &kernels[i] : &kernel,
                        reason, size);
  return status;
}

/* ---- Running it ---- */

typedef struct run_t {
  const bp_executable_t *executable;
  const bp_command_dispatch_t *command;
  bp_graph_info_t info;
  int64_t symbols[BP_MAX_CONSTANTS];
  ref_tensor_t *values;
  char *message;
  uint64_t size; /* of message */
} run_t;

static int64_t bytes_of(const ref_tensor_t *tensor) {
  return tensor->count * ref_size(tensor->dtype);
}

/* Evaluates dtype and dims; fails when the bytes do not fit 63 bits. */
static bp_status_t shape_value(run_t *run, uint32_t value) {
  const bp_graph_table_t *table = run->executable->table;
  const bp_graph_t *graph = run->executable->graph;
  ref_tensor_t *tensor = &run->values[value];
  bp_value_info_t info;
  int64_t limit;
  uint32_t axis;
  bp_status_t status;
  table->value_info(graph, value, &info);
  tensor->dtype = info.dtype;
  tensor->rank = info.rank;
  status = table->value_shape(graph, value, run->symbols, tensor->dims);
  limit = INT64_MAX / (ref_size(info.dtype) ? ref_size(info.dtype) : 1);
  for (axis = 0; axis < info.rank && status == BP_STATUS_OK; ++axis) {
    if (tensor->dims[axis] > limit)
      status = BP_STATUS_OUT_OF_RANGE;
    else if (tensor->dims[axis] > 0) /* zeros keep partial products in range */
      limit /= tensor->dims[axis];
  }
  if (status)
    snprintf(run->message, run->size,
             "the shape of value %u is out of range for these symbols", value);
  else
    tensor->count = ref_product(tensor->dims, tensor->rank);
  return status;
}

/* The memory of binding `index`, when it holds `tensor`. */
static void *binding_data(run_t *run, uint32_t index,
                          const ref_tensor_t *tensor) {
  const bp_binding_t *binding = &run->command->bindings[index];
  if (binding->length >= (uint64_t)bytes_of(tensor))
    return binding->buffer->data + binding->offset;
  snprintf(run->message, run->size,
           "binding %u has %llu bytes, its tensor needs %lld", index,
           (unsigned long long)binding->length, (long long)bytes_of(tensor));
  return 0;
}

/* Gives inputs and outputs the memory of their bindings. */
static bp_status_t bind_values(run_t *run) {
  const bp_graph_table_t *table = run->executable->table;
  const bp_graph_t *graph = run->executable->graph;
  uint32_t i;
  for (i = 0; i < run->info.input_count + run->info.output_count; ++i) {
    const int is_input = i < run->info.input_count;
    ref_tensor_t *tensor =
        &run->values[is_input
                         ? table->input(graph, i)
                         : table->output(graph, i - run->info.input_count)];
    void *data = binding_data(run, i, tensor);
    if (!data)
      return BP_STATUS_INVALID_ARGUMENT;
    if (!tensor->data)
      tensor->data = data;
  }
  return BP_STATUS_OK;
}

/* Fills the bindings of outputs that are inputs or stand there twice. */
static void copy_outputs(run_t *run) {
  const bp_graph_table_t *table = run->executable->table;
  uint32_t i;
  for (i = 0; i < run->info.output_count; ++i) {
    const ref_tensor_t *tensor =
        &run->values[table->output(run->executable->graph, i)];
    void *data = binding_data(run, run->info.input_count + i, tensor);
    if (data != tensor->data)
      memmove(data, tensor->data, (size_t)bytes_of(tensor));
  }
}

/* The host puts a name in the place of "op N: ". */
static bp_status_t report(run_t *run, const bp_op_info_t *info,
                          bp_status_t status, const char *reason) {
  snprintf(run->message, run->size, "op %u: %.*s (%.*s): %s", run->command->op,
           (int)info->name.size, info->name.data, (int)info->location.size,
           info->location.data, reason);
  return status;
}

/* Runs one op; `*failure` keeps the first report of bad data, after which the
 * rest still runs. */
static bp_status_t run_op(run_t *run, uint32_t index, bp_status_t *failure) {
  const bp_executable_t *executable = run->executable;
  const bp_host_t *host = executable->host;
  ref_tensor_t *result =
      &run->values[executable->table->op_result(executable->graph, index, 0)];
  ref_op_t op = {.host = host,
                 .table = executable->table,
                 .graph = executable->graph,
                 .symbols = run->symbols,
                 .values = run->values,
                 .index = index,
                 .result = result};
  bp_op_info_t info;
  bp_status_t status;
  executable->table->op_info(executable->graph, index, &info);
  if (!result->data) {
    result->data = host->memory_allocate(
        host->self, (uint64_t)bytes_of(result) + 1u, sizeof(ref_word_t));
    if (!result->data)
      return report(run, &info, BP_STATUS_RESOURCE_EXHAUSTED,
                    "no memory for the result");
    result->owned = 1;
  }
  op.operand_count = info.operand_count;
  op.dtype = info.operand_count ? ref_operand(&op, 0)->dtype : result->dtype;
  status = executable->kernels[index](&op);
  if (status)
    return report(run, &info, status, op.reason);
  if (op.error == BP_KERNEL_ERROR_INDEX && !*failure)
    *failure = report(run, &info, BP_STATUS_OUT_OF_RANGE,
                      "an index lies outside its dimension");
  if (op.error == BP_KERNEL_ERROR_DIVISION && !*failure)
    *failure = report(run, &info, BP_STATUS_INVALID_ARGUMENT,
                      "an integer was divided by zero");
  return BP_STATUS_OK;
}

static bp_status_t run_graph(run_t *run) {
  const bp_host_t *host = run->executable->host;
  bp_status_t failure = BP_STATUS_OK;
  bp_status_t status = BP_STATUS_OK;
  uint32_t i;
  for (i = 0; i < run->info.value_count && status == BP_STATUS_OK; ++i)
    status = shape_value(run, i);
  if (status == BP_STATUS_OK)
    status = bind_values(run);
  for (i = 0; i < run->info.op_count && status == BP_STATUS_OK; ++i)
    status = run_op(run, i, &failure);
  if (status == BP_STATUS_OK)
    copy_outputs(run);
  for (i = 0; i < run->info.value_count; ++i)
    if (run->values[i].owned)
      host->memory_free(host->self, run->values[i].data);
  return status ? status : failure;
}

bp_status_t ref_dispatch(const bp_command_dispatch_t *command, char *message,
                         uint64_t size) {
  const bp_executable_t *executable = command->executable;
  const bp_host_t *host = executable->host;
  run_t run = {.executable = executable,
               .command = command,
               .message = message,
               .size = size};
  uint64_t bytes;
  uint32_t i;
  bp_status_t status;
  executable->table->graph_info(executable->graph, &run.info);
  for (i = 0; i < run.info.symbol_count; ++i)
    run.symbols[i] = command->constants[i];
  bytes = (run.info.value_count + (uint64_t)1) * sizeof(ref_tensor_t);
  run.values = host->memory_allocate(host->self, bytes, 8);
  if (!run.values) {
    snprintf(message, size, "no memory for %u values", run.info.value_count);
    return BP_STATUS_RESOURCE_EXHAUSTED;
  }
  memset(run.values, 0, bytes);
  status = run_graph(&run);
  host->memory_free(host->self, run.values);
  return status;
}
