// SPDX-License-Identifier: Apache-2.0
#include "RemoteTargets.h"
#include "DevicePolicy.h"

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

/// The targets of one item of a policy.
static Result<std::vector<std::string>> targetsOf(Registry &registry,
                                                  worker::Pool &pool,
                                                  const std::string &item,
                                                  bool fallback) {
  if (worker::RemoteUri::matches(item)) {
    Result<RemoteTargets> targets = RemoteTargets::of(registry, pool, item);
    Result<std::string> best = targets ? targets->best() : targets.status();
    if (!best)
      return best.status();
    return std::vector{*best};
  }
  auto targets = defaultTargets(registry, item);
  for (size_t i = 0; fallback && targets && i < targets->size(); ++i)
    addFallback(registry, listTargets(registry), (*targets)[i]);
  return targets;
}

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
  for (const std::string &item : items) {
    auto targets = targetsOf(registry, pool, item, job.fallback);
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
