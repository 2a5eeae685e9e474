// SPDX-License-Identifier: Apache-2.0
//
// ModuleFile.h: the option `modules`, by which the PTX of a program can be read
// and changed.
#pragma once

#include <string>

namespace emulator {

// What the file of this text in the folder has; written first where there is
// none. With no folder the text itself. Throws Error.
std::string keptText(const std::string &text, const std::string &folder);

} // namespace emulator
