// SPDX-License-Identifier: Apache-2.0
//
// HandleCall.h: calling a function of a plug-in that makes something.
#ifndef BACKPLANE_CORE_HANDLECALL_H
#define BACKPLANE_CORE_HANDLECALL_H

#include "hal/core/Error.h"

#include <string>

namespace backplane {

/// callPlugin for a function that gives a handle through its last argument:
/// success without one is a failure.
template <typename Function, typename Handle, typename... Arguments>
Status callForHandle(const char *what, Handle **handle, Function function,
                     Arguments... arguments) {
  Status status = callPlugin(what, function, arguments..., handle);
  if (!status.ok() || *handle)
    return status;
  return internalError(std::string(what) +
                       ": the plug-in says OK but gives no handle; report it "
                       "to its vendor");
}

} // namespace backplane

#endif // BACKPLANE_CORE_HANDLECALL_H
