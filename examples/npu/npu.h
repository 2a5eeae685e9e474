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
#include <backplane/helpers.h>

#define NPU_RANK 6          /* axes of a value */
#define NPU_INSTRUCTIONS 96 /* in the program memory */
#define NPU_VALUES 512
#define NPU_SETTINGS 7

/* A dense tensor of f32: binding `index` of the call, the next part of the
 * scratch memory, or byte `index` and on of the data of the program. A size
 * below 0 is parameter -1 - size of the call: the host has evaluated it. */
enum { NPU_BINDING, NPU_SCRATCH, NPU_DATA };
typedef struct npu_value_t {
  uint32_t place, index, rank;
  int32_t dims[NPU_RANK];
} npu_value_t;

typedef struct npu_instruction_t {
  uint32_t op;                  /* number in npu_ops */
  uint32_t operands[2], result; /* numbers of values */
  int32_t settings[NPU_SETTINGS];
} npu_instruction_t;

#define NPU_MAGIC "npu-002"
typedef struct npu_header_t {
  char magic[8];
  uint32_t bindings, parameters, values, instructions;
  uint64_t data_bytes;
} npu_header_t; /* the last binding is scratch memory */

/* A loaded program. */
struct bp_executable_t {
  npu_header_t header;
  const npu_value_t *values;
  const npu_instruction_t *instructions;
  const char *data;
};

/* Both give NULL, or what is wrong. A buffer is its memory. */
const char *npu_read(const void *blob, uint64_t size, bp_executable_t *out);
const char *npu_run(const bp_executable_t *program,
                    const bp_binding_t *bindings, const int64_t *parameters);

/* The names of the ops that there are instructions for. */
#define NPU_OPS 9u
const char *npu_op_name(uint32_t op);
uint32_t npu_find_op(bp_string_t name); /* NPU_OPS: there is none */

/* Puts the text into `error`; returns `status`. */
bp_status_t npu_fail(bp_error_t *error, bp_status_t status, const char *text);
extern const bp_compiler_table_t npu_compiler_table;

#endif /* NPU_H */
