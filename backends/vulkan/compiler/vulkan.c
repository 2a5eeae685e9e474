/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vulkan.c: what the compiler needs to know of Vulkan devices. They run SPIR-V,
 * for which the SDK has an emitter, so all of it is data: one target, and
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

/* ---- The target ---- */

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
static const bp_string_t features[] = {
    TEXT("shaderFloat64"),
    TEXT("shaderInt64"),
    TEXT("shaderInt16"),
    TEXT("shaderInt8"),
    TEXT("storageBuffer8BitAccess"),
    TEXT("storageBuffer16BitAccess"),
};

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  const bp_numerics_t *list[COUNT(numerics)];
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  uint32_t i;
  (void)self;
  (void)error;
  for (i = 0; i < COUNT(numerics); ++i)
    list[i] = &numerics[i];
  target.name = string("vulkan");
  target.description = string("Vulkan 1.1 with 8 to 64 bit types");
  target.driver = string("vulkan");
  target.format = string("spirv");
  target.required_features = features;
  target.required_feature_count = COUNT(features);
  target.rank = 10;
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
  target.numerics = list;
  target.numerics_count = COUNT(numerics);
  return sink->put(sink->context, &target);
}

/* ---- Stages ---- */

#define TILE "bp-bind-buffers,bp-gpu-contract,bp-gpu-reduce,bp-per-element"
#define BUFFERIZE "bp-bufferize"
#define DEVICE "bp-expand-math,bp-to-gpu-entry,bp-to-spirv"

static bp_status_t stages(void *self, bp_string_t target,
                          const bp_stage_sink_t *sink, bp_error_t *error) {
  bp_status_t status = sink->put(sink->context, string("tile"), string(TILE));
  (void)self;
  (void)target;
  (void)error;
  if (!status)
    status = sink->put(sink->context, string("bufferize"), string(BUFFERIZE));
  if (!status)
    status = sink->put(sink->context, string("device"), string(DEVICE));
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
