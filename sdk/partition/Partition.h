// SPDX-License-Identifier: Apache-2.0
//
// Partition.h: which of several devices runs each op of a program. Devices are
// in the order of preference; what the first one cannot run, or what would cost
// more in transfers than it saves there, goes to a later one. Knows nothing of
// ops: nodes, bytes and costs decide.
#ifndef BACKPLANE_PARTITION_PARTITION_H
#define BACKPLANE_PARTITION_PARTITION_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace backplane {

/// What one device says about one op.
struct DeviceOffer {
  bool supported = true;
  std::string reason; ///< why not
  double costNs = 0;  ///< 0: not known
};

struct PartitionNode {
  std::string name; ///< "add (/layer/add)", for reasons
  /// Values that other nodes give it.
  struct Edge {
    uint32_t producer; ///< a node before this one
    double bytes;
  };
  std::vector<Edge> operands;
  std::vector<DeviceOffer> offers; ///< one per device
  /// Moves elements more than it computes, so that without costs any device is
  /// as good as another, transfers aside.
  bool light = false;
};

struct Assignment {
  uint32_t device = 0;
  std::string reason; ///< why not on device 0; empty there
};

/// Gives each node a device that supports it: the first one, then moves nodes
/// and connected groups of them off it while claimed costs and transfers
/// together get less. Equal input gives equal output. Fails when no device
/// supports a node, with what each says. `devices` are names for reasons.
Result<std::vector<Assignment>>
assignDevices(const std::vector<PartitionNode> &nodes,
              const std::vector<std::string> &devices);

/// What the core expects of a transfer: a fixed part and a part per byte.
inline constexpr double transferStartNs = 20'000;
inline constexpr double transferNsPerByte = 0.1;

} // namespace backplane

#endif // BACKPLANE_PARTITION_PARTITION_H
