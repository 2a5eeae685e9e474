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
#define NUMERICS(CLASS, DTYPE, BITS, ROUNDING, FLAGS)                          \
  {.header = BP_HEADER(bp_numerics_t),                                         \
   .op_class = TEXT(CLASS),                                                    \
   .dtype = DTYPE,                                                             \
   .accumulator_bits = BITS,                                                   \
   .rounding = ROUNDING,                                                       \
   .flags = BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC | (FLAGS)}
#define NEAREST(CLASS, DTYPE, BITS)                                            \
  NUMERICS(CLASS, DTYPE, BITS, BP_ROUNDING_NEAREST, 0)
#define NUMERICS_OF_CLASS(CLASS)                                               \
  NEAREST(CLASS, BP_DTYPE_F64, 53), NEAREST(CLASS, BP_DTYPE_F32, 24),          \
      NEAREST(CLASS, BP_DTYPE_F16, 24), NEAREST(CLASS, BP_DTYPE_BF16, 24)
/* bfmmla rounds to odd, which errs as far as rounding to zero does, and takes
 * subnormals for zeros. */
#define NUMERICS_OF_BFMMLA(CLASS)                                              \
  NUMERICS(CLASS, BP_DTYPE_BF16, 24, BP_ROUNDING_ZERO,                         \
           BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT)

static const bp_numerics_t numerics[] = {
    NUMERICS_OF_CLASS("ULP"),
    NUMERICS_OF_CLASS("REDUCE"),
    NUMERICS_OF_CLASS("DOT"),
    NUMERICS_OF_CLASS("RUNNING"),
};

/* In place of those above, where products of bf16 are those of bfmmla. */
static const bp_numerics_t numerics_bfmmla[] = {
    NUMERICS_OF_BFMMLA("DOT"),
    NUMERICS_OF_BFMMLA("RUNNING"),
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
static const bp_string_t features_neon_bf16[] = {
    TEXT("neon"),
    TEXT("dotprod"),
    TEXT("i8mm"),
    TEXT("bf16"),
};
static const bp_string_t features_sve_bf16[] = {
    TEXT("neon"), TEXT("fullfp16"), TEXT("sve"), TEXT("i8mm"), TEXT("bf16"),
};

/* The pipelines that a target takes. */
typedef enum {
  PIPELINES_FIXED,
  PIPELINES_FIXED_DOT,
  PIPELINES_FIXED_I8MM,
  PIPELINES_FIXED_BF16,
  PIPELINES_FIXED_BFMMLA,
  PIPELINES_SCALABLE,
  PIPELINES_SCALABLE_I8MM,
  PIPELINES_SCALABLE_BF16,
  PIPELINES_SCALABLE_BFMMLA
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
    {"aarch64+i8mm", "AArch64 with NEON and matrix products of bytes",
     "+v8.2a,+neon,+dotprod,+i8mm", features_neon_i8mm,
     COUNT(features_neon_i8mm), 24, PIPELINES_FIXED_I8MM},
    {"aarch64+bf16", "AArch64 with NEON, products of bf16, matrices of bytes",
     "+v8.2a,+neon,+dotprod,+i8mm,+bf16", features_neon_bf16,
     COUNT(features_neon_bf16), 26, PIPELINES_FIXED_BF16},
    {"aarch64+sve", "AArch64 with scalable vectors of any length",
     "+v8.2a,+neon,+fullfp16,+sve", features_sve, COUNT(features_sve), 30,
     PIPELINES_SCALABLE},
    {"aarch64+sve+i8mm",
     "AArch64 with scalable vectors and matrix products of bytes",
     "+v8.2a,+neon,+fullfp16,+sve,+i8mm", features_sve_i8mm,
     COUNT(features_sve_i8mm), 32, PIPELINES_SCALABLE_I8MM},
    {"aarch64+sve+bf16",
     "AArch64 with scalable vectors, products of bf16, matrices of bytes",
     "+v8.2a,+neon,+fullfp16,+sve,+i8mm,+bf16", features_sve_bf16,
     COUNT(features_sve_bf16), 34, PIPELINES_SCALABLE_BF16},
    /* Last in rank: only who names them gets their numerics. */
    {"aarch64+bfmmla",
     "AArch64 with NEON and matrix products of bf16, rounded to odd",
     "+v8.2a,+neon,+dotprod,+i8mm,+bf16", features_neon_bf16,
     COUNT(features_neon_bf16), 10, PIPELINES_FIXED_BFMMLA},
    {"aarch64+sve+bfmmla",
     "AArch64 with scalable vectors and matrix products of bf16, rounded to "
     "odd",
     "+v8.2a,+neon,+fullfp16,+sve,+i8mm,+bf16", features_sve_bf16,
     COUNT(features_sve_bf16), 12, PIPELINES_SCALABLE_BFMMLA},
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

/* What a target declares. */
static void list_numerics(const arm_target_t *target,
                          const bp_numerics_t **list) {
  int matrices = target->pipelines == PIPELINES_FIXED_BFMMLA ||
                 target->pipelines == PIPELINES_SCALABLE_BFMMLA;
  uint32_t i, k;
  for (i = 0; i < COUNT(numerics); ++i) {
    list[i] = &numerics[i];
    for (k = 0; k < COUNT(numerics_bfmmla) && matrices; ++k)
      if (numerics_bfmmla[k].dtype == numerics[i].dtype &&
          !strcmp(numerics_bfmmla[k].op_class.data, numerics[i].op_class.data))
        list[i] = &numerics_bfmmla[k];
  }
}

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  const bp_numerics_t *list[COUNT(numerics)];
  bp_target_t target = common_target();
  bp_status_t status = BP_STATUS_OK;
  uint32_t i;
  (void)self;
  (void)error;
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
    list_numerics(from, list);
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
#define NEON_DOT " intrinsics=llvm.aarch64.neon products=dot"
#define SVE_DOT " intrinsics=llvm.aarch64.sve products=dot"
#define I8MM ",usdot,mmla"
#define BF16 I8MM ",bfmlal"
#define BFMMLA BF16 ",bfmmla"

typedef struct {
  const char *tile, *device;
} arm_stages_t;

static const arm_stages_t pipelines[] = {
    [PIPELINES_FIXED] = {TILE(FIXED, NO_DOT), DEVICE(FIXED)},
    [PIPELINES_FIXED_DOT] = {TILE(FIXED, NEON_DOT), DEVICE(FIXED)},
    [PIPELINES_FIXED_I8MM] = {TILE(FIXED, NEON_DOT I8MM), DEVICE(FIXED)},
    [PIPELINES_FIXED_BF16] = {TILE(FIXED, NEON_DOT BF16), DEVICE(FIXED)},
    [PIPELINES_FIXED_BFMMLA] = {TILE(FIXED, NEON_DOT BFMMLA), DEVICE(FIXED)},
    /* SVE itself has the products of one sign. */
    [PIPELINES_SCALABLE] = {TILE(SCALABLE, SVE_DOT), DEVICE(SCALABLE)},
    [PIPELINES_SCALABLE_I8MM] = {TILE(SCALABLE, SVE_DOT I8MM),
                                 DEVICE(SCALABLE)},
    [PIPELINES_SCALABLE_BF16] = {TILE(SCALABLE, SVE_DOT BF16),
                                 DEVICE(SCALABLE)},
    [PIPELINES_SCALABLE_BFMMLA] = {TILE(SCALABLE, SVE_DOT BFMMLA),
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
