// SPDX-License-Identifier: Apache-2.0
//
// x86.cpp: the x86 backend. It has an LLVM target and runs on the host driver,
// so all of it is data: targets, and pipelines over the published passes.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

// Sums are kept in the element type or wider, halves in single precision.
constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC);
constexpr auto numericsList = pointersTo(numerics);

constexpr std::array properties = {property("cache_bytes.2", 1 << 20)};

constexpr auto featuresV4 =
    constantTexts("avx2", "fma", "f16c", "bmi", "bmi2", "avx512f", "avx512bw",
                  "avx512cd", "avx512dq", "avx512vl");
constexpr auto featuresV3 = constantTexts("avx2", "fma", "f16c", "bmi", "bmi2");

constexpr bp_target_t targetOf(std::string_view name,
                               std::string_view description,
                               std::span<const bp_string_t> features,
                               uint32_t rank, uint32_t vectorBits) {
  return {
      .header = BP_HEADER(bp_target_t),
      .name = constantText(name),
      .description = constantText(description),
      .driver = constantText("host"),
      .format = constantText("elf-x86_64"),
      .required_features = features.data(),
      .required_feature_count = features.size(),
      .rank = rank,
      .emitter = constantText("llvm-elf"),
      .triple = constantText("x86_64-unknown-linux-gnu"),
      .cpu = constantText(name),
      .storage_dtypes = addressableDTypes | packedDTypes,
      .compute_dtypes = addressableDTypes | packedDTypes,
      .workspace_limit = 1ull << 30,
      .vector_bits = vectorBits,
      .max_bindings = 64,
      .max_constants = BP_MAX_CONSTANTS,
      .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                BP_FUSE_REDUCTION | BP_FUSE_ATTENTION,
      .max_fused_ops = 32,
      .numerics = numericsList.data(),
      .numerics_count = numericsList.size(),
      .properties = properties.data(),
      .property_count = properties.size(),
  };
}

#define TILE(BITS)                                                             \
  "bp-bind-buffers,bp-contract{vector-bits=" BITS "},bp-distribute"
#define DEVICE(BITS, MATH)                                                     \
  "bp-vectorize{vector-bits=" BITS " compare-maxima=true},"                    \
  "bp-expand-math" MATH ",bp-to-cpu-entry,bp-to-llvm"

constexpr DataTarget targets[] = {
    {targetOf("x86-64-v4", "x86-64 with AVX-512", featuresV4, 40, 512),
     stagesOf(TILE("512"), DEVICE("512", "{scale-instruction=true}"))},
    {targetOf("x86-64-v3", "x86-64 with AVX2 and FMA", featuresV3, 30, 256),
     stagesOf(TILE("256"), DEVICE("256", ""))},
};

constexpr DataBackend backend = {.name = "x86",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
