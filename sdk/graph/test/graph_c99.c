/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses graph.h as a plug-in would: builds a graph, writes it, opens the bytes,
 * and walks ops, attributes and shapes. C99; the table is handed in by
 * GraphTableTest.cpp, as a host hands it to a plug-in.
 */
#include "graph_c99.h"

#include <stdlib.h>
#include <string.h>

static const bp_graph_table_t *table;
static const char *failure;

#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition)) {                                                        \
      failure = #condition;                                                    \
      return 0;                                                                \
    }                                                                          \
  } while (0)

static bp_string_t text(const char *chars) {
  bp_string_t string = {chars, 0};
  string.size = strlen(chars);
  return string;
}

static int equals(bp_string_t string, const char *chars) {
  return string.size == strlen(chars) &&
         memcmp(string.data, chars, (size_t)string.size) == 0;
}

/* x: f32[n, 8] -> relu -> slice [0:n, 2:6] -> output */
static bp_graph_t *build(void) {
  bp_graph_builder_t *builder = 0;
  bp_symbol_info_t symbol = {{0, 0}, 1, 32, 1};
  bp_string_t dims[2], starts[2], sizes[2];
  int64_t strides[2] = {1, 1};
  bp_attribute_t attributes[3];
  uint32_t x = BP_NONE, y = BP_NONE;
  bp_graph_t *graph = 0;

  symbol.name = text("n");
  dims[0] = text("n");
  dims[1] = text("8");
  starts[0] = text("0");
  starts[1] = text("2");
  sizes[0] = text("n");
  sizes[1] = text("4");
  memset(attributes, 0, sizeof(attributes));
  attributes[0].name = text("starts");
  attributes[0].kind = BP_ATTRIBUTE_DIMS;
  attributes[0].count = 2;
  attributes[0].dims = starts;
  attributes[1].name = text("sizes");
  attributes[1].kind = BP_ATTRIBUTE_DIMS;
  attributes[1].count = 2;
  attributes[1].dims = sizes;
  attributes[2].name = text("strides");
  attributes[2].kind = BP_ATTRIBUTE_I64S;
  attributes[2].count = 2;
  attributes[2].i64s = strides;

  REQUIRE(table->builder_create(text("c"), &builder) == BP_STATUS_OK);
  REQUIRE(table->builder_symbol(builder, &symbol) == BP_STATUS_OK);
  REQUIRE(table->builder_input(builder, text("x"), BP_DTYPE_F32, dims, 2, &x,
                               0) == BP_STATUS_OK);
  REQUIRE(table->builder_op(builder, text("relu"), &x, 1, 0, 0, text("r"), &y,
                            1, 0) == BP_STATUS_OK);
  REQUIRE(table->builder_op(builder, text("slice"), &y, 1, attributes, 3,
                            text("s"), &y, 1, 0) == BP_STATUS_OK);
  REQUIRE(table->builder_op(builder, text("relu"), &y, 1, 0, 0, text("bad"), &x,
                            2, 0) == BP_STATUS_INVALID_ARGUMENT);
  REQUIRE(table->builder_output(builder, 77, text("y"), 0) ==
          BP_STATUS_INVALID_ARGUMENT);
  REQUIRE(table->builder_output(builder, y, text("y"), 0) == BP_STATUS_OK);
  REQUIRE(table->builder_finish(builder, &graph, 0) == BP_STATUS_OK);
  table->builder_destroy(builder);
  return graph;
}

static bp_status_t keep(void *context, bp_bytes_t bytes) {
  bp_bytes_t *kept = (bp_bytes_t *)context;
  void *data = malloc((size_t)bytes.size);
  if (!data)
    return BP_STATUS_RESOURCE_EXHAUSTED;
  memcpy(data, bytes.data, (size_t)bytes.size);
  kept->data = data;
  kept->size = bytes.size;
  return BP_STATUS_OK;
}

static bp_graph_t *reopen(bp_graph_t *graph) {
  bp_bytes_t wire = {0, 0};
  bp_bytes_sink_t sink = {keep, 0};
  bp_graph_t *again = 0;
  sink.context = &wire;
  REQUIRE(table->graph_write(graph, &sink) == BP_STATUS_OK);
  REQUIRE(table->graph_open(wire, &again, 0) == BP_STATUS_OK);
  wire.size /= 2;
  {
    bp_graph_t *none = again;
    REQUIRE(table->graph_open(wire, &none, 0) == BP_STATUS_DATA_LOSS);
    REQUIRE(none == 0);
  }
  free((void *)wire.data);
  return again;
}

static int check_values(const bp_graph_t *graph) {
  bp_value_info_t value;
  int64_t n = 5, shape[2] = {0, 0};
  uint32_t x = table->input(graph, 0), y = table->output(graph, 0);
  REQUIRE(x != BP_NONE && y != BP_NONE);
  REQUIRE(table->input(graph, 1) == BP_NONE);
  REQUIRE(table->output(graph, 1) == BP_NONE);
  REQUIRE(equals(table->output_name(graph, 0), "y"));
  table->value_info(graph, x, &value);
  REQUIRE(equals(value.name, "x") && value.dtype == BP_DTYPE_F32);
  REQUIRE(value.rank == 2 && value.producer == BP_NONE && value.result == 0);
  table->value_info(graph, y, &value);
  REQUIRE(value.producer == 1 && value.result == 0);
  REQUIRE(table->value_dim(graph, y, 0) == BP_DIM_SYMBOLIC);
  REQUIRE(table->value_dim(graph, y, 1) == 4);
  REQUIRE(table->value_dim(graph, y, 2) == 0);
  REQUIRE(equals(table->value_dim_text(graph, y, 0), "n"));
  REQUIRE(table->value_shape(graph, y, &n, shape) == BP_STATUS_OK);
  REQUIRE(shape[0] == 5 && shape[1] == 4);
  n = -1;
  REQUIRE(table->value_shape(graph, y, &n, shape) == BP_STATUS_OUT_OF_RANGE);
  table->value_info(graph, 1000, &value);
  REQUIRE(value.dtype == BP_DTYPE_INVALID && value.producer == BP_NONE);
  return 1;
}

static int check_ops(const bp_graph_t *graph) {
  bp_op_info_t op;
  bp_attribute_t attribute;
  int64_t n = 5, sizes[2] = {0, 0};
  table->op_info(graph, 0, &op);
  REQUIRE(equals(op.name, "relu") && equals(op.location, "r"));
  REQUIRE(op.version == 1 && op.operand_count == 1 && op.result_count == 1);
  REQUIRE(table->op_operand(graph, 1, 0) == table->op_result(graph, 0, 0));
  REQUIRE(table->op_operand(graph, 1, 1) == BP_NONE);
  REQUIRE(table->op_region(graph, 1, 0) == 0);
  table->attribute(graph, 1, text("strides"), &attribute);
  REQUIRE(attribute.kind == BP_ATTRIBUTE_I64S && attribute.count == 2);
  REQUIRE(attribute.i64s[1] == 1 && equals(attribute.name, "strides"));
  table->attribute(graph, 1, text("sizes"), &attribute);
  REQUIRE(attribute.kind == BP_ATTRIBUTE_DIMS && attribute.count == 2);
  REQUIRE(equals(attribute.dims[0], "n") && equals(attribute.dims[1], "4"));
  REQUIRE(table->attribute_dims(graph, 1, text("sizes"), &n, sizes, 2) ==
          BP_STATUS_OK);
  REQUIRE(sizes[0] == 5 && sizes[1] == 4);
  REQUIRE(table->attribute_dims(graph, 1, text("sizes"), &n, sizes, 1) ==
          BP_STATUS_OUT_OF_RANGE);
  REQUIRE(table->attribute_dims(graph, 1, text("strides"), &n, sizes, 2) ==
          BP_STATUS_NOT_FOUND);
  table->attribute(graph, 1, text("none"), &attribute);
  REQUIRE(attribute.kind == BP_ATTRIBUTE_NONE);
  table->attribute(graph, 9, text("axis"), &attribute);
  REQUIRE(attribute.kind == BP_ATTRIBUTE_NONE);
  table->op_info(graph, 9, &op);
  REQUIRE(op.name.size == 0 && op.operand_count == 0);
  return 1;
}

static int check_graph(const bp_graph_t *graph) {
  bp_graph_info_t info;
  bp_symbol_info_t symbol;
  table->graph_info(graph, &info);
  REQUIRE(equals(info.name, "c") && info.op_count == 2);
  REQUIRE(info.value_count == 3 && info.input_count == 1);
  REQUIRE(info.output_count == 1 && info.symbol_count == 1);
  table->symbol_info(graph, 0, &symbol);
  REQUIRE(equals(symbol.name, "n") && symbol.maximum == 32);
  table->symbol_info(graph, 1, &symbol);
  REQUIRE(symbol.name.size == 0);
  return check_values(graph) && check_ops(graph);
}

const char *use_graph_table(const bp_graph_table_t *graph_table) {
  bp_graph_t *graph = 0, *again = 0;
  table = graph_table;
  failure = 0;
  graph = build();
  if (graph && check_graph(graph))
    again = reopen(graph);
  if (again)
    check_graph(again);
  table->graph_close(again);
  table->graph_close(graph);
  return failure;
}
