// SPDX-License-Identifier: Apache-2.0
//
// Entries.h: what the kernels of a blob take, by what the blob itself says.
#ifndef BACKPLANE_CUDA_ENTRIES_H
#define BACKPLANE_CUDA_ENTRIES_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace backplane::cuda {

/// Bytes of each parameter of each entry.
using Entries = std::map<std::string, std::vector<uint32_t>, std::less<>>;

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_ENTRIES_H
