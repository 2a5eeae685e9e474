/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.c: which ops of a model the NPU takes together, and what it makes of
 * them. The weights are baked into the program; sizes that calls give become
 * parameters, whose expressions the host evaluates.
 */
#include "npu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The target ---- */

/* The ops that are no function of elements. */
static const char *const others[] = {"constant",  "broadcast", "reshape",
                                     "transpose", "reduce",    "matmul",
                                     "conv",      "pool"};
#define OTHERS (sizeof(others) / sizeof(others[0]))

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  static const char *const classes[] = {"EXACT", "ULP", "REDUCE", "DOT"};
  bp_numerics_t numerics[4];
  const bp_numerics_t *list[4];
  bp_op_version_t versions[64];
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  uint32_t i;
  (void)self, (void)error;
  for (i = 0; i < 4; ++i) { /* products are summed in f64 */
    const bp_numerics_t one = {.header = BP_HEADER(bp_numerics_t),
                               .op_class = npu_text(classes[i]),
                               .dtype = BP_DTYPE_F32,
                               .accumulator_bits = i == 3 ? 53 : 24,
                               .flags = BP_NUMERICS_DETERMINISTIC};
    numerics[i] = one;
    list[i] = &numerics[i];
  }
  for (i = 0; i < OTHERS + npu_function_count; ++i) {
    const bp_op_version_t known = {
        npu_text(i < OTHERS ? others[i] : npu_functions[i - OTHERS].name), 1,
        0};
    versions[i] = known;
  }
  target.name = target.driver = target.format = npu_text("npu");
  target.description = npu_text("partitions in f32, with their weights");
  target.storage_dtypes = (bp_dtype_set_t)1 << BP_DTYPE_F32;
  target.max_constants = BP_MAX_CONSTANTS;
  target.numerics = list;
  target.numerics_count = 4;
  target.op_versions = versions;
  target.op_version_count = i;
  return sink->put(sink->context, &target);
}

/* ---- Reading graphs ---- */

typedef struct source_t {
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
} source_t;

static bp_value_info_t value_of(const source_t *from, uint32_t value) {
  bp_value_info_t info;
  from->table->value_info(from->graph, value, &info);
  return info;
}

static bp_attribute_t attribute(const source_t *from, uint32_t op,
                                const char *name) {
  bp_attribute_t found;
  from->table->attribute(from->graph, op, npu_text(name), &found);
  return found;
}

/* Whether the NPU has the op, with all that it says. */
static int is_ours(const source_t *from, uint32_t op) {
  const bp_graph_table_t *table = from->table;
  bp_op_info_t info;
  uint32_t i, value = 0;
  table->op_info(from->graph, op, &info);
  for (i = 0; i < OTHERS && !npu_equal(info.name, others[i]); ++i)
    ;
  if (info.version != 1 ||
      (i == OTHERS && npu_find_function(info.name) == npu_function_count))
    return 0;
  for (i = 0; i < info.operand_count + info.result_count; ++i) {
    value = i < info.operand_count
                ? table->op_operand(from->graph, op, i)
                : table->op_result(from->graph, op, i - info.operand_count);
    if (value_of(from, value).dtype != BP_DTYPE_F32 ||
        value_of(from, value).rank > NPU_RANK)
      return 0;
  }
  /* Two spatial axes are ten loops at most; weights have sizes. */
  return !(npu_equal(info.name, "conv") || npu_equal(info.name, "pool")) ||
         value_of(from, value).rank <= 4;
}

/* ---- Partitions ---- */

/* Turns of the loops of an op; sizes that calls give count as 1. */
static double work_of(const source_t *from, uint32_t op, int *is_product) {
  const bp_graph_table_t *table = from->table;
  bp_op_info_t info;
  double work = 1;
  uint32_t i, axis, value;
  table->op_info(from->graph, op, &info);
  *is_product = npu_equal(info.name, "matmul") || npu_equal(info.name, "conv");
  /* n * c * h * w by o * c * k * l, m * k by k * n: one side is too much. */
  for (i = 0; i < info.operand_count; ++i) {
    double size = 1;
    value = table->op_operand(from->graph, op, i);
    for (axis = 0; axis < value_of(from, value).rank; ++axis)
      size *= fabs((double)table->value_dim(from->graph, value, axis));
    work = *is_product ? work * size : work > size ? work : size;
  }
  return *is_product ? sqrt(work) * 8 : work;
}

/* Every op gets a level: a path that leaves our ops comes back to a higher one,
 * so that our ops of a level can run together. Those of one level are cut where
 * the program memory is full, which only `compile` knows exactly: where it has
 * refused ops, they are cut into smaller pieces. */
static bp_status_t partition(void *self, const bp_partition_request_t *request,
                             const bp_partition_sink_t *sink,
                             bp_error_t *error) {
  const source_t from = {request->graph_table, request->graph};
  bp_graph_info_t info;
  uint32_t *levels, *ops, level, highest = 0, op, i;
  bp_status_t status = BP_STATUS_OK;
  (void)self;
  from.table->graph_info(from.graph, &info);
  levels = calloc(2 * (size_t)info.op_count + 1, sizeof(*levels));
  if (!levels)
    return npu_fail(error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory for ops");
  ops = levels + info.op_count;
  for (op = 0; op < info.op_count; ++op) {
    bp_op_info_t one;
    from.table->op_info(from.graph, op, &one);
    for (i = 0; i < one.operand_count; ++i) {
      const uint32_t value = from.table->op_operand(from.graph, op, i);
      const uint32_t source = value_of(&from, value).producer;
      if (source == BP_NONE)
        continue;
      level = levels[source] + (is_ours(&from, op) && !is_ours(&from, source));
      levels[op] = level > levels[op] ? level : levels[op];
    }
    highest = levels[op] > highest ? levels[op] : highest;
  }
  for (level = 0; level <= highest && !status; ++level)
    for (op = 0; op < info.op_count && !status;) {
      bp_partition_t set = {.header = BP_HEADER(bp_partition_t), .ops = ops};
      int products = 0, is_product;
      uint64_t most = 2 * NPU_INSTRUCTIONS;
      char reason[128];
      for (; op < info.op_count && set.op_count < most; ++op)
        if (levels[op] == level && is_ours(&from, op)) {
          ops[set.op_count++] = op;
          set.cost_ns += work_of(&from, op, &is_product) / 4;
          products += is_product;
          if (request->refused && request->refused[op])
            most = NPU_INSTRUCTIONS / 2;
        }
      if (products == 0) /* moving the data would cost more */
        continue;
      snprintf(reason, sizeof(reason),
               "its values stay in the NPU, %d products among them", products);
      set.reason = npu_text(reason);
      status = sink->put(sink->context, &set);
    }
  free(levels);
  return status;
}

/* ---- Programs ---- */

/* What a value of the graph is in the program: one of its values, whose axis i
 * lies along axis along[i] of the value of the graph, or is repeated along it;
 * or a number. */
typedef struct meaning_t {
  int32_t value; /* below 0: the number */
  float number;
  int is_plain; /* in memory as it is */
  int64_t along[NPU_RANK];
  int is_repeated[NPU_RANK];
  uint32_t root, last; /* what it is a form of; the op that reads it last */
} meaning_t;

typedef struct program_t {
  source_t from;
  bp_graph_info_t info;
  meaning_t *meanings;
  npu_header_t header;
  npu_value_t values[NPU_VALUES];
  npu_instruction_t instructions[NPU_INSTRUCTIONS];
  char *data;
  uint32_t slot_ends[NPU_VALUES];   /* the op that reads a slot last */
  uint32_t slot_values[NPU_VALUES]; /* the first value in it */
  bp_string_t parameters[BP_MAX_PARAMETERS];
  uint32_t first_output; /* among the bindings */
  const char *problem;
} program_t;

/* A size of a value of the graph: a number, or a parameter. */
static int32_t size_of(program_t *p, uint32_t value, uint32_t axis) {
  const bp_graph_table_t *table = p->from.table;
  const int64_t dim = table->value_dim(p->from.graph, value, axis);
  const bp_string_t text = table->value_dim_text(p->from.graph, value, axis);
  uint32_t i;
  if (dim > INT32_MAX)
    p->problem = "it has a size of more than 31 bits";
  if (dim >= 0)
    return (int32_t)dim;
  for (i = 0; i < p->header.parameters; ++i)
    if (text.size == p->parameters[i].size &&
        memcmp(text.data, p->parameters[i].data, text.size) == 0)
      return -1 - (int32_t)i;
  if (i == BP_MAX_PARAMETERS) {
    p->problem = "it has too many sizes that calls give";
    return 0;
  }
  p->parameters[p->header.parameters++] = text;
  return -1 - (int32_t)i;
}

/* A value of the program with the sizes of one of the graph. */
static uint32_t add_value(program_t *p, uint32_t shape, uint32_t place,
                          uint32_t index) {
  npu_value_t *value = &p->values[p->header.values];
  uint32_t axis;
  if (p->header.values + 1 == NPU_VALUES) {
    p->problem = "it has too many values";
    return 0;
  }
  value->place = place;
  value->index = index;
  value->rank = value_of(&p->from, shape).rank;
  for (axis = 0; axis < value->rank; ++axis)
    value->dims[axis] = size_of(p, shape, axis);
  return p->header.values++;
}

/* From now on a value of the graph is this one of the program. */
static void mean(program_t *p, uint32_t value, uint32_t in_program) {
  meaning_t *meaning = &p->meanings[value];
  uint32_t axis;
  meaning->value = (int32_t)in_program;
  meaning->is_plain = 1;
  for (axis = 0; axis < NPU_RANK; ++axis) {
    meaning->along[axis] = axis;
    meaning->is_repeated[axis] = 0;
  }
}

static void add_data(program_t *p, uint32_t shape, bp_bytes_t bytes) {
  const uint32_t value = add_value(p, shape, NPU_DATA, 0);
  char *data = realloc(p->data, p->header.data_bytes + bytes.size + 8);
  if (data) {
    p->data = data;
    memcpy(data + p->header.data_bytes, bytes.data, bytes.size);
    p->values[value].offset = p->header.data_bytes;
    p->header.data_bytes += (bytes.size + 7) / 8 * 8;
  } else {
    p->problem = "there is no memory for its weights";
  }
  mean(p, shape, value);
}

/* Where an op writes: an output, or a slot that nobody reads any more. */
static uint32_t add_result(program_t *p, uint32_t value, uint32_t op,
                           uint32_t last) {
  uint32_t i, made;
  for (i = 0; i < p->info.output_count; ++i)
    if (p->from.table->output(p->from.graph, i) == value)
      return add_value(p, value, NPU_BINDING, p->first_output + i);
  made = add_value(p, value, NPU_SLOT, 0);
  for (i = 0; i < p->header.slots; ++i) {
    const npu_value_t *first = &p->values[p->slot_values[i]];
    if (p->slot_ends[i] < op && first->rank == p->values[made].rank &&
        memcmp(first->dims, p->values[made].dims, sizeof(first->dims)) == 0)
      break;
  }
  if (i == p->header.slots)
    p->slot_values[p->header.slots++] = made;
  p->slot_ends[i] = last;
  p->values[made].index = i;
  return made;
}

/* ---- Instructions ---- */

static npu_axis_t loop(uint32_t number, int32_t factor) {
  const npu_axis_t axis = {0, {(int32_t)number, 0}, {factor, 0}};
  return axis;
}

static npu_instruction_t *add(program_t *p, uint32_t function,
                              uint32_t combine) {
  npu_instruction_t *one = &p->instructions[p->header.instructions];
  if (p->header.instructions + 1 == NPU_INSTRUCTIONS)
    p->problem = "it is longer than the program memory";
  else
    ++p->header.instructions;
  memset(one, 0, sizeof(*one));
  one->function = function;
  one->combine = combine;
  one->operands[1].value = -1;
  return one;
}

/* A loop over an axis of a value; gives its number. */
static uint32_t add_loop(program_t *p, npu_instruction_t *one, uint32_t value,
                         uint32_t axis) {
  one->dims[one->loops] = size_of(p, value, axis);
  return one->loops++;
}

/* An operand that is read where `axes` are, those of the value of the graph. */
static void read_at(program_t *p, npu_instruction_t *one, uint32_t number,
                    uint32_t value, const npu_axis_t *axes) {
  const meaning_t *meaning = &p->meanings[value];
  npu_operand_t *operand = &one->operands[number];
  uint32_t i;
  operand->value = meaning->value;
  operand->number = meaning->number;
  for (i = 0; meaning->value >= 0 && i < p->values[meaning->value].rank; ++i)
    if (!meaning->is_repeated[i])
      operand->axes[i] = axes[meaning->along[i]];
}

static void write_at(npu_instruction_t *one, uint32_t value,
                     const npu_axis_t *axes) {
  one->operands[2].value = (int32_t)value;
  memcpy(one->operands[2].axes, axes, sizeof(one->operands[2].axes));
}

/* A function of elements; without an op a copy. */
static void add_elements(program_t *p, uint32_t function, uint32_t shape,
                         const uint32_t *operands, uint32_t result) {
  npu_instruction_t *one = add(p, function, 0);
  npu_axis_t axes[NPU_RANK] = {{0, {0, 0}, {0, 0}}};
  uint32_t i;
  for (i = 0; i < value_of(&p->from, shape).rank; ++i)
    axes[i] = loop(add_loop(p, one, shape, i), 1);
  one->outer = one->loops;
  for (i = 0; i < npu_functions[function].operands; ++i)
    read_at(p, one, i, operands[i], axes);
  write_at(one, result, axes);
}

static uint32_t combining(program_t *p, uint32_t op) {
  const bp_string_t kind = attribute(&p->from, op, "kind").string;
  return npu_find_function(npu_equal(kind, "sum")    ? npu_text("add")
                           : npu_equal(kind, "prod") ? npu_text("mul")
                                                     : kind);
}

static void add_reduce(program_t *p, uint32_t op, uint32_t x, uint32_t result) {
  const bp_attribute_t reduced = attribute(&p->from, op, "axes");
  const int64_t keep = attribute(&p->from, op, "keep").i64;
  const uint32_t rank = value_of(&p->from, x).rank;
  npu_instruction_t *one = add(p, 0, combining(p, op));
  npu_axis_t from[NPU_RANK] = {{0, {0, 0}, {0, 0}}}, to[NPU_RANK] = {{0}};
  uint32_t i, k, round, written;
  for (round = written = 0; round < 2; ++round) { /* kept axes go first */
    for (i = 0; i < rank; ++i) {
      for (k = 0; k < reduced.count && reduced.i64s[k] != i; ++k)
        ;
      if ((k < reduced.count) == (round == 1)) {
        from[i] = loop(add_loop(p, one, x, i), 1);
        if (round == 0)
          to[keep ? i : written++] = from[i];
      }
    }
    if (round == 0)
      one->outer = one->loops;
  }
  read_at(p, one, 0, x, from);
  write_at(one, result, to);
}

static void add_matmul(program_t *p, uint32_t op, const uint32_t *operands,
                       uint32_t shape, uint32_t result) {
  const uint32_t rank = value_of(&p->from, shape).rank;
  const int64_t ta = attribute(&p->from, op, "transpose_a").i64;
  const int64_t tb = attribute(&p->from, op, "transpose_b").i64;
  const uint32_t b_rank = value_of(&p->from, operands[1]).rank;
  npu_instruction_t *one = add(p, npu_find_function(npu_text("mul")),
                               npu_find_function(npu_text("add")));
  npu_axis_t a[NPU_RANK], b[NPU_RANK], c[NPU_RANK] = {{0, {0, 0}, {0, 0}}}, k;
  uint32_t i;
  for (i = 0; i < rank; ++i)
    c[i] = loop(add_loop(p, one, shape, i), 1);
  one->outer = rank;
  k = loop(add_loop(p, one, operands[0], rank - (ta ? 2 : 1)), 1);
  memcpy(a, c, sizeof(a));
  memcpy(b, c, sizeof(b));
  a[rank - 2] = ta ? k : c[rank - 2];
  a[rank - 1] = ta ? c[rank - 2] : k;
  b[b_rank - 2] = tb ? c[rank - 1] : k;
  b[b_rank - 1] = tb ? k : c[rank - 1];
  read_at(p, one, 0, operands[0], a);
  read_at(p, one, 1, operands[1], b);
  write_at(one, result, c);
}

/* Convolutions, and pools, which have no weights. */
static void add_windows(program_t *p, uint32_t op, const uint32_t *operands,
                        uint32_t shape, uint32_t result) {
  const int is_pool = attribute(&p->from, op, "kind").kind != BP_ATTRIBUTE_NONE;
  const int64_t *strides = attribute(&p->from, op, "strides").i64s;
  const int64_t *dilations = attribute(&p->from, op, "dilations").i64s;
  const int64_t *low = attribute(&p->from, op, "low").i64s;
  const int64_t *window = attribute(&p->from, op, "window").i64s;
  const int32_t groups =
      is_pool ? 1 : (int32_t)attribute(&p->from, op, "groups").i64;
  const uint32_t rank = value_of(&p->from, shape).rank;
  npu_instruction_t *one =
      add(p, npu_find_function(npu_text(is_pool ? "copy" : "mul")),
          is_pool ? combining(p, op) : npu_find_function(npu_text("add")));
  npu_axis_t x[NPU_RANK], w[NPU_RANK], y[NPU_RANK] = {{0, {0, 0}, {0, 0}}};
  uint32_t i;
  for (i = 0; i < rank; ++i)
    y[i] = loop(add_loop(p, one, shape, i), 1);
  memcpy(x, y, sizeof(x));
  memcpy(w, y, sizeof(w));
  if (!is_pool) { /* output channels are those of the groups, in order */
    const int32_t out = size_of(p, shape, 1) / groups;
    one->dims[one->loops] = groups;
    one->dims[1] = out;
    y[1].loop[1] = (int32_t)one->loops++;
    y[1].factor[1] = out;
    w[0] = y[1];
  }
  one->outer = one->loops;
  if (!is_pool) {
    x[1].loop[1] = y[1].loop[1];
    x[1].factor[1] = size_of(p, operands[1], 1);
    x[1].loop[0] = (int32_t)add_loop(p, one, operands[1], 1);
    w[1] = loop((uint32_t)x[1].loop[0], 1);
  }
  for (i = 2; i < rank; ++i) {
    x[i].offset = -(int32_t)low[i - 2];
    x[i].factor[0] = (int32_t)strides[i - 2];
    x[i].loop[1] = (int32_t)one->loops;
    x[i].factor[1] = (int32_t)dilations[i - 2];
    w[i] = loop(one->loops, 1);
    one->dims[one->loops++] =
        is_pool ? (int32_t)window[i - 2] : size_of(p, operands[1], i);
  }
  read_at(p, one, 0, operands[0], x);
  if (!is_pool)
    read_at(p, one, 1, operands[1], w);
  write_at(one, result, y);
}

/* Another way to look at a value: axis i of `of` lies along map[i]. */
static void view(program_t *p, uint32_t value, uint32_t of,
                 const int64_t *map) {
  meaning_t *meaning = &p->meanings[value];
  const meaning_t *from = &p->meanings[of];
  const bp_graph_table_t *table = p->from.table;
  const uint32_t root = meaning->root, last = meaning->last;
  uint32_t i;
  *meaning = *from;
  meaning->root = root;
  meaning->last = last;
  meaning->is_plain = 0;
  for (i = 0; from->value >= 0 && i < p->values[from->value].rank; ++i) {
    meaning->along[i] = map[from->along[i]];
    meaning->is_repeated[i] |=
        table->value_dim(p->from.graph, of, (uint32_t)from->along[i]) == 1 &&
        table->value_dim(p->from.graph, value, (uint32_t)meaning->along[i]) !=
            1;
  }
}

static void add_shape(program_t *p, uint32_t op, uint32_t value, uint32_t x) {
  const bp_attribute_t order = attribute(&p->from, op, "permutation");
  const bp_attribute_t axes = attribute(&p->from, op, "axes");
  const npu_value_t *from;
  int64_t map[NPU_RANK];
  uint32_t i;
  for (i = 0; i < order.count; ++i)
    map[order.i64s[i]] = i;
  if (order.kind || axes.kind) {
    view(p, value, x, order.kind ? map : axes.i64s);
    return;
  }
  if (!p->meanings[x].is_plain) {
    i = add_result(p, x, op, UINT32_MAX);
    add_elements(p, 0, x, &x, i);
    mean(p, x, i);
  }
  from = &p->values[p->meanings[x].value];
  i = add_value(p, value, from->place, from->index);
  p->values[i].offset = from->offset;
  mean(p, value, i);
}

static void add_op(program_t *p, uint32_t op) {
  const bp_graph_table_t *table = p->from.table;
  const uint32_t value = table->op_result(p->from.graph, op, 0);
  uint32_t operands[2] = {0, 0}, i, result, function;
  bp_op_info_t info;
  table->op_info(p->from.graph, op, &info);
  for (i = 0; i < info.operand_count && i < 2; ++i)
    operands[i] = table->op_operand(p->from.graph, op, i);
  function = npu_find_function(info.name);
  if (npu_equal(info.name, "constant")) {
    const bp_bytes_t bytes = attribute(&p->from, op, "value").bytes;
    if (bytes.size != sizeof(float)) {
      add_data(p, value, bytes);
      return;
    }
    p->meanings[value].value = -1;
    memcpy(&p->meanings[value].number, bytes.data, sizeof(float));
    return;
  }
  if (npu_equal(info.name, "reshape") || npu_equal(info.name, "transpose") ||
      npu_equal(info.name, "broadcast")) {
    add_shape(p, op, value, operands[0]);
    return;
  }
  result = add_result(p, value, op, p->meanings[value].last);
  if (function < npu_function_count)
    add_elements(p, function, value, operands, result);
  else if (npu_equal(info.name, "reduce"))
    add_reduce(p, op, operands[0], result);
  else if (npu_equal(info.name, "matmul"))
    add_matmul(p, op, operands, value, result);
  else
    add_windows(p, op, operands, value, result);
  mean(p, value, result);
}

/* When each value, or what is made of it without moving it, is read last. */
static void find_last_uses(program_t *p) {
  const bp_graph_table_t *table = p->from.table;
  uint32_t op, i;
  for (i = 0; i < p->info.value_count; ++i)
    p->meanings[i].root = i;
  for (op = 0; op < p->info.op_count; ++op) {
    bp_op_info_t info;
    table->op_info(p->from.graph, op, &info);
    for (i = 0; i < info.operand_count; ++i) {
      const uint32_t root =
          p->meanings[table->op_operand(p->from.graph, op, i)].root;
      p->meanings[root].last = op;
      if (npu_equal(info.name, "broadcast") ||
          npu_equal(info.name, "transpose") || npu_equal(info.name, "reshape"))
        p->meanings[table->op_result(p->from.graph, op, 0)].root = root;
    }
  }
  for (i = 0; i < p->info.output_count; ++i)
    p->meanings[p->meanings[table->output(p->from.graph, i)].root].last =
        UINT32_MAX;
}

static void make_program(program_t *p, const bp_weight_reader_t *weights,
                         bp_launch_binding_t *bindings) {
  const bp_graph_table_t *table = p->from.table;
  bp_bytes_t bytes;
  uint32_t i, op, value;
  find_last_uses(p);
  for (i = 0; i < p->info.input_count; ++i) {
    value = table->input(p->from.graph, i);
    if (weights && !weights->read(weights->context, i, NULL, &bytes)) {
      add_data(p, value, bytes);
      continue;
    }
    bindings[p->header.bindings].binding = i;
    mean(p, value, add_value(p, value, NPU_BINDING, p->header.bindings++));
  }
  p->first_output = p->header.bindings;
  for (i = 0; i < p->info.output_count; ++i)
    bindings[p->header.bindings++].binding = p->info.input_count + i;
  for (op = 0; op < p->info.op_count && !p->problem; ++op)
    if (is_ours(&p->from, op))
      add_op(p, op);
    else
      p->problem = "an op is none of the NPU's";
  for (i = 0; i < p->info.output_count && !p->problem; ++i) {
    const meaning_t *is = &p->meanings[table->output(p->from.graph, i)];
    value = table->output(p->from.graph, i);
    if (!is->is_plain || is->value < 0 ||
        p->values[is->value].place != NPU_BINDING ||
        p->values[is->value].index != p->first_output + i)
      add_elements(p, 0, value, &value,
                   add_value(p, value, NPU_BINDING, p->first_output + i));
  }
}

/* The bytes of all slots, an expression; processor.c places them likewise. */
static void write_scratch(program_t *p, char *text, size_t size) {
  size_t used = 0;
  uint32_t slot, axis;
  for (slot = 0; slot < p->header.slots; ++slot) {
    const npu_value_t *value = &p->values[p->slot_values[slot]];
    for (axis = 0; axis <= value->rank && used < size; ++axis) {
      const int32_t dim = axis < value->rank ? value->dims[axis] : 0;
      const char *start = axis ? "*" : slot ? "+(" : "(";
      if (axis == value->rank)
        used += (size_t)snprintf(text + used, size - used,
                                 "%s4+63) floordiv 64*64", start);
      else if (dim >= 0)
        used += (size_t)snprintf(text + used, size - used, "%s%d", start, dim);
      else
        used += (size_t)snprintf(text + used, size - used, "%s(%.*s)", start,
                                 (int)p->parameters[-1 - dim].size,
                                 p->parameters[-1 - dim].data);
    }
  }
  if (used >= size)
    p->problem = "its sizes are too long to write";
}

static char *write_program(program_t *p, uint64_t *out_size) {
  const size_t values = p->header.values * sizeof(*p->values);
  const size_t instructions = p->header.instructions * sizeof(*p->instructions);
  const size_t start = sizeof(p->header) + values + instructions;
  char *blob = malloc(start + p->header.data_bytes);
  *out_size = start + p->header.data_bytes;
  if (!blob) {
    p->problem = "there is no memory for the program";
    return NULL;
  }
  memcpy(p->header.magic, NPU_MAGIC, sizeof(p->header.magic));
  memcpy(blob, &p->header, sizeof(p->header));
  memcpy(blob + sizeof(p->header), p->values, values);
  memcpy(blob + sizeof(p->header) + values, p->instructions, instructions);
  if (p->data)
    memcpy(blob + start, p->data, p->header.data_bytes);
  return blob;
}

static bp_property_t statistic(const char *key, uint64_t value) {
  bp_property_t property = {{0, 0}, BP_PROPERTY_I64, 0, 0, 0, {0, 0}, 0};
  property.key = npu_text(key);
  property.i64 = (int64_t)value;
  return property;
}

static bp_status_t deliver(program_t *p, const bp_compile_request_t *request,
                           bp_launch_binding_t *bindings,
                           const bp_compiled_sink_t *sink) {
  static char scratch[60000];
  char log[128];
  uint8_t access[NPU_VALUES];
  bp_entry_t entry = {.header = BP_HEADER(bp_entry_t)};
  bp_launch_t launch = {.header = BP_HEADER(bp_launch_t)};
  const bp_launch_t *launches[] = {&launch};
  bp_compiled_t compiled = {.header = BP_HEADER(bp_compiled_t)};
  const bp_property_t statistics[] = {
      statistic("npu.instructions", p->header.instructions),
      statistic("npu.weight_bytes", p->header.data_bytes)};
  char *blob = write_program(p, &compiled.blob.size);
  bp_status_t status;
  uint32_t i;
  write_scratch(p, scratch, sizeof(scratch));
  if (p->problem) {
    free(blob);
    return BP_STATUS_UNIMPLEMENTED;
  }
  for (i = 0; i < p->header.bindings; ++i)
    access[i] = i < p->first_output ? BP_ACCESS_READ : BP_ACCESS_WRITE;
  if (p->header.slots) {
    access[i] = BP_ACCESS_READ | BP_ACCESS_WRITE;
    bindings[i++].binding = BP_LAUNCH_SCRATCH;
    compiled.scratch_bytes = npu_text(scratch);
  }
  entry.name = request->entry_name;
  entry.binding_access = access;
  entry.binding_count = i;
  entry.parameter_count = p->header.parameters;
  for (i = 0; i < 3; ++i) {
    entry.workgroup_size[i] = 1;
    launch.grid[i] = npu_text("1");
  }
  launch.entry = &entry;
  launch.bindings = bindings;
  launch.parameters = p->parameters;
  compiled.blob.data = blob;
  compiled.launches = launches;
  compiled.launch_count = 1;
  snprintf(log, sizeof(log), "%u ops in %u instructions, %u slots",
           p->info.op_count, p->header.instructions, p->header.slots);
  compiled.log = npu_text(log);
  compiled.statistics = statistics;
  compiled.statistic_count = 2;
  status = sink->put(sink->context, &compiled);
  free(blob);
  return status;
}

static bp_status_t compile(void *self, const bp_compile_request_t *request,
                           const bp_compiled_sink_t *sink, bp_error_t *error) {
  static program_t program; /* `self` is called by one thread at a time */
  bp_launch_binding_t bindings[NPU_VALUES] = {{0, 0, {0, 0}, {0, 0}}};
  bp_status_t status = BP_STATUS_OK;
  (void)self;
  memset(&program, 0, sizeof(program));
  program.from.table = request->graph_table;
  program.from.graph = request->graph;
  program.from.table->graph_info(request->graph, &program.info);
  program.meanings =
      calloc(program.info.value_count + 1u, sizeof(*program.meanings));
  if (!program.meanings ||
      program.info.input_count + program.info.output_count >= NPU_VALUES)
    program.problem = "it has more inputs and outputs than the NPU has values";
  else
    make_program(&program, request->weights, bindings);
  if (!program.problem)
    status = deliver(&program, request, bindings, sink);
  free(program.meanings);
  free(program.data);
  return program.problem
             ? npu_fail(error, BP_STATUS_UNIMPLEMENTED, program.problem)
             : status;
}

const bp_compiler_table_t npu_compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .compile = compile,
    .partition = partition,
};
