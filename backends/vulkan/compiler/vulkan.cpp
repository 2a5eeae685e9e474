// SPDX-License-Identifier: Apache-2.0
//
// vulkan.cpp: what the compiler needs to know of Vulkan devices. They run
// SPIR-V, for which the SDK has an emitter, so all of it is data: targets, and
// pipelines over the published passes.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

// Vulkan leaves it to the device whether subnormal numbers are kept: they may
// be zero both where they are read and where they are written. Halves are
// computed in single precision.
constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC |
                     BP_NUMERICS_FLUSH_INPUT | BP_NUMERICS_FLUSH_OUTPUT);
constexpr auto numericsList = pointersTo(numerics);

// The least that Vulkan promises. Subgroups that exchange values consist of
// clusters of 8.
constexpr int64_t subgroupSizes[] = {8, 16, 32, 64, 128};
constexpr int64_t tileSizes[] = {8, 4};
constexpr std::array properties = {property("group_threads", 128),
                                   property("shared_bytes", 16384),
                                   property("private_bytes", 1024),
                                   property("grid_width", 32768),
                                   property("subgroup_sizes", subgroupSizes),
                                   property("tile_sizes", tileSizes)};

// Of cooperative matrices a device lists the shapes that it multiplies.
constexpr int64_t halfShapes[] = {16, 16, 16};
constexpr auto propertiesMatrix = [] {
  std::array<bp_property_t, properties.size() + 2> all = {};
  std::copy(properties.begin(), properties.end(), all.begin());
  all[properties.size()] = property("max_shared_bytes", 49152);
  all[properties.size() + 1] = property("matrix_shapes.f16", halfShapes);
  return all;
}();

// Any kernel may use any of them.
constexpr auto features =
    constantTexts("shaderFloat64", "shaderInt64", "shaderInt16", "shaderInt8",
                  "storageBuffer8BitAccess", "storageBuffer16BitAccess");
// Clusters of 8 invocations exchange values of 32 and 64 bits. The sizes of
// subgroups are powers of two.
constexpr auto featuresSubgroups = constantTexts(
    "shaderFloat64", "shaderInt64", "shaderInt16", "shaderInt8",
    "storageBuffer8BitAccess", "storageBuffer16BitAccess", "subgroupShuffle",
    "shaderSubgroupExtendedTypes", "computeFullSubgroups", "subgroup_size>=8");

constexpr auto featuresSubgroups32 = constantTexts(
    "shaderFloat64", "shaderInt64", "shaderInt16", "shaderInt8",
    "storageBuffer8BitAccess", "storageBuffer16BitAccess", "subgroupShuffle",
    "shaderSubgroupExtendedTypes", "computeFullSubgroups", "subgroup_size>=32");

// A matrix belongs to the 32 invocations of a subgroup, of which a work-group
// has four.
constexpr auto featuresMatrix = constantTexts(
    "shaderFloat64", "shaderInt64", "shaderInt16", "shaderInt8",
    "shaderFloat16", "storageBuffer8BitAccess", "storageBuffer16BitAccess",
    "subgroupBasic", "subgroupShuffle", "shaderSubgroupExtendedTypes",
    "computeFullSubgroups", "vulkanMemoryModel", "subgroup_size==32",
    "shared_bytes>=49152", "cooperativeMatrix",
    "cooperativeMatrix:f16:f32:16x16x16");

constexpr bp_target_t
targetOf(std::string_view name, std::string_view description,
         std::span<const bp_string_t> required, uint32_t rank,
         uint32_t fusion = 0,
         std::span<const bp_property_t> described = properties) {
  return {
      .header = BP_HEADER(bp_target_t),
      .name = constantText(name),
      .description = constantText(description),
      .driver = constantText("vulkan"),
      .format = constantText("spirv"),
      .required_features = required.data(),
      .required_feature_count = required.size(),
      .rank = rank,
      .emitter = constantText("spirv"),
      .storage_dtypes = addressableDTypes | packedDTypes,
      .compute_dtypes = addressableDTypes | packedDTypes,
      .workspace_limit = 128ull << 20,
      // Two descriptors besides: the error word and the workspace.
      .max_bindings = 14,
      .max_constants = BP_MAX_CONSTANTS,
      .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                BP_FUSE_ATTENTION | BP_FUSE_NARROW_ATTENTION | fusion,
      .max_fused_ops = 32,
      .numerics = numericsList.data(),
      .numerics_count = numericsList.size(),
      .properties = described.data(),
      .property_count = described.size(),
  };
}

#define TILE_BY(CONTRACT, SUMS)                                                \
  "bp-bind-buffers," CONTRACT "," SUMS ",bp-per-element"
#define TILE(SUMS) TILE_BY("bp-gpu-contract", SUMS)
#define MATRICES(SUMS) TILE_BY("bp-gpu-contract{matrix-unit=gpu}", SUMS)
#define ROWS "bp-gpu-rows,bp-gpu-reduce{subgroups=true cluster-sums=64}"
#define DEVICE(SPIRV) "bp-expand-math,bp-to-gpu-entry,bp-to-spirv" SPIRV
#define SUBGROUPS "{subgroups=true}"

// Work-groups for rows win on GPUs, where subgroups are wide. Elsewhere they
// are below the others in rank: whoever wants them names them.
constexpr DataTarget targets[] = {
    {targetOf("vulkan", "Vulkan 1.1 with 8 to 64 bit types", features, 10),
     stagesOf(TILE("bp-gpu-reduce"), DEVICE(""))},
    {targetOf(
         "vulkan+subgroups",
         "Vulkan 1.1 with 8 to 64 bit types and full subgroups that shuffle",
         featuresSubgroups, 12),
     stagesOf(TILE("bp-gpu-reduce" SUBGROUPS), DEVICE(SUBGROUPS))},
    {targetOf("vulkan+rows", "the same, for GPUs that sum up many rows at once",
              featuresSubgroups, 8, BP_FUSE_ROWS),
     stagesOf(TILE(ROWS), DEVICE(SUBGROUPS))},
    {targetOf("vulkan+rows32", "the same, where subgroups have 32 invocations",
              featuresSubgroups32, 14, BP_FUSE_ROWS),
     stagesOf(TILE(ROWS), DEVICE(SUBGROUPS))},
    {targetOf("vulkan+matrix",
              "the same, with cooperative matrices of f16; not yet run",
              featuresMatrix, 16, BP_FUSE_ROWS, propertiesMatrix),
     stagesOf(MATRICES(ROWS), DEVICE(SUBGROUPS))},
};

constexpr DataBackend backend = {.name = "vulkan",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
