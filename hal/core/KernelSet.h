// SPDX-License-Identifier: Apache-2.0
//
// KernelSet.h: the registered kernels of a plug-in, called with the same care
// as a driver. What the plug-in hands over is checked and reaches the caller as
// structs of this build.
#ifndef BACKPLANE_CORE_KERNELSET_H
#define BACKPLANE_CORE_KERNELSET_H

#include "backplane/compiler.h"
#include "backplane/cpp/Result.h"
#include "sdk/program/Entry.h"

#include <functional>
#include <memory>
#include <string>

namespace backplane {

/// A library of kernels, as loaded.
struct KernelSet {
  std::string plugin;  ///< its name
  std::string version; ///< of the plug-in
  std::string hash;    ///< of the library file, part of cache keys
  const bp_kernels_table_t *table = nullptr;
  void *self = nullptr;
  std::shared_ptr<const void> owner; ///< keeps what is above
};

/// Pointers in the kernel are valid during the call only. Its body, where it is
/// not IR, has launches in any case.
using KernelSink = std::function<Status(const bp_kernel_t &kernel)>;

/// Calls `put` with each kernel. A failure is that of `put`, or names the
/// function of the plug-in.
Status callDescribe(const KernelSet &set, const KernelSink &put);

/// The function of an entry on a device, whose handles are chained to what is
/// known of it.
Result<bp_native_function_t> callResolve(const KernelSet &set,
                                         const NativeKernel &kernel,
                                         const std::string &entry,
                                         const bp_device_info_t &device);

} // namespace backplane

#endif // BACKPLANE_CORE_KERNELSET_H
