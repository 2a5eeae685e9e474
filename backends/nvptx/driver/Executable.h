// SPDX-License-Identifier: Apache-2.0
//
// Executable.h: PTX as functions of a module, or registered kernels.
#ifndef BACKPLANE_CUDA_EXECUTABLE_H
#define BACKPLANE_CUDA_EXECUTABLE_H

#include "Device.h"
#include "TensorMaps.h"

namespace backplane::cuda {

struct EntryPoint {
  CUfunction function = nullptr;
  uint32_t groupSize[3] = {1, 1, 1};
  uint32_t bindings = 0;
  uint64_t workspaceBytes = 0; ///< scratch per work-group, where it is known
  std::vector<TensorDescription> tensors; ///< its last parameters
  /// In place of `function`: puts work into the stream itself.
  decltype(bp_native_function_t::launch) launch = nullptr;
  void *self = nullptr; ///< of `launch`
};

} // namespace backplane::cuda

struct bp_executable_t {
  CUmodule module = nullptr;
  std::vector<backplane::cuda::EntryPoint> entries;
};

#endif // BACKPLANE_CUDA_EXECUTABLE_H
