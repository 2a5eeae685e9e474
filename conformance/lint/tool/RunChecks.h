// SPDX-License-Identifier: Apache-2.0
//
// RunChecks.h: checks of plug-in binaries in this process, for whoever looks
// for the cause of a failure with a debugger, and their reference page.
#ifndef BACKPLANE_CONFORMANCE_LINT_TOOL_RUNCHECKS_H
#define BACKPLANE_CONFORMANCE_LINT_TOOL_RUNCHECKS_H

#include "conformance/plugin/Check.h"

namespace backplane::lint {

struct ChecksOptions {
  std::vector<std::string> filters; ///< globs over ids; empty: all
  checks::Depth depth = checks::Depth::Standard;
  std::string artifacts; ///< folder of the compiled models of layer 2
  unsigned timeoutMs = 15000;
  bool verbose = false; ///< print all, not failures
};

/// Prints outcomes and a line of counts; gives the exit code. A crash of the
/// plug-in ends this process.
int runChecksHere(const checks::PluginUnderTest &tested,
                  const ChecksOptions &options);
/// Prints the ids of the checks.
void printChecks(const ChecksOptions &options);
/// Prints docs/reference/hal-checks.md.
void printChecksPage();

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_TOOL_RUNCHECKS_H
