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

/* One dispatch of a registered kernel on a device with handles (hal.h). Valid
 * during the call. */
#define bp_native_launch_t_TYPE 69u
typedef struct bp_native_launch_t {
  bp_header_t header;
  const bp_device_handles_t *device;
  void *queue;              /* where the work goes; "cuda": the CUstream */
  const uint64_t *bindings; /* addresses on the device; 0: no byte is bound */
  const uint64_t *lengths;  /* bytes of each */
  uint64_t binding_count;
  const int64_t *parameters;
  uint32_t parameter_count;
  uint32_t grid[3];
  uint64_t scratch; /* address of scratch_bytes, contents undefined */
  uint64_t scratch_bytes;
  uint64_t error_word; /* address of the error word, an uint32_t that is 0 */
} bp_native_launch_t;

/* A function of this process in the place of code in a blob, for a device that
 * lists the format "native". The device calls the one that is of its kind. */
#define bp_native_function_t_TYPE 66u
typedef struct bp_native_function_t {
  bp_header_t header;
  /* On a CPU: computes one work-group, as the entry of a CPU executable does.
   * Behind the bindings are two more pointers: to the parameters (NULL where
   * the entry has none), and `self`. It may call other libraries, and starts
   * no threads of its own. */
  bp_cpu_entry_t cpu;
  void *self;
  /* On a device with handles: puts the work of one dispatch, all of its grid,
   * into the queue behind what is there, and returns without waiting for it.
   * What is put there may run later and many times, with the same addresses:
   * the device may be recording (a CUDA graph). So it neither reads nor writes
   * memory of the device itself, and allocates none. The context is the
   * thread's current one. After a failure nothing of the dispatch is in the
   * queue; the status and the text in `error` reach the application.
   * Thread-safe. */
  bp_status_t (*launch)(void *self, const bp_native_launch_t *launch,
                        bp_error_t *error);
} bp_native_function_t;

/* A kernel, registered by the graph that it equals: the graph is the pattern
 * that is matched, the documentation, the fallback and the test. */
#define bp_kernel_t_TYPE 68u
typedef struct bp_kernel_t {
  bp_header_t header;
  /* Name, version, conditions and graph, as docs/reference/kernels.md says. */
  bp_string_t text;
  bp_string_t target; /* glob over target names */
  /* Estimated ns of one worker, an expression over the text's symbols, its
   * variables of values, has_NAME (see `body`) and `generated`, the compiler's
   * estimate of generated code: the kernel is used where it is less than that,
   * at the largest sizes that the model allows. "generated * 9 floordiv 10"
   * says that it takes 0.9 of the time. Empty: it is preferred to generated
   * code wherever it matches. */
  bp_string_t cost;
  /* How it runs, as a compiler gives a dispatch (compiler.h), with these
   * differences: bindings are the inputs of the text, then its outputs;
   * expressions are over the symbols of the text; entries have no constants but
   * parameters. An input that may be absent is bound to the bytes of the first
   * output where it is; the symbol has_NAME is 1 where input NAME is present,
   * else 0, and that of a variable of values is the number of its value, from
   * 0. A blob is in the format of the target. Without one the entries are
   * functions that `resolve` returns where the program runs; where it cannot,
   * generated code runs. */
  const struct bp_compiled_t *body;
  /* ---- since minor version 4 ---- */
  /* (optional, default: none) MLIR text in the place of `body`, which is NULL
   * then: it takes the place of what the compiler would lower, and the target's
   * pipelines make code of it, for every target that has an emitter. One module
   * with a function of the kernel's name, whose arguments are
   *
   *   a tensor for each input, then for each output, in the order of the text;
   *   an index for each symbol, then for each variable of values;
   *   an index for each optional input, has_NAME,
   *
   * and whose results are the outputs. What a tensor for an output holds is
   * undefined: it is where the result may be computed. An input that is absent
   * has no elements. `!T` is the dtype that the variable T stands for. The page
   * docs/reference/kernels.md has the dialects. */
  bp_string_t ir;
} bp_kernel_t;

typedef struct bp_kernel_sink_t {
  bp_status_t (*put)(void *context, const bp_kernel_t *kernel);
  void *context;
} bp_kernel_sink_t;

/* A set of kernels: the library `kernels` of a manifest, which works without
 * the hardware. Thread-safe. */
#define bp_kernels_table_t_TYPE 67u
struct bp_kernels_table_t {
  bp_header_t header;
  /* Lists the kernels. Required. */
  bp_status_t (*describe)(void *self, const bp_kernel_sink_t *sink,
                          bp_error_t *error);
  /* (optional, default: no native kernels) The function of entry `entry` of a
   * kernel without a blob, on this device; valid until shutdown.
   * BP_STATUS_NOT_FOUND: there is none here, for instance because the device
   * lacks a feature; the message says why. The chain behind device->header has
   * the bp_device_handles_t of a device with handles (bp_device_handles in
   * helpers.h). */
  bp_status_t (*resolve)(void *self, bp_string_t kernel, uint32_t version,
                         bp_string_t entry, const bp_device_info_t *device,
                         bp_native_function_t *out_function, bp_error_t *error);
};

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_KERNEL_H */
