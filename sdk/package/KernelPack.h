// SPDX-License-Identifier: Apache-2.0
//
// KernelPack.h: a compiled dispatch, and its bytes in the cache. Free of MLIR.
#ifndef BACKPLANE_PACKAGE_KERNELPACK_H
#define BACKPLANE_PACKAGE_KERNELPACK_H

#include "sdk/graph/Graph.h"
#include "sdk/program/Entry.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace backplane {

/// Some bytes of a binding of the dispatch, or of memory of its own.
struct LaunchBinding {
  uint32_t binding = 0; ///< of the dispatch, or BP_LAUNCH_
  std::string offset;   ///< an expression; empty: 0
  std::string length;   ///< an expression; empty: the rest

  bool operator==(const LaunchBinding &) const = default;
};

/// One launch of a compiled dispatch: an entry and how it is called.
struct KernelLaunch {
  std::string name;
  std::array<std::string, 3> grid;
  std::string workspace; ///< bytes per worker, an expression
  std::vector<uint8_t> access;
  uint32_t constantCount = 0;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  uint32_t subgroupSize = 0;
  Bytes driverData;
  std::vector<std::string> parameters;
  std::string sharedBytes; ///< an expression; empty: 0
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  std::vector<LaunchBinding> bindings; ///< one for each of `access`

  bool operator==(const KernelLaunch &) const = default;
};

/// A compiled dispatch. `code` is a blob in the target's format, or an object
/// that is still to be linked.
struct Kernel {
  Bytes code;
  std::vector<KernelLaunch> launches; ///< in order; of an object one
  std::string scratch; ///< bytes that launches share; empty: none
  std::vector<KernelLaunch> initLaunches; ///< once per session; few have any
  uint64_t persistentBytes = 0;           ///< that those write
  /// Inputs that may have the memory of the one result, by number: graph and
  /// kernel agree on it.
  std::vector<uint32_t> inPlace;
  /// What its compiler says of it, for the report.
  std::vector<std::string> notes;
  // Not part of the bytes:
  std::string flops; ///< Flops.h
  /// A registered kernel whose launches are functions of its plug-in.
  std::optional<NativeKernel> native;
};

/// For the cache: a kernel as bytes and back; none from bytes that are no
/// kernel.
Bytes packKernel(const Kernel &kernel);
std::optional<Kernel> unpackKernel(std::span<const uint8_t> bytes);

} // namespace backplane

#endif // BACKPLANE_PACKAGE_KERNELPACK_H
