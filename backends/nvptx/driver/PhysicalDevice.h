// SPDX-License-Identifier: Apache-2.0
//
// PhysicalDevice.h: what a CUDA driver says about a device, in the words of
// bp_device_info_t.
#ifndef BACKPLANE_CUDA_PHYSICALDEVICE_H
#define BACKPLANE_CUDA_PHYSICALDEVICE_H

#include "Driver.h"

#include <vector>

namespace backplane::cuda {

struct PhysicalDevice {
  const Cuda *cuda = nullptr; ///< null: refused before it was asked
  CUdevice handle = 0;
  std::string id, name, identity;
  std::string refusal; ///< empty: usable
  bool emulated = false;
  int sm = 0; ///< compute capability, 90 for 9.0
  uint64_t memoryBytes = 0;
  int maxGroupThreads = 0;
  int sharedBytes = 0;    ///< of a work-group, without asking
  int maxSharedBytes = 0; ///< of a work-group that asks
  int maxGrid[3] = {};
  int multiprocessors = 0;
};

/// The devices that the options mean: those of the machine, then the emulated
/// one, or those of another library. What cannot be used says why.
std::vector<PhysicalDevice> describeAll(const Options &options);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_PHYSICALDEVICE_H
