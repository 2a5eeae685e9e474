// SPDX-License-Identifier: Apache-2.0
//
// TensorMaps.h: the tensors whose blocks a kernel copies by hardware. The
// kernel K has them beside it as K_tensors (backends/nvptx/README.md), and a
// parameter of 128 bytes for each, which is made for every launch, as it has
// the address.
#ifndef BACKPLANE_CUDA_TENSORMAPS_H
#define BACKPLANE_CUDA_TENSORMAPS_H

#include "Cuda.h"

#include <cstdint>
#include <vector>

namespace backplane::cuda {

struct TensorDescription {
  uint32_t binding = 0;
  uint32_t elementBytes = 0;
  std::vector<cuuint64_t> sizes;   ///< of each axis, the innermost first
  std::vector<cuuint64_t> strides; ///< bytes, of each axis but the first
  std::vector<cuuint32_t> block;   ///< elements of each axis
  uint64_t bytes = 0;              ///< up to the end of the last element
};

/// Of one kernel.
inline constexpr size_t maxTensors = 16;

/// Reads what lies beside a kernel with so many bindings; false with the reason
/// where it is damaged.
bool readTensors(std::span<const int64_t> words, uint32_t bindings,
                 std::vector<TensorDescription> &out, std::string *reason);

/// The map of a tensor at this address.
CUresult encode(const Cuda &cuda, const TensorDescription &tensor,
                CUdeviceptr address, CUtensorMap &out);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_TENSORMAPS_H
