/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.h: how a plug-in and its host meet.
 *
 * A plug-in is a shared library that exports one symbol, bp_plugin_query_v0.
 * The host calls it, learns the plug-in's tables, negotiates the minor version
 * and then calls `initialize`. Order of calls, always:
 *
 *   query (any number of times) -> initialize -> ... -> shutdown
 *
 * The plug-in has no undefined symbol of the host: all services of the host
 * arrive through bp_host_t.
 *
 * Host and plug-in may have different minor versions:
 *  - A member that is younger than the minor version that a plug-in requires is
 *    read and written only where BP_HAS says that it is there. Whoever fills a
 *    struct of the other side writes none of its bytes from header.size on. A
 *    struct without a header is frozen.
 *  - Unknown flag bits: the host refuses those of an application with
 *    BP_STATUS_UNIMPLEMENTED, since they ask for something. It clears those in
 *    what a plug-in describes, so that a new bit may permit or inform, never
 *    oblige; what must be understood is a struct in `next`.
 */
#ifndef BACKPLANE_PLUGIN_H
#define BACKPLANE_PLUGIN_H

#include "abi.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_driver_table_t bp_driver_table_t;         /* hal.h */
typedef struct bp_memory_table_t bp_memory_table_t;         /* hal.h */
typedef struct bp_executable_table_t bp_executable_table_t; /* hal.h */
typedef struct bp_queue_table_t bp_queue_table_t;           /* hal.h */
typedef struct bp_compiler_table_t bp_compiler_table_t;     /* compiler.h */
typedef struct bp_kernels_table_t bp_kernels_table_t;       /* kernel.h */

/* Whether the struct of type T at `pointer` has this member in the build that
 * made it:
 *   if (BP_HAS(dispatch, bp_command_dispatch_t, workspace_bytes)) ... */
#define BP_HAS(pointer, T, member)                                             \
  ((pointer)->header.size >=                                                   \
   offsetof(T, member) + sizeof(((const T *)0)->member))

/* ---- Host services ---- */

#define BP_LOG_DEBUG 0u
#define BP_LOG_INFO 1u
#define BP_LOG_WARNING 2u
#define BP_LOG_ERROR 3u

/* What the host found out about its CPU, including what the operating system
 * has enabled. Plug-ins use it in place of asking the CPU themselves. */
#define bp_host_cpu_t_TYPE 2u
typedef struct bp_host_cpu_t {
  bp_header_t header;
  bp_string_t architecture; /* "x86_64", "aarch64" */
  bp_string_t model;        /* the CPU's own name for itself */
  /* LLVM feature names that are usable, comma separated, sorted. */
  bp_string_t features;
  uint64_t l1_bytes; /* data cache per core, 0 when unknown */
  uint64_t l2_bytes; /* per core, 0 when unknown */
  uint64_t l3_bytes; /* shared, 0 when unknown */
  uint32_t core_count;
  uint32_t reserved;
} bp_host_cpu_t;

/* One index of a parallel loop. `worker` is below worker_count and no two
 * concurrent calls of one loop share it. */
typedef void (*bp_loop_body_t)(void *context, uint64_t index, uint32_t worker);

/* Host services. Valid from initialize to shutdown. Every function is
 * thread-safe and takes `self` as its first argument. */
#define bp_host_t_TYPE 1u
typedef struct bp_host_t {
  bp_header_t header;
  void *self;
  /* Effective minor version: the lower of what both sides have. */
  uint32_t minor;
  uint32_t reserved;
  const bp_host_cpu_t *cpu;

  /* Stores `message` in `error` (which may be NULL) and returns `status`, so
   * that a plug-in can write: return host->error_set(...). */
  bp_status_t (*error_set)(void *self, bp_error_t *error, bp_status_t status,
                           bp_string_t message);
  /* Writes one line to the host's log. */
  void (*log)(void *self, uint32_t level, bp_string_t message);
  /* Aligned memory, counted by the host; NULL when there is none. */
  void *(*memory_allocate)(void *self, uint64_t size, uint64_t alignment);
  void (*memory_free)(void *self, void *pointer);
  /* Number of workers of the host's one thread pool, at least 1. It does not
   * change between initialize and shutdown. */
  uint32_t (*worker_count)(void *self);
  /* Runs body(context, i, worker) for every i below `count` on the pool and
   * returns when all are done. The caller takes part. Loops may be nested; the
   * inner one then runs on the calling worker. Plug-ins start no compute
   * threads of their own. */
  void (*parallel_for)(void *self, uint64_t count, bp_loop_body_t body,
                       void *context);
  /* A further table of the host by name and version, or NULL. Known names:
   * "backplane.graph" version 0 gives a bp_graph_table_t, "backplane.cache"
   * version 0 a bp_cache_table_t. */
  const void *(*get_extension)(void *self, bp_string_t name, uint32_t version);
  /* Runs task(context) once, soon, on a thread of the host; it may use
   * parallel_for. For work that must not block its caller. */
  void (*post)(void *self, void (*task)(void *context), void *context);
} bp_host_t;

/* Bytes that a plug-in can make again, compiled shaders for instance, kept
 * between runs in the user's cache folder (extension "backplane.cache" of the
 * host). Keys are 1 to 128 of a-z, 0-9, _ and -; a plug-in's start with its
 * name. Several processes may use one key at once. Thread-safe. */
#define bp_cache_table_t_TYPE 6u
typedef struct bp_cache_table_t {
  bp_header_t header;
  void *self;
  /* Gives what was stored last under the key. BP_STATUS_NOT_FOUND: nothing,
   * or it is damaged, or the user wants no cache. */
  bp_status_t (*load)(void *self, bp_string_t key, const bp_bytes_sink_t *sink);
  /* Keeps bytes, whole or not at all. A failure is no more than a loss of
   * time: the disk is full, or the user wants no cache. */
  bp_status_t (*store)(void *self, bp_string_t key, bp_bytes_t bytes);
} bp_cache_table_t;

/* ---- The plug-in's side ---- */

/* What the host tells before anything else. */
#define bp_host_info_t_TYPE 3u
typedef struct bp_host_info_t {
  bp_header_t header;
  uint32_t minor_low;  /* lowest minor version that the host still serves */
  uint32_t minor_high; /* highest minor version that the host has */
  bp_string_t version; /* product version, for messages only */
} bp_host_info_t;

/* Life cycle. Both functions are required. */
#define bp_plugin_table_t_TYPE 4u
typedef struct bp_plugin_table_t {
  bp_header_t header;
  /* Once for each context of the application, before every other table.
   * `options` are those of the manifest ("options", an object of strings).
   * `host` stays valid until shutdown. `*out_self` is handed back as `self`;
   * contexts live side by side, so what belongs to one is kept there. Absent
   * hardware is not an error: the plug-in then has no devices. */
  bp_status_t (*initialize)(const bp_host_t *host, const bp_options_t *options,
                            void **out_self, bp_error_t *error);
  /* Once for each `self`, after every handle is destroyed. All threads of the
   * plug-in have ended when it returns. */
  void (*shutdown)(void *self);
  /* (optional, default: none) A further table of the plug-in by name and
   * version, or NULL. The host knows "backplane.semaphore",
   * "backplane.command_buffer", "backplane.memory2", "backplane.timestamps" and
   * "backplane.interop" (hal.h), version 0 each. */
  const void *(*get_table)(void *self, bp_string_t name, uint32_t version);
} bp_plugin_table_t;

/* The plug-in may be closed with dlclose after shutdown. */
#define BP_PLUGIN_UNLOADABLE 1u

/* Filled by bp_plugin_query_v0. Strings and tables live as long as the
 * library is loaded. A table that is NULL means: this library has none. A
 * driver plug-in sets driver, memory, executable and queue; a compiler
 * plug-in sets compiler, a set of kernels kernels; a library may be all. */
#define bp_plugin_info_t_TYPE 5u
typedef struct bp_plugin_info_t {
  bp_header_t header;
  bp_string_t name;    /* as in the manifest: [a-z][a-z0-9_-]{0,31} */
  bp_string_t vendor;  /* for messages */
  bp_string_t version; /* MAJOR.MINOR.PATCH of the plug-in itself */
  /* Refuse a host whose minor version is below this one: the lowest that the
   * plug-in can work with. It is a number, not BP_ABI_MINOR, with which a mere
   * rebuild would refuse hosts that it ran on before. */
  uint32_t required_minor;
  uint32_t built_minor; /* BP_ABI_MINOR at build time */
  uint64_t flags;       /* BP_PLUGIN_ */
  const bp_plugin_table_t *plugin;
  const bp_driver_table_t *driver;
  const bp_memory_table_t *memory;
  const bp_executable_table_t *executable;
  const bp_queue_table_t *queue;
  const bp_compiler_table_t *compiler;
  const bp_kernels_table_t *kernels;
} bp_plugin_info_t;

/* The one exported symbol. Pure and repeatable: it touches no device and
 * starts nothing. `out` comes zeroed with its header set; the plug-in writes
 * at most out->header.size bytes and sets header.size to what it wrote.
 * Thread-safe. */
typedef int32_t (*bp_plugin_query_t)(const bp_host_info_t *host,
                                     bp_plugin_info_t *out);
#define BP_PLUGIN_QUERY_SYMBOL "bp_plugin_query_v0"

#if defined(__GNUC__)
#define BP_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define BP_PLUGIN_EXPORT
#endif

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_PLUGIN_H */
