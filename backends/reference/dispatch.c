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
  op->status = status;
  op->reason = reason;
  return status;
}

const ref_tensor_t *ref_operand(const ref_op_t *op, uint32_t index) {
  return &op->values[op->table->op_operand(op->graph, op->index, index)];
}

const ref_tensor_t *ref_result(const ref_op_t *op, uint32_t index) {
  return &op->values[op->table->op_result(op->graph, op->index, index)];
}

static bp_attribute_t attribute(const ref_op_t *op, const char *name) {
  bp_attribute_t attribute;
  op->table->attribute(op->graph, op->index, bp_text(name), &attribute);
  return attribute;
}

int64_t ref_i64(const ref_op_t *op, const char *name) {
  return attribute(op, name).i64;
}

const int64_t *ref_i64s(const ref_op_t *op, const char *name,
                        uint32_t *out_count) {
  const bp_attribute_t found = attribute(op, name);
  if (out_count)
    *out_count = found.count;
  return found.i64s;
}

int ref_is(const ref_op_t *op, const char *name, const char *value) {
  return bp_text_is(attribute(op, name).string, value);
}

bp_status_t ref_dims(ref_op_t *op, const char *name, int64_t *out_dims,
                     uint32_t capacity) {
  bp_status_t status = op->table->attribute_dims(
      op->graph, op->index, bp_text(name), op->symbols, out_dims, capacity);
  return status ? ref_fail(op, status, "a dim has no value") : BP_STATUS_OK;
}

void ref_parallel(const ref_op_t *op, int64_t count, bp_loop_body_t task,
                  void *context) {
  int64_t i;
  if (ref_bits(op->result->dtype) >= 8)
    op->host->parallel_for(op->host->self, (uint64_t)count, task, context);
  else /* tasks may share a byte */
    for (i = 0; i < count; ++i)
      task(context, (uint64_t)i, 0);
}

/* ---- Finding functions ---- */

static const struct {
  const char *name;
  ref_kernel_t kernel;
  uint32_t version; /* the newest that it computes */
} kernels[] = {
    {"select", ref_select, 1},
    {"compare", ref_elementwise, 1}, /* its attribute names the function */
#define REF_OP(name, version) {#name, ref_##name, version},
#include "ref_ops.h"
#undef REF_OP
};

ref_kernel_t ref_kernel(bp_string_t name, bp_dtype_t dtype) {
  const ref_scalar_t *scalar;
  size_t i;
  for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i)
    if (bp_text_is(name, kernels[i].name))
      return kernels[i].kernel;
  scalar = ref_scalar(name);
  if (scalar && (ref_is_float(dtype) ? scalar->unary || scalar->binary
                                     : scalar->integer != 0))
    return ref_elementwise;
  return 0;
}

/* The newest version of an op; those that share a loop have one. */
static uint32_t newest_version(bp_string_t name) {
  size_t i;
  for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i)
    if (bp_text_is(name, kernels[i].name))
      return kernels[i].version;
  return 1;
}

bp_dtype_t ref_dtype_of(const bp_graph_table_t *table, const bp_graph_t *graph,
                        uint32_t index) {
  uint32_t value = table->op_operand(graph, index, 0);
  bp_value_info_t info;
  if (value == BP_NONE)
    value = table->op_result(graph, index, 0);
  table->value_info(graph, value, &info);
  return info.dtype;
}

bp_status_t ref_check(const bp_graph_table_t *table, const bp_graph_t *graph,
                      char *reason, uint64_t size) {
  bp_graph_info_t info;
  uint32_t i;
  table->graph_info(graph, &info);
  if (info.symbol_count > BP_MAX_CONSTANTS) {
    snprintf(reason, size, "ref takes %u symbols, found %u", BP_MAX_CONSTANTS,
             info.symbol_count);
    return BP_STATUS_UNIMPLEMENTED;
  }
  for (i = 0; i < info.value_count; ++i) {
    bp_value_info_t value;
    table->value_info(graph, i, &value);
    if (ref_bits(value.dtype) == 0 || value.rank > REF_MAX_RANK) {
      snprintf(reason, size, "ref has no values of dtype %u and rank %u",
               value.dtype, value.rank);
      return BP_STATUS_UNIMPLEMENTED;
    }
  }
  for (i = 0; i < info.op_count; ++i) {
    bp_op_info_t op;
    table->op_info(graph, i, &op);
    if (op.version > newest_version(op.name) ||
        !ref_kernel(op.name, ref_dtype_of(table, graph, i))) {
      snprintf(reason, size,
               "ref has no op '%.*s' version %u for dtype %u (%.*s)",
               (int)op.name.size, op.name.data, op.version,
               ref_dtype_of(table, graph, i), (int)op.location.size,
               op.location.data);
      return BP_STATUS_UNIMPLEMENTED;
    }
  }
  return BP_STATUS_OK;
}

/* ---- Running a graph ---- */

typedef struct run_t {
  const bp_host_t *host;
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
  const bp_command_dispatch_t *command;
  bp_graph_info_t info;
  int64_t symbols[BP_MAX_CONSTANTS];
  ref_tensor_t *values;
  char *message;
  uint64_t size; /* of message */
} run_t;

/* Evaluates dtype and dims; fails when the bits do not fit 63 bits. */
static bp_status_t shape_value(run_t *run, uint32_t value) {
  ref_tensor_t *tensor = &run->values[value];
  int64_t limit = INT64_MAX / 64;
  bp_value_info_t info;
  uint32_t axis;
  bp_status_t status;
  run->table->value_info(run->graph, value, &info);
  tensor->dtype = info.dtype;
  tensor->rank = info.rank;
  status =
      run->table->value_shape(run->graph, value, run->symbols, tensor->dims);
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

/* The value of binding `index`. */
static ref_tensor_t *bound(run_t *run, uint32_t index) {
  const uint32_t inputs = run->info.input_count;
  return &run->values[index < inputs
                          ? run->table->input(run->graph, index)
                          : run->table->output(run->graph, index - inputs)];
}

static char *binding_data(const run_t *run, uint32_t index) {
  const bp_binding_t *binding = &run->command->bindings[index];
  return (char *)binding->buffer + binding->offset;
}

/* Gives inputs and outputs the memory of their bindings. */
static bp_status_t bind_values(run_t *run) {
  uint32_t i;
  for (i = 0; i < run->info.input_count + run->info.output_count; ++i) {
    ref_tensor_t *tensor = bound(run, i);
    const uint64_t length = run->command->bindings[i].length;
    if (length < (uint64_t)ref_bytes(tensor)) {
      snprintf(run->message, run->size,
               "binding %u has %llu bytes, its tensor needs %lld", i,
               (unsigned long long)length, (long long)ref_bytes(tensor));
      return BP_STATUS_INVALID_ARGUMENT;
    }
    if (!tensor->data)
      tensor->data = binding_data(run, i);
  }
  return BP_STATUS_OK;
}

/* Fills the bindings of outputs that are inputs or stand there twice. */
static void copy_outputs(run_t *run) {
  uint32_t i = run->info.input_count;
  for (; i < run->info.input_count + run->info.output_count; ++i)
    if (bound(run, i)->data != binding_data(run, i))
      memmove(binding_data(run, i), bound(run, i)->data,
              (size_t)ref_bytes(bound(run, i)));
}

/* Memory for a result that is no output. */
static bp_status_t allocate(run_t *run, ref_op_t *op, uint32_t index) {
  ref_tensor_t *result =
      &run->values[run->table->op_result(run->graph, op->index, index)];
  const int64_t bytes = ref_bytes(result);
  if (!result->data) {
    result->data = run->host->memory_allocate(
        run->host->self, (uint64_t)bytes + 1u, sizeof(ref_word_t));
    if (!result->data)
      return ref_fail(op, BP_STATUS_RESOURCE_EXHAUSTED,
                      "no memory for the result");
    result->owned = 1;
  }
  if (result->count * ref_bits(result->dtype) % 8 != 0) /* an unused half */
    ((uint8_t *)result->data)[bytes - 1] &= 15;
  return BP_STATUS_OK;
}

/* Runs one op; `*failure` keeps the first report of bad data, after which the
 * rest still runs. The host puts a name in the place of "op N: ". */
static bp_status_t run_op(run_t *run, uint32_t index, bp_status_t *failure) {
  ref_op_t op = {.host = run->host,
                 .table = run->table,
                 .graph = run->graph,
                 .symbols = run->symbols,
                 .values = run->values,
                 .index = index};
  bp_status_t status = BP_STATUS_OK;
  uint32_t i;
  run->table->op_info(run->graph, index, &op.info);
  op.dtype = ref_dtype_of(run->table, run->graph, index);
  op.result = ref_result(&op, 0);
  for (i = 0; i < op.info.result_count && status == BP_STATUS_OK; ++i)
    status = allocate(run, &op, i);
  if (status == BP_STATUS_OK)
    status = ref_kernel(op.info.name, op.dtype)(&op);
  if (op.status && !*failure) {
    *failure = op.status;
    snprintf(run->message, run->size, "op %u: %.*s (%.*s): %s",
             run->command->op, (int)op.info.name.size, op.info.name.data,
             (int)op.info.location.size, op.info.location.data, op.reason);
  }
  return status;
}

static bp_status_t run_graph(run_t *run) {
  bp_status_t failure = BP_STATUS_OK, status = BP_STATUS_OK;
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
      run->host->memory_free(run->host->self, run->values[i].data);
  return failure ? failure : status;
}

bp_status_t ref_dispatch(const bp_device_t *device, const bp_graph_t *graph,
                         const bp_command_dispatch_t *command, char *message,
                         uint64_t size) {
  const bp_host_t *host = device->host;
  run_t run = {.host = host,
               .table = device->table,
               .graph = graph,
               .command = command,
               .message = message,
               .size = size};
  uint64_t bytes;
  uint32_t i;
  bp_status_t status;
  run.table->graph_info(graph, &run.info);
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
