// SPDX-License-Identifier: Apache-2.0
//
// HandleCall.h: calling a function of a plug-in that makes something.
#ifndef BACKPLANE_CORE_HANDLECALL_H
#define BACKPLANE_CORE_HANDLECALL_H

#include "hal/core/Error.h"
#include "hal/core/Guarded.h"
#include "hal/core/Tables.h"

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

/// callPlugin for a function that fills the struct of its last argument, which
/// comes zeroed with its header set; `name` is what messages call the struct.
template <typename T, typename Function, typename... Arguments>
Result<T> callForStruct(const char *what, bp_header_t header, const char *name,
                        Function function, Arguments... arguments) {
  Guarded<T> answer(header);
  if (Status s = callPlugin(what, function, arguments..., &answer.value());
      !s.ok())
    return s;
  if (!answer.intact())
    return invalidArgument(std::string(what) +
                           ": wrote behind the struct that it was given");
  T made;
  if (Status s = copyStruct(&answer.value(), header.type, name, made); !s.ok())
    return s.within(what);
  return made;
}

} // namespace backplane

#endif // BACKPLANE_CORE_HANDLECALL_H
