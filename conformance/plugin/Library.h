// SPDX-License-Identifier: Apache-2.0
//
// Library.h: the mapped library of a plug-in and what it says of itself.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_LIBRARY_H
#define BACKPLANE_CONFORMANCE_PLUGIN_LIBRARY_H

#include "Check.h"
#include "backplane/hal.h"

namespace backplane::checks {

/// Stays mapped, as the ABI has it, unless unload is called.
class Library {
public:
  /// Maps the library of the trial's tested; a complaint when it cannot be.
  explicit Library(Trial &trial);
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  bp_plugin_query_t query() const { return query_; }
  /// Asks it as the host does. A zeroed struct when it fails.
  bp_plugin_info_t info() const;
  /// dlclose.
  void unload();

private:
  Trial &trial_;
  void *handle_ = nullptr;
  bp_plugin_query_t query_ = nullptr;
};

/// What this build of the host tells a plug-in.
bp_host_info_t hostInfo();

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_LIBRARY_H
