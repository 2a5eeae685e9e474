// SPDX-License-Identifier: Apache-2.0
#include "RemoteTargets.h"

namespace backplane::rt {

Result<RemoteTargets> RemoteTargets::of(Registry &registry, worker::Pool &pool,
                                        std::string_view text) {
  Result<worker::RemoteUri> uri = worker::RemoteUri::parse(text);
  if (!uri)
    return uri.status();
  Result<worker::WireDevice> device = pool.device(*uri);
  if (!device)
    return device.status();
  auto info = worker::deviceInfo(*device);
  if (!info)
    return info.status().within("worker '" + uri->worker + "'");
  return RemoteTargets(registry, std::move(*uri), std::move(*info));
}

Result<std::string> RemoteTargets::best() const {
  std::optional<TargetInfo> best;
  std::string others;
  Status status = each([&](const TargetInfo &target, const bp_target_t &,
                           const std::string &misfit) {
    if (!misfit.empty())
      others += "; " + target.name + " " + misfit;
    else if (!best || target.rank > best->rank)
      best = target;
    return Status();
  });
  if (!status.ok())
    return status;
  if (!best)
    return notFound("no compiler plug-in has a target that device '" +
                    uri_.device + "' of worker '" + uri_.worker + "' runs" +
                    others);
  return best->name;
}

} // namespace backplane::rt
