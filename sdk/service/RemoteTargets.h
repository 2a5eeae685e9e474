// SPDX-License-Identifier: Apache-2.0
//
// RemoteTargets.h: what can be compiled here for a device behind a worker, by
// what the worker says about that device.
#ifndef BACKPLANE_SERVICE_REMOTETARGETS_H
#define BACKPLANE_SERVICE_REMOTETARGETS_H

#include "CompileModel.h"
#include "Targets.h"
#include "hal/worker/Pool.h"

namespace backplane::rt {

class RemoteTargets {
public:
  /// Asks the worker of a "worker:NAME/DEVICE" URI about the device.
  static Result<RemoteTargets> of(Registry &registry, worker::Pool &pool,
                                  std::string_view uri);

  /// describeTargets for the device.
  Status each(const TargetReceiver &put) const {
    return describeTargets(*registry_, uri_.driver(), *info_, put);
  }
  /// The target with the highest rank that the device can run. A failure says
  /// why there is none.
  Result<std::string> best() const;

private:
  RemoteTargets(Registry &registry, worker::RemoteUri uri,
                std::shared_ptr<const DeviceInfo> info)
      : registry_(&registry), uri_(std::move(uri)), info_(std::move(info)) {}

  Registry *registry_;
  worker::RemoteUri uri_;
  std::shared_ptr<const DeviceInfo> info_;
};

/// Gives a job that names no target, for a policy that names workers, the best
/// target of each device in its order, with that of the host beside the device
/// behind it where the job wants that. Devices without a target are left out as
/// long as one is left.
Status aimAtWorkers(Registry &registry, worker::Pool &pool, CompileJob &job);

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_REMOTETARGETS_H
