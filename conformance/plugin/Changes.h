// SPDX-License-Identifier: Apache-2.0
//
// Changes.h: what a plug-in changes in the process while it is looked at.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_CHANGES_H
#define BACKPLANE_CONFORMANCE_PLUGIN_CHANGES_H

#include "Check.h"
#include "hal/core/ProcessState.h"

#include <map>

namespace backplane::checks {

/// Called before any plug-in is loaded, with the table of checks.
void rememberProcess();

/// Watches from its construction on; one at a time in a process. It puts the
/// process back to what was remembered first, so that what is set again shows
/// again. Loading is remembered, since constructors run once.
class Changes {
public:
  Changes();
  ~Changes();
  Changes(const Changes &) = delete;
  Changes &operator=(const Changes &) = delete;

  /// Complains of the first change of this item of ProcessState; empty: of any.
  void expectNone(Trial &trial, const std::string &item = "");

  /// Loads a library and notes what its constructors change.
  static void *load(const std::string &path);

private:
  void add(const char *function, const ProcessItem &change);

  std::mutex mutex_;
  std::map<std::string, std::string> first_; ///< a complaint for each item
  std::vector<ProcessItem> before_;
  ProcessWatch watch_; ///< the first one to go
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_CHANGES_H
