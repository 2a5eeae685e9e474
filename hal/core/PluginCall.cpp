// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PluginCall.h"

namespace backplane {

struct PluginCall::Watched {
  const char *function;
  const ProcessReport &report;
  std::vector<ProcessItem> before;
};

// Out of line: there are many calls, and libbackplane.so stays small.
PluginCall::PluginCall(const char *function) {
  if (const ProcessReport *report = ProcessWatch::report())
    watched_ =
        std::make_unique<Watched>(Watched{function, *report, processState()});
}

PluginCall::~PluginCall() {
  if (watched_)
    compare();
}

void PluginCall::compare() const {
  for (const ProcessItem &change :
       processChanges(watched_->before, processState()))
    watched_->report(watched_->function, change);
}

void PluginCall::putBack() const {
  if (watched_)
    compare();
  FloatScope::renew();
}

} // namespace backplane
