// SPDX-License-Identifier: Apache-2.0
//
// arm.cpp: the ARM backend. It has an LLVM target and runs on the host driver,
// so all of it is data: targets, and pipelines over the published passes.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

// Sums are kept in the element type or wider, halves in single precision.
constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC);
constexpr auto numericsList = pointersTo(numerics);

constexpr std::array properties = {property("cache_bytes.2", 1 << 20),
                                   property("registers", 32)};

// bfmmla rounds to odd, which errs as far as rounding to zero does, and takes
// subnormals for zeros.
constexpr auto numericsOfBfmmla() {
  auto list = numerics;
  for (bp_numerics_t &entry : list) {
    std::string_view opClass(entry.op_class.data, entry.op_class.size);
    if (entry.dtype != BP_DTYPE_BF16 ||
        (opClass != "DOT" && opClass != "RUNNING"))
      continue;
    entry.rounding = BP_ROUNDING_ZERO;
    entry.flags |= BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT;
  }
  return list;
}
constexpr auto numericsBfmmla = numericsOfBfmmla();
constexpr auto numericsBfmmlaList = pointersTo(numericsBfmmla);

constexpr auto featuresNeon = constantTexts("neon");
constexpr auto featuresSve = constantTexts("neon", "fullfp16", "sve");
constexpr auto featuresDot = constantTexts("neon", "dotprod");
constexpr auto featuresNeonI8mm = constantTexts("neon", "dotprod", "i8mm");
constexpr auto featuresSveI8mm =
    constantTexts("neon", "fullfp16", "sve", "i8mm");
constexpr auto featuresNeonBf16 =
    constantTexts("neon", "dotprod", "i8mm", "bf16");
constexpr auto featuresSveBf16 =
    constantTexts("neon", "fullfp16", "sve", "i8mm", "bf16");

/// `features` is for LLVM. Vectors have 128 bits, at least those where the
/// pipelines are scalable.
constexpr bp_target_t targetOf(std::string_view name,
                               std::string_view description, uint32_t rank,
                               std::string_view features,
                               std::span<const bp_string_t> required) {
  return {
      .header = BP_HEADER(bp_target_t),
      .name = constantText(name),
      .description = constantText(description),
      .driver = constantText("host"),
      .format = constantText("elf-aarch64"),
      .required_features = required.data(),
      .required_feature_count = required.size(),
      .rank = rank,
      .emitter = constantText("llvm-elf"),
      .triple = constantText("aarch64-unknown-linux-gnu"),
      .cpu = constantText("generic"),
      .features = constantText(features),
      .storage_dtypes = addressableDTypes | packedDTypes,
      .compute_dtypes = addressableDTypes | packedDTypes,
      .workspace_limit = 1ull << 30,
      .vector_bits = 128,
      .max_bindings = 64,
      .max_constants = BP_MAX_CONSTANTS,
      .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                BP_FUSE_REDUCTION | BP_FUSE_WIDENING | BP_FUSE_VIEWS,
      .max_fused_ops = 32,
      .numerics = numericsList.data(),
      .numerics_count = numericsList.size(),
      .properties = properties.data(),
      .property_count = properties.size(),
  };
}

constexpr bp_target_t targetOfBfmmla(std::string_view name,
                                     std::string_view description,
                                     uint32_t rank, std::string_view features,
                                     std::span<const bp_string_t> required) {
  bp_target_t target = targetOf(name, description, rank, features, required);
  target.numerics = numericsBfmmlaList.data();
  return target;
}

#define TILE(VECTORS, PRODUCTS)                                                \
  "bp-bind-buffers,bp-contract{" VECTORS PRODUCTS "},bp-distribute"
#define DEVICE(VECTORS)                                                        \
  "bp-distribute-loops,bp-vectorize{" VECTORS                                  \
  "},bp-expand-math,bp-to-cpu-entry,bp-to-llvm"
#define FIXED "vector-bits=128"
#define SCALABLE FIXED " scalable=true"
#define NEON_DOT " intrinsics=llvm.aarch64.neon products=dot"
// SVE itself has the products of one sign.
#define SVE_DOT " intrinsics=llvm.aarch64.sve products=dot"
#define I8MM ",usdot,mmla"
#define BF16 I8MM ",bfmlal"
#define BFMMLA BF16 ",bfmmla"

constexpr DataTarget targets[] = {
    {targetOf("aarch64", "AArch64 with NEON, any Armv8-A", 20, "+neon",
              featuresNeon),
     stagesOf(TILE(FIXED, ""), DEVICE(FIXED))},
    {targetOf("aarch64+dotprod", "AArch64 with NEON and dot products of bytes",
              22, "+v8.2a,+neon,+dotprod", featuresDot),
     stagesOf(TILE(FIXED, NEON_DOT), DEVICE(FIXED))},
    {targetOf("aarch64+i8mm", "AArch64 with NEON and matrix products of bytes",
              24, "+v8.2a,+neon,+dotprod,+i8mm", featuresNeonI8mm),
     stagesOf(TILE(FIXED, NEON_DOT I8MM), DEVICE(FIXED))},
    {targetOf("aarch64+bf16",
              "AArch64 with NEON, products of bf16, matrices of bytes", 26,
              "+v8.2a,+neon,+dotprod,+i8mm,+bf16", featuresNeonBf16),
     stagesOf(TILE(FIXED, NEON_DOT BF16), DEVICE(FIXED))},
    {targetOf("aarch64+sve", "AArch64 with scalable vectors of any length", 30,
              "+v8.2a,+neon,+fullfp16,+sve", featuresSve),
     stagesOf(TILE(SCALABLE, SVE_DOT), DEVICE(SCALABLE))},
    {targetOf("aarch64+sve+i8mm",
              "AArch64 with scalable vectors and matrix products of bytes", 32,
              "+v8.2a,+neon,+fullfp16,+sve,+i8mm", featuresSveI8mm),
     stagesOf(TILE(SCALABLE, SVE_DOT I8MM), DEVICE(SCALABLE))},
    {targetOf("aarch64+sve+bf16",
              "AArch64 with scalable vectors, products of bf16, matrices of "
              "bytes",
              34, "+v8.2a,+neon,+fullfp16,+sve,+i8mm,+bf16", featuresSveBf16),
     stagesOf(TILE(SCALABLE, SVE_DOT BF16), DEVICE(SCALABLE))},
    // Last in rank: only who names them gets their numerics.
    {targetOfBfmmla(
         "aarch64+bfmmla",
         "AArch64 with NEON and matrix products of bf16, rounded to odd", 10,
         "+v8.2a,+neon,+dotprod,+i8mm,+bf16", featuresNeonBf16),
     stagesOf(TILE(FIXED, NEON_DOT BFMMLA), DEVICE(FIXED))},
    {targetOfBfmmla("aarch64+sve+bfmmla",
                    "AArch64 with scalable vectors and matrix products of "
                    "bf16, rounded to odd",
                    12, "+v8.2a,+neon,+fullfp16,+sve,+i8mm,+bf16",
                    featuresSveBf16),
     stagesOf(TILE(SCALABLE, SVE_DOT BFMMLA), DEVICE(SCALABLE))},
};

constexpr DataBackend backend = {.name = "arm",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
