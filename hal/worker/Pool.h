// SPDX-License-Identifier: Apache-2.0
//
// Pool.h: the workers that one context uses: started on first use, shared by
// all sessions on a device, started again when one was lost.
#ifndef BACKPLANE_WORKER_POOL_H
#define BACKPLANE_WORKER_POOL_H

#include "Client.h"
#include "hal/core/DeviceInfo.h"

namespace backplane::worker {

/// Thread-safe.
class Pool {
public:
  /// `file` describes workers; see Workers.h.
  explicit Pool(std::string file, FileTrust trust = {})
      : file_(std::move(file)), trust_(std::move(trust)) {}

  /// The worker that serves this device, with the further ones.
  Result<std::shared_ptr<Client>> client(const RemoteUri &uri);
  /// All devices that a worker has; it is started once for this and ended.
  Result<std::vector<WireDevice>> devices(const std::string &worker);
  /// The line of one of them. A failure names those that there are.
  Result<WireDevice> device(const RemoteUri &uri);
  /// All workers that there are.
  Result<std::vector<NamedWorker>> workers() const {
    return readWorkers(file_, trust_);
  }

private:
  std::string file_;
  FileTrust trust_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Client>> clients_; ///< by URI
  std::map<std::string, std::vector<WireDevice>> devices_; ///< by worker
};

/// The host's copy of what a worker says about a device, checked like that of a
/// driver. None for a line without a device.
Result<std::shared_ptr<const DeviceInfo>> deviceInfo(const WireDevice &device);

/// What a text "worker:NAME/DEVICE" means.
struct RemoteDevice {
  RemoteUri uri;   ///< the text
  WireDevice line; ///< the worker's, with the full URI there
  std::shared_ptr<const DeviceInfo> info; ///< the host's copy
};
/// Asks the worker. A failure names the text's fault, the devices that there
/// are, or what the worker says wrongly.
Result<RemoteDevice> findDevice(Pool &pool, std::string_view text);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_POOL_H
