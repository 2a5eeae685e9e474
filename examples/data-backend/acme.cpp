// SPDX-License-Identifier: Apache-2.0
//
// acme.cpp: a vendor's compiler that is data only: one target, whose code LLVM
// generates, and the pipelines that compile for it.
#include "backplane/cpp/DataBackend.h"

// Members that are not named are zero; newer headers have more of them.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace backplane;

namespace {

constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC);
constexpr auto numericsList = pointersTo(numerics);
constexpr auto features = constantTexts("avx2", "fma", "f16c");

constexpr DataTarget targets[] = {{
    .target =
        {
            .header = BP_HEADER(bp_target_t),
            .name = constantText("acme-64"),
            .description = constantText("x86-64 with AVX2 and FMA"),
            .driver = constantText("host"),
            .format = constantText("elf-x86_64"),
            .required_features = features.data(),
            .required_feature_count = features.size(),
            .rank = 1,
            .emitter = constantText("llvm-elf"),
            .triple = constantText("x86_64-unknown-linux-gnu"),
            .cpu = constantText("x86-64"),
            .features = constantText("+avx2,+fma,+f16c"),
            .storage_dtypes = addressableDTypes,
            .compute_dtypes = addressableDTypes,
            .workspace_limit = 1ull << 30,
            .vector_bits = 256,
            .max_bindings = 64,
            .max_constants = BP_MAX_CONSTANTS,
            .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE,
            .max_fused_ops = 32,
            .numerics = numericsList.data(),
            .numerics_count = numericsList.size(),
        },
    .stages = stagesOf("bp-bind-buffers,bp-contract{vector-bits=256},"
                       "bp-distribute",
                       "bp-vectorize{vector-bits=256},bp-expand-math,"
                       "bp-to-cpu-entry,bp-to-llvm"),
}};

constexpr DataBackend backend = {.name = "acme-data",
                                 .vendor = "Acme",
                                 .version = "1.0.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
