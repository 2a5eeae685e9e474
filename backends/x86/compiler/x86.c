/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86.c: the x86 backend. It has an LLVM target and runs on the host driver,
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

static const bp_string_t features_v4[] = {
    TEXT("avx2"),     TEXT("fma"),      TEXT("f16c"),     TEXT("bmi"),
    TEXT("bmi2"),     TEXT("avx512f"),  TEXT("avx512bw"), TEXT("avx512cd"),
    TEXT("avx512dq"), TEXT("avx512vl"),
};
static const bp_string_t features_v3[] = {
    TEXT("avx2"), TEXT("fma"), TEXT("f16c"), TEXT("bmi"), TEXT("bmi2"),
};

static bp_target_t common_target(void) {
  bp_target_t target = {.header = BP_HEADER(bp_target_t)};
  target.driver = string("host");
  target.format = string("elf-x86_64");
  target.emitter = string("llvm-elf");
  target.triple = string("x86_64-unknown-linux-gnu");
  target.storage_dtypes = STORAGE;
  target.compute_dtypes = STORAGE;
  target.l1_bytes = 32u << 10;
  target.l2_bytes = 1u << 20;
  target.workspace_limit = 1ull << 30;
  target.max_bindings = 64;
  target.max_constants = BP_MAX_CONSTANTS;
  target.fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                  BP_FUSE_REDUCTION;
  target.max_fused_ops = 32;
  return target;
}

static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                           bp_error_t *error) {
  const bp_numerics_t *list[COUNT(numerics)];
  bp_target_t target = common_target();
  bp_status_t status;
  uint32_t i;
  (void)self;
  (void)error;
  for (i = 0; i < COUNT(numerics); ++i)
    list[i] = &numerics[i];
  target.numerics = list;
  target.numerics_count = COUNT(numerics);

  target.name = string("x86-64-v4");
  target.description = string("x86-64 with AVX-512");
  target.cpu = target.name;
  target.required_features = features_v4;
  target.required_feature_count = COUNT(features_v4);
  target.rank = 40;
  target.vector_bits = 512;
  status = sink->put(sink->context, &target);
  if (status)
    return status;

  target.name = string("x86-64-v3");
  target.description = string("x86-64 with AVX2 and FMA");
  target.cpu = target.name;
  target.required_features = features_v3;
  target.required_feature_count = COUNT(features_v3);
  target.rank = 30;
  target.vector_bits = 256;
  return sink->put(sink->context, &target);
}

/* ---- Stages ---- */

#define TILE(BITS)                                                             \
  "bp-bind-buffers,bp-contract{vector-bits=" BITS "},bp-distribute"
#define BUFFERIZE "bp-bufferize"
#define DEVICE(BITS, MATH)                                                     \
  "bp-vectorize{vector-bits=" BITS " compare-maxima=true},"                    \
  "bp-expand-math" MATH ",bp-to-cpu-entry,bp-to-llvm"

static bp_status_t put_stages(const bp_stage_sink_t *sink, const char *tile,
                              const char *device) {
  bp_status_t status = sink->put(sink->context, string("tile"), string(tile));
  if (!status)
    status = sink->put(sink->context, string("bufferize"), string(BUFFERIZE));
  if (!status)
    status = sink->put(sink->context, string("device"), string(device));
  return status;
}

static bp_status_t stages(void *self, bp_string_t target,
                          const bp_stage_sink_t *sink, bp_error_t *error) {
  const bp_string_t wide = string("x86-64-v4");
  (void)self;
  (void)error;
  if (target.size == wide.size &&
      memcmp(target.data, wide.data, wide.size) == 0)
    return put_stages(sink, TILE("512"),
                      DEVICE("512", "{scale-instruction=true}"));
  return put_stages(sink, TILE("256"), DEVICE("256", ""));
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
                         string("x86 has no options; leave them out"));
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
  info.name = string("x86");
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
