// SPDX-License-Identifier: Apache-2.0
//
// Kernels.h: the texts and bodies of the kernels.
#ifndef BACKPLANE_X86_ONEDNN_KERNELS_H
#define BACKPLANE_X86_ONEDNN_KERNELS_H

#include "backplane/cpp/Compiler.h"

namespace backplane::onednn {

/// Gives each kernel to the compiler, with all sizes that it can compute.
Status describe(plugin::KernelSink sink);

/// The function of an entry; null: there is none of this name.
bp_cpu_entry_t functionOf(std::string_view entry);

} // namespace backplane::onednn

#endif // BACKPLANE_X86_ONEDNN_KERNELS_H
