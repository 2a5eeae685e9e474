// SPDX-License-Identifier: Apache-2.0
//
// WarpGroups.h: the matrix instructions of Hopper's warp groups, four warps
// each, which read both factors from shared memory. Private to this folder.
#ifndef BACKPLANE_EMIT_NVPTX_WARPGROUPS_H
#define BACKPLANE_EMIT_NVPTX_WARPGROUPS_H

#include "sdk/emit/gpu/MatrixUnit.h"

namespace backplane {

/// `wgmma` of f16, bf16, i8 and u8. Lives as long as the program.
const MemoryProducts &warpGroupProducts();

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_WARPGROUPS_H
