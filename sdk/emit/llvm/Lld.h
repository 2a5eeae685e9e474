// SPDX-License-Identifier: Apache-2.0
//
// Lld.h: the linker as a function of bytes. Nothing is written to a disk.
#ifndef BACKPLANE_EMIT_LLVM_LLD_H
#define BACKPLANE_EMIT_LLVM_LLD_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace backplane {

/// Runs ld.lld with `arguments` on object files; gives the output file. One
/// link at a time. After a fatal error of lld, which leaves its globals as they
/// were, this process links no more.
Result<std::vector<uint8_t>>
runLld(const std::vector<std::string> &arguments,
       std::span<const std::span<const uint8_t>> objects);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_LLD_H
