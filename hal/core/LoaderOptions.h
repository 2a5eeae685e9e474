// SPDX-License-Identifier: Apache-2.0
//
// LoaderOptions.h: where plug-ins are looked for and which of them are wanted,
// in the form in which the registry uses it. The only code of the host library
// that reads the environment stands behind this header, and it reads nothing
// in a set-user-id process.
#ifndef BACKPLANE_CORE_LOADEROPTIONS_H
#define BACKPLANE_CORE_LOADEROPTIONS_H

#include "backplane/backplane.h"
#include "backplane/cpp/Result.h"
#include "sdk/support/FileTrust.h"

#include <optional>
#include <string>
#include <vector>

namespace backplane {

struct LoaderOptions {
  /// Manifest files in place of the search path, when set.
  std::optional<std::vector<std::string>> pluginFiles;
  /// Manifest files in front of the search path.
  std::vector<std::string> addPluginFiles;
  /// Folders that are searched for *.bp.json, first one first. Never the
  /// working directory.
  std::vector<std::string> searchDirs;
  /// Globs over plug-in names; an empty select means all.
  std::vector<std::string> select;
  std::vector<std::string> disable;
  /// Folder of the compile cache; empty: no cache.
  std::string cacheDir;
  /// File that describes named workers; it need not be there.
  std::string workersFile;
  /// Workers of the thread pool, the caller included; 0: one per core.
  uint32_t threads = 0;
  /// Whether artifacts are mapped in place of copied.
  bool mapArtifacts = false;
  FileTrust trust;
  bp_log_sink_t log = {};
};

/// Options of an application (may be NULL) with defaults filled in: the user's
/// and the system's plug-in folder, the user's cache folder. Fails when
/// `options` is not a bp_context_options_t.
Result<LoaderOptions> loaderOptions(const bp_context_options_t *options);

/// What bp_context_options_from_env does: fills the members that are still
/// empty from the environment. The strings live as long as the process. Not
/// thread-safe.
void contextOptionsFromEnvironment(bp_context_options_t *options);

/// The options of the environment, whose variables are then gone: no plug-in of
/// this process can tell by them how it was started. Variables with a value
/// that is refused all stay, for the message. Not thread-safe.
bp_context_options_t takeEnvironment();

/// The system's plug-in folder, found from the file that this code was loaded
/// from: <its folder>/backplane/plugins for a library,
/// <its folder>/../lib/backplane/plugins for a program.
std::string systemPluginDir();

} // namespace backplane

#endif // BACKPLANE_CORE_LOADEROPTIONS_H
