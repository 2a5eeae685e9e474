// SPDX-License-Identifier: Apache-2.0
//
// PadColumns.h: products with as many columns as whole blocks have. Private to
// this folder.
#ifndef BACKPLANE_LAYOUT_PADCOLUMNS_H
#define BACKPLANE_LAYOUT_PADCOLUMNS_H

#include "sdk/dialect/Graph.h"
#include "sdk/graph/Model.h"

namespace bp {

/// Gives the product `columns`, more than it has: those added to its known
/// weight are zeros, and a slice takes them from the result. The right factor
/// is the weight, or what widens bytes of it.
mlir::LogicalResult padColumns(MatmulOp op, int64_t columns,
                               backplane::WeightPool &pool);

} // namespace bp

#endif // BACKPLANE_LAYOUT_PADCOLUMNS_H
