// SPDX-License-Identifier: Apache-2.0
//
// acme.cpp: a compiler that is data, whose pipelines name a C++ pass of its own
// (Reciprocals.cpp) and, for hosts that do not take it, one without.
#include "backplane/cpp/DataBackend.h"

// Members that are not named are zero; newer headers have more of them.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace backplane;

namespace {

constexpr auto features = constantTexts("avx2", "fma", "f16c");

constexpr std::array<DataStage, 8> stages = {{
    {"lower", "acme-mlir-reciprocals"},
    {"lower", ""},
    {"tile", "bp-bind-buffers,bp-contract{vector-bits=256},bp-distribute"},
    {"bufferize", "bp-bufferize"},
    {"device", "bp-vectorize{vector-bits=256},bp-expand-math,"
               "bp-to-cpu-entry,bp-to-llvm"},
}};

constexpr DataTarget targets[] = {{
    .target =
        {
            .header = BP_HEADER(bp_target_t),
            .name = constantText("acme-mlir"),
            .description = constantText("x86-64 with AVX2, and a slow divider"),
            .driver = constantText("host"),
            .format = constantText("elf-x86_64"),
            .required_features = features.data(),
            .required_feature_count = features.size(),
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
        },
    .stages = stages,
}};

constexpr DataBackend backend = {.name = "acme-mlir",
                                 .vendor = "Acme",
                                 .version = "1.0.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
