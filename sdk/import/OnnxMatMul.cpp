// SPDX-License-Identifier: Apache-2.0
//
// MatMul and Gemm.
#include "OnnxMatMul.h"

#include "OnnxHandlers.h"

namespace backplane::frontend {

namespace {

/// Makes the batch dims of both equal; a rank-2 b is shared as it is.
void alignBatches(Node &node, ValueId &a, ValueId &b) {
  Dims da = node.type(a).dims, db = node.type(b).dims;
  if (!node.ok() || db.size() == 2)
    return;
  Dims batch = node.commonDims(Dims(da.begin(), da.end() - 2),
                               Dims(db.begin(), db.end() - 2));
  for (auto [value, dims] : {std::pair(&a, &da), std::pair(&b, &db)}) {
    Dims wanted = batch;
    wanted.insert(wanted.end(), dims->end() - 2, dims->end());
    *value = node.broadcast(*value, wanted);
  }
}

} // namespace

ValueId
broadcastMatMul(Node &node, ValueId a, ValueId b,
                const std::function<ValueId(ValueId, ValueId)> &product) {
  Dims da = node.type(a).dims, db = node.type(b).dims;
  if (node.ok() && (da.empty() || db.empty()))
    node.reject("operands need rank 1 or more");
  if (!node.ok())
    return kNone;
  bool row = da.size() == 1, column = db.size() == 1;
  if (row)
    a = node.reshape(a, {Dim(1), da[0]});
  if (column)
    b = node.reshape(b, {db[0], Dim(1)});
  // The size of k is that of a.
  Dims fitted = node.type(b).dims;
  if (!node.ok())
    return kNone;
  fitted[fitted.size() - 2] = da.back();
  b = node.withDims(b, fitted);
  alignBatches(node, a, b);
  ValueId result = product(a, b);
  Dims dims = node.type(result).dims;
  if (!node.ok())
    return kNone;
  if (column)
    dims.pop_back();
  if (row)
    dims.erase(dims.end() - (column ? 1 : 2));
  return node.reshape(result, dims);
}

void onnxMatMul(Node &node) {
  node.out(0, broadcastMatMul(node, node.value(0), node.value(1),
                              [&](ValueId a, ValueId b) {
                                return node.op("matmul", {a, b});
                              }));
}

void onnxGemm(Node &node) {
  bool transposeA = node.flag("transA", false);
  bool transposeB = node.flag("transB", false);
  double alpha = node.f64("alpha", 1), beta = node.f64("beta", 1);
  ValueId a = node.value(0), b = node.value(1);
  if (node.ok() && (node.type(a).rank() != 2 || node.type(b).rank() != 2))
    node.reject("operands need rank 2, found " + node.type(a).str() + " and " +
                node.type(b).str());
  if (node.ok() && !isFloat(node.type(a).dtype) && (alpha != 1 || beta != 1))
    node.refuse("alpha and beta must be 1 for integers");
  if (!node.ok())
    return;
  Dims fitted = node.type(b).dims;
  fitted[transposeB ? 1 : 0] = node.type(a).dims[transposeA ? 0 : 1];
  bool hasSum = node.has(2) && beta != 0;
  DType dtype = node.type(a).dtype;
  ValueId result =
      node.contraction("matmul", {a, node.withDims(b, fitted)},
                       {{"transpose_a", static_cast<int64_t>(transposeA)},
                        {"transpose_b", static_cast<int64_t>(transposeB)}},
                       alpha != 1 || hasSum);
  if (alpha != 1)
    result = node.op("mul", {result, node.fillLike(result, alpha)});
  if (hasSum) {
    ValueId c = node.widened(node.value(2), dtype, result);
    if (beta != 1)
      c = node.op("mul", {c, node.fillLike(c, beta)});
    result = node.op("add",
                     {result, node.broadcast(c, Dims(node.type(result).dims))});
  }
  node.out(0, node.cast(result, dtype));
}

} // namespace backplane::frontend
