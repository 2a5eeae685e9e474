// SPDX-License-Identifier: Apache-2.0
//
// Ptxas.h: NVIDIA's assembler, which makes a cubin of PTX. It is no part of the
// product: whoever wants a cubin has it.
#ifndef BACKPLANE_EMIT_NVPTX_PTXAS_H
#define BACKPLANE_EMIT_NVPTX_PTXAS_H

#include "sdk/support/FileTrust.h"

namespace backplane {

/// The program to start: the file that the environment variable
/// BACKPLANE_PTXAS names, else the first `ptxas` in PATH. It must be one that
/// `trust` believes. A failure says what to do.
Result<std::string> findPtxas(const FileTrust &trust);

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_PTXAS_H
