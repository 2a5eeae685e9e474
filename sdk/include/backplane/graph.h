/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h: reading and building wire graphs from C.
 *
 * A wire graph is the portable form of a model, of a partition of it or of one
 * dispatch. Its bytes are FlatBuffers inside, but nobody needs to know: this
 * table of accessors reads them and this table of builder calls writes them.
 * A plug-in gets both with host->get_extension("backplane.graph", 0).
 *
 * A graph is a list of ops in execution order. Values are numbered; each is a
 * graph input or one result of one op. A tensor is ranked, its logical order is
 * row-major, and a dimension is an integer expression over the graph's symbols
 * (docs/reference/graph.md lists operators and functions), whose text form is
 * for instance "2*(h floordiv 32)". The ops and their attributes are listed in
 * docs/reference/ops.md.
 */
#ifndef BACKPLANE_GRAPH_H
#define BACKPLANE_GRAPH_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_graph_t bp_graph_t;
typedef struct bp_graph_builder_t bp_graph_builder_t;

/* No such op, value or dimension. */
#define BP_NONE 0xFFFFFFFFu
/* A dimension that is not a plain number. */
#define BP_DIM_SYMBOLIC (-1)

/* A named size, bound when a program is called. */
typedef struct bp_symbol_info_t {
  bp_string_t name;
  int64_t minimum; /* inclusive, at least 0 */
  int64_t maximum; /* inclusive, INT64_MAX: unbounded */
  int64_t divisor; /* the value is a multiple of it, at least 1 */
} bp_symbol_info_t;

typedef struct bp_graph_info_t {
  bp_string_t name;
  uint32_t op_count;
  uint32_t value_count;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t symbol_count;
  uint32_t reserved;
} bp_graph_info_t;

typedef struct bp_value_info_t {
  bp_string_t name; /* may be empty */
  bp_dtype_t dtype;
  uint32_t rank;
  uint32_t producer; /* op index, BP_NONE for a graph input */
  uint32_t result;   /* which result of the producer, or which input */
} bp_value_info_t;

typedef struct bp_op_info_t {
  bp_string_t name;     /* "matmul" */
  bp_string_t location; /* where it came from, for messages */
  uint32_t version;
  uint32_t operand_count;
  uint32_t result_count;
  uint32_t region_count;
} bp_op_info_t;

#define BP_ATTRIBUTE_NONE 0u
#define BP_ATTRIBUTE_I64 1u /* also bool and dtype */
#define BP_ATTRIBUTE_F64 2u
#define BP_ATTRIBUTE_STRING 3u
#define BP_ATTRIBUTE_I64S 4u
#define BP_ATTRIBUTE_DIMS 5u
#define BP_ATTRIBUTE_BYTES 6u

/* One attribute of an op. Only the members of its kind are set. Pointers live
 * as long as the graph. */
typedef struct bp_attribute_t {
  bp_string_t name;
  uint32_t kind;  /* BP_ATTRIBUTE_ */
  uint32_t count; /* of i64s or dims */
  int64_t i64;
  double f64;
  bp_string_t string;
  const int64_t *i64s;
  bp_bytes_t bytes;
  /* dims: text forms, read with attribute_dims or given to the builder */
  const bp_string_t *dims;
} bp_attribute_t;

/* Structs of this header are frozen for major version 0; the table grows.
 * All accessors are thread-safe on a graph that nobody closes. Indices out of
 * range give empty answers (BP_NONE, 0, an empty string), never a crash. */
#define bp_graph_table_t_TYPE 80u
typedef struct bp_graph_table_t {
  bp_header_t header;

  /* ---- open ---- */
  /* Verifies the bytes and makes them readable. They may be freed after. */
  bp_status_t (*graph_open)(bp_bytes_t wire, bp_graph_t **out_graph,
                            bp_error_t *error);
  void (*graph_close)(bp_graph_t *graph);
  /* The wire form of an open graph. */
  bp_status_t (*graph_write)(const bp_graph_t *graph,
                             const bp_bytes_sink_t *sink);

  /* ---- read ---- */
  void (*graph_info)(const bp_graph_t *graph, bp_graph_info_t *out_info);
  void (*symbol_info)(const bp_graph_t *graph, uint32_t symbol,
                      bp_symbol_info_t *out_info);
  uint32_t (*input)(const bp_graph_t *graph, uint32_t index);
  uint32_t (*output)(const bp_graph_t *graph, uint32_t index);
  bp_string_t (*output_name)(const bp_graph_t *graph, uint32_t index);
  void (*value_info)(const bp_graph_t *graph, uint32_t value,
                     bp_value_info_t *out_info);
  /* The size of one axis, BP_DIM_SYMBOLIC when it is not a plain number. */
  int64_t (*value_dim)(const bp_graph_t *graph, uint32_t value, uint32_t axis);
  bp_string_t (*value_dim_text)(const bp_graph_t *graph, uint32_t value,
                                uint32_t axis);
  /* All sizes of a value for given symbol values (in symbol order), into
   * out_dims[rank]. BP_STATUS_OUT_OF_RANGE on overflow or a negative size. */
  bp_status_t (*value_shape)(const bp_graph_t *graph, uint32_t value,
                             const int64_t *symbols, int64_t *out_dims);
  void (*op_info)(const bp_graph_t *graph, uint32_t op, bp_op_info_t *out_info);
  uint32_t (*op_operand)(const bp_graph_t *graph, uint32_t op, uint32_t index);
  uint32_t (*op_result)(const bp_graph_t *graph, uint32_t op, uint32_t index);
  /* A sub-graph of a control-flow op; lives as long as its parent. */
  const bp_graph_t *(*op_region)(const bp_graph_t *graph, uint32_t op,
                                 uint32_t index);
  /* The attribute with this name; kind BP_ATTRIBUTE_NONE when absent. */
  void (*attribute)(const bp_graph_t *graph, uint32_t op, bp_string_t name,
                    bp_attribute_t *out_attribute);
  /* The values of a dims attribute for given symbol values. */
  bp_status_t (*attribute_dims)(const bp_graph_t *graph, uint32_t op,
                                bp_string_t name, const int64_t *symbols,
                                int64_t *out_dims, uint32_t capacity);

  /* ---- build ---- */
  bp_status_t (*builder_create)(bp_string_t name,
                                bp_graph_builder_t **out_builder);
  void (*builder_destroy)(bp_graph_builder_t *builder);
  bp_status_t (*builder_symbol)(bp_graph_builder_t *builder,
                                const bp_symbol_info_t *symbol);
  /* Adds an input; `dims` are text forms. */
  bp_status_t (*builder_input)(bp_graph_builder_t *builder, bp_string_t name,
                               bp_dtype_t dtype, const bp_string_t *dims,
                               uint32_t rank, uint32_t *out_value,
                               bp_error_t *error);
  /* Adds an op at its newest version, infers its result types and verifies it.
   * Its results are out_results[0..result_count). */
  bp_status_t (*builder_op)(bp_graph_builder_t *builder, bp_string_t name,
                            const uint32_t *operands, uint32_t operand_count,
                            const bp_attribute_t *attributes,
                            uint32_t attribute_count, bp_string_t location,
                            uint32_t *out_results, uint32_t result_count,
                            bp_error_t *error);
  bp_status_t (*builder_output)(bp_graph_builder_t *builder, uint32_t value,
                                bp_string_t name, bp_error_t *error);
  /* Verifies the whole and gives the graph; the builder is then empty. */
  bp_status_t (*builder_finish)(bp_graph_builder_t *builder,
                                bp_graph_t **out_graph, bp_error_t *error);

  /* ---- since minor version 2 ---- */
  /* How many attributes an op has, those with default values among them. Who
   * meets a name that it does not know must refuse the op: an attribute that
   * is passed over may change the result. */
  uint32_t (*attribute_count)(const bp_graph_t *graph, uint32_t op);
  /* One of them, in the order of their names. */
  void (*attribute_at)(const bp_graph_t *graph, uint32_t op, uint32_t index,
                       bp_attribute_t *out_attribute);
  /* The newest version of the op that this host knows, 0: it has no such op. */
  uint32_t (*op_version)(bp_string_t name);
  /* builder_op at a version from 1 to op_version. */
  bp_status_t (*builder_op_version)(bp_graph_builder_t *builder,
                                    bp_string_t name, uint32_t version,
                                    const uint32_t *operands,
                                    uint32_t operand_count,
                                    const bp_attribute_t *attributes,
                                    uint32_t attribute_count,
                                    bp_string_t location, uint32_t *out_results,
                                    uint32_t result_count, bp_error_t *error);
} bp_graph_table_t;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_GRAPH_H */
