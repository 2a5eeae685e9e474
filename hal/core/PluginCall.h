// SPDX-License-Identifier: Apache-2.0
//
// PluginCall.h: what surrounds every call of a plug-in's code. The code runs in
// the default floating-point environment and the caller's is restored; where a
// watch is on, other changes of the process are reported under the function's
// name.
#ifndef BACKPLANE_CORE_PLUGINCALL_H
#define BACKPLANE_CORE_PLUGINCALL_H

#include "hal/core/FloatScope.h"

#include <atomic>
#include <memory>

namespace backplane {

/// Looks at the process around one call.
class CallLook {
public:
  virtual ~CallLook() = default;
  /// Reports what has changed since it was made.
  virtual void compare() = 0;
};

/// Makes one before each call; null: nobody looks. ProcessWatch sets it, so
/// that libbackplane.so has the code of it in debug builds only.
using CallLooker = std::unique_ptr<CallLook> (*)(const char *function);
extern std::atomic<CallLooker> callLooker;

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
  void putBack() const;

  FloatScope scope_; ///< the last one to go
  std::unique_ptr<CallLook> look_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_PLUGINCALL_H
