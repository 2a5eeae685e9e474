// SPDX-License-Identifier: Apache-2.0
//
// OnnxIndex.h: index inputs as operands of gather and scatter. These have no
// negative indices; an index that is out of range becomes -1, so that it is
// reported.
#ifndef BACKPLANE_IMPORT_ONNXINDEX_H
#define BACKPLANE_IMPORT_ONNXINDEX_H

#include "Node.h"

namespace backplane::frontend {

/// index, plus size where it is negative.
ValueId wrapped(Node &node, ValueId index, const Dim &size);

/// An index input as i64 without negative elements.
ValueId readIndices(Node &node, size_t input, const Dim &size);

/// For GatherElements and ScatterElements: the position, in flattened data of
/// `dims`, of each element that input 1 names along `axis`.
ValueId elementPositions(Node &node, const Dims &dims, size_t axis);
/// The same for indices that are not negative.
ValueId elementPositions(Node &node, ValueId index, const Dims &dims,
                         size_t axis);

/// For GatherND and ScatterND: the data of `dims` as rows, and which of them
/// the tuples of input 1 name. The first `batch` axes of both go together.
struct Rows {
  ValueId positions;
  Dims dims; ///< number of rows, then the dims of a row
};
Rows rowPositions(Node &node, const Dims &dims, size_t batch);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXINDEX_H
