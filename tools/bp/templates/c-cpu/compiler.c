/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c: the compile side. The host asks `claim` for each op of a model
 * with its broadcasts, and gives those that are refused to another device;
 * `compile` makes a blob of what was taken. Both make the same plan.
 */
#include "acme.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 1024

/* ---- Targets ---- */

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  static const char *const classes[] = {"EXACT", "DOT"};
  bp_op_version_t versions[16] = {{{0, 0}, 0, 0}};
  bp_numerics_t numerics[2];
  const bp_numerics_t *list[2] = {&numerics[0], &numerics[1]};
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  uint32_t i;
  (void)self, (void)error;
  for (i = 0; i < 2; ++i) { /* sums are kept in f32, in one order */
    const bp_numerics_t declared = {.header = BP_HEADER(bp_numerics_t),
                                    .op_class = text(classes[i]),
                                    .dtype = BP_DTYPE_F32,
                                    .accumulator_bits = 24,
                                    .rounding = BP_ROUNDING_NEAREST,
                                    .flags = BP_NUMERICS_DETERMINISTIC};
    numerics[i] = declared;
  }
  for (i = 0; i < instruction_count; ++i) {
    versions[i].op = text(instructions[i].name);
    versions[i].version = 1;
  }
  target.name = text(PLUGIN_NAME);
  target.description = text("one op at a time, in f32");
  target.driver = text(PLUGIN_NAME);
  target.format = text(FORMAT);
  target.storage_dtypes = (bp_dtype_set_t)1 << BP_DTYPE_F32;
  target.compute_dtypes = target.storage_dtypes;
  target.max_bindings = MAX_BINDINGS;
  target.max_constants = BP_MAX_CONSTANTS;
  target.numerics = list;
  target.numerics_count = 2;
  versions[instruction_count].op = text("constant"); /* an operand */
  versions[instruction_count].version = 1;
  target.op_versions = versions;
  target.op_version_count = instruction_count + 1;
  return sink->put(sink->context, &target);
}

/* ---- Plans ---- */

/* How a dispatch runs, or in `reason` why it does not. */
typedef struct plan_t {
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
  uint32_t instruction;
  uint32_t bindings[MAX_BINDINGS]; /* those of the dispatch, in our order */
  char grid[3][TEXT_SIZE];         /* expressions over the graph's symbols */
  char parameters[MAX_PARAMETERS][TEXT_SIZE];
  char reason[256]; /* empty: it runs */
} plan_t;

/* Writes printf's text; a reason where it does not fit. */
static void say(plan_t *plan, char *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (vsnprintf(out, TEXT_SIZE, format, arguments) >= TEXT_SIZE)
    snprintf(plan->reason, sizeof(plan->reason),
             "its sizes are expressions of more than %d characters", TEXT_SIZE);
  va_end(arguments);
}

/* The elements of the axes from `first` to below `end`. */
static void product(plan_t *plan, char *out, uint32_t value, uint32_t first,
                    uint32_t end) {
  char before[TEXT_SIZE] = "1";
  for (strcpy(out, before); first < end; ++first) {
    const bp_string_t dim =
        plan->table->value_dim_text(plan->graph, value, first);
    strcpy(before, out);
    say(plan, out, "%s * (%.*s)", before, (int)dim.size, dim.data);
  }
}

static bp_value_info_t value_of(const plan_t *plan, uint32_t value) {
  bp_value_info_t info;
  plan->table->value_info(plan->graph, value, &info);
  return info;
}

static bp_attribute_t attribute_of(const plan_t *plan, uint32_t op,
                                   const char *name) {
  bp_attribute_t attribute;
  plan->table->attribute(plan->graph, op, text(name), &attribute);
  return attribute;
}

/* Whether the op `name` makes the value. */
static int is_made_by(const plan_t *plan, uint32_t value, const char *name) {
  const uint32_t producer = value_of(plan, value).producer;
  bp_op_info_t op;
  if (producer == BP_NONE)
    return 0;
  plan->table->op_info(plan->graph, producer, &op);
  return equal(op.name, name);
}

/* Binds operand `index` to an input of the dispatch. */
static void bind(plan_t *plan, uint32_t index, uint32_t value) {
  const bp_value_info_t info = value_of(plan, value);
  plan->bindings[index] = info.result;
  if (info.producer != BP_NONE)
    snprintf(plan->reason, sizeof(plan->reason),
             "compiler.c takes one op at a time, with its broadcasts");
}

/* Reads a constant of one element in the place of an operand. */
static void plan_constant(plan_t *plan, uint32_t index, uint32_t value) {
  const uint32_t producer = value_of(plan, value).producer;
  const bp_bytes_t bytes = attribute_of(plan, producer, "value").bytes;
  uint32_t bits = 0;
  plan->bindings[index] = BP_NONE;
  if (bytes.size == sizeof(bits))
    memcpy(&bits, bytes.data, sizeof(bits));
  else
    snprintf(plan->reason, sizeof(plan->reason),
             "a constant has more than one element");
  say(plan, plan->parameters[OPERAND(index)], "%u", bits);
}

/* The steps of an operand, which may be repeated along some axes. */
static void plan_operand(plan_t *plan, uint32_t index, uint32_t value) {
  const uint32_t whole = value; /* of the shape of the result */
  bp_attribute_t axes = {{0, 0}, 0, 0, 0, 0, {0, 0}, 0, {0, 0}, 0};
  uint32_t i, rank;
  if (is_made_by(plan, value, "broadcast")) {
    const uint32_t producer = value_of(plan, value).producer;
    axes = attribute_of(plan, producer, "axes");
    value = plan->table->op_operand(plan->graph, producer, 0);
  }
  if (is_made_by(plan, value, "constant")) {
    plan_constant(plan, index, value);
    return;
  }
  say(plan, plan->parameters[OPERAND(index)], "-1");
  bind(plan, index, value);
  rank = value_of(plan, value).rank;
  for (i = 0; i < rank; ++i)
    if (value == whole || plan->table->value_dim(plan->graph, value, i) != 1)
      product(plan,
              plan->parameters[OPERAND(index) + 1 +
                               (value == whole ? i : axes.i64s[i])],
              value, i + 1, rank);
}

/* Instructions that walk over the elements of the result. */
static void plan_elements(plan_t *plan, uint32_t op, uint32_t result) {
  const uint32_t rank = value_of(plan, result).rank;
  const uint32_t operands = instructions[plan->instruction].bindings - 1;
  char count[TEXT_SIZE];
  uint32_t i;
  if (rank > MAX_AXES) {
    snprintf(plan->reason, sizeof(plan->reason),
             "its result has %u axes, instructions.c walks over %d", rank,
             MAX_AXES);
    return;
  }
  product(plan, count, result, 0, rank);
  say(plan, plan->grid[0], "(%s) ceildiv %d", count, GROUP_ELEMENTS);
  for (i = 0; i < MAX_AXES; ++i)
    product(plan, plan->parameters[i], result, i, i < rank ? i + 1 : i);
  if (equal(text(instructions[plan->instruction].name), "broadcast"))
    plan_operand(plan, 0, result);
  else
    for (i = 0; i < operands; ++i)
      plan_operand(plan, i, plan->table->op_operand(plan->graph, op, i));
  for (i = 0; i < operands; ++i) /* a constant is bound to what it is not */
    if (plan->bindings[i] == BP_NONE)
      plan->bindings[i] = plan->bindings[operands - 1 - i];
  if (plan->bindings[0] == BP_NONE)
    snprintf(plan->reason, sizeof(plan->reason), "it has constants only");
}

/* The elements from one index of a factor's axes to the next: of its rows and
 * columns as they are multiplied, whichever way they lie, and of its batches.
 */
static void plan_factor(plan_t *plan, uint32_t index, uint32_t value,
                        int64_t transposed) {
  const uint32_t rank = value_of(plan, value).rank;
  char (*steps)[TEXT_SIZE] = &plan->parameters[FACTOR(index)];
  bind(plan, index, value);
  product(plan, steps[transposed ? 1 : 0], value, rank - 1, rank);
  say(plan, steps[transposed ? 0 : 1], "1");
  if (rank > 2)
    product(plan, steps[2], value, rank - 2, rank);
}

static void plan_matmul(plan_t *plan, uint32_t op, uint32_t result) {
  const uint32_t a = plan->table->op_operand(plan->graph, op, 0);
  const uint32_t b = plan->table->op_operand(plan->graph, op, 1);
  const int64_t transposed = attribute_of(plan, op, "transpose_a").i64;
  const uint32_t rank = value_of(plan, result).rank;
  const uint32_t k = transposed ? rank - 2 : rank - 1; /* axis of a */
  plan_factor(plan, 0, a, transposed);
  plan_factor(plan, 1, b, attribute_of(plan, op, "transpose_b").i64);
  product(plan, plan->parameters[0], result, rank - 2, rank - 1);
  product(plan, plan->parameters[1], a, k, k + 1);
  product(plan, plan->parameters[2], result, rank - 1, rank);
  product(plan, plan->grid[0], result, rank - 2, rank - 1);
  product(plan, plan->grid[1], result, 0, rank - 2);
}

/* Finds the instruction of the op; says why there is none. */
static void check(plan_t *plan, const bp_graph_info_t *info, bp_string_t op) {
  uint32_t i;
  plan->instruction = find_instruction(op);
  if (plan->instruction == instruction_count)
    snprintf(plan->reason, sizeof(plan->reason), "instructions.c has no '%.*s'",
             (int)op.size, op.data);
  if (info->output_count != 1)
    snprintf(plan->reason, sizeof(plan->reason),
             "it has %u results, compiler.c gives one", info->output_count);
  for (i = 0; i < info->value_count; ++i)
    if (value_of(plan, i).dtype != BP_DTYPE_F32)
      snprintf(plan->reason, sizeof(plan->reason),
               "a value is not f32, the only dtype of instructions.c");
}

static void make_plan(plan_t *plan, const bp_graph_table_t *table,
                      const bp_graph_t *graph) {
  const uint32_t result = table->output(graph, 0);
  bp_graph_info_t info;
  bp_op_info_t op;
  uint32_t i, producer;
  memset(plan, 0, sizeof(*plan));
  plan->table = table;
  plan->graph = graph;
  for (i = 0; i < 3; ++i)
    strcpy(plan->grid[i], "1");
  for (i = 0; i < MAX_PARAMETERS; ++i)
    strcpy(plan->parameters[i], "0");
  table->graph_info(graph, &info);
  producer = value_of(plan, result).producer;
  table->op_info(graph, producer, &op);
  check(plan, &info, op.name);
  if (plan->reason[0])
    return;
  plan->bindings[instructions[plan->instruction].bindings - 1] =
      info.input_count;
  if (equal(op.name, "matmul"))
    plan_matmul(plan, producer, result);
  else
    plan_elements(plan, producer, result);
}

/* ---- Claims ---- */

static bp_status_t claim(void *self, bp_string_t target,
                         const bp_graph_t *graph, const bp_graph_table_t *table,
                         bp_claim_t *out_claim, bp_error_t *error) {
  plan_t plan;
  (void)self, (void)target, (void)error;
  make_plan(&plan, table, graph);
  out_claim->supported = plan.reason[0] == 0;
  if (out_claim->supported || !out_claim->reason)
    return BP_STATUS_OK;
  return out_claim->reason->put(out_claim->reason->context, text(plan.reason));
}

/* ---- Compiling ---- */

static bp_status_t deliver(const plan_t *plan, bp_string_t name,
                           const bp_compiled_sink_t *sink) {
  const instruction_t *instruction = &instructions[plan->instruction];
  uint8_t access[MAX_BINDINGS];
  bp_launch_binding_t bindings[MAX_BINDINGS] = {{0, 0, {0, 0}, {0, 0}}};
  bp_string_t parameters[MAX_PARAMETERS];
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t compiled = {.header = BP_HEADER(bp_compiled_t)};
  const blob_t blob = blob_of(text(instruction->name));
  uint32_t i;
  for (i = 0; i < instruction->bindings; ++i) {
    bindings[i].binding = plan->bindings[i];
    access[i] = BP_ACCESS_READ;
  }
  access[instruction->bindings - 1] = BP_ACCESS_WRITE;
  for (i = 0; i < instruction->parameters; ++i)
    parameters[i] = text(plan->parameters[i]);
  entry.name = name;
  entry.binding_access = access;
  entry.binding_count = instruction->bindings;
  entry.parameter_count = instruction->parameters;
  for (i = 0; i < 3; ++i) {
    entry.workgroup_size[i] = 1;
    launch.grid[i] = text(plan->grid[i]);
  }
  launch.entry = &entry;
  launch.bindings = bindings;
  launch.parameters = parameters;
  compiled.blob.data = &blob;
  compiled.blob.size = sizeof(blob);
  compiled.launches = launches;
  compiled.launch_count = 1;
  return sink->put(sink->context, &compiled);
}

static bp_status_t compile(void *self, const bp_compile_request_t *request,
                           const bp_compiled_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = ((bp_device_t *)self)->host;
  plan_t plan;
  const bp_status_t status = no_options(host, &request->options, error);
  if (status)
    return status;
  make_plan(&plan, request->graph_table, request->graph);
  if (plan.reason[0])
    return fail(host, error, BP_STATUS_UNIMPLEMENTED, "%s", plan.reason);
  return deliver(&plan, request->entry_name, sink);
}

const bp_compiler_table_t compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .claim = claim,
    .compile = compile,
};
