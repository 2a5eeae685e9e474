// SPDX-License-Identifier: Apache-2.0
//
// TensorMap.cpp: cuTensorMapEncodeTiled and cuTensorMapReplaceAddress, with the
// limits that CUDA states.
#include "TensorMap.h"

#include "Context.h"

namespace emulator {
namespace {

// 0: the emulator does not know the type.
uint8_t bytesOfElement(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return 1;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return 2;
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    return 4;
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    return 8;
  default:
    return 0;
  }
}

uint8_t bytesOfSwizzle(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
  case CU_TENSOR_MAP_SWIZZLE_NONE:
    return 0;
  case CU_TENSOR_MAP_SWIZZLE_32B:
    return 32;
  case CU_TENSOR_MAP_SWIZZLE_64B:
    return 64;
  case CU_TENSOR_MAP_SWIZZLE_128B:
    return 128;
  default:
    fail(CUDA_ERROR_NOT_SUPPORTED, "the swizzle " +
                                       std::to_string(int(swizzle)) +
                                       " of a tensor map is not supported");
  }
}

void require(bool good, const std::string &what) {
  if (!good)
    fail(CUDA_ERROR_INVALID_VALUE, "a tensor map needs " + what);
}

// What is told of a tensor, with the names that CUDA has.
struct Described {
  uint32_t rank;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t *box, *steps;
};

void setAddress(TensorMap &map, void *address) {
  map.address = reinterpret_cast<uint64_t>(address);
  require(map.address && map.address % 16 == 0,
          "a global address that is a multiple of 16");
}

void setDimensions(TensorMap &map, const Described &from) {
  map.strides[0] = map.elementBytes;
  for (uint32_t i = 0; i < from.rank; ++i) {
    require(from.sizes[i] >= 1 && from.sizes[i] <= uint64_t(1) << 32,
            "sizes of 1 to 2^32");
    require(from.box[i] >= 1 && from.box[i] <= 256, "boxes of 1 to 256");
    if (from.steps[i] != 1)
      fail(CUDA_ERROR_NOT_SUPPORTED,
           "a tensor map with element strides is not supported");
    map.sizes[i] = uint32_t(from.sizes[i] - 1);
    map.box[i] = uint16_t(from.box[i]);
    if (i + 1 == from.rank)
      break;
    require(from.strides[i] % 16 == 0 && from.strides[i] < uint64_t(1) << 40,
            "strides that are multiples of 16, below 2^40");
    map.strides[i + 1] = from.strides[i];
  }
}

TensorMap described(CUtensorMapDataType type, void *address,
                    const Described &from, CUtensorMapInterleave interleave,
                    CUtensorMapSwizzle swizzle, CUtensorMapFloatOOBfill fill) {
  TensorMap map;
  map.elementBytes = bytesOfElement(type);
  if (!map.elementBytes)
    fail(CUDA_ERROR_NOT_SUPPORTED, "the type " + std::to_string(int(type)) +
                                       " of a tensor map is not supported");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    fail(CUDA_ERROR_NOT_SUPPORTED, "a tensor map that interleaves or fills "
                                   "with NaNs is not supported");
  require(from.rank >= 1 && from.rank <= TensorMap::kMaxRank,
          "1 to 5 dimensions");
  setAddress(map, address);
  map.rank = uint8_t(from.rank);
  map.swizzle = bytesOfSwizzle(swizzle);
  setDimensions(map, from);
  uint32_t inner = uint32_t(map.box[0]) * map.elementBytes;
  require(inner % 16 == 0, "an inner box that is a multiple of 16 bytes");
  require(!map.swizzle || inner <= map.swizzle,
          "an inner box that is no wider than its swizzle");
  if (map.swizzle && inner < map.swizzle)
    fail(CUDA_ERROR_NOT_SUPPORTED, "a tensor map whose inner box is narrower "
                                   "than its swizzle is not supported");
  return map;
}

void put(CUtensorMap *out, const TensorMap &map) {
  *out = {};
  std::memcpy(out, &map, sizeof(map));
}

} // namespace
} // namespace emulator

using namespace emulator;

extern "C" {

CUresult cuTensorMapEncodeTiled(
    CUtensorMap *out, CUtensorMapDataType type, cuuint32_t rank, void *address,
    const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill fill) {
  return guarded([&] {
    require(out && sizes && box && steps && (strides || rank == 1),
            "all of its arguments");
    put(out, described(type, address, {rank, sizes, strides, box, steps},
                       interleave, swizzle, fill));
  });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *out, void *address) {
  return guarded([&] {
    require(out, "all of its arguments");
    TensorMap map;
    std::memcpy(&map, out, sizeof(map));
    require(map.mark == TensorMap::kMark,
            "to be made by cuTensorMapEncodeTiled");
    setAddress(map, address);
    put(out, map);
  });
}

} // extern "C"
