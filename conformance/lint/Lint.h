// SPDX-License-Identifier: Apache-2.0
//
// Lint.h: `bp lint`: all that can be asked of a plug-in's manifest and
// libraries. The order is files first, then the libraries in processes of their
// own, then the checks of binaries; what is no longer worth asking is skipped
// with the reason.
#ifndef BACKPLANE_CONFORMANCE_LINT_LINT_H
#define BACKPLANE_CONFORMANCE_LINT_LINT_H

#include "Report.h"
#include "hal/core/Manifest.h"

#include <optional>

namespace backplane::lint {

struct LintOptions {
  /// A manifest, a library, or the URI of a device.
  std::string plugin;
  std::set<std::string> rules; ///< numbers; empty: all
  checks::Depth depth = checks::Depth::Smoke;
  std::string artifacts;          ///< folder of compiled models, or empty
  std::string glibc = "2.36";     ///< of the oldest system that is served
  std::string glibcxx = "3.4.30"; ///< likewise
  std::chrono::milliseconds timeout{15000}; ///< for one call, or one check
};

/// One library of a plug-in and what it is for.
struct LintedLibrary {
  std::string path;
  bool driver = false, compiler = false, kernels = false;
  std::string sha256; ///< that the manifest says, or empty
};

/// What is linted.
struct LintedPlugin {
  std::string manifestPath;         ///< empty: a library alone
  std::optional<Manifest> manifest; ///< none when it cannot be read
  std::vector<LintedLibrary> libraries;
  std::string uri; ///< of the device for checks: asked for, or a usable one
  /// What its libraries say of themselves, once they were asked.
  std::string name;
  bool usableDevice = false;
  /// Whether its code may be run here; else why not.
  std::string notRun;
};

/// Finds what `asked` names. Fails only when there is nothing to look at; a
/// manifest that is there but bad is a finding.
Result<LintedPlugin> findPlugin(const std::string &asked,
                                const LoaderOptions &loader, Report &report);

/// The parts, each of which adds to the report. `lintProcess` needs a process
/// with one thread.
void lintManifest(LintedPlugin &plugin, const LoaderOptions &loader,
                  Report &report);
void lintFiles(LintedPlugin &plugin, const LintOptions &options,
               const LoaderOptions &loader, Report &report);
void lintLoaded(LintedPlugin &plugin, const LintOptions &options,
                Report &report);
void lintHosted(LintedPlugin &plugin, const LintOptions &options,
                const LoaderOptions &loader, Report &report);
void lintChecks(const LintedPlugin &plugin, const LintOptions &options,
                Report &report);

/// All of it.
Result<Report> lint(const LintOptions &options, const LoaderOptions &loader);

/// The checks' view of the plugin's driver; fails when it has none.
Result<checks::PluginUnderTest> underTest(const LintedPlugin &plugin);

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_LINT_H
