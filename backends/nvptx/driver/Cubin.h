// SPDX-License-Identifier: Apache-2.0
//
// Cubin.h: suspicion. CUDA is told where a cubin begins, and not its size, and
// takes as many arguments as the cubin says.
#ifndef BACKPLANE_CUDA_CUBIN_H
#define BACKPLANE_CUDA_CUBIN_H

#include "Entries.h"

#include <string_view>

namespace backplane::cuda {

/// Reads the kernels of an ELF file for NVIDIA's GPUs whose headers, sections
/// and segments all lie inside; false, with the reason, when it is none.
bool readCubin(std::string_view bytes, Entries &out, std::string *reason);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_CUBIN_H
