// SPDX-License-Identifier: Apache-2.0
//
// Executable.h: PTX as functions of a module.
#ifndef BACKPLANE_CUDA_EXECUTABLE_H
#define BACKPLANE_CUDA_EXECUTABLE_H

#include "Device.h"

namespace backplane::cuda {

struct EntryPoint {
  CUfunction function = nullptr;
  uint32_t groupSize[3] = {1, 1, 1};
  uint32_t bindings = 0;
  uint64_t workspaceBytes = 0; ///< scratch per work-group, where it is known
};

} // namespace backplane::cuda

struct bp_executable_t {
  CUmodule module = nullptr;
  std::vector<backplane::cuda::EntryPoint> entries;
};

#endif // BACKPLANE_CUDA_EXECUTABLE_H
