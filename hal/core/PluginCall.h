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
  explicit PluginCall(const char *function);
  ~PluginCall();
  /// Between two of several calls that share the object.
  void renew() {
    if (!FloatState::isDefault())
      putBack();
  }
  PluginCall(const PluginCall &) = delete;
  PluginCall &operator=(const PluginCall &) = delete;

private:
  struct Watched;
  void compare() const;
  void putBack() const;

  FloatScope scope_; ///< the last one to go
  std::unique_ptr<Watched> watched_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_PLUGINCALL_H
