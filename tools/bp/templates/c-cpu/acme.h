/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acme.h: what the files of the plug-in share.
 *
 *   plugin.c        the one exported symbol, initialize, shutdown
 *   compiler.c      which ops the device takes, and the code for one
 *   driver.c        the device, its memory, executables and queues
 *   instructions.c  what the device computes: replace it by your hardware
 *   kernels.c       a kernel registered by the graph that it equals
 */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <backplane/compiler.h>
#include <backplane/hal.h>

#define PLUGIN_NAME "acme"
#define PLUGIN_VENDOR "acme"
#define PLUGIN_VERSION "0.1.0"
/* The lowest minor version of the ABI that has all that is used here. */
#define PLUGIN_REQUIRED_MINOR 2u

#define FORMAT PLUGIN_NAME "-1" /* of blobs: a new number when they change */
#define DEVICE_ID "cpu0"
#define MAX_BINDINGS 16u
#define MAX_PARAMETERS 16u

/* What initialize makes; it is the one device at the same time. */
struct bp_device_t {
  const bp_host_t *host;
};

/* The string of a literal or of a terminated buffer. */
bp_string_t text(const char *terminated);
int equal(bp_string_t a, const char *b);
/* printf into `error` through the host; returns `status`. */
bp_status_t fail(const bp_host_t *host, bp_error_t *error, bp_status_t status,
                 const char *format, ...);
/* Refuses every option: this plug-in has none yet. */
bp_status_t no_options(const bp_host_t *host, const bp_options_t *options,
                       bp_error_t *error);

/* ---- What the device can do ---- */

/* Elements that one work-group of an elementwise instruction computes. */
#define GROUP_ELEMENTS 1024
#define MAX_AXES 4
/* Parameters of an elementwise instruction: MAX_AXES sizes of the result, and
 * for each operand from OPERAND(index) on: the bits of a constant, or -1 where
 * it is a binding, and of this the elements from one index of each axis to the
 * next, 0 where the axis is repeated. */
#define OPERAND(index) (MAX_AXES + (index) * (1 + MAX_AXES))
/* Parameters of matmul: m, k, n, and for each factor from FACTOR(index) on the
 * elements from one row, column and batch to the next. */
#define FACTOR(index) (3 + (index) * 3)

/* An instruction computes one work-group. It finds its bindings (operands, then
 * the result) in call->bindings, and the parameters behind them. */
typedef struct instruction_t {
  const char *name; /* of an op, or of a registered kernel */
  bp_cpu_entry_t run;
  uint32_t bindings;
  uint32_t parameters; /* i64 each */
} instruction_t;
extern const instruction_t instructions[];
extern const uint32_t instruction_count;

/* The code of one op: what `compile` writes and `executable_load` reads. */
typedef struct blob_t {
  char magic[8];
  uint32_t instruction;
  uint32_t inverse; /* ~instruction: damage is found */
} blob_t;
#define BLOB_MAGIC "BLOB-1\0" /* 8 bytes with the end */

/* instruction_count: there is none of this name. */
uint32_t find_instruction(bp_string_t name);
blob_t blob_of(bp_string_t name);

extern const bp_driver_table_t driver_table;
extern const bp_memory_table_t memory_table;
extern const bp_executable_table_t executable_table;
extern const bp_queue_table_t queue_table;
extern const bp_compiler_table_t compiler_table;
extern const bp_kernels_table_t kernels_table;

#endif /* PLUGIN_H */
