// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PluginCall.h"

namespace backplane {

std::unique_ptr<PluginCall::Watched>
PluginCall::watch(const char *function, const ProcessReport &report) {
  return std::make_unique<Watched>(Watched{function, report, processState()});
}

void PluginCall::compare() const {
  for (const ProcessItem &change :
       processChanges(watched_->before, processState()))
    watched_->report(watched_->function, change);
}

} // namespace backplane
