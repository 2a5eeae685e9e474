/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: what a kernel receives, and how a vendor registers one.
 *
 * CPU and GPU kernels share the call record: bindings, at most 32 constants of
 * 32 bits, at most 64 parameters of 64 bits, a grid of work-groups and an error
 * word. A constant is the size that a symbol has in this call, a parameter any
 * expression over these sizes.
 */
#ifndef BACKPLANE_KERNEL_H
#define BACKPLANE_KERNEL_H

#include "hal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_MAX_CONSTANTS 32u

/* ---- The error word ---- */

/* A kernel that meets bad data (not bad code) goes on with zeros and sets the
 * error word, if it is still 0, to BP_KERNEL_ERROR(code, op). The call then
 * fails at completion, with the name of the op. `op` is the op id baked into
 * the kernel, or bp_command_dispatch_t.op. A driver completes the work with
 * BP_STATUS_OUT_OF_RANGE (BP_STATUS_UNIMPLEMENTED for turns of loops) and a
 * message of the form that bp_completion_t describes. */
#define BP_KERNEL_ERROR_INDEX 1u    /* an index outside its dimension */
#define BP_KERNEL_ERROR_DIVISION 2u /* an integer division by zero */
#define BP_KERNEL_ERROR_ITERATIONS                                             \
  3u /* more turns of loops than the device has */
#define BP_KERNEL_ERROR(code, op) (((uint32_t)(code) << 24) | (op))

/* ---- Entries of CPU executables ---- */

/* What a CPU entry receives. The same for all work-groups of a dispatch but
 * for `workspace`. Frozen. */
typedef struct bp_cpu_call_t {
  const uint32_t *constants;
  /* Start of each binding, offset applied. Behind them, where the entry has
   * parameters, a pointer to these: const int64_t *. */
  void *const *bindings;
  void *workspace; /* workspace_bytes, this worker's own, 64-aligned */
  uint32_t *error; /* the error word */
  uint32_t grid[3];
  uint32_t reserved;
} bp_cpu_call_t;

/* An entry of the formats "elf-x86_64" and "elf-aarch64": an ELF shared object
 * without undefined symbols, whose exported function of the entry's name
 * computes one work-group. It allocates nothing and calls nothing outside the
 * image. Work-groups of one dispatch run in any order, on several threads. */
typedef void (*bp_cpu_entry_t)(const bp_cpu_call_t *call, uint32_t x,
                               uint32_t y, uint32_t z);

/* ---- Kernels registered by vendors ---- */

/* What a launch function receives. */
#define bp_call_frame_t_TYPE 64u
typedef struct bp_call_frame_t {
  bp_header_t header;
  bp_queue_t *queue;
  const bp_binding_t *bindings; /* operands, then results, as in the graph */
  uint64_t binding_count;
  const uint32_t *constants; /* the graph's symbols, in order */
  uint32_t constant_count;
  uint32_t op; /* id for the error word */
  bp_binding_t workspace;
} bp_call_frame_t;

/* The launch may be recorded into a command buffer. */
#define BP_KERNEL_RECORDABLE 1u

/* A kernel, registered by the graph that it equals: the graph is the pattern
 * that is matched, the documentation, the fallback and the test. */
#define bp_kernel_t_TYPE 65u
typedef struct bp_kernel_t {
  bp_header_t header;
  bp_string_t name; /* "vendor.kernel" */
  uint32_t version;
  uint32_t traits;    /* BP_KERNEL_ */
  bp_string_t target; /* glob over target names */
  bp_bytes_t graph;   /* wire graph, see graph.h */
  void *self;         /* first argument of the functions below */
  /* Native body: enqueues the work on frame->queue. */
  bp_status_t (*launch)(void *self, const bp_call_frame_t *frame,
                        bp_error_t *error);
  /* (optional, default: 0) Scratch bytes for these symbol values. */
  uint64_t (*workspace)(void *self, const uint32_t *constants,
                        uint32_t constant_count);
  /* (optional, default: preferred to code generation) Estimated ns. */
  double (*cost)(void *self, const uint32_t *constants,
                 uint32_t constant_count);
} bp_kernel_t;

typedef struct bp_kernel_sink_t {
  bp_status_t (*put)(void *context, const bp_kernel_t *kernel);
  void *context;
} bp_kernel_sink_t;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_KERNEL_H */
