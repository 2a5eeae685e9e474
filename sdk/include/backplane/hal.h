/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hal.h: what a driver implements so that programs run on its device.
 *
 * Fourteen functions are required: initialize and shutdown (plugin.h) and the
 * twelve of the four tables below. Everything else is optional and has a host
 * fallback, named at its declaration.
 *
 * The host validates every call before the driver sees it: handles belong
 * together, ranges lie inside their buffers, alignment and limits hold, counts
 * of bindings, constants and parameters match the entry, reserved fields are
 * zero. A driver does not check these again.
 *
 * Order: the host calls queue_execute for the work of one queue in order, and
 * work of one call runs as if one command after another. Commands between two
 * barriers may overlap.
 *
 * Threads: sessions share a device, so the functions that take a bp_device_t
 * are called from several threads at once, for distinct buffers, executables
 * and queues; a driver guards what they share. Calls on one queue or one
 * command buffer are serialised.
 */
#ifndef BACKPLANE_HAL_H
#define BACKPLANE_HAL_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles, owned by the driver, opaque to the host. */
typedef struct bp_device_t bp_device_t;
typedef struct bp_buffer_t bp_buffer_t;
typedef struct bp_executable_t bp_executable_t;
typedef struct bp_queue_t bp_queue_t;
typedef struct bp_semaphore_t bp_semaphore_t;
typedef struct bp_command_buffer_t bp_command_buffer_t;

/* ---- Devices ---- */

#define BP_DEVICE_KIND_CPU 1u
#define BP_DEVICE_KIND_GPU 2u
#define BP_DEVICE_KIND_NPU 3u
#define BP_DEVICE_KIND_OTHER 4u

/* The device is an emulator: reports say so and benchmarks refuse it. */
#define BP_DEVICE_EMULATED 1u
/* Host and device see the same memory: buffer_write and buffer_read are
 * plain copies, and the "memory2" table can map and import. */
#define BP_DEVICE_UNIFIED_MEMORY 2u
/* queue_execute does the work before it returns. The host then calls it on a
 * thread of its own where its caller must not wait. */
#define BP_DEVICE_SYNCHRONOUS 4u
/* Kernels reach memory of the host over a bus. They are then given buffers of
 * BP_SPACE_DEVICE only: staging buffers and imported memory are for copies,
 * which the host records before and after the work. */
#define BP_DEVICE_DISCRETE 8u

/* A device as listed by `enumerate`. All pointers are valid during the sink
 * call only; the host copies. */
#define bp_device_info_t_TYPE 16u
typedef struct bp_device_info_t {
  bp_header_t header;
  bp_string_t id;   /* stable between runs, the path part of a device URI */
  bp_string_t name; /* for people */
  uint32_t kind;    /* BP_DEVICE_KIND_ */
  uint32_t flags;   /* BP_DEVICE_ */
  /* Blob formats that executable_load takes, best first. */
  const bp_string_t *formats;
  uint64_t format_count;
  /* Features that a variant can require, for instance "avx512f". */
  const bp_string_t *features;
  uint64_t feature_count;
  uint64_t max_buffer_size;   /* bytes, 0: unknown */
  uint64_t max_binding_range; /* bytes of one binding, 0: unlimited */
  uint64_t binding_alignment; /* of binding offsets, a power of two, <= 256 */
  uint64_t memory_bytes;      /* of the device, 0: unknown */
  uint32_t max_bindings;      /* per dispatch */
  uint32_t max_constants;     /* u32 each, at most 32 */
  uint32_t max_grid[3];       /* work-groups, 0: unlimited */
  uint32_t worker_count;      /* work-groups that make it busy, for people */
  bp_string_t identity;       /* "pci:…" or "uuid:…", empty when none */
  /* Why the device cannot be used; empty when it can. A refused device is
   * listed, so that the user learns the reason. */
  bp_string_t refusal;
  /* What else is known of the device; keys are distinct. Variants compare the
   * numbers among them (bp_target_t.required_features). */
  const bp_property_t *properties;
  uint64_t property_count;
  /* What an entry or a dispatch may have beyond bindings, constants and grid.
   * 0: nothing; the host refuses what asks for more. */
  uint32_t max_parameters;   /* i64 each, at most BP_MAX_PARAMETERS */
  uint32_t max_cluster;      /* work-groups of a cluster */
  uint64_t max_shared_bytes; /* dynamic shared memory of a work-group */
  uint64_t max_driver_data;  /* bytes of an entry, at most BP_MAX_DRIVER_DATA */
  uint32_t subgroup_sizes; /* that entries may ask for: powers of two, or-ed */
  uint32_t reserved;
} bp_device_info_t;

typedef struct bp_device_sink_t {
  bp_status_t (*put)(void *context, const bp_device_info_t *info);
  void *context;
} bp_device_sink_t;

#define bp_driver_table_t_TYPE 17u
struct bp_driver_table_t {
  bp_header_t header;
  /* Lists the devices. `options` are the query part of the URI, if any.
   * No device is not an error. */
  bp_status_t (*enumerate)(void *self, const bp_options_t *options,
                           const bp_device_sink_t *sink, bp_error_t *error);
  /* Opens the device with this id (as listed). */
  bp_status_t (*open)(void *self, bp_string_t id, const bp_options_t *options,
                      bp_device_t **out_device, bp_error_t *error);
  /* After every handle made from it is destroyed. */
  void (*close)(bp_device_t *device);
};

/* ---- Memory ---- */

/* Memory spaces: what the host will do with a buffer. A driver may give more
 * than was asked for. */
#define BP_SPACE_DEVICE 0u  /* kernels only; write and read may be slow */
#define BP_SPACE_STAGING 1u /* written and read by the host often */

#define bp_memory_table_t_TYPE 18u
struct bp_memory_table_t {
  bp_header_t header;
  /* `size` bytes, at least 1, contents undefined. The start is aligned to
   * `alignment` (a power of two) and to binding_alignment. */
  bp_status_t (*buffer_allocate)(bp_device_t *device, uint32_t space,
                                 uint64_t size, uint64_t alignment,
                                 bp_buffer_t **out_buffer, bp_error_t *error);
  void (*buffer_free)(bp_device_t *device, bp_buffer_t *buffer);
  /* Copy between host memory and [offset, offset + size). They block. The host
   * has waited for earlier users of the buffer. Thread-safe on a device for
   * distinct buffers. */
  bp_status_t (*buffer_write)(bp_device_t *device, bp_buffer_t *buffer,
                              uint64_t offset, const void *data, uint64_t size,
                              bp_error_t *error);
  bp_status_t (*buffer_read)(bp_device_t *device, bp_buffer_t *buffer,
                             uint64_t offset, void *data, uint64_t size,
                             bp_error_t *error);
};

/* (optional table "backplane.memory2", default: the host copies) */
#define bp_memory2_table_t_TYPE 19u
typedef struct bp_memory2_table_t {
  bp_header_t header;
  /* A host pointer to the start of `buffer`, valid until buffer_free. */
  bp_status_t (*buffer_map)(bp_device_t *device, bp_buffer_t *buffer,
                            void **out_pointer, bp_error_t *error);
  /* A buffer over memory of the host, which stays alive and keeps its size
   * until buffer_free. `pointer` has any alignment that the device's
   * binding_alignment allows. `read_only`: kernels will not write it. */
  bp_status_t (*buffer_import)(bp_device_t *device, void *pointer,
                               uint64_t size, uint8_t read_only,
                               bp_buffer_t **out_buffer, bp_error_t *error);
} bp_memory2_table_t;

/* ---- Executables ---- */

#define BP_ACCESS_READ 1u
#define BP_ACCESS_WRITE 2u

#define BP_MAX_PARAMETERS 64u       /* of an entry */
#define BP_MAX_DRIVER_DATA 1048576u /* bytes of an entry */

/* One entry point of a blob, as its compiler described it. */
#define bp_entry_t_TYPE 20u
typedef struct bp_entry_t {
  bp_header_t header;
  bp_string_t name;
  const uint8_t *binding_access; /* BP_ACCESS_ bits, one per binding */
  uint32_t binding_count;
  uint32_t constant_count;    /* u32 each */
  uint32_t workgroup_size[3]; /* invocations; 1, 1, 1 on CPUs */
  uint32_t subgroup_size;     /* that it must run with, 0: any */
  uint64_t workspace_bytes;   /* scratch per worker, contents undefined */
  /* Written by its compiler, read by its driver and nobody else: the layout of
   * arguments, registers, what tensor maps are made of. Valid during
   * executable_load only. */
  bp_bytes_t driver_data;
  uint32_t parameter_count; /* i64 each */
  uint32_t reserved;
} bp_entry_t;

#define bp_executable_info_t_TYPE 21u
typedef struct bp_executable_info_t {
  bp_header_t header;
  bp_string_t format; /* one of bp_device_info_t.formats */
  bp_bytes_t blob;    /* valid during executable_load only */
  const bp_entry_t *const *entries;
  uint64_t entry_count;
  /* With the format "native": the function of each entry (kernel.h), in place
   * of a blob. The functions outlive the executable, the structs do not. */
  const struct bp_native_function_t *const *functions;
} bp_executable_info_t;

#define bp_executable_table_t_TYPE 22u
struct bp_executable_table_t {
  bp_header_t header;
  /* Makes a blob runnable. A damaged or foreign blob is refused with
   * BP_STATUS_INVALID_ARGUMENT and a reason. */
  bp_status_t (*executable_load)(bp_device_t *device,
                                 const bp_executable_info_t *info,
                                 bp_executable_t **out_executable,
                                 bp_error_t *error);
  void (*executable_unload)(bp_device_t *device, bp_executable_t *executable);
};

/* ---- Queues and commands ---- */

/* A range of a buffer. With `buffer` NULL the buffer is entry `slot` of the
 * binding table that is given when a command buffer runs. Frozen. */
typedef struct bp_binding_t {
  bp_buffer_t *buffer;
  uint64_t offset; /* bytes, a multiple of binding_alignment for a dispatch */
  uint64_t length; /* bytes */
  uint32_t slot;
  uint32_t reserved;
} bp_binding_t;

/* Commands. Each starts with a header, whose type says which it is. */
#define bp_command_dispatch_t_TYPE 32u
typedef struct bp_command_dispatch_t {
  bp_header_t header;
  bp_executable_t *executable;
  uint32_t entry;   /* index in bp_executable_info_t.entries */
  uint32_t op;      /* id that the error word reports, see kernel.h */
  uint32_t grid[3]; /* work-groups, each at least 1 */
  uint32_t constant_count;
  const bp_binding_t *bindings;
  uint64_t binding_count;
  const uint32_t *constants;
  /* Scratch per worker that this grid and these constants need; 0: what the
   * entry says. */
  uint64_t workspace_bytes;
  /* Sizes, strides and offsets of this call that may need 64 bits. */
  const int64_t *parameters;
  uint32_t parameter_count;
  /* Work-groups of a cluster, of whose multiples the grid is made; 0: as 1. */
  uint32_t cluster[3];
  /* Dynamic shared memory of each work-group, beside what the entry declares
   * itself. */
  uint64_t shared_bytes;
} bp_command_dispatch_t;

#define bp_command_copy_t_TYPE 33u
typedef struct bp_command_copy_t {
  bp_header_t header;
  bp_binding_t source; /* same length as target; they do not overlap */
  bp_binding_t target;
} bp_command_copy_t;

#define bp_command_fill_t_TYPE 34u
typedef struct bp_command_fill_t {
  bp_header_t header;
  bp_binding_t target;
  uint32_t pattern;      /* repeated; its low pattern_size bytes count */
  uint32_t pattern_size; /* 1, 2 or 4, divides offset and length */
} bp_command_fill_t;

/* Later commands see all writes of earlier ones. */
#define bp_command_barrier_t_TYPE 35u
typedef struct bp_command_barrier_t {
  bp_header_t header;
} bp_command_barrier_t;

/* Called exactly once when the commands are done or have failed, on any
 * thread, possibly before queue_execute returns. It does not block and does
 * not call the driver. When a kernel has set the error word, the message
 * starts with "op N: ", N being the op in the word or, if that is 0,
 * bp_command_dispatch_t.op; the host puts the op's name in its place. Frozen.
 */
typedef struct bp_completion_t {
  void (*done)(void *context, bp_status_t status, bp_string_t message);
  void *context;
} bp_completion_t;

#define BP_QUEUE_COMPUTE 0u
/* Gets copies and fills only. Sessions have none: their copies are ordered with
 * their dispatches on one queue. */
#define BP_QUEUE_TRANSFER 1u

#define bp_queue_table_t_TYPE 23u
struct bp_queue_table_t {
  bp_header_t header;
  bp_status_t (*queue_create)(bp_device_t *device, uint32_t queue_class,
                              bp_queue_t **out_queue, bp_error_t *error);
  /* After all its work has completed. */
  void (*queue_destroy)(bp_device_t *device, bp_queue_t *queue);
  /* Runs `count` commands in order after all earlier work of the queue, then
   * completes. The array and the commands are valid during the call only. On
   * a failure status `completion` is not called. Work that fails while it runs
   * completes with its status; the queue stays usable unless the status is
   * BP_STATUS_UNAVAILABLE (device lost). */
  bp_status_t (*queue_execute)(bp_queue_t *queue,
                               const bp_header_t *const *commands,
                               uint64_t count,
                               const bp_completion_t *completion,
                               bp_error_t *error);
};

/* ---- Optional: native timeline semaphores ---- */

/* A point on a timeline: the semaphore has reached `value`. Frozen. */
typedef struct bp_timepoint_t {
  bp_semaphore_t *semaphore;
  uint64_t value;
} bp_timepoint_t;

/* (optional table "backplane.semaphore", default: the host turns waits and
 * signals into ordered queue_execute calls) Values only grow. */
#define bp_semaphore_table_t_TYPE 24u
typedef struct bp_semaphore_table_t {
  bp_header_t header;
  bp_status_t (*semaphore_create)(bp_device_t *device, uint64_t initial,
                                  bp_semaphore_t **out_semaphore,
                                  bp_error_t *error);
  void (*semaphore_destroy)(bp_device_t *device, bp_semaphore_t *semaphore);
  /* Current value, or the failure that was signalled through it.
   * Thread-safe. */
  bp_status_t (*semaphore_query)(bp_device_t *device, bp_semaphore_t *semaphore,
                                 uint64_t *out_value, bp_error_t *error);
  /* Signal from the host. Thread-safe. */
  bp_status_t (*semaphore_signal)(bp_device_t *device,
                                  bp_semaphore_t *semaphore, uint64_t value,
                                  bp_error_t *error);
  /* Blocks until the value is reached, at most `timeout_ns`;
   * BP_STATUS_DEADLINE_EXCEEDED otherwise. Thread-safe. */
  bp_status_t (*semaphore_wait)(bp_device_t *device, bp_semaphore_t *semaphore,
                                uint64_t value, uint64_t timeout_ns,
                                bp_error_t *error);
  /* queue_execute that starts when all waits are reached and signals when
   * done; a failure travels through the signalled semaphores. Does not
   * block. */
  bp_status_t (*queue_submit)(bp_queue_t *queue, const bp_timepoint_t *waits,
                              uint64_t wait_count,
                              const bp_timepoint_t *signals,
                              uint64_t signal_count,
                              const bp_header_t *const *commands,
                              uint64_t count, bp_error_t *error);
} bp_semaphore_table_t;

/* ---- Optional: command buffers ---- */

/* (optional table "backplane.command_buffer", default: the host keeps the
 * commands and passes them to queue_execute each time) */
#define bp_command_buffer_table_t_TYPE 25u
typedef struct bp_command_buffer_table_t {
  bp_header_t header;
  /* Records commands once. Bindings may name slots in place of buffers. */
  bp_status_t (*command_buffer_create)(bp_device_t *device,
                                       const bp_header_t *const *commands,
                                       uint64_t count,
                                       bp_command_buffer_t **out_commands,
                                       bp_error_t *error);
  void (*command_buffer_destroy)(bp_device_t *device,
                                 bp_command_buffer_t *commands);
  /* queue_execute of what was recorded; slot i is table[i], whose offset is
   * added to that of the binding. */
  bp_status_t (*command_buffer_execute)(bp_queue_t *queue,
                                        bp_command_buffer_t *commands,
                                        const bp_binding_t *table,
                                        uint64_t table_count,
                                        const bp_completion_t *completion,
                                        bp_error_t *error);
} bp_command_buffer_table_t;

/* ---- Optional: when each command ran ---- */

/* On the clock CLOCK_MONOTONIC, as near as the driver can tell; both 0: not
 * known. Frozen. */
typedef struct bp_timestamp_t {
  uint64_t begin_ns;
  uint64_t end_ns;
} bp_timestamp_t;

/* (optional table "backplane.timestamps", default: while it traces, the host
 * hands over one command at a time and looks at its own clock) */
#define bp_timestamps_table_t_TYPE 26u
typedef struct bp_timestamps_table_t {
  bp_header_t header;
  /* queue_execute that also tells when each command ran. `times` has `count`
   * entries, zero at first, that stay valid until the completion is called;
   * the driver writes none of them after that. Used while a trace is on. */
  bp_status_t (*queue_execute_timed)(bp_queue_t *queue,
                                     const bp_header_t *const *commands,
                                     uint64_t count, bp_timestamp_t *times,
                                     const bp_completion_t *completion,
                                     bp_error_t *error);
} bp_timestamps_table_t;

/* ---- Optional: handles of the device's own API ---- */

/* What libraries of the device's vendor are called with. Valid while the device
 * is open. */
#define bp_device_handles_t_TYPE 27u
typedef struct bp_device_handles_t {
  bp_header_t header;
  /* Whose handles these are, which says what `context` and the queue of a
   * launch are: "cuda" is CUDA's driver API. */
  bp_string_t api;
  void *context; /* "cuda": the CUcontext */
  /* The function of the API with this name, of the library that the driver
   * itself calls; NULL: it has none. "cuda": a symbol of libcuda.so.1, for
   * instance "cuLaunchKernel". Thread-safe. */
  void *(*find)(void *find_self, const char *name);
  void *find_self;
} bp_device_handles_t;

/* (optional table "backplane.interop", default: registered kernels that put
 * work into queues of the device are refused) A driver that has it lists the
 * format "native" and calls bp_native_function_t.launch (kernel.h). */
#define bp_interop_table_t_TYPE 28u
typedef struct bp_interop_table_t {
  bp_header_t header;
  /* The handles of an open device. `out_handles` comes zeroed with its header
   * set. Thread-safe. */
  bp_status_t (*device_handles)(bp_device_t *device,
                                bp_device_handles_t *out_handles,
                                bp_error_t *error);
} bp_interop_table_t;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_HAL_H */
