// SPDX-License-Identifier: Apache-2.0
//
// ProcessState.h: what a plug-in must leave alone in the process of its host,
// and a watch that names the function that did not.
#ifndef BACKPLANE_CORE_PROCESSSTATE_H
#define BACKPLANE_CORE_PROCESSSTATE_H

#include "hal/core/PluginCall.h"

#include <functional>
#include <string>
#include <vector>

namespace backplane {

/// One thing that belongs to the application, as text.
struct ProcessItem {
  const char *name; ///< "locale": unique, of a fixed list
  std::string value;
};

/// As this thread sees it now; the same items in the same order each time.
std::vector<ProcessItem> processState();

/// What differs, as "the locale from C to tr_TR", by item.
std::vector<ProcessItem> processChanges(const std::vector<ProcessItem> &before,
                                        const std::vector<ProcessItem> &after);

/// Told what a function of a plug-in has changed. Thread-safe.
using ProcessReport =
    std::function<void(const char *function, const ProcessItem &change)>;

/// Watches every call of a plug-in in this process while it lives; one at a
/// time. A debug build without one writes to standard error.
class ProcessWatch {
public:
  explicit ProcessWatch(ProcessReport report);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch &) = delete;
  ProcessWatch &operator=(const ProcessWatch &) = delete;

private:
  ProcessReport report_;
  CallLooker before_;
};

/// A look for the watch that is on; without one it writes to standard error.
std::unique_ptr<CallLook> lookAtProcess(const char *function);

} // namespace backplane

#endif // BACKPLANE_CORE_PROCESSSTATE_H
