// SPDX-License-Identifier: Apache-2.0
//
// PluginCall.h: what surrounds every call of a plug-in's code. The code runs in
// the default floating-point environment and the caller's is restored; where a
// watch is on, other changes of the process are reported under the function's
// name.
#ifndef BACKPLANE_CORE_PLUGINCALL_H
#define BACKPLANE_CORE_PLUGINCALL_H

#include "hal/core/FloatScope.h"
#include "hal/core/ProcessState.h"

#include <memory>

namespace backplane {

class PluginCall {
public:
  /// `function` outlives the object.
  explicit PluginCall(const char *function) {
    if (const ProcessReport *report = ProcessWatch::report())
      watched_ = watch(function, *report);
  }
  ~PluginCall() {
    if (watched_)
      compare();
  }
  /// Between two of several calls that share the object.
  void renew() {
    if (FloatState::now().controlsAs({}))
      return;
    if (watched_)
      compare();
    FloatScope::renew();
  }
  PluginCall(const PluginCall &) = delete;
  PluginCall &operator=(const PluginCall &) = delete;

private:
  struct Watched {
    const char *function;
    const ProcessReport &report;
    std::vector<ProcessItem> before;
  };
  static std::unique_ptr<Watched> watch(const char *function,
                                        const ProcessReport &report);
  void compare() const;

  FloatScope scope_; ///< the last one to go
  std::unique_ptr<Watched> watched_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_PLUGINCALL_H
