// SPDX-License-Identifier: Apache-2.0
//
// NameOp.h: ops under the names of the model, also what a device calls "op 3".
#ifndef BACKPLANE_RUNTIME_NAMEOP_H
#define BACKPLANE_RUNTIME_NAMEOP_H

#include "backplane/cpp/Result.h"
#include "sdk/program/Program.h"

#include <span>

namespace backplane::rt {

/// The failure with the names of the ops inside a dispatch in place of the
/// first "op N: ", N being the index of its command plus 1.
Status nameOp(const Status &failure, const Program &program);

/// The names of a dispatch's ops, each once, though several ops of the program
/// came of one of the model.
std::string eachOnce(std::span<const std::string> ops,
                     std::string_view separator);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_NAMEOP_H
