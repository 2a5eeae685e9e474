// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/gpu/GpuTarget.h"

#include "sdk/emit/common/TargetProperties.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace backplane {
namespace {

/// What a number of the target may be for this code.
struct Limits {
  StringRef key;
  int64_t GpuTarget::*member;
  int64_t min, max;
  bool isPowerOf2;
};

/// Tiles of 16 columns and a depth of 16 keep at most 256 invocations busy.
constexpr Limits numbers[] = {
    {"group_threads", &GpuTarget::groupSize, 32, 256, true},
    {"shared_bytes", &GpuTarget::sharedBytes, 16384, 1 << 20, false},
    {"max_group_threads", &GpuTarget::maxGroupSize, 0, 1024, false},
    {"max_shared_bytes", &GpuTarget::maxSharedBytes, 0, 1 << 20, false},
    {"private_bytes", &GpuTarget::privateBytes, 0, 1 << 20, false},
    {"grid_width", &GpuTarget::gridWidth, 1, INT32_MAX, false},
};
constexpr Limits cluster = {"subgroup_sizes", &GpuTarget::clusterSize, 2, 32,
                            true};
constexpr Limits tile[] = {
    {"tile_sizes", &GpuTarget::tileRows, 1, 8, true},
    {"tile_sizes", &GpuTarget::tileColumns, 1, 8, true},
};

} // namespace

static LogicalResult set(ModuleOp module, GpuTarget &target,
                         const Limits &limits, int64_t value) {
  bool plausible = value >= limits.min && value <= limits.max &&
                   (!limits.isPowerOf2 || llvm::isPowerOf2_64(uint64_t(value)));
  if (!plausible)
    return module.emitError("the target's ")
           << limits.key << " has " << value << "; code for GPUs takes "
           << (limits.isPowerOf2 ? "a power of two " : "") << "from "
           << limits.min << " to " << limits.max;
  target.*limits.member = value;
  return success();
}

/// The smallest subgroup, of which larger ones consist.
static LogicalResult setCluster(ModuleOp module, GpuTarget &target,
                                ArrayRef<int64_t> sizes) {
  if (sizes.empty())
    return success();
  return set(module, target, cluster,
             std::min(*llvm::min_element(sizes), cluster.max));
}

static LogicalResult setTile(ModuleOp module, GpuTarget &target,
                             ArrayRef<int64_t> sizes) {
  if (sizes.empty())
    return success();
  if (sizes.size() != std::size(tile))
    return module.emitError("the target's tile_sizes has ")
           << sizes.size() << " numbers; code for GPUs takes rows and columns";
  return success(succeeded(set(module, target, tile[0], sizes[0])) &&
                 succeeded(set(module, target, tile[1], sizes[1])));
}

/// Those of the dtypes that matrix instructions multiply here.
static LogicalResult setMatrixShapes(const TargetProperties &properties,
                                     GpuTarget &target) {
  constexpr std::pair<StringLiteral, MatrixElement> keys[] = {
      {"matrix_shapes.f16", MatrixElement::F16},
      {"matrix_shapes.bf16", MatrixElement::BF16},
      {"matrix_shapes.f32", MatrixElement::TF32},
      {"matrix_shapes.i8", MatrixElement::S8},
      {"matrix_shapes.u8", MatrixElement::U8}};
  for (auto [key, element] : keys) {
    SmallVector<int64_t> sizes;
    if (failed(properties.read(key, sizes)))
      return failure();
    for (size_t i = 0; i + 2 < sizes.size(); i += 3)
      target.matrixShapes.push_back(
          {element, sizes[i], sizes[i + 1], sizes[i + 2]});
  }
  return success();
}

FailureOr<GpuTarget> readGpuTarget(ModuleOp module) {
  GpuTarget target;
  TargetProperties properties(module);
  for (const Limits &limits : numbers) {
    int64_t value = target.*limits.member;
    if (failed(properties.read(limits.key, value)) ||
        failed(set(module, target, limits, value)))
      return failure();
  }
  SmallVector<int64_t> subgroups, tiles;
  if (failed(properties.read("subgroup_sizes", subgroups)) ||
      failed(setCluster(module, target, subgroups)) ||
      failed(properties.read("tile_sizes", tiles)) ||
      failed(setTile(module, target, tiles)) ||
      failed(setMatrixShapes(properties, target)))
    return failure();
  target.maxGroupSize = std::max(target.maxGroupSize, target.groupSize);
  target.maxSharedBytes = std::max(target.maxSharedBytes, target.sharedBytes);
  return target;
}

} // namespace backplane
