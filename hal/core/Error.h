// SPDX-License-Identifier: Apache-2.0
//
// Error.h: calling a function of a plug-in so that its failure, whatever form
// it takes, becomes a Status with a message.
#ifndef BACKPLANE_CORE_ERROR_H
#define BACKPLANE_CORE_ERROR_H

#include "backplane/cpp/Result.h"
#include "hal/core/PluginCall.h"
#include "sdk/support/Error.h"

#include <string>
#include <string_view>
#include <utility>

namespace backplane {

/// "NOT_FOUND" for BP_STATUS_NOT_FOUND and so on; "status N" for others.
std::string statusName(bp_status_t code);

/// The failure that a function of a plug-in reported; `what` names the
/// function. Codes that abi.h does not know become BP_STATUS_UNKNOWN.
Status pluginFailure(std::string_view what, bp_status_t code,
                     std::string_view message);

/// Calls function(arguments..., error). An exception that a plug-in lets out
/// against the rules is caught where the unwinder allows it.
template <typename Function, typename... Arguments>
Status callPlugin(const char *what, Function function, Arguments... arguments) {
  bp_error_t error;
  bp_status_t code;
  try {
    PluginCall call(what);
    code = function(arguments..., &error);
  } catch (...) {
    return internalError(std::string(what) +
                         ": the plug-in threw an exception, which the ABI "
                         "forbids; report it to its vendor");
  }
  if (code == BP_STATUS_OK)
    return {};
  return pluginFailure(what, code, error.message);
}

/// Calls a function that reports nothing.
template <typename Function, typename... Arguments>
void callPluginVoid(const char *what, Function function,
                    Arguments... arguments) {
  try {
    PluginCall call(what);
    function(arguments...);
  } catch (...) {
    // The ABI forbids it, and there is nobody to tell.
  }
}

} // namespace backplane

#endif // BACKPLANE_CORE_ERROR_H
