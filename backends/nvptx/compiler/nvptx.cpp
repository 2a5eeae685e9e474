// SPDX-License-Identifier: Apache-2.0
//
// nvptx.cpp: what the compiler needs to know of NVIDIA's GPUs. They run PTX,
// for which the SDK has an emitter, so all of it is data: targets, and
// pipelines over the published passes.
#include "backplane/cpp/DataBackend.h"

using namespace backplane;

namespace {

// Nothing is flushed, divisions and roots round to nearest. Halves are computed
// in single precision.
constexpr auto numerics =
    numericsInSingle(BP_NUMERICS_CONTRACT | BP_NUMERICS_DETERMINISTIC);
constexpr auto numericsList = pointersTo(numerics);
// Factors of f32 are rounded to tf32 where a target does so.
constexpr auto numericsTf32 = [] {
  constexpr uint32_t tf32Bits = 11;
  auto list = numerics;
  for (bp_numerics_t &one : list)
    if (one.dtype == BP_DTYPE_F32 &&
        std::string_view(one.op_class.data, one.op_class.size) == "DOT")
      one.operand_bits = tf32Bits;
  return list;
}();
constexpr auto numericsListTf32 = pointersTo(numericsTf32);

// What every GPU of these has: 48 KiB without asking, warps of 32.
constexpr int64_t subgroupSizes[] = {32};
constexpr int64_t tileSizes[] = {8, 8};
constexpr int64_t halfShapes[] = {16, 8, 16};
constexpr int64_t byteShapes[] = {16, 8, 32};
constexpr int64_t singleShapes[] = {16, 8, 8};

/// What a launch may ask for is as much as there is without asking, or more.
constexpr auto propertiesOf(std::span<const int64_t> halves,
                            std::span<const int64_t> bytes,
                            int64_t maxSharedBytes) {
  return std::array{property("group_threads", 128),
                    property("max_group_threads", 1024),
                    property("shared_bytes", 49152),
                    property("max_shared_bytes", maxSharedBytes),
                    property("private_bytes", 1024),
                    property("grid_width", 1 << 30),
                    property("subgroup_sizes", subgroupSizes),
                    property("tile_sizes", tileSizes),
                    property("matrix_shapes.f16", halves),
                    property("matrix_shapes.bf16", halves),
                    property("matrix_shapes.i8", bytes),
                    property("matrix_shapes.u8", bytes)};
}
constexpr auto properties = propertiesOf(halfShapes, byteShapes, 49152);

// Hopper with all its instructions: those of warp groups, too, and 227 KiB.
constexpr int64_t halfShapes90a[] = {16, 8,   16, 64, 256, 16,
                                     64, 128, 16, 64, 64,  16};
constexpr int64_t byteShapes90a[] = {16, 8,   32, 64, 256, 32,
                                     64, 128, 32, 64, 64,  32};
constexpr auto properties90a =
    propertiesOf(halfShapes90a, byteShapes90a, 227 << 10);

// With those of f32, too, whose factors are rounded.
template <size_t N>
constexpr auto withSingles(const std::array<bp_property_t, N> &from) {
  std::array<bp_property_t, N + 1> all = {};
  std::copy(from.begin(), from.end(), all.begin());
  all[N] = property("matrix_shapes.f32", singleShapes);
  return all;
}
constexpr auto propertiesTf32 = withSingles(properties);
constexpr auto properties90aTf32 = withSingles(properties90a);

// PTX of a compute capability runs on later ones, but for that of an
// architecture with its special instructions, which runs there alone.
constexpr auto features80 = constantTexts("sm>=80");
constexpr auto features90 = constantTexts("sm>=90");
constexpr auto features90a = constantTexts("sm==90");
constexpr auto features100 = constantTexts("sm>=100");
constexpr auto features120 = constantTexts("sm>=120");
// A device has the feature where its user has asked for it (precision=tf32).
constexpr auto tf32From80 = constantTexts("sm>=80", "tf32");
constexpr auto tf32From90 = constantTexts("sm>=90", "tf32");
constexpr auto tf32On90a = constantTexts("sm==90", "tf32");
constexpr auto tf32From100 = constantTexts("sm>=100", "tf32");
constexpr auto tf32From120 = constantTexts("sm>=120", "tf32");
// A cubin is code of one generation.
constexpr auto cubin80 = constantTexts("sm>=80", "sm<90");
constexpr auto cubin90 = constantTexts("sm>=90", "sm<100");
constexpr auto cubin100 = constantTexts("sm>=100", "sm<110");
constexpr auto cubin120 = constantTexts("sm>=120", "sm<130");

constexpr bp_target_t targetOf(std::string_view name,
                               std::string_view description,
                               std::span<const bp_string_t> required,
                               uint32_t rank, std::string_view cpu,
                               std::string_view ptx,
                               std::span<const bp_property_t> properties) {
  return {
      .header = BP_HEADER(bp_target_t),
      .name = constantText(name),
      .description = constantText(description),
      .driver = constantText("cuda"),
      .format = constantText("ptx"),
      .required_features = required.data(),
      .required_feature_count = required.size(),
      .rank = rank,
      .emitter = constantText("ptx"),
      .triple = constantText("nvptx64-nvidia-cuda"),
      .cpu = constantText(cpu),
      .features = constantText(ptx),
      .storage_dtypes = addressableDTypes | packedDTypes,
      .compute_dtypes = addressableDTypes | packedDTypes,
      .workspace_limit = 128ull << 20,
      .max_bindings = 64,
      .max_constants = BP_MAX_CONSTANTS,
      .fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE | BP_FUSE_PROLOGUE |
                BP_FUSE_WIDENING | BP_FUSE_ATTENTION |
                BP_FUSE_NARROW_ATTENTION | BP_FUSE_ROWS,
      .max_fused_ops = 32,
      .numerics = numericsList.data(),
      .numerics_count = numericsList.size(),
      .properties = properties.data(),
      .property_count = properties.size(),
  };
}

constexpr auto stages =
    stagesOf("bp-bind-buffers,"
             "bp-gpu-contract{fused-products=true matrix-unit=nvvm},"
             "bp-gpu-rows,"
             "bp-gpu-reduce{subgroups=true cluster-sums=64},bp-per-element",
             "bp-expand-math,bp-to-gpu-entry,bp-to-nvvm");

/// The same as a cubin by ptxas, where that is there. The rank is below those
/// of PTX: it is taken by its name only.
constexpr bp_target_t cubinOf(bp_target_t target, std::string_view name,
                              std::span<const bp_string_t> required) {
  constexpr uint32_t below = 10;
  target.name = constantText(name);
  target.format = constantText("cubin");
  target.emitter = constantText("cubin");
  target.required_features = required.data();
  target.required_feature_count = required.size();
  target.rank -= below;
  return target;
}

/// The same with factors of f32 rounded to tf32, which the matrix unit then
/// multiplies. The rank is above: who asks for it gets it.
constexpr bp_target_t tf32Of(bp_target_t target, std::string_view name,
                             std::span<const bp_string_t> required,
                             std::span<const bp_property_t> properties) {
  target.name = constantText(name);
  target.required_features = required.data();
  target.required_feature_count = required.size();
  target.rank += 1;
  target.numerics = numericsListTf32.data();
  target.properties = properties.data();
  target.property_count = properties.size();
  return target;
}

// The versions of PTX are those of CUDA 11.8, 12.0, 12.7 and 12.8.
constexpr auto sm80 = targetOf("nvptx-sm80", "NVIDIA GPUs from Ampere on",
                               features80, 20, "sm_80", "+ptx78", properties);
constexpr auto sm90 = targetOf("nvptx-sm90", "NVIDIA GPUs from Hopper on",
                               features90, 22, "sm_90", "+ptx78", properties);
constexpr auto sm90a =
    targetOf("nvptx-sm90a", "NVIDIA Hopper with all its instructions",
             features90a, 24, "sm_90a", "+ptx80", properties90a);
constexpr auto sm100 =
    targetOf("nvptx-sm100", "NVIDIA GPUs from Blackwell on", features100, 26,
             "sm_100", "+ptx86", properties);
constexpr auto sm120 =
    targetOf("nvptx-sm120", "NVIDIA GPUs from Blackwell's cards on",
             features120, 28, "sm_120", "+ptx87", properties);

constexpr DataTarget targets[] = {
    {sm80, stages},
    {sm90, stages},
    {sm90a, stages},
    {sm100, stages},
    {sm120, stages},
    {tf32Of(sm80, "nvptx-sm80-tf32", tf32From80, propertiesTf32), stages},
    {tf32Of(sm90, "nvptx-sm90-tf32", tf32From90, propertiesTf32), stages},
    {tf32Of(sm90a, "nvptx-sm90a-tf32", tf32On90a, properties90aTf32), stages},
    {tf32Of(sm100, "nvptx-sm100-tf32", tf32From100, propertiesTf32), stages},
    {tf32Of(sm120, "nvptx-sm120-tf32", tf32From120, propertiesTf32), stages},
    {cubinOf(sm80, "nvptx-sm80-cubin", cubin80), stages},
    {cubinOf(sm90, "nvptx-sm90-cubin", cubin90), stages},
    {cubinOf(sm90a, "nvptx-sm90a-cubin", features90a), stages},
    {cubinOf(sm100, "nvptx-sm100-cubin", cubin100), stages},
    {cubinOf(sm120, "nvptx-sm120-cubin", cubin120), stages},
};

constexpr DataBackend backend = {.name = "cuda",
                                 .vendor = "Backplane",
                                 .version = "0.1.0",
                                 .targets = targets};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t * /*host*/, bp_plugin_info_t *out) {
  return DataPlugin<backend>::query(out);
}
