/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c: which ops of a model the NPU takes together, and what it makes of
 * them. The weights are baked into the program; sizes that calls give become
 * parameters, whose expressions the host evaluates.
 */
#include "npu.h"

#include <math.h>
#include <stdio.h>

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  bp_numerics_t dot = {.header = BP_HEADER(bp_numerics_t)};
  const bp_numerics_t *numerics[] = {&dot};
  bp_op_version_t versions[NPU_OPS + 1] = {{{"constant", 8}, 1, 0}};
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  uint32_t op;
  (void)self, (void)error;
  dot.op_class = bp_text("DOT");
  dot.dtype = BP_DTYPE_F32;
  dot.accumulator_bits = 53; /* products are summed in f64 */
  dot.flags = BP_NUMERICS_DETERMINISTIC;
  for (op = 0; op < NPU_OPS; ++op) {
    versions[op + 1].op = bp_text(npu_op_name(op));
    versions[op + 1].version = 1;
  }
  target.name = target.driver = target.format = bp_text("npu");
  target.description = bp_text("partitions in f32, with their weights");
  target.storage_dtypes = (bp_dtype_set_t)1 << BP_DTYPE_F32;
  target.max_constants = BP_MAX_CONSTANTS;
  target.numerics = numerics;
  target.numerics_count = 1;
  target.op_versions = versions;
  target.op_version_count = NPU_OPS + 1;
  return sink->put(sink->context, &target);
}

/* ---- Partitions ---- */

static int is_product(bp_op_info_t op) {
  return bp_text_is(op.name, "matmul") || bp_text_is(op.name, "conv");
}

/* Whether the NPU has the op, with all that it says. */
static int is_ours(const bp_graph_table_t *table, const bp_graph_t *graph,
                   uint32_t op) {
  const bp_op_info_t info = bp_graph_op(table, graph, op);
  const uint32_t most = is_product(info) ? 4 : NPU_RANK;
  uint32_t i, value;
  if (bp_text_is(info.name, "constant")) /* one number fills any tensor */
    return bp_graph_value(table, graph, table->op_result(graph, op, 0)).dtype ==
           BP_DTYPE_F32;
  for (i = 0; i <= info.operand_count; ++i) {
    value = i ? table->op_operand(graph, op, i - 1)
              : table->op_result(graph, op, 0);
    if (bp_graph_value(table, graph, value).dtype != BP_DTYPE_F32 ||
        bp_graph_value(table, graph, value).rank > most)
      return 0;
  }
  return npu_find_op(info.name) < NPU_OPS && info.version == 1 &&
         !bp_graph_attribute(table, graph, op, "transpose_a").i64 &&
         !bp_graph_attribute(table, graph, op, "transpose_b").i64;
}

/* A rough time of an op; sizes that calls give count as 1. */
static double cost_of(const bp_graph_table_t *table, const bp_graph_t *graph,
                      uint32_t op) {
  const bp_op_info_t info = bp_graph_op(table, graph, op);
  double turns = 1;
  uint32_t i, axis;
  for (i = 0; i < info.operand_count; ++i) {
    const uint32_t value = table->op_operand(graph, op, i);
    for (axis = 0; axis < bp_graph_value(table, graph, value).rank; ++axis)
      turns *= fabs((double)table->value_dim(graph, value, axis));
  }
  return sqrt(turns) * (is_product(info) ? 80 : 10);
}

/* Our ops that follow each other are a set: no path leaves it and comes back.
 * It is cut where the program memory is full, which only `compile` knows
 * exactly: of ops that it has refused, half as many as there is room for. */
static bp_status_t partition(void *self, const bp_partition_request_t *request,
                             const bp_partition_sink_t *sink,
                             bp_error_t *error) {
  const bp_graph_table_t *table = request->graph_table;
  const bp_graph_t *graph = request->graph;
  const uint32_t count = bp_graph_info(table, graph).op_count;
  bp_status_t status = BP_STATUS_OK;
  uint32_t ops[2 * NPU_INSTRUCTIONS], op = 0;
  (void)self, (void)error;
  while (op < count && !status) {
    bp_partition_t set = {.header = BP_HEADER(bp_partition_t), .ops = ops};
    uint64_t most = 2 * NPU_INSTRUCTIONS;
    int products = 0;
    char reason[128];
    for (; op < count && set.op_count < most; ++op) {
      if (bp_graph_op(table, graph, op).operand_count == 0)
        continue; /* weights and constants come by themselves */
      if (!is_ours(table, graph, op))
        break;
      ops[set.op_count++] = op;
      set.cost_ns += cost_of(table, graph, op);
      products += is_product(bp_graph_op(table, graph, op));
      if (request->refused && request->refused[op])
        most = NPU_INSTRUCTIONS / 2;
    }
    if (set.op_count == 0) {
      ++op;                    /* it is of another device */
    } else if (products > 0) { /* else moving the data would cost more */
      snprintf(reason, sizeof(reason),
               "its values stay in the NPU, %d products among them", products);
      set.reason = bp_text(reason);
      status = sink->put(sink->context, &set);
    }
  }
  return status;
}

/* ---- Programs ---- */

typedef struct program_t {
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
  bp_graph_info_t info;
  npu_header_t header;
  npu_value_t values[NPU_VALUES]; /* numbered as those of the graph */
  npu_instruction_t instructions[NPU_INSTRUCTIONS];
  char *data;
  bp_string_t parameters[BP_MAX_PARAMETERS];
  bp_launch_binding_t bindings[NPU_VALUES];
  uint8_t access[NPU_VALUES];
  char scratch[32768]; /* bytes of scratch memory, an expression */
  size_t scratch_size; /* of the text */
  const char *problem;
} program_t;

/* A size of a value: a number, or a parameter. */
static int32_t size_of(program_t *p, uint32_t value, uint32_t axis) {
  const int64_t dim = p->table->value_dim(p->graph, value, axis);
  const bp_string_t text = p->table->value_dim_text(p->graph, value, axis);
  uint32_t i = 0;
  if (dim > INT32_MAX)
    p->problem = "it has a size of more than 31 bits";
  if (dim >= 0)
    return (int32_t)dim;
  while (i < p->header.parameters && !bp_text_equal(text, p->parameters[i]))
    ++i;
  if (i == BP_MAX_PARAMETERS)
    p->problem = "it has too many sizes that calls give";
  else if (i == p->header.parameters)
    p->parameters[p->header.parameters++] = text;
  return -1 - (int32_t)i;
}

static void set_value(program_t *p, uint32_t value, uint32_t place,
                      uint32_t index) {
  npu_value_t *made = &p->values[value];
  uint32_t axis;
  made->place = place;
  made->index = index;
  made->rank = bp_graph_value(p->table, p->graph, value).rank;
  for (axis = 0; axis < made->rank; ++axis)
    made->dims[axis] = size_of(p, value, axis);
}

static void add_binding(program_t *p, uint32_t number, uint8_t access) {
  p->access[p->header.bindings] = access;
  p->bindings[p->header.bindings++].binding = number;
}

static void add_data(program_t *p, uint32_t value, bp_bytes_t bytes) {
  const uint64_t start = p->header.data_bytes;
  char *data = realloc(p->data, start + bytes.size + 1);
  if (!data || start + bytes.size > UINT32_MAX) {
    p->problem = "there is no memory for its weights";
    free(data ? data : p->data);
    p->data = NULL;
    return;
  }
  set_value(p, value, NPU_DATA, (uint32_t)start);
  if (bytes.size == sizeof(float)) /* it fills the tensor */
    p->values[value].rank = 0;
  p->data = data;
  memcpy(data + start, bytes.data, bytes.size);
  p->header.data_bytes += bytes.size;
}

/* Adds to the expression: its sizes are those of the host, which evaluates. */
static void write_scratch(program_t *p, const char *before, bp_string_t text) {
  const size_t room = sizeof(p->scratch) - p->scratch_size;
  const int size = snprintf(p->scratch + p->scratch_size, room, "%s(%.*s)",
                            before, (int)text.size, text.data);
  if ((size_t)size < room)
    p->scratch_size += (size_t)size;
  else
    p->problem = "its sizes are too long to write";
}

/* An op writes an output, or scratch memory. */
static void set_result(program_t *p, uint32_t value) {
  uint32_t i, axis;
  for (i = 0; i < p->info.output_count; ++i)
    if (p->table->output(p->graph, i) == value) {
      set_value(p, value, NPU_BINDING,
                p->header.bindings - p->info.output_count + i);
      return;
    }
  set_value(p, value, NPU_SCRATCH, 0);
  write_scratch(p, "+", bp_text("4"));
  for (axis = 0; axis < p->values[value].rank; ++axis)
    write_scratch(p, "*", p->table->value_dim_text(p->graph, value, axis));
}

/* An attribute with a number for each axis, or with one. */
static void set_from(program_t *p, uint32_t op, const char *name,
                     int32_t *first, uint32_t step) {
  const bp_attribute_t found = bp_graph_attribute(p->table, p->graph, op, name);
  uint32_t i;
  for (i = 0; i < found.count && i < NPU_RANK; ++i)
    first[i * step] = (int32_t)found.i64s[i];
  if (found.kind == BP_ATTRIBUTE_I64)
    *first = (int32_t)found.i64;
}

static void add_op(program_t *p, uint32_t op) {
  const bp_op_info_t info = bp_graph_op(p->table, p->graph, op);
  const uint32_t result = p->table->op_result(p->graph, op, 0);
  npu_instruction_t *one = &p->instructions[p->header.instructions];
  uint32_t i;
  if (bp_text_is(info.name, "constant")) {
    add_data(p, result,
             bp_graph_attribute(p->table, p->graph, op, "value").bytes);
    return;
  }
  if (p->header.instructions == NPU_INSTRUCTIONS) {
    p->problem = "it is longer than the program memory";
    return;
  }
  ++p->header.instructions;
  one->op = npu_find_op(info.name);
  for (i = 0; i < 2; ++i)
    one->operands[i] = p->table->op_operand(
        p->graph, op, i < info.operand_count ? i : info.operand_count - 1);
  one->result = result;
  set_result(p, result);
  set_from(p, op, "axes", one->settings, 1);
  set_from(p, op, "groups", one->settings, 1);
  set_from(p, op, "strides", one->settings + 1, 3);
  set_from(p, op, "dilations", one->settings + 2, 3);
  set_from(p, op, "low", one->settings + 3, 3);
}

static void make_program(program_t *p, const bp_weight_reader_t *weights) {
  uint32_t i, op;
  bp_bytes_t bytes;
  for (i = 0; i < p->info.input_count; ++i)
    if (weights && !weights->read(weights->context, i, NULL, &bytes)) {
      add_data(p, p->table->input(p->graph, i), bytes);
    } else {
      set_value(p, p->table->input(p->graph, i), NPU_BINDING,
                p->header.bindings);
      add_binding(p, i, BP_ACCESS_READ);
    }
  for (i = 0; i < p->info.output_count; ++i)
    add_binding(p, p->info.input_count + i, BP_ACCESS_WRITE);
  write_scratch(p, "", bp_text("4")); /* never empty */
  for (op = 0; op < p->info.op_count && !p->problem; ++op)
    if (is_ours(p->table, p->graph, op))
      add_op(p, op);
    else
      p->problem = "an op is none of the NPU's";
  for (i = 0; i < p->info.output_count && !p->problem; ++i) {
    const npu_value_t *value = &p->values[p->table->output(p->graph, i)];
    if (value->place != NPU_BINDING ||
        value->index != p->header.bindings - p->info.output_count + i)
      p->problem = "one of its outputs is no result of an op";
  }
  add_binding(p, BP_LAUNCH_SCRATCH, BP_ACCESS_READ | BP_ACCESS_WRITE);
}

static bp_status_t put_blob(program_t *p, bp_compiled_t *compiled,
                            const bp_compiled_sink_t *sink) {
  const size_t values = p->info.value_count * sizeof(*p->values);
  const size_t instructions = p->header.instructions * sizeof(*p->instructions);
  const size_t start = sizeof(p->header) + values + instructions;
  char *blob = malloc(start + p->header.data_bytes);
  bp_status_t status = BP_STATUS_RESOURCE_EXHAUSTED;
  if (blob) {
    memcpy(blob, &p->header, sizeof(p->header));
    memcpy(blob + sizeof(p->header), p->values, values);
    memcpy(blob + sizeof(p->header) + values, p->instructions, instructions);
    if (p->data)
      memcpy(blob + start, p->data, p->header.data_bytes);
    compiled->blob.data = blob;
    compiled->blob.size = start + p->header.data_bytes;
    status = sink->put(sink->context, compiled);
  }
  free(blob);
  return status;
}

/* One launch, with what the program needs, and lines for `bp explain`. */
static bp_status_t deliver(program_t *p, const bp_compile_request_t *request,
                           const bp_compiled_sink_t *sink) {
  char log[128];
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t compiled = {.header = BP_HEADER(bp_compiled_t)};
  bp_property_t statistics[2] = {{.kind = BP_PROPERTY_I64},
                                 {.kind = BP_PROPERTY_I64}};
  uint32_t i;
  entry.name = request->entry_name;
  entry.binding_access = p->access;
  entry.binding_count = p->header.bindings;
  entry.parameter_count = p->header.parameters;
  launch.entry = &entry;
  launch.bindings = p->bindings;
  launch.parameters = p->parameters;
  for (i = 0; i < 3; ++i) {
    entry.workgroup_size[i] = 1;
    launch.grid[i] = bp_text("1");
  }
  statistics[0].key = bp_text("npu.instructions");
  statistics[0].i64 = p->header.instructions;
  statistics[1].key = bp_text("npu.weight_bytes");
  statistics[1].i64 = (int64_t)p->header.data_bytes;
  snprintf(log, sizeof(log), "%u ops in %u instructions", p->info.op_count,
           p->header.instructions);
  compiled.launches = launches;
  compiled.launch_count = 1;
  compiled.scratch_bytes = bp_text(p->scratch);
  compiled.log = bp_text(log);
  compiled.statistics = statistics;
  compiled.statistic_count = 2;
  return put_blob(p, &compiled, sink);
}

static bp_status_t compile(void *self, const bp_compile_request_t *request,
                           const bp_compiled_sink_t *sink, bp_error_t *error) {
  program_t *p = calloc(1, sizeof(*p));
  bp_status_t status = BP_STATUS_UNIMPLEMENTED;
  (void)self;
  if (!p)
    return npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory for npu");
  p->table = request->graph_table;
  p->graph = request->graph;
  p->info = bp_graph_info(p->table, p->graph);
  memcpy(p->header.magic, NPU_MAGIC, sizeof(p->header.magic));
  p->header.values = p->info.value_count;
  if (p->info.value_count + p->info.output_count >= NPU_VALUES)
    p->problem = "it has more values than the NPU";
  else
    make_program(p, request->weights);
  status = p->problem ? npu_fail(error, status, p->problem)
                      : deliver(p, request, sink);
  free(p->data);
  free(p);
  return status;
}

const bp_compiler_table_t npu_compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .compile = compile,
    .partition = partition,
};
