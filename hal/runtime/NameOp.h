// SPDX-License-Identifier: Apache-2.0
//
// NameOp.h: what a device calls "op 3" under the names of the model.
#ifndef BACKPLANE_RUNTIME_NAMEOP_H
#define BACKPLANE_RUNTIME_NAMEOP_H

#include "backplane/cpp/Result.h"
#include "sdk/program/Program.h"

namespace backplane::rt {

/// The failure with the names of the ops inside a dispatch in place of the
/// first "op N: ", N being the index of its command plus 1.
Status nameOp(const Status &failure, const Program &program);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_NAMEOP_H
