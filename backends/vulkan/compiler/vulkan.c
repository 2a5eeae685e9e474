/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan.c: what the compiler needs to know of Vulkan devices. They run SPIR-V,
 * for which the SDK has an emitter, so all of it is data: targets, and
 * pipelines over the published passes.
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

/* 4-bit integers have no address. */
#define STORAGE                                                                \
  (1ull << BP_DTYPE_F64 | 1ull << BP_DTYPE_F32 | 1ull << BP_DTYPE_F16 |        \
   1ull << BP_DTYPE_BF16 | 1ull << BP_DTYPE_I64 | 1ull << BP_DTYPE_I32 |       \
   1ull << BP_DTYPE_I16 | 1ull << BP_DTYPE_I8 | 1ull << BP_DTYPE_U64 |         \
   1ull << BP_DTYPE_U32 | 1ull << BP_DTYPE_U16 | 1ull << BP_DTYPE_U8 |         \
   1ull << BP_DTYPE_BOOL | 1ull << BP_DTYPE_F8E4M3FN |                         \
   1ull << BP_DTYPE_F8E5M2)

/* Vulkan leaves it to the device whether subnormal numbers are kept: they may
 * be zero both where they are read and where they are written. Halves are
 * computed in single precision. */
#define NUMERICS(CLASS, DTYPE, BITS)                                           \
  {.header = BP_HEADER(bp_numerics_t),                                         \
   .op_class = TEXT(CLASS),                                                    \
   .dtype = DTYPE,                                                             \
   .accumulator_bits = BITS,                                                   \
   .rounding = BP_ROUNDING_NEAREST,                                            \
   .flags = BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC |                 \
            BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT}
#define NUMERICS_OF_CLASS(CLASS)                                               \
  NUMERICS(CLASS, BP_DTYPE_F64, 53), NUMERICS(CLASS, BP_DTYPE_F32, 24),        \
      NUMERICS(CLASS, BP_DTYPE_F16, 24), NUMERICS(CLASS, BP_DTYPE_BF16, 24)

static const bp_numerics_t numerics[] = {
    NUMERICS_OF_CLASS("ULP"),
    NUMERICS_OF_CLASS("REDUCE"),
    NUMERICS_OF_CLASS("DOT"),
    NUMERICS_OF_CLASS("RUNNING"),
};

/* Any kernel may use any of them. */
#define FEATURES                                                               \
  TEXT("shaderFloat64"), TEXT("shaderInt64"), TEXT("shaderInt16"),             \
      TEXT("shaderInt8"), TEXT("storageBuffer8BitAccess"),                     \
      TEXT("storageBuffer16BitAccess")

static const bp_string_t features[] = {FEATURES};
/* Clusters of 8 invocations exchange values of 32 and 64 bits. */
static const bp_string_t features_subgroups[] = {
    FEATURES, TEXT("subgroupShuffle"), TEXT("shaderSubgroupExtendedTypes"),
    TEXT("computeFullSubgroups"), TEXT("subgroupSizeMultipleOf8")};

#define TILE(REDUCE)                                                           \
  "bp-bind-buffers,bp-gpu-contract,bp-gpu-reduce" REDUCE ",bp-per-element"
#define DEVICE(SPIRV) "bp-expand-math,bp-to-gpu-entry,bp-to-spirv" SPIRV
#define SUBGROUPS "{subgroups=true}"
#define ROWS "{subgroups=true cluster-sums=64}"

typedef struct {
  const char *name, *description;
  const bp_string_t *required;
  uint64_t required_count;
  uint32_t rank;
  const char *tile, *device;
} vulkan_target_t;

/* Rows are below the others in rank: whoever wants them names them. */
static const vulkan_target_t vulkan_targets[] = {
    {"vulkan", "Vulkan 1.1 with 8 to 64 bit types", features, COUNT(features),
     10, TILE(""), DEVICE("")},
    {"vulkan+subgroups",
     "Vulkan 1.1 with 8 to 64 bit types and full subgroups that shuffle",
     features_subgroups, COUNT(features_subgroups), 12, TILE(SUBGROUPS),
     DEVICE(SUBGROUPS)},
    {"vulkan+rows", "the same, for GPUs that sum up many rows at once",
     features_subgroups, COUNT(features_subgroups), 8, TILE(ROWS),
     DEVICE(SUBGROUPS)},
};

static bp_target_t common_target(void) {
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  target.driver = string("vulkan");
  target.format = string("spirv");
  target.emitter = string("spirv");
  target.storage_dtypes = STORAGE;
  target.compute_dtypes = STORAGE;
  target.l1_bytes = 32u << 10;
  target.l2_bytes = 1u << 20;
  target.workspace_limit = 128ull << 20;
  /* Two descriptors besides: the error word and the workspace. */
  target.max_bindings = 14;
  target.max_constants = BP_MAX_CONSTANTS;
  target.fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE;
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
  for (i = 0; i < COUNT(vulkan_targets) && !status; ++i) {
    const vulkan_target_t *from = &vulkan_targets[i];
    target.name = string(from->name);
    target.description = string(from->description);
    target.required_features = from->required;
    target.required_feature_count = from->required_count;
    target.rank = from->rank;
    status = sink->put(sink->context, &target);
  }
  return status;
}

/* ---- Stages ---- */

static const vulkan_target_t *find_target(bp_string_t name) {
  uint32_t i;
  for (i = 0; i + 1 < COUNT(vulkan_targets); ++i)
    if (strlen(vulkan_targets[i].name) == name.size &&
        memcmp(vulkan_targets[i].name, name.data, name.size) == 0)
      break;
  return &vulkan_targets[i];
}

/* The host asks for targets of the list only. */
static bp_status_t stages(void *self, bp_string_t target,
                          const bp_stage_sink_t *sink, bp_error_t *error) {
  const vulkan_target_t *found = find_target(target);
  bp_status_t status =
      sink->put(sink->context, string("tile"), string(found->tile));
  (void)self;
  (void)error;
  if (!status)
    status =
        sink->put(sink->context, string("bufferize"), string("bp-bufferize"));
  if (!status)
    status = sink->put(sink->context, string("device"), string(found->device));
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
                         string("vulkan has no options; leave them out"));
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
  info.name = string("vulkan");
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
