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
constexpr auto featuresVnni =
    constantTexts("avx2", "fma", "f16c", "bmi", "bmi2", "avx512f", "avx512bw",
                  "avx512cd", "avx512dq", "avx512vl", "avx512vnni");
constexpr auto featuresAmx = constantTexts(
    "avx2", "fma", "f16c", "bmi", "bmi2", "avx512f", "avx512bw", "avx512cd",
    "avx512dq", "avx512vl", "avx512vnni", "avx512vbmi", "amx-tile", "amx-int8");
constexpr auto featuresV3 = constantTexts("avx2", "fma", "f16c", "bmi", "bmi2");

/// `cpu` and `features`, beyond those of it, are for LLVM.
constexpr bp_target_t
targetOf(std::string_view name, std::string_view description,
         std::span<const bp_string_t> required, uint32_t rank,
         uint32_t vectorBits, std::string_view cpu,
         std::string_view features = {}, uint32_t moreFusion = 0) {
  return {
      .header = BP_HEADER(bp_target_t),
      .name = constantText(name),
      .description = constantText(description),
      .driver = constantText("host"),
      .format = constantText("elf-x86_64"),
      .required_features = required.data(),
      .required_feature_count = required.size(),
      .rank = rank,
      .emitter = constantText("llvm-elf"),
      .triple = constantText("x86_64-unknown-linux-gnu"),
      .cpu = constantText(cpu),
      .features = constantText(features),
      .storage_dtypes = addressableDTypes | packedDTypes,
      .compute_dtypes = addressableDTypes | packedDTypes,
      .workspace_limit = 1ull << 30,
      .vector_bits = vectorBits,
      .max_bindings = 64,
      .max_constants = BP_MAX_CONSTANTS,
      .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                BP_FUSE_REDUCTION | BP_FUSE_WIDENING | BP_FUSE_WEIGHTS |
                BP_FUSE_ATTENTION | BP_FUSE_VIEWS | moreFusion,
      .max_fused_ops = 32,
      .numerics = numericsList.data(),
      .numerics_count = numericsList.size(),
      .properties = properties.data(),
      .property_count = properties.size(),
  };
}

#define TILE(BITS, PRODUCTS)                                                   \
  "bp-bind-buffers,bp-contract{vector-bits=" BITS                              \
  " intrinsics=llvm.x86." PRODUCTS "},bp-distribute"
#define DEVICE(BITS, PERMUTE, MATH, LLVM)                                      \
  "bp-distribute-loops,bp-vectorize{vector-bits=" BITS                         \
  " compare-maxima=true permute=llvm.x86." PERMUTE "},"                        \
  "bp-expand-math" MATH ",bp-to-cpu-entry,bp-to-llvm" LLVM
#define DEVICE_512                                                             \
  DEVICE("512", "avx512.permvar.si.512", "{scale-instruction=true}", "")

constexpr DataTarget targets[] = {
    {targetOf("x86-64-v4+amx", "x86-64 with AVX-512 and tiles of bytes",
              featuresAmx, 44, 512, "x86-64-v4",
              "+avx512vnni,+avx512vbmi,+amx-tile,+amx-int8",
              BP_FUSE_MIXED_SIGNS),
     stagesOf(TILE("512", "avx512 products=tdpb,dpbusd,dpwssd"), DEVICE_512)},
    {targetOf("x86-64-v4+vnni", "x86-64 with AVX-512 and its products of bytes",
              featuresVnni, 42, 512, "x86-64-v4", "+avx512vnni",
              BP_FUSE_MIXED_SIGNS),
     stagesOf(TILE("512", "avx512 products=dpbusd,dpwssd"), DEVICE_512)},
    {targetOf("x86-64-v4", "x86-64 with AVX-512", featuresV4, 40, 512,
              "x86-64-v4", {}, BP_FUSE_BYTE_PAIRS),
     stagesOf(TILE("512", "avx512 products=pmadd"), DEVICE_512)},
    {targetOf("x86-64-v3", "x86-64 with AVX2 and FMA", featuresV3, 30, 256,
              "x86-64-v3", {}, BP_FUSE_BYTE_PAIRS),
     stagesOf(TILE("256", "avx2 products=pmadd"),
              DEVICE("256", "avx2.permd", "", "{few-registers=true}"))},
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
