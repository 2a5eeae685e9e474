// SPDX-License-Identifier: Apache-2.0
//
// Ptx.h: suspicion. What an entry's parameters are is read from the text, so
// that a damaged blob is refused and no kernel reads arguments that nobody
// passed.
#ifndef BACKPLANE_CUDA_PTX_H
#define BACKPLANE_CUDA_PTX_H

#include "Entries.h"

#include <string_view>

namespace backplane::cuda {

/// Reads the entries of a PTX text; false, with the reason, when it is none.
bool readEntries(std::string_view text, Entries &out, std::string *reason);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_PTX_H
