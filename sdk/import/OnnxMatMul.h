// SPDX-License-Identifier: Apache-2.0
//
// OnnxMatMul.h: the shapes of ONNX products, for every kind of product.
#ifndef BACKPLANE_IMPORT_ONNXMATMUL_H
#define BACKPLANE_IMPORT_ONNXMATMUL_H

#include "Node.h"

namespace backplane::frontend {

/// The product as NumPy's matmul shapes it: operands of rank 1 are a row and a
/// column, batch dims broadcast. `product` multiplies operands of rank 2 or
/// more.
ValueId
broadcastMatMul(Node &node, ValueId a, ValueId b,
                const std::function<ValueId(ValueId, ValueId)> &product);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXMATMUL_H
