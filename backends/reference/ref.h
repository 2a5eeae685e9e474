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
 *   dispatch.c  checks a graph once, runs it per dispatch
 *   elements.c  elements of every dtype in and out of 64-bit words
 *   ops_*.c     the ops
 */
#ifndef REF_H
#define REF_H

#include <backplane/compiler.h>
#include <backplane/hal.h>

#define REF_MAX_RANK 8u
/* Elements that a loop holds as words at a time. */
#define REF_BLOCK 256

#define REF_FLOATS                                                             \
  (1u << BP_DTYPE_F64 | 1u << BP_DTYPE_F32 | 1u << BP_DTYPE_F16 |              \
   1u << BP_DTYPE_BF16)
#define REF_UNSIGNED                                                           \
  (1u << BP_DTYPE_U64 | 1u << BP_DTYPE_U32 | 1u << BP_DTYPE_U16 |              \
   1u << BP_DTYPE_U8)
#define REF_SIGNED                                                             \
  (1u << BP_DTYPE_I64 | 1u << BP_DTYPE_I32 | 1u << BP_DTYPE_I16 |              \
   1u << BP_DTYPE_I8)
/* The dtypes of this backend: all but those narrower than a byte and f8. */
#define REF_DTYPES                                                             \
  (REF_FLOATS | REF_UNSIGNED | REF_SIGNED | 1u << BP_DTYPE_BOOL)

/* What initialize gives as `self`. */
typedef struct ref_plugin_t {
  const bp_host_t *host;
  const bp_graph_table_t *graph;
} ref_plugin_t;

/* ---- Text ---- */

int ref_equal(bp_string_t text, const char *expected);
/* The string of a literal or of a terminated buffer. */
bp_string_t ref_string(const char *text);
/* printf into `error` through the host; returns `status`. */
bp_status_t ref_error(const bp_host_t *host, bp_error_t *error,
                      bp_status_t status, const char *format, ...);
/* Refuses every option: this backend has none. */
bp_status_t ref_no_options(const bp_host_t *host, const bp_options_t *options,
                           bp_error_t *error);

/* ---- Elements ---- */

/* An element at work: `f` for the float dtypes, `i` for the others (u64 as its
 * bits). 64 bits hold the values of all dtypes exactly, so that results are
 * rounded once, when they are stored. */
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
/* Bytes of one element, 0 for a dtype that is not in REF_DTYPES. */
int64_t ref_size(bp_dtype_t dtype);
/* Reads `count` elements from `start` on, `step` elements apart. */
void ref_load(const ref_tensor_t *tensor, int64_t start, int64_t step,
              int64_t count, ref_word_t *out);
/* Writes `count` adjacent words that were computed in dtype `from`, converted
 * as the op `cast` says. */
void ref_store(const ref_tensor_t *tensor, int64_t start, int64_t count,
               const ref_word_t *words, bp_dtype_t from);
/* The highest or lowest value of a dtype, infinite for floats. */
ref_word_t ref_extreme(bp_dtype_t dtype, int highest);
/* Element distance of each axis. */
void ref_strides(const ref_tensor_t *tensor, int64_t *out_strides);
/* Product of `count` sizes. */
int64_t ref_product(const int64_t *dims, uint32_t count);

/* ---- Ops ---- */

/* One op while it runs. */
typedef struct ref_op_t {
  const bp_host_t *host;
  const bp_graph_table_t *table;
  const bp_graph_t *graph;
  const int64_t *symbols;
  ref_tensor_t *values;
  uint32_t index; /* of the op in the graph */
  uint32_t operand_count;
  const ref_tensor_t *result;
  bp_dtype_t dtype;   /* of operand 0, or of the result when there is none */
  uint32_t error;     /* BP_KERNEL_ERROR_ code of bad data, 0: none */
  const char *reason; /* set by ref_fail */
} ref_op_t;

/* Computes op->result. Bad data gives zeros and sets op->error; what makes
 * the op impossible is returned by ref_fail. */
typedef bp_status_t (*ref_kernel_t)(ref_op_t *op);

bp_status_t ref_fail(ref_op_t *op, bp_status_t status, const char *reason);
const ref_tensor_t *ref_operand(const ref_op_t *op, uint32_t index);
/* Attributes. graph_open has verified the graph: required ones are there with
 * the right kinds and counts, and shapes obey the rules of their ops for all
 * values of the symbols. What only values can show is checked by the op. */
int64_t ref_i64(const ref_op_t *op, const char *name);
const int64_t *ref_i64s(const ref_op_t *op, const char *name,
                        uint32_t *out_count);
/* Whether the string attribute has this value. */
int ref_is(const ref_op_t *op, const char *name, const char *value);
/* Values of a dims attribute for op->symbols, at most `capacity`. */
bp_status_t ref_dims(ref_op_t *op, const char *name, int64_t *out_dims,
                     uint32_t capacity);

/* An elementwise function in each number class, NULL where it has no meaning.
 * Those of one operand have `unary` or ignore `b`. */
typedef struct ref_scalar_t {
  const char *name;
  double (*unary)(double a);
  double (*binary)(double a, double b);
  int64_t (*integer)(ref_op_t *op, int64_t a, int64_t b);
} ref_scalar_t;

/* By op name, or by the direction of a compare; NULL when there is none. */
const ref_scalar_t *ref_scalar_find(bp_string_t name);
/* a = scalar(a, b) for a function of two operands. */
void ref_combine(const ref_scalar_t *scalar, ref_op_t *op, ref_word_t *a,
                 ref_word_t b);

/* The combining function of a `reduce` or `pool` kind and its start value. */
const ref_scalar_t *ref_reduction(const ref_op_t *op, ref_word_t *out_start);

bp_status_t ref_elementwise(ref_op_t *op);
bp_status_t ref_constant(ref_op_t *op);
bp_status_t ref_iota(ref_op_t *op);
bp_status_t ref_dim(ref_op_t *op);
bp_status_t ref_broadcast(ref_op_t *op);
bp_status_t ref_reshape(ref_op_t *op);
bp_status_t ref_transpose(ref_op_t *op);
bp_status_t ref_slice(ref_op_t *op);
bp_status_t ref_concat(ref_op_t *op);
bp_status_t ref_pad(ref_op_t *op);
bp_status_t ref_reverse(ref_op_t *op);
bp_status_t ref_gather(ref_op_t *op);
bp_status_t ref_select(ref_op_t *op);
bp_status_t ref_reduce(ref_op_t *op);
bp_status_t ref_arg_reduce(ref_op_t *op);
bp_status_t ref_matmul(ref_op_t *op);
bp_status_t ref_conv(ref_op_t *op);
bp_status_t ref_conv_transpose(ref_op_t *op);
bp_status_t ref_pool(ref_op_t *op);

/* ---- Graphs ---- */

/* Finds the function of every op into `kernels` (one per op, may be NULL to
 * check only). On refusal writes the reason, naming the op. */
bp_status_t ref_resolve(const bp_graph_table_t *table, const bp_graph_t *graph,
                        ref_kernel_t *kernels, char *reason, uint64_t size);

/* A loaded blob. */
struct bp_executable_t {
  const bp_host_t *host;
  const bp_graph_table_t *table;
  bp_graph_t *graph;
  ref_kernel_t *kernels; /* one per op */
};

struct bp_buffer_t {
  char *data;
};

/* Runs the graph over the bindings of `command`. On failure writes what went
 * wrong, naming the op. */
bp_status_t ref_dispatch(const bp_command_dispatch_t *command, char *message,
                         uint64_t size);

/* ---- Tables ---- */

extern const bp_driver_table_t ref_driver_table;
extern const bp_memory_table_t ref_memory_table;
extern const bp_executable_table_t ref_executable_table;
extern const bp_queue_table_t ref_queue_table;
extern const bp_compiler_table_t ref_compiler_table;

#endif /* REF_H */
