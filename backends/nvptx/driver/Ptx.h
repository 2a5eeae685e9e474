// SPDX-License-Identifier: Apache-2.0
//
// Ptx.h: suspicion. What an entry's parameters are is read from the text, so
// that a damaged blob is refused and no kernel reads arguments that nobody
// passed.
#ifndef BACKPLANE_CUDA_PTX_H
#define BACKPLANE_CUDA_PTX_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace backplane::cuda {

/// Bytes of each parameter of each entry.
using PtxEntries = std::map<std::string, std::vector<uint32_t>, std::less<>>;

/// Reads the entries of a PTX text; false, with the reason, when it is none.
bool readEntries(std::string_view text, PtxEntries &out, std::string *reason);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_PTX_H
