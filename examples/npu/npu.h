/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npu.h: what the files of the example NPU share. A model goes through
 *
 *   compiler.c   which ops the NPU takes together, and programs made of them
 *   driver.c     the plug-in, the device, its memory and its command queue
 *   processor.c  what a chip does with a program
 *
 * A blob is a program: a header, values, instructions, and the weights.
 */
#ifndef NPU_H
#define NPU_H

#include <backplane/compiler.h>
#include <backplane/hal.h>

#define NPU_RANK 6          /* axes of a value */
#define NPU_LOOPS 10        /* of an instruction */
#define NPU_INSTRUCTIONS 96 /* in the program memory */
#define NPU_VALUES 512
#define NPU_ALIGNMENT 64u /* of memory, in bytes */

/* A dense tensor of f32 in a binding of the call, in a slot of scratch memory
 * or in the data of the program. A size below 0 is parameter -1 - size of the
 * call: the host has evaluated it. */
enum { NPU_BINDING, NPU_SLOT, NPU_DATA, NPU_PLACES };
typedef struct npu_value_t {
  uint32_t place, index, rank;
  int32_t dims[NPU_RANK];
  uint32_t reserved;
  uint64_t offset; /* in the data, in bytes */
} npu_value_t;

/* Where along an axis a loop nest is: offset + i[loop] * factor of two loops.
 */
typedef struct npu_axis_t {
  int32_t offset, loop[2], factor[2];
} npu_axis_t;

typedef struct npu_operand_t {
  int32_t value; /* below 0: `number` in its place */
  float number;
  npu_axis_t axes[NPU_RANK];
} npu_operand_t;

/* All that the NPU does is one loop nest. For each turn of the first `outer`
 * loops, result = combine over the other loops of function(x, y). Outside of x
 * or y a turn is left out: that is padding. */
typedef struct npu_instruction_t {
  uint32_t function, combine; /* numbers in npu_functions */
  uint32_t loops, outer;
  int32_t dims[NPU_LOOPS];   /* as those of values */
  npu_operand_t operands[3]; /* x, y, result */
} npu_instruction_t;

typedef struct npu_function_t {
  const char *name; /* of the op */
  uint32_t operands;
  double (*run)(double x, double y);
  double start; /* what combining starts from */
} npu_function_t;
extern const npu_function_t npu_functions[];
extern const uint32_t npu_function_count;
uint32_t npu_find_function(bp_string_t name); /* the count: there is none */

#define NPU_MAGIC "npu-001"
typedef struct npu_header_t {
  char magic[8];
  uint32_t bindings, parameters, slots, values, instructions, reserved;
  uint64_t data_bytes;
} npu_header_t;

/* A loaded program. */
struct bp_executable_t {
  npu_header_t header;
  const npu_value_t *values;
  const npu_instruction_t *instructions;
  const char *data;
};
typedef struct npu_memory_t {
  char *data;
  uint64_t size;
} npu_memory_t;
/* Both give NULL, or what is wrong. `memory`: the bindings, then scratch. */
const char *npu_read(const void *blob, uint64_t size, bp_executable_t *out);
const char *npu_run(const bp_executable_t *program, const npu_memory_t *memory,
                    const int64_t *parameters);

bp_string_t npu_text(const char *terminated);
int npu_equal(bp_string_t a, const char *b);
/* Puts the text into `error`; returns `status`. */
bp_status_t npu_fail(bp_error_t *error, bp_status_t status, const char *text);
extern const bp_compiler_table_t npu_compiler_table;

#endif /* NPU_H */
