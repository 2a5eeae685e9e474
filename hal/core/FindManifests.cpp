// SPDX-License-Identifier: Apache-2.0
//
// FindManifests.cpp: which of the manifests that there are is used.
#include "hal/core/Manifest.h"
#include "sdk/support/Glob.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

namespace backplane {

namespace fs = std::filesystem;

static bool anyMatches(const std::vector<std::string> &globs,
                       std::string_view name) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string &glob) {
    return matchesGlob(glob, name);
  });
}

static bool listHas(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == item)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// Why this host cannot serve any of the versions.
static std::string abiRefusal(const std::vector<AbiVersion> &versions) {
  const std::string major = std::to_string(BP_ABI_MAJOR);
  std::string majors;
  for (const AbiVersion &version : versions) {
    majors += (majors.empty() ? "" : " or ") + std::to_string(version.major);
    if (version.major != BP_ABI_MAJOR)
      continue;
    if (version.minorLow <= BP_ABI_MINOR)
      return "";
    return "needs ABI version " + major + "." +
           std::to_string(version.minorLow) + ", this host has " + major + "." +
           std::to_string(BP_ABI_MINOR) + "; update Backplane";
  }
  return "needs ABI major version " + majors + ", this host has " + major;
}

std::string manifestRefusal(const Manifest &manifest,
                            const LoaderOptions &options,
                            const bp_host_cpu_t &cpu) {
  if (!options.select.empty() && !anyMatches(options.select, manifest.name))
    return "not selected by the options";
  if (anyMatches(options.disable, manifest.name))
    return "disabled by the options";
  if (!manifest.arch.empty() && manifest.arch != view(cpu.architecture))
    return "built for " + manifest.arch + ", this machine is " +
           std::string(view(cpu.architecture));
  if (std::string refusal = abiRefusal(manifest.abi); !refusal.empty())
    return refusal;
  for (const std::string &feature : manifest.cpuFeatures)
    if (!listHas(view(cpu.features), feature))
      return "needs the CPU feature " + feature + ", which this machine lacks";
  return "";
}

int compareVersions(std::string_view a, std::string_view b) {
  auto take = [](std::string_view &text) {
    uint64_t value = 0;
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
      value = std::min<uint64_t>(value * 10 + uint64_t(text.front() - '0'),
                                 std::numeric_limits<uint32_t>::max());
      text.remove_prefix(1);
    }
    if (!text.empty() && text.front() == '.')
      text.remove_prefix(1);
    return value;
  };
  for (int part = 0; part < 3; ++part) {
    uint64_t left = take(a), right = take(b);
    if (left != right)
      return left < right ? -1 : 1;
  }
  return 0;
}

/// Manifest files of a folder in the order of their names.
static std::vector<std::string> filesOf(const std::string &folder) {
  constexpr size_t maxFilesPerFolder = 1024;
  constexpr std::string_view extension = ".bp.json";
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end && files.size() < maxFilesPerFolder;
       it.increment(error)) {
    std::string path = it->path();
    if (path.size() > extension.size() && path.ends_with(extension))
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

static std::vector<std::string> candidateFiles(const LoaderOptions &options) {
  if (options.pluginFiles)
    return *options.pluginFiles;
  std::vector<std::string> files = options.addPluginFiles;
  for (const std::string &folder : options.searchDirs)
    for (std::string &file : filesOf(folder))
      files.push_back(std::move(file));
  return files;
}

static bool ofSystem(const FoundManifest &found) {
  static const std::string folder = systemPluginDir();
  return fs::path(found.path).parent_path() == folder;
}

/// Refuses one of two plug-ins of one name and gives the other. Of one vendor's
/// the later version stays. Another vendor's takes a name that is not its own:
/// the system's stays, else the first.
static FoundManifest &refuseOne(FoundManifest &first, FoundManifest &second) {
  const Manifest &a = first.manifest, &b = second.manifest;
  if (a.vendor == b.vendor) {
    bool later = compareVersions(a.version, b.version) < 0;
    FoundManifest &stays = later ? second : first;
    FoundManifest &goes = later ? first : second;
    goes.refusal = "version " + goes.manifest.version +
                   " gives way to version " + stays.manifest.version + " of " +
                   stays.path;
    goes.givesWay = true;
    return stays;
  }
  bool system = ofSystem(second) && !ofSystem(first);
  FoundManifest &stays = system ? second : first;
  FoundManifest &goes = system ? first : second;
  goes.refusal = "the name \"" + goes.manifest.name + "\" is that of " +
                 stays.path + " by vendor \"" + stays.manifest.vendor +
                 "\"; give this plug-in another name";
  return stays;
}

/// Leaves one usable manifest per plug-in name.
static void refuseDuplicates(std::vector<FoundManifest> &found) {
  std::map<std::string, FoundManifest *> best;
  for (FoundManifest &one : found) {
    if (!one.refusal.empty())
      continue;
    FoundManifest *&winner = best[one.manifest.name];
    winner = winner ? &refuseOne(*winner, one) : &one;
  }
}

std::vector<FoundManifest> findManifests(const LoaderOptions &options,
                                         const bp_host_cpu_t &cpu) {
  std::vector<FoundManifest> found;
  for (const std::string &file : candidateFiles(options)) {
    Result<Manifest> manifest = readManifest(file, options.trust);
    FoundManifest one;
    one.path = manifest ? manifest->path : file;
    bool known = std::any_of(
        found.begin(), found.end(),
        [&](const FoundManifest &other) { return other.path == one.path; });
    if (known)
      continue;
    if (manifest) {
      one.manifest = *manifest;
      one.refusal = manifestRefusal(*manifest, options, cpu);
    } else {
      one.refusal = manifest.message();
    }
    found.push_back(std::move(one));
  }
  refuseDuplicates(found);
  return found;
}

} // namespace backplane
