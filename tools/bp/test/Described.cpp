// SPDX-License-Identifier: Apache-2.0
//
// A compiler for x86 CPUs that says all that a target can say of itself, for
// plugins.py: a condition on a number of the device that no machine meets,
// properties of its own, a toolchain, and a pipeline for a later host in front
// of the one that this host has.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC);
constexpr auto numericsList = pointersTo(numerics);
constexpr auto fma = constantTexts("avx2", "fma", "f16c");
constexpr auto huge =
    constantTexts("avx2", "fma", "f16c", "cache_bytes.2>=1099511627776");
constexpr int64_t shapes[] = {16, 16, 4};
constexpr std::array properties = {
    property("cache_bytes.2", 1 << 20), property("matrix_shapes.f32", shapes),
    property("described.clock", 2.5), property("described.mode", "plain")};

constexpr bp_target_t targetOf(std::string_view name,
                               std::span<const bp_string_t> required,
                               uint32_t rank) {
  return {.header = BP_HEADER(bp_target_t),
          .name = constantText(name),
          .description = constantText("x86-64 with AVX2 and FMA"),
          .driver = constantText("host"),
          .format = constantText("elf-x86_64"),
          .required_features = required.data(),
          .required_feature_count = required.size(),
          .rank = rank,
          .emitter = constantText("llvm-elf"),
          .triple = constantText("x86_64-unknown-linux-gnu"),
          .cpu = constantText("x86-64"),
          .features = constantText("+avx2,+fma,+f16c"),
          .storage_dtypes = addressableDTypes,
          .compute_dtypes = addressableDTypes,
          .vector_bits = 128,
          .max_bindings = 64,
          .max_constants = BP_MAX_CONSTANTS,
          .fusion = BP_FUSE_ELEMENTWISE,
          .max_fused_ops = 32,
          .numerics = numericsList.data(),
          .numerics_count = numericsList.size(),
          .properties = properties.data(),
          .property_count = properties.size(),
          .toolchain = constantText("acme-cc 3.2")};
}

constexpr std::array<DataStage, 8> stages = {
    {{"tile", "bp-bind-buffers,bp-contract-next,bp-distribute"},
     {"tile", "bp-bind-buffers,bp-contract{lanes=4},bp-distribute"},
     {"tile", "bp-bind-buffers,bp-contract{vector-bits=128},bp-distribute"},
     {"bufferize", "bp-bufferize"},
     {"device", "bp-vectorize{vector-bits=128},bp-expand-math,bp-to-cpu-entry,"
                "bp-to-llvm"}}};

constexpr DataTarget targets[] = {
    {targetOf("described", fma, 2), stages},
    {targetOf("described+huge", huge, 3), stages}};

static_assert(targets[0].hasAlternatives());

constexpr DataBackend backend = {.name = "described",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
