// SPDX-License-Identifier: Apache-2.0
#include "RemoteTargets.h"
#include "hal/runtime/DevicePolicy.h"

#include <algorithm>

namespace backplane::rt {

Result<RemoteTargets> RemoteTargets::of(Registry &registry, worker::Pool &pool,
                                        std::string_view text) {
  Result<worker::RemoteDevice> found = worker::findDevice(pool, text);
  if (!found)
    return found.status();
  return RemoteTargets(registry, std::move(found->uri), std::move(found->info));
}

Result<std::string> RemoteTargets::best() const {
  return bestTarget(*registry_, uri_.driver(), *info_,
                    "device '" + uri_.device + "' of worker '" + uri_.worker +
                        "'");
}

namespace {

Result<std::string> bestOf(Registry &registry, worker::Pool &pool,
                           const worker::RemoteUri &uri,
                           const std::string &device) {
  Result<RemoteTargets> targets =
      RemoteTargets::of(registry, pool, "worker:" + uri.worker + "/" + device);
  return targets ? targets->best() : targets.status();
}

/// The joined targets of an item that names a worker. Behind a single one comes
/// that of the worker's own host, where it has one.
Result<std::string> remoteTarget(Registry &registry, worker::Pool &pool,
                                 const std::string &item, bool fallback) {
  Result<worker::RemoteUri> uri = worker::RemoteUri::parse(item);
  if (!uri)
    return uri.status();
  Result<std::string> names = bestOf(registry, pool, *uri, uri->device);
  for (size_t i = 0; names && i < uri->further.size(); ++i) {
    Result<std::string> more = bestOf(registry, pool, *uri, uri->further[i]);
    if (!more)
      return more;
    *names += "+" + *more;
  }
  if (!names || !fallback || !uri->further.empty() || uri->driver() == "host")
    return names;
  if (Result<std::string> host = bestOf(registry, pool, *uri, "host"))
    *names += "+" + *host;
  return names;
}

/// The targets of one item of a policy. `known` is not needed without fallback.
Result<std::vector<std::string>>
targetsOf(Registry &registry, worker::Pool &pool, const std::string &item,
          bool fallback, const std::vector<TargetInfo> &known) {
  if (worker::RemoteUri::matches(item)) {
    auto target = remoteTarget(registry, pool, item, fallback);
    return target ? Result(std::vector{*target}) : target.status();
  }
  auto targets = defaultTargets(registry, item);
  for (size_t i = 0; fallback && targets && i < targets->size(); ++i)
    addFallback(registry, known, (*targets)[i]);
  return targets;
}

} // namespace

Status aimAtWorkers(Registry &registry, worker::Pool &pool, CompileJob &job) {
  Result<DevicePolicy> policy = DevicePolicy::parse(job.driver);
  if (!policy || !job.targets.empty() ||
      std::ranges::none_of(policy->uris, worker::RemoteUri::matches))
    return {};
  std::vector<std::string> items = policy->uris;
  if (policy->aim)
    items.insert(items.begin() + long(policy->aimAt),
                 "auto:" + std::string(name(*policy->aim)));
  std::string failures;
  std::vector<TargetInfo> known;
  if (job.fallback)
    known = listTargets(registry);
  for (const std::string &item : items) {
    auto targets = targetsOf(registry, pool, item, job.fallback, known);
    if (!targets)
      failures += (failures.empty() ? "" : "; ") + targets.message();
    for (size_t i = 0; targets && i < targets->size(); ++i)
      if (std::ranges::find(job.targets, (*targets)[i]) == job.targets.end())
        job.targets.push_back((*targets)[i]);
  }
  job.fallback = false;
  return job.targets.empty() ? notFound(failures) : Status();
}

} // namespace backplane::rt
