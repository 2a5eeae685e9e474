// SPDX-License-Identifier: Apache-2.0
//
// Registry.cpp: which plug-ins are asked, and the list of what they gave.
#include "hal/core/Registry.h"
#include "hal/core/Manifest.h"
#include "hal/core/Plugin.h"
#include "hal/core/Trial.h"

#include <algorithm>
#include <utility>

namespace backplane {

std::shared_ptr<Registry> Registry::create(const LoaderOptions &options,
                                           const bp_graph_table_t *graphTable) {
  std::shared_ptr<Registry> registry(new Registry);
  HostOptions host;
  host.threads = options.threads;
  host.log = options.log;
  host.graphTable = graphTable;
  host.trust = options.trust;
  host.mapArtifacts = options.mapArtifacts;
  if (!options.cacheDir.empty())
    host.driverCache = options.cacheDir + "/driver";
  registry->host_ = std::make_shared<Host>(host);
  const bp_host_cpu_t &cpu = registry->host_->cpu().c();
  for (const LinkedPlugin &linked : linkedPlugins())
    registry->adopt(linked, options);
  const std::vector<FoundManifest> manifests = findManifests(options, cpu);
  auto loadTried = [&](const FoundManifest &found) {
    Status tried = tryPlugin(found.manifest, options);
    if (tried.ok())
      return registry->load(found);
    registry->refuse(found, tried.message());
  };
  for (const FoundManifest &found : manifests)
    if (!linkedPlugins().empty())
      registry->refuse(found, "this program is static and loads no libraries");
    else if (found.refusal.empty())
      loadTried(found);
    else if (!found.givesWay)
      registry->refuse(found, found.refusal);
  for (const FoundManifest &found : manifests)
    if (found.givesWay && registry->has(found.manifest.name))
      registry->refuse(found, found.refusal);
    else if (found.givesWay && linkedPlugins().empty())
      loadTried(found); // what it gave way to is not usable
  registry->checkTargets();
  return registry;
}

/// Whether a plug-in of this name was loaded.
bool Registry::has(std::string_view name) const {
  return std::ranges::any_of(
             plugins_,
             [&](const auto &plugin) { return plugin->name() == name; }) ||
         std::ranges::any_of(
             kernelSets_, [&](const auto &set) { return set.plugin == name; });
}

DeviceListing Registry::lineOf(const Source &source) {
  DeviceListing listing;
  listing.plugin = source.plugin;
  listing.manifest = source.manifest;
  listing.builtMinor = source.builtMinor;
  listing.requiredMinor = source.requiredMinor;
  return listing;
}

DeviceListing Registry::lineOf(const Source &source, std::string uri,
                               std::shared_ptr<const DeviceInfo> info) {
  DeviceListing listing = lineOf(source);
  listing.uri = std::move(uri);
  listing.name = info->name();
  listing.refusal = info->refusal();
  listing.info = std::move(info);
  return listing;
}

void Registry::refuse(Source &source, std::string reason) {
  host_->log(BP_LOG_INFO, source.manifest + ": not used: " + reason);
  DeviceListing listing = lineOf(source);
  listing.refusal = std::move(reason);
  source.lines.push_back(std::move(listing));
}

void Registry::refuse(const FoundManifest &found, std::string reason) {
  sources_.push_back({found.manifest.name, found.path, nullptr, {}});
  refuse(sources_.back(), std::move(reason));
}

/// Writes the lines of a driver, unless they are there.
void Registry::look(Source &source) {
  std::shared_ptr<Plugin> driver = std::exchange(source.driver, nullptr);
  if (!driver)
    return;
  Result<DeviceInfos> infos = driver->enumerate({});
  if (!infos)
    return refuse(source, infos.message());
  if (infos->empty())
    return refuse(source, noDevice);
  for (const auto &info : *infos) {
    if (!info) {
      refuse(source, info.message());
      continue;
    }
    std::string uri = source.plugin + "://" + std::string((*info)->id());
    source.lines.push_back(lineOf(source, std::move(uri), *info));
  }
}

std::vector<DeviceListing> Registry::listings() {
  std::vector<DeviceListing> all;
  std::lock_guard lock(mutex_);
  for (Source &source : sources_) {
    look(source);
    all.insert(all.end(), source.lines.begin(), source.lines.end());
  }
  return all;
}

std::vector<DeviceListing> Registry::listings(std::string_view plugin) {
  std::vector<DeviceListing> own;
  std::lock_guard lock(mutex_);
  for (Source &source : sources_) {
    if (source.plugin != plugin)
      continue;
    look(source);
    own.insert(own.end(), source.lines.begin(), source.lines.end());
  }
  return own;
}

} // namespace backplane
