/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arm.c: the ARM backend. It has an LLVM target and runs on the host driver,
 * so all of it is data: targets, and pipelines over the published passes.
 */
#include "backplane/compiler.h"
#include "backplane/plugin.h"

#include <string.h>

#define TEXT(S) {S, sizeof(S) - 1}
#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

static bp_string_t string(const char *text) {
  const bp_string_t result = {text, strlen(text)};
  return result;
}

/* ---- Targets ---- */

#define STORAGE                                                                \
  (1ull << BP_DTYPE_F64 | 1ull << BP_DTYPE_F32 | 1ull << BP_DTYPE_F16 |        \
   1ull << BP_DTYPE_BF16 | 1ull << BP_DTYPE_I64 | 1ull << BP_DTYPE_I32 |       \
   1ull << BP_DTYPE_I16 | 1ull << BP_DTYPE_I8 | 1ull << BP_DTYPE_U64 |         \
   1ull << BP_DTYPE_U32 | 1ull << BP_DTYPE_U16 | 1ull << BP_DTYPE_U8 |         \
   1ull << BP_DTYPE_BOOL | 1ull << BP_DTYPE_F8E4M3FN |                         \
   1ull << BP_DTYPE_F8E5M2)

/* Sums are kept in the element type or wider, halves in single precision. */
#define NUMERICS(CLASS, DTYPE, BITS)                                           \
  {.header = BP_HEADER(bp_numerics_t),                                         \
   .op_class = TEXT(CLASS),                                                    \
   .dtype = DTYPE,                                                             \
   .accumulator_bits = BITS,                                                   \
   .rounding = BP_ROUNDING_NEAREST,                                            \
   .flags = BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC}
#define NUMERICS_OF_CLASS(CLASS)                                               \
  NUMERICS(CLASS, BP_DTYPE_F64, 53), NUMERICS(CLASS, BP_DTYPE_F32, 24),        \
      NUMERICS(CLASS, BP_DTYPE_F16, 24), NUMERICS(CLASS, BP_DTYPE_BF16, 24)

static const bp_numerics_t numerics[] = {
    NUMERICS_OF_CLASS("ULP"),
    NUMERICS_OF_CLASS("REDUCE"),
    NUMERICS_OF_CLASS("DOT"),
    NUMERICS_OF_CLASS("RUNNING"),
};

static const bp_string_t features_neon[] = {TEXT("neon")};
static const bp_string_t features_sve[] = {
    TEXT("neon"),
    TEXT("fullfp16"),
    TEXT("sve"),
};
static const bp_string_t features_dot[] = {TEXT("neon"), TEXT("dotprod")};
static const bp_string_t features_neon_i8mm[] = {
    TEXT("neon"),
    TEXT("dotprod"),
    TEXT("i8mm"),
};
static const bp_string_t features_sve_i8mm[] = {
    TEXT("neon"),
    TEXT("fullfp16"),
    TEXT("sve"),
    TEXT("i8mm"),
};

/* The pipelines that a target takes. */
typedef enum {
  PIPELINES_FIXED,
  PIPELINES_FIXED_DOT,
  PIPELINES_FIXED_MIXED_DOT,
  PIPELINES_SCALABLE,
  PIPELINES_SCALABLE_MIXED_DOT
} arm_pipelines_t;

/* `features` is for LLVM. Vectors have 128 bits, at least those where the
 * pipelines are scalable. */
typedef struct {
  const char *name, *description, *features;
  const bp_string_t *required;
  uint64_t required_count;
  uint32_t rank;
  arm_pipelines_t pipelines;
} arm_target_t;

static const arm_target_t arm_targets[] = {
    {"aarch64", "AArch64 with NEON, any Armv8-A", "+neon", features_neon,
     COUNT(features_neon), 20, PIPELINES_FIXED},
    {"aarch64+dotprod", "AArch64 with NEON and dot products of bytes",
     "+v8.2a,+neon,+dotprod", features_dot, COUNT(features_dot), 22,
     PIPELINES_FIXED_DOT},
    {"aarch64+i8mm", "AArch64 with NEON and dot products of mixed bytes",
     "+v8.2a,+neon,+dotprod,+i8mm", features_neon_i8mm,
     COUNT(features_neon_i8mm), 24, PIPELINES_FIXED_MIXED_DOT},
    {"aarch64+sve", "AArch64 with scalable vectors of any length",
     "+v8.2a,+neon,+fullfp16,+sve", features_sve, COUNT(features_sve), 30,
     PIPELINES_SCALABLE},
    {"aarch64+sve+i8mm",
     "AArch64 with scalable vectors and dot products of mixed bytes",
     "+v8.2a,+neon,+fullfp16,+sve,+i8mm", features_sve_i8mm,
     COUNT(features_sve_i8mm), 32, PIPELINES_SCALABLE_MIXED_DOT},
};

static bp_target_t common_target(void) {
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  target.driver = string("host");
  target.format = string("elf-aarch64");
  target.emitter = string("llvm-elf");
  target.triple = string("aarch64-unknown-linux-gnu");
  target.cpu = string("generic");
  target.vector_bits = 128;
  target.storage_dtypes = STORAGE;
  target.compute_dtypes = STORAGE;
  target.l1_bytes = 32u << 10;
  target.l2_bytes = 1u << 20;
  target.workspace_limit = 1ull << 30;
  target.max_bindings = 64;
  target.max_constants = BP_MAX_CONSTANTS;
  target.fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                  BP_FUSE_REDUCTION | BP_FUSE_WIDENING;
  target.max_fused_ops = 32;
  return target;
}

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  const bp_numerics_t *list[COUNT(numerics)];
  bp_target_t target = common_target();
  bp_status_t status = BP_STATUS_OK;
  uint32_t i;
  (void)self;
  (void)error;
  for (i = 0; i < COUNT(numerics); ++i)
    list[i] = &numerics[i];
  target.numerics = list;
  target.numerics_count = COUNT(numerics);
  for (i = 0; i < COUNT(arm_targets) && !status; ++i) {
    const arm_target_t *from = &arm_targets[i];
    target.name = string(from->name);
    target.description = string(from->description);
    target.features = string(from->features);
    target.required_features = from->required;
    target.required_feature_count = from->required_count;
    target.rank = from->rank;
    status = sink->put(sink->context, &target);
  }
  return status;
}

/* ---- Stages ---- */

#define TILE(VECTORS, PRODUCTS)                                                \
  "bp-bind-buffers,bp-contract{" VECTORS " registers=32" PRODUCTS              \
  "},bp-distribute"
#define DEVICE(VECTORS)                                                        \
  "bp-vectorize{" VECTORS "},bp-expand-math,bp-to-cpu-entry,bp-to-llvm"
#define FIXED "vector-bits=128"
#define SCALABLE FIXED " scalable=true"
#define NO_DOT ""
#define NEON_DOT " byte-products=llvm.aarch64.neon"
#define SVE_DOT " byte-products=llvm.aarch64.sve"
#define MIXED " mixed-products=true"

typedef struct {
  const char *tile, *device;
} arm_stages_t;

static const arm_stages_t pipelines[] = {
    [PIPELINES_FIXED] = {TILE(FIXED, NO_DOT), DEVICE(FIXED)},
    [PIPELINES_FIXED_DOT] = {TILE(FIXED, NEON_DOT), DEVICE(FIXED)},
    [PIPELINES_FIXED_MIXED_DOT] = {TILE(FIXED, NEON_DOT MIXED), DEVICE(FIXED)},
    /* SVE itself has the products of one sign. */
    [PIPELINES_SCALABLE] = {TILE(SCALABLE, SVE_DOT), DEVICE(SCALABLE)},
    [PIPELINES_SCALABLE_MIXED_DOT] = {TILE(SCALABLE, SVE_DOT MIXED),
                                      DEVICE(SCALABLE)},
};

static const arm_target_t *find_target(bp_string_t name) {
  uint32_t i;
  for (i = 0; i + 1 < COUNT(arm_targets); ++i)
    if (strlen(arm_targets[i].name) == name.size &&
        memcmp(arm_targets[i].name, name.data, name.size) == 0)
      break;
  return &arm_targets[i];
}

/* The host asks for targets of the list only. */
static bp_status_t stages(void *self, bp_string_t target,
                          const bp_stage_sink_t *sink, bp_error_t *error) {
  const arm_stages_t *stage = &pipelines[find_target(target)->pipelines];
  bp_status_t status =
      sink->put(sink->context, string("tile"), string(stage->tile));
  (void)self;
  (void)error;
  if (!status)
    status =
        sink->put(sink->context, string("bufferize"), string("bp-bufferize"));
  if (!status)
    status = sink->put(sink->context, string("device"), string(stage->device));
  return status;
}

/* ---- The plug-in ---- */

static const bp_compiler_table_t compiler_table = {
    .header = BP_HEADER(bp_compiler_table_t),
    .targets = targets,
    .stages = stages,
};

static bp_status_t initialize(const bp_host_t *host,
                              const bp_options_t *options, void **out_self,
                              bp_error_t *error) {
  *out_self = 0;
  if (!options || options->count == 0)
    return BP_STATUS_OK;
  return host->error_set(host->self, error, BP_STATUS_INVALID_ARGUMENT,
                         string("arm has no options; leave them out"));
}

static void shut_down(void *self) { (void)self; }

static const bp_plugin_table_t plugin_table = {
    .header = BP_HEADER(bp_plugin_table_t),
    .initialize = initialize,
    .shutdown = shut_down,
};

BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *host,
                                            bp_plugin_info_t *out);

int32_t bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  bp_plugin_info_t info = {.header = BP_HEADER(bp_plugin_info_t)};
  (void)host; /* the host compares required_minor with its own version */
  info.name = string("arm");
  info.vendor = string("Backplane");
  info.version = string("0.1.0");
  info.required_minor = BP_ABI_MINOR;
  info.built_minor = BP_ABI_MINOR;
  info.flags = BP_PLUGIN_UNLOADABLE;
  info.plugin = &plugin_table;
  info.compiler = &compiler_table;
  if (info.header.size > out->header.size)
    info.header.size = out->header.size;
  memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
