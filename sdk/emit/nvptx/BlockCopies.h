// SPDX-License-Identifier: Apache-2.0
//
// BlockCopies.h: bulk copies of tensors from sm_90 on. Private to this folder.
#ifndef BACKPLANE_EMIT_NVPTX_BLOCKCOPIES_H
#define BACKPLANE_EMIT_NVPTX_BLOCKCOPIES_H

#include "sdk/emit/gpu/MatrixUnit.h"

namespace backplane {

/// `cp.async.bulk.tensor` with the 128-byte swizzle. Lives as long as the
/// program.
const BlockCopies &tensorCopies();

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_BLOCKCOPIES_H
