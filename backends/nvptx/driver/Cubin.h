// SPDX-License-Identifier: Apache-2.0
//
// Cubin.h: suspicion, as CUDA is told where a cubin begins, and not its size.
#ifndef BACKPLANE_CUDA_CUBIN_H
#define BACKPLANE_CUDA_CUBIN_H

#include <string>
#include <string_view>

namespace backplane::cuda {

/// Whether the bytes are an ELF file for NVIDIA's GPUs whose headers, sections
/// and segments all lie inside; else `reason` is what is wrong.
bool isWholeCubin(std::string_view bytes, std::string *reason);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_CUBIN_H
