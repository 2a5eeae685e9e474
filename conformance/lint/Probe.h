// SPDX-License-Identifier: Apache-2.0
//
// Probe.h: a library in a process of its own, loaded and asked who it is.
#ifndef BACKPLANE_CONFORMANCE_LINT_PROBE_H
#define BACKPLANE_CONFORMANCE_LINT_PROBE_H

#include "Child.h"
#include "Lint.h"

namespace backplane::lint {

/// One library in the child. What is wrong is told as the number of a rule with
/// a text, and what is called as "call".
class Probe {
public:
  Probe(const LintedLibrary &library, const Teller &teller)
      : library_(library), teller_(teller) {}

  /// Loads the library and asks its query function; false: the rest is not
  /// worth asking.
  bool contact() { return open() && ask(); }
  /// What it said.
  const bp_plugin_info_t &info() const { return info_; }

  void call(const char *function) const { teller_.tell("call", function); }
  void find(const char *rule, const std::string &found) const {
    teller_.tell(rule, found);
  }
  /// Looks at the header of a struct that the plug-in gave.
  void lintHeader(const void *header, uint32_t type, const char *structName,
                  const std::string &what) const;

private:
  bool open();
  bool resolve(void *handle) const;
  bool ask();

  const LintedLibrary &library_;
  const Teller &teller_;
  void *handle_ = nullptr;
  bp_plugin_info_t info_ = {};
};

/// Calls with each null pointer that abi.h and plugin.h allow.
void callWithNulls(Probe &probe);

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_PROBE_H
