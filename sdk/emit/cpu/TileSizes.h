// SPDX-License-Identifier: Apache-2.0
//
// TileSizes.h: how much of a dispatch one work-group does. Private to this
// folder.
#ifndef BACKPLANE_EMIT_CPU_TILESIZES_H
#define BACKPLANE_EMIT_CPU_TILESIZES_H

#include "mlir/Interfaces/TilingInterface.h"

namespace backplane {

/// What a size that is known at run time only is taken for.
inline constexpr int64_t kUnknownSize = 256;

/// Tile size per loop of `root`, 0: the whole loop. Only loops whose split
/// repeats no costly work of the producers are split.
llvm::SmallVector<int64_t> chooseTileSizes(mlir::TilingInterface root);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_TILESIZES_H
