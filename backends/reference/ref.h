/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref.h: what the files of the reference backend share.
 *
 * The backend is an interpreter. Its compiler hands the wire bytes of each
 * dispatch on as the blob; its driver opens them again and runs one op after
 * another on host memory. How a dispatch travels through the files:
 *
 *   plugin.c    the one exported symbol, initialize, shutdown
 *   compiler.c  targets, claim, compile
 *   driver.c    the device, its memory, executables and queues
 *   dispatch.c  finds the function of each op, runs a graph
 *   elements.c  elements of every dtype in and out of 64-bit words
 *   ops_*.c     the ops
 *   ref_ops.h   their list
 */
#ifndef REF_H
#define REF_H

#include <backplane/compiler.h>
#include <backplane/hal.h>
#include <backplane/helpers.h>

/* The lowest minor version of the ABI that has all that is used here. */
#define REF_REQUIRED_MINOR 1u
#define REF_MAX_RANK 16u
/* Elements that a loop holds as words at a time. */
#define REF_BLOCK 256

/* What initialize makes; it is the one device at the same time. */
struct bp_device_t {
  const bp_host_t *host;
  const bp_graph_table_t *table;
};

/* ---- Failures ---- */

/* printf into `error` through the host; returns `status`. */
bp_status_t ref_error(const bp_host_t *host, bp_error_t *error,
                      bp_status_t status, const char *format, ...);
/* Refuses every option: this backend has none. */
bp_status_t ref_no_options(const bp_host_t *host, const bp_options_t *options,
                           bp_error_t *error);

/* ---- Elements ---- */

/* An element at work: `f` for float dtypes, `i` for the others (u64 as its
 * bits). It holds the values of all dtypes exactly, so that results are rounded
 * once, when they are stored. Which member counts is known from the dtype. */
typedef union ref_word_t {
  double f;
  int64_t i;
} ref_word_t;

/* A dense row-major tensor in host memory. */
typedef struct ref_tensor_t {
  bp_dtype_t dtype;
  uint32_t rank;
  int64_t dims[REF_MAX_RANK];
  int64_t count; /* of elements */
  void *data;
  int owned; /* a temporary of the running dispatch */
} ref_tensor_t;

int ref_is_float(bp_dtype_t dtype);
int ref_is_unsigned(bp_dtype_t dtype);
/* Bits of one element, 0 for an unknown dtype. */
int ref_bits(bp_dtype_t dtype);
int64_t ref_bytes(const ref_tensor_t *tensor);
/* Reads or writes `count` elements from `start` on, `step` elements apart. */
void ref_load(const ref_tensor_t *tensor, int64_t start, int64_t step,
              int64_t count, ref_word_t *out);
void ref_store(const ref_tensor_t *tensor, int64_t start, int64_t step,
               int64_t count, const ref_word_t *words);
/* The op `cast` on words, up to the rounding or wrapping of ref_store. */
void ref_convert(ref_word_t *words, int64_t count, bp_dtype_t from,
                 bp_dtype_t to);
/* Copies elements of one dtype, bit for bit. */
void ref_copy(const ref_tensor_t *to, int64_t to_start, int64_t to_step,
              const ref_tensor_t *from, int64_t from_start, int64_t from_step,
              int64_t count);
/* The highest or lowest value of a dtype, infinite for floats. */
ref_word_t ref_extreme(bp_dtype_t dtype, int highest);
/* Element distance of each axis. */
void ref_strides(const ref_tensor_t *tensor, int64_t *out_strides);
/* Product of `count` sizes. */
int64_t ref_product(const int64_t *dims, uint32_t count);
int64_t ref_lower(int64_t a, int64_t b);

/* ---- Ops ---- */

/* One op while it runs. */
typedef struct ref_op_t {
  const bp_host_t *host;
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
  const int64_t *symbols;
  ref_tensor_t *values;
  uint32_t index; /* of the op in the graph */
  bp_op_info_t info;
  bp_dtype_t dtype;           /* of operand 0, or of the result without one */
  const ref_tensor_t *result; /* the first */
  bp_status_t status;         /* of the last ref_fail */
  const char *reason;
} ref_op_t;

/* Computes the results of an op. Bad data, not bad code, gives zeros and goes
 * on: ref_fail is called, but BP_STATUS_OK returned. */
typedef bp_status_t (*ref_kernel_t)(ref_op_t *op);

/* The function of an op whose first operand has this dtype, or NULL. */
ref_kernel_t ref_kernel(bp_string_t name, bp_dtype_t dtype);
/* That of operand 0 of an op, or of its result when it has none. */
bp_dtype_t ref_dtype_of(const bp_graph_table_t *table, const bp_graph_t *graph,
                        uint32_t index);
/* Keeps what went wrong for the completion; returns `status`. */
bp_status_t ref_fail(ref_op_t *op, bp_status_t status, const char *reason);
const ref_tensor_t *ref_operand(const ref_op_t *op, uint32_t index);
const ref_tensor_t *ref_result(const ref_op_t *op, uint32_t index);
/* Attributes. graph_open has verified the graph: all are there with the right
 * kinds and counts, and shapes obey the rules of their ops for all values of
 * the symbols. What only values can show is checked by the op. */
int64_t ref_i64(const ref_op_t *op, const char *name);
const int64_t *ref_i64s(const ref_op_t *op, const char *name,
                        uint32_t *out_count);
/* Whether the string attribute has this value. */
int ref_is(const ref_op_t *op, const char *name, const char *value);
/* Values of a dims attribute for op->symbols, at most `capacity`. */
bp_status_t ref_dims(ref_op_t *op, const char *name, int64_t *out_dims,
                     uint32_t capacity);
/* parallel_for of the host over tasks that write parts of the result. */
void ref_parallel(const ref_op_t *op, int64_t count, bp_loop_body_t task,
                  void *context);

/* An elementwise function in each number class, NULL where it has no meaning.
 * Those of one operand have `unary` or ignore `b`. */
typedef struct ref_scalar_t {
  const char *name;
  double (*unary)(double a);
  double (*binary)(double a, double b);
  int64_t (*integer)(ref_op_t *op, int64_t a, int64_t b);
} ref_scalar_t;

/* By op name, or by the direction of a compare; NULL when there is none. */
const ref_scalar_t *ref_scalar(bp_string_t name);
/* sums[i * step] = scalar(sums[i * step], words[i]) one after another. */
void ref_combine(const ref_scalar_t *scalar, ref_op_t *op, ref_word_t *sums,
                 int64_t step, const ref_word_t *words, int64_t count);
/* The combining function of attribute `kind` and its start value. */
const ref_scalar_t *ref_reduction(const ref_op_t *op, ref_word_t *out_start);

/* A walk over the indices of a box, in row-major order. Index i along an axis
 * is i * from_step elements into `from`, where source may first turn i into
 * another index, and i * to_step into the other side. */
typedef struct ref_walk_t ref_walk_t;
struct ref_walk_t {
  ref_op_t *op;
  const ref_tensor_t *from, *to;
  uint32_t rank;
  int64_t dims[REF_MAX_RANK];
  int64_t from_start, from_step[REF_MAX_RANK];
  int64_t to_start, to_step[REF_MAX_RANK];
  /* Runs along the last axis go here, with the steps of that axis. */
  void (*run)(const ref_walk_t *walk, int64_t to, int64_t from, int64_t count);
  /* Negative: nothing is there. NULL: i itself. */
  int64_t (*source)(const ref_walk_t *walk, uint32_t axis, int64_t i);
  uint32_t mapped; /* bit (1 << axis) of the axes that have a source */
  void *context;   /* of the two functions */
};

/* A walk over all of `box`, of which both sides have the shape: a copy. */
void ref_walk_init(ref_walk_t *walk, ref_op_t *op, const ref_tensor_t *box,
                   const ref_tensor_t *to, const ref_tensor_t *from);
void ref_walk(const ref_walk_t *walk);

/* A function for each op; those that are elementwise share one. */
#define REF_OP(name, version) bp_status_t ref_##name(ref_op_t *op);
#include "ref_ops.h"
#undef REF_OP
bp_status_t ref_select(ref_op_t *op);
bp_status_t ref_elementwise(ref_op_t *op);

/* ---- Graphs ---- */

/* Whether every op can be run. On refusal writes the reason, naming the op. */
bp_status_t ref_check(const bp_graph_table_t *table, const bp_graph_t *graph,
                      char *reason, uint64_t size);
/* Runs `graph` over the bindings of `command`. On failure writes what went
 * wrong, naming the op. */
bp_status_t ref_dispatch(const bp_device_t *device, const bp_graph_t *graph,
                         const bp_command_dispatch_t *command, char *message,
                         uint64_t size);

/* ---- Tables ---- */

extern const bp_driver_table_t ref_driver_table;
extern const bp_memory_table_t ref_memory_table;
extern const bp_executable_table_t ref_executable_table;
extern const bp_queue_table_t ref_queue_table;
extern const bp_compiler_table_t ref_compiler_table;

#endif /* REF_H */
