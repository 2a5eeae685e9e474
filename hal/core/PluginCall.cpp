// SPDX-License-Identifier: Apache-2.0
#include "hal/core/PluginCall.h"
#include "hal/core/ProcessState.h"

namespace backplane {

#ifdef NDEBUG
std::atomic<CallLooker> callLooker{nullptr};
#else
std::atomic<CallLooker> callLooker{&lookAtProcess};
#endif

// Out of line: there are many calls, and libbackplane.so stays small.
PluginCall::PluginCall(const char *function) {
  if (CallLooker look = callLooker.load(std::memory_order_acquire))
    look_ = look(function);
}

PluginCall::~PluginCall() {
  if (look_)
    look_->compare();
}

void PluginCall::putBack() const {
  if (look_)
    look_->compare();
  FloatScope::renew();
}

} // namespace backplane
