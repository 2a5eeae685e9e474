/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backplane.h: for applications. Load, compile, run.
 *
 *   bp_context_create          finds plug-ins and devices
 *   bp_artifact_compile        model file -> artifact (needs the compiler
 *                              library, loaded on first use)
 *   bp_artifact_compile_graph  portable graph -> artifact
 *   bp_artifact_open           .bpx file -> artifact (needs no compiler)
 *   bp_session_create          artifact + device -> session
 *   bp_session_submit          starts one call, asynchronous
 *   bp_session_run             submit and wait
 *   bp_session_run_values      the same with tensors anywhere: value.h
 *
 * Handles are thread-safe to share where a comment says so; functions that
 * fail fill `error`, which the application creates once with bp_error_create.
 * A NULL where something is needed, a count beyond all reason or a handle of
 * another kind is BP_STATUS_INVALID_ARGUMENT, an unknown flag
 * BP_STATUS_UNIMPLEMENTED; a function that
 * gives no status then gives 0 or nothing.
 */
#ifndef BACKPLANE_BACKPLANE_H
#define BACKPLANE_BACKPLANE_H

#include "hal.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BP_API __attribute__((visibility("default")))
#else
#define BP_API
#endif

typedef struct bp_context_t bp_context_t;
typedef struct bp_artifact_t bp_artifact_t;
typedef struct bp_session_t bp_session_t;
typedef struct bp_call_t bp_call_t;

/* "0.1.0" */
BP_API bp_string_t bp_version(void);

/* ---- Errors ---- */

BP_API bp_error_t *bp_error_create(void);
BP_API void bp_error_destroy(bp_error_t *error);
/* Text of the last failure that used this error; lives until the next one. */
BP_API bp_string_t bp_error_message(const bp_error_t *error);

/* ---- Context ---- */

/* Receives log lines and the progress of long work. Called from any thread.
 * Frozen. */
typedef struct bp_log_sink_t {
  void (*log)(void *context, uint32_t level, bp_string_t message);
  /* (optional) `done` of `total` steps of `what`. */
  void (*progress)(void *context, bp_string_t what, uint64_t done,
                   uint64_t total);
  void *context;
} bp_log_sink_t;

#define bp_context_options_t_TYPE 128u
typedef struct bp_context_options_t {
  bp_header_t header;
  /* Manifest files in place of the search path / in front of it. */
  const bp_string_t *plugin_files;
  uint64_t plugin_file_count;
  const bp_string_t *add_plugin_files;
  uint64_t add_plugin_file_count;
  /* Globs over plug-in names; an empty select means all. */
  const bp_string_t *select;
  uint64_t select_count;
  const bp_string_t *disable;
  uint64_t disable_count;
  bp_string_t cache_dir; /* empty: the user's cache folder; "-": no cache */
  uint32_t threads;      /* workers of the pool, 0: one per core */
  uint32_t reserved;
  bp_log_sink_t log;
  /* Describes named workers (docs/howto/run-on-another-machine.md), empty:
   * backplane/workers.json in the user's configuration folder. */
  bp_string_t workers_file;
  /* Folders below which libraries, manifests, worker files and the cache are
   * used whoever owns or may write them. Elsewhere only the user and root may
   * be able to (docs/howto/files-and-trust.md). Absolute paths. */
  const bp_string_t *trusted_dirs;
  uint64_t trusted_dir_count;
  uint32_t flags; /* BP_CONTEXT_ */
  uint32_t reserved2;
} bp_context_options_t;

/* Artifact files are mapped, so that processes share their memory; without it
 * they are copied. The application sees to it that nobody changes or shortens
 * such a file while it is open, which would end the process. */
#define BP_CONTEXT_MAP_ARTIFACTS 1u

/* Reads BACKPLANE_PLUGIN_FILES, BACKPLANE_ADD_PLUGIN_FILES,
 * BACKPLANE_PLUGINS_SELECT, BACKPLANE_PLUGINS_DISABLE, BACKPLANE_CACHE_DIR,
 * BACKPLANE_WORKERS, BACKPLANE_TRUSTED_DIRS, BACKPLANE_MAP_ARTIFACTS and
 * BACKPLANE_THREADS into `options`, for tools to call: the one place that reads
 * the environment, but for BACKPLANE_DUMP_DISPATCHES, which the compiler reads.
 * Nothing is read in a set-user-id process. A number that is none makes
 * bp_context_create fail. Members that the struct of the caller does not have
 * are left out. The strings live as long as the process. Not thread-safe. */
BP_API void bp_context_options_from_env(bp_context_options_t *options);

/* Finds manifests, filters them, loads the plug-ins that are left. A plug-in
 * that cannot be used is not an error; bp_context_devices says why.
 * Thread-safe to share. Destroy it after everything made from it. */
BP_API bp_status_t bp_context_create(const bp_context_options_t *options,
                                     bp_context_t **out_context,
                                     bp_error_t *error);
BP_API void bp_context_destroy(bp_context_t *context);

/* One line of the device list: a device, or a plug-in that gave none. */
#define bp_device_listing_t_TYPE 129u
typedef struct bp_device_listing_t {
  bp_header_t header;
  bp_string_t uri;    /* "host://cpu"; empty when there is no device */
  bp_string_t plugin; /* name */
  bp_string_t name;
  bp_string_t manifest;         /* path of the manifest */
  bp_string_t refusal;          /* why it cannot be used, empty when it can */
  const bp_device_info_t *info; /* NULL when there is no device */
  /* ABI versions of the driver's library, of major version BP_ABI_MAJOR: that
   * it was built with and that it requires; 0 when it is not loaded here. */
  uint32_t built_minor;
  uint32_t required_minor;
} bp_device_listing_t;

typedef struct bp_device_listing_sink_t {
  bp_status_t (*put)(void *context, const bp_device_listing_t *listing);
  void *context;
} bp_device_listing_sink_t;

BP_API bp_status_t bp_context_devices(bp_context_t *context,
                                      const bp_device_listing_sink_t *sink,
                                      bp_error_t *error);

/* The one device that `device_uri` means: what its driver says of it with the
 * options of the URI ("cuda://emu?sm=90"). It is not opened. Not for devices
 * behind a worker. Fails where no such device can be used. */
BP_API bp_status_t bp_context_device(bp_context_t *context,
                                     bp_string_t device_uri,
                                     const bp_device_listing_sink_t *sink,
                                     bp_error_t *error);

/* The names of the workers that there are: predefined ones and those of
 * workers_file. A device behind one has the URI "worker:NAME/URI", which stands
 * wherever a device is asked for. */
BP_API bp_status_t bp_context_workers(bp_context_t *context,
                                      const bp_string_sink_t *sink,
                                      bp_error_t *error);
/* The devices that a worker has, which is started for this. */
BP_API bp_status_t bp_context_worker_devices(
    bp_context_t *context, bp_string_t name,
    const bp_device_listing_sink_t *sink, bp_error_t *error);

/* One target of a compiler plug-in, as bp_context_targets lists it for a
 * device. Pointers are valid during the sink call only. */
#define bp_target_listing_t_TYPE 133u
typedef struct bp_target_listing_t {
  bp_header_t header;
  bp_string_t plugin; /* name of the compiler plug-in */
  bp_string_t misfit; /* why the device cannot run it, empty when it can */
  const struct bp_target_t *target; /* of compiler.h */
  uint8_t chosen; /* 1: compiling for the device's driver takes this one */
  uint8_t reserved[7];
} bp_target_listing_t;

typedef struct bp_target_listing_sink_t {
  bp_status_t (*put)(void *context, const bp_target_listing_t *listing);
  void *context;
} bp_target_listing_sink_t;

/* Lists every target of every compiler plug-in with what it declares, and
 * whether the device with this URI can run it; without a URI no device runs
 * any. */
BP_API bp_status_t bp_context_targets(bp_context_t *context,
                                      bp_string_t device_uri,
                                      const bp_target_listing_sink_t *sink,
                                      bp_error_t *error);

/* A kernel of a set, as bp_context_kernels lists it, or a set that could not be
 * listed. Pointers are valid during the sink call only. */
#define bp_kernel_listing_t_TYPE 136u
typedef struct bp_kernel_listing_t {
  bp_header_t header;
  bp_string_t plugin;  /* name of the set */
  bp_string_t version; /* of the set */
  bp_string_t refusal; /* why `describe` failed, empty when it did not */
  const struct bp_kernel_t *kernel; /* of kernel.h; NULL with a refusal */
} bp_kernel_listing_t;

typedef struct bp_kernel_listing_sink_t {
  bp_status_t (*put)(void *context, const bp_kernel_listing_t *listing);
  void *context;
} bp_kernel_listing_sink_t;

/* Lists the kernels of every set, for all targets. Their texts and bodies are
 * as the sets describe them; compiling says what is wrong with one. */
BP_API bp_status_t bp_context_kernels(bp_context_t *context,
                                      const bp_kernel_listing_sink_t *sink,
                                      bp_error_t *error);

/* ---- Traces ---- */

/* From now on, what the context does goes into one timeline: opening and
 * compiling, sessions, calls, transfers, and every dispatch with its bytes and,
 * where they are known, FLOPs. Sessions made before have no names for their
 * dispatches. The time of each command is the device's own where its driver
 * tells it; else commands run one at a time while the trace is on. Fails when a
 * trace is on, or when no file can be made in the folder of `path`. */
BP_API bp_status_t bp_context_trace_begin(bp_context_t *context,
                                          bp_string_t path, bp_error_t *error);
/* Ends the trace and writes it to its path as Chrome trace JSON, which Perfetto
 * reads too. The file appears complete or not at all. Destroying the context
 * does the same, silently. Fails when no trace is on. */
BP_API bp_status_t bp_context_trace_end(bp_context_t *context,
                                        bp_error_t *error);

/* ---- Artifacts ---- */

/* The values that calls give a symbolic dim, both ends inclusive. Frozen. */
typedef struct bp_dim_range_t {
  bp_string_t symbol;
  int64_t minimum;
  int64_t maximum;
} bp_dim_range_t;

/* Keep the portable graph and all its weights in the artifact, so that it can
 * be compiled for further targets where it runs: BP_SESSION_JIT. */
#define BP_COMPILE_EMBED_GRAPH 1u
/* What a target of another driver cannot run goes to this machine's host. */
#define BP_COMPILE_FALLBACK 2u

#define bp_compile_options_t_TYPE 130u
typedef struct bp_compile_options_t {
  bp_header_t header;
  /* Target names; none: the targets that this machine's devices can run. */
  const bp_string_t *targets;
  uint64_t target_count;
  /* What the artifact is for when no target is named, as in
   * bp_session_options_t.device; empty: "host". Each driver gives its best
   * target. */
  bp_string_t driver;
  bp_string_t dump_dir;    /* IR after each stage, empty: none */
  bp_string_t output_path; /* .bpx to write, empty: in the cache only */
  /* Limits of symbolic dims: memory is then planned when compiling, and calls
   * outside of them are refused. */
  const bp_dim_range_t *dims;
  uint64_t dim_count;
  uint32_t flags; /* BP_COMPILE_ */
  uint32_t reserved;
  /* Limits for models of others, 0: none. With one, the model is read and
   * compiled by bp-compile-worker, a process of its own: whatever a model does
   * to it is a status here, BP_STATUS_RESOURCE_EXHAUSTED for memory and
   * BP_STATUS_DEADLINE_EXCEEDED for time. */
  uint64_t max_memory;       /* bytes of private memory */
  uint64_t max_milliseconds; /* from the start of the process on */
  /* Which registered kernels (kernel.h) there are: empty: all, wherever they
   * match; "-": none; "SET.NAME": this one, which has to compute all that the
   * graph asks for, or compiling fails with the reason. Where it is a function
   * that is absent at run time, making the session fails: there is no other
   * code. */
  bp_string_t kernel;
} bp_compile_options_t;

/* Compiles a model file, .onnx or .bpg (a portable graph as wire bytes), or
 * takes it from the cache. The output file appears complete or not at all. */
BP_API bp_status_t bp_artifact_compile(bp_context_t *context,
                                       bp_string_t model_path,
                                       const bp_compile_options_t *options,
                                       bp_artifact_t **out_artifact,
                                       bp_error_t *error);
/* Dense row-major host memory. `data` of an input is read until the call is
 * done; the runtime uses it in place when the device can. Frozen. */
typedef struct bp_tensor_t {
  void *data;
  const int64_t *dims;
  uint64_t size; /* bytes of data */
  bp_dtype_t dtype;
  uint32_t rank;
} bp_tensor_t;

/* Compiles a portable graph, given as the bytes of a .bpg file, with the
 * weights that it names; more weights than that do no harm. The result is never
 * taken from the cache. */
BP_API bp_status_t bp_artifact_compile_graph(
    bp_context_t *context, bp_bytes_t wire_graph, const bp_tensor_t *weights,
    uint32_t weight_count, const bp_compile_options_t *options,
    bp_artifact_t **out_artifact, bp_error_t *error);
/* Maps and verifies a .bpx file. Thread-safe to share. */
BP_API bp_status_t bp_artifact_open(bp_context_t *context, bp_string_t path,
                                    bp_artifact_t **out_artifact,
                                    bp_error_t *error);
/* The same with a copy of the bytes of a .bpx file. */
BP_API bp_status_t bp_artifact_open_bytes(bp_context_t *context,
                                          bp_bytes_t bytes,
                                          bp_artifact_t **out_artifact,
                                          bp_error_t *error);
/* The bytes of its .bpx file, valid as long as the artifact. */
BP_API bp_bytes_t bp_artifact_bytes(const bp_artifact_t *artifact);
BP_API void bp_artifact_destroy(bp_artifact_t *artifact);

/* A size that is not a plain number; graph.h says the same. */
#define BP_DIM_SYMBOLIC (-1)

/* An input or output. `dims` hold BP_DIM_SYMBOLIC where the size is an
 * expression, whose text is in dim_texts. Pointers live with the artifact. */
#define bp_tensor_info_t_TYPE 131u
typedef struct bp_tensor_info_t {
  bp_header_t header;
  bp_string_t name;
  bp_dtype_t dtype;
  uint32_t rank;
  const int64_t *dims;
  const bp_string_t *dim_texts;
} bp_tensor_info_t;

BP_API uint32_t bp_artifact_input_count(const bp_artifact_t *artifact);
BP_API uint32_t bp_artifact_output_count(const bp_artifact_t *artifact);
BP_API bp_status_t bp_artifact_input(const bp_artifact_t *artifact,
                                     uint32_t index, bp_tensor_info_t *out);
BP_API bp_status_t bp_artifact_output(const bp_artifact_t *artifact,
                                      uint32_t index, bp_tensor_info_t *out);
/* Human-readable description: signature, variants, dispatches, memory. */
BP_API bp_status_t bp_artifact_describe(const bp_artifact_t *artifact,
                                        const bp_string_sink_t *sink,
                                        bp_error_t *error);
/* Human-readable reasons: fusion cuts, variant choice, buffer reuse. */
BP_API bp_status_t bp_artifact_explain(const bp_artifact_t *artifact,
                                       const bp_string_sink_t *sink,
                                       bp_error_t *error);

/* ---- Sessions ---- */

/* A variant of an artifact on a device, as a chooser is shown it. */
#define bp_candidate_t_TYPE 134u
typedef struct bp_candidate_t {
  bp_header_t header;
  bp_string_t uri;    /* of the device */
  bp_string_t target; /* of the variant; empty when there is no such device */
  bp_string_t misfit; /* why it cannot run, empty when it can */
  const bp_device_info_t *info; /* NULL when there is no such device */
  uint32_t variant;             /* number in the artifact */
  uint32_t rank;                /* of the variant, higher is better */
} bp_candidate_t;

/* The application's own choice. `candidates` are valid during the call, in the
 * order in which they would be tried. Writes into `order`, which has room for
 * `count`, the numbers of those to try, best first, and how many they are;
 * those that cannot run must not be among them. `reason` takes one line for
 * people, may be left alone. A failure becomes that of bp_session_create.
 * Frozen. */
typedef struct bp_chooser_t {
  bp_status_t (*choose)(void *context, const bp_candidate_t *const *candidates,
                        uint32_t count, uint32_t *order, uint32_t *out_count,
                        const bp_string_sink_t *reason);
  void *context;
} bp_chooser_t;

/* When no variant runs, compile the graph that the artifact holds for the
 * devices that were asked for. Needs a compiler plug-in and the compiler
 * library; the outcome is kept in the cache. */
#define BP_SESSION_JIT 1u
/* A variant on several devices is taken only where `device` names them all,
 * like "vulkan+host". */
#define BP_SESSION_NO_FALLBACK 2u

#define bp_session_options_t_TYPE 132u
typedef struct bp_session_options_t {
  bp_header_t header;
  /* A device URI; several, separated by commas, in the order of preference; or
   * "auto:latency", "auto:throughput", "auto:power", which may stand in such a
   * list too. Empty: "host" or, with a chooser, all devices of this machine. */
  bp_string_t device;
  uint64_t memory_budget;      /* bytes of device memory, 0: unlimited */
  const bp_chooser_t *chooser; /* NULL: the order of `device` stands */
  uint32_t flags;              /* BP_SESSION_ */
  uint32_t reserved;
  /* Limits for what BP_SESSION_JIT compiles, as in bp_compile_options_t. */
  uint64_t max_memory;
  uint64_t max_milliseconds;
} bp_session_options_t;

/* What bp_session_create would take and why, line by line, without loading it.
 * Where a policy measures, this does too. */
BP_API bp_status_t bp_artifact_select(bp_artifact_t *artifact,
                                      const bp_session_options_t *options,
                                      const bp_string_sink_t *sink,
                                      bp_error_t *error);

/* Loads the best variant for the device and prepares it; variables start at
 * their initial values. When the best one does not load (the driver refuses its
 * code, memory is short), the next one is tried. Several sessions of an
 * artifact run at once. */
BP_API bp_status_t bp_session_create(bp_artifact_t *artifact,
                                     const bp_session_options_t *options,
                                     bp_session_t **out_session,
                                     bp_error_t *error);
BP_API void bp_session_destroy(bp_session_t *session);
/* Sets all variables back to their initial values. */
BP_API bp_status_t bp_session_reset(bp_session_t *session, bp_error_t *error);
/* "variant x86-64-v4 on host://cpu: …", valid as long as the session. */
BP_API bp_string_t bp_session_choice(const bp_session_t *session);
/* The policy, what was chosen, and why each other candidate was passed over,
 * line by line. */
BP_API bp_status_t bp_session_explain(const bp_session_t *session,
                                      const bp_string_sink_t *sink,
                                      bp_error_t *error);
/* Milliseconds that the latest finished call took on a device behind a worker,
 * without what travelled to it and back; 0 for a device of this process. */
BP_API double bp_session_remote_ms(const bp_session_t *session);
/* Number of dispatches of one call. */
BP_API uint64_t bp_session_dispatch_count(const bp_session_t *session);

/* Sizes of all outputs for inputs of these shapes: out_dims[i] has room for
 * the rank of output i. A size that the data of a call decide is
 * BP_DIM_SYMBOLIC. */
BP_API bp_status_t bp_session_output_shapes(bp_session_t *session,
                                            const bp_tensor_t *inputs,
                                            uint32_t input_count,
                                            int64_t *const *out_dims,
                                            bp_error_t *error);
/* The same with the greatest value of each size that data decide. */
BP_API bp_status_t bp_session_output_bounds(bp_session_t *session,
                                            const bp_tensor_t *inputs,
                                            uint32_t input_count,
                                            int64_t *const *out_dims,
                                            bp_error_t *error);
/* Starts a call. `outputs` have data of the right size (see
 * bp_session_output_shapes); the application keeps its hands off all data until
 * bp_call_wait has returned, which is when the results are there. Calls of one
 * session run in the order of submission. A model whose control flow or sizes
 * depend on data is done when this returns: the host makes its decisions.
 *
 * An output with sizes that data decide has dims that the call may write, with
 * BP_DIM_SYMBOLIC for those sizes, and data of the size of its bounds
 * (bp_session_output_bounds). When bp_call_wait has returned, the dims are the
 * real ones and the elements lie dense at the start of the data; what is behind
 * them, and the dims of a failed call, are not defined. */
BP_API bp_status_t bp_session_submit(bp_session_t *session,
                                     const bp_tensor_t *inputs,
                                     uint32_t input_count,
                                     const bp_tensor_t *outputs,
                                     uint32_t output_count,
                                     bp_call_t **out_call, bp_error_t *error);
/* Waits, helping with the work where possible, and frees the call. */
BP_API bp_status_t bp_call_wait(bp_call_t *call, bp_error_t *error);
/* Whether the call is done. Thread-safe. */
BP_API uint8_t bp_call_done(const bp_call_t *call);
/* submit and wait. */
BP_API bp_status_t bp_session_run(bp_session_t *session,
                                  const bp_tensor_t *inputs,
                                  uint32_t input_count,
                                  const bp_tensor_t *outputs,
                                  uint32_t output_count, bp_error_t *error);

#ifdef __cplusplus
}
#endif

#include "value.h"

#endif /* BACKPLANE_BACKPLANE_H */
