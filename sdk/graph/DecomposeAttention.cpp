// SPDX-License-Identifier: Apache-2.0
//
// Decompositions of attention and of rotary position embeddings.
#include "DecomposeBuilder.h"

#include <cmath>

namespace backplane {

namespace {

/// A part of the last axis.
ValueId lastPart(DecomposeBuilder &m, ValueId x, const Dim &start,
                 const Dim &size, int64_t stride) {
  Dims sizes = m.copyOf(x).dims;
  Dims starts(sizes.size(), Dim(0));
  std::vector<int64_t> strides(sizes.size(), 1);
  starts.back() = start;
  sizes.back() = size;
  strides.back() = stride;
  return m.add("slice", {x},
               {{"starts", starts}, {"sizes", sizes}, {"strides", strides}});
}

// ---- attention ----

/// q[b, h, s, d] as [b, g, h / g * s, d]: the rows that share one head of k.
ValueId sharedRows(DecomposeBuilder &m, ValueId q, const Dim &heads) {
  Dims dims = m.copyOf(q).dims;
  if (dims[1] == heads)
    return q;
  Dim rows = floorDiv(dims[1], *heads.constant()) * dims[2];
  return m.reshape(q, {dims[0], heads, rows, dims[3]});
}

/// -infinity above the diagonal that `offset` shifts.
ValueId hideAfter(DecomposeBuilder &m, ValueId scores, const Dim &offset) {
  TensorType type = m.copyOf(scores);
  Dims square = {type.dims[2], type.dims[3]};
  auto count = [&](int64_t axis) {
    return m.add(
        "iota", {},
        {{"dtype", int64_t(DType::I64)}, {"dims", square}, {"axis", axis}});
  };
  ValueId row = count(0), column = count(1);
  ValueId last = m.add("add", {row, m.fillDim(offset, {DType::I64, square})});
  ValueId isSeen = m.compare("le", column, last);
  return m.add("select", {m.broadcast(isSeen, type.dims, {2, 3}), scores,
                          m.fill(-HUGE_VAL, type)});
}

/// Softmax along the last axis that gives 0 where all is -infinity.
ValueId weights(DecomposeBuilder &m, ValueId scores) {
  TensorType type = m.copyOf(scores);
  ValueId top = m.reduceAlong("max", scores, {3});
  ValueId isHidden = m.compare("eq", top, m.fill(-HUGE_VAL, type));
  ValueId safe = m.add("select", {isHidden, m.fill(0, type), top});
  ValueId e = m.add("exp", {m.add("sub", {scores, safe})});
  ValueId sum = m.reduceAlong("sum", e, {3});
  ValueId divisor = m.add("select", {isHidden, m.fill(1, type), sum});
  return m.add("div", {e, divisor});
}

ValueId scoresOf(DecomposeBuilder &m, const Operands &operands) {
  Dims q = m.copyOf(operands[0]).dims, k = m.copyOf(operands[1]).dims;
  ValueId scaled = m.with("mul", operands[0], m.op.f64("scale"));
  ValueId scores = m.add("matmul", {sharedRows(m, scaled, k[1]), operands[1]},
                         {{"transpose_b", int64_t(1)}});
  Dims dims = {q[0], q[1], q[2], k[2]};
  if (q[1] != k[1])
    scores = m.reshape(scores, dims);
  if (double cap = m.op.f64("soft_cap"); cap != 0) {
    ValueId bounded = m.add("tanh", {m.with("div", scores, cap)});
    scores = m.with("mul", bounded, cap);
  }
  if (operands.size() == 4)
    scores =
        m.add("add", {scores, m.broadcast(operands[3], dims, {0, 1, 2, 3})});
  for (const Dim &offset : m.op.dims("causal"))
    scores = hideAfter(m, scores, offset);
  return scores;
}

/// Weights times v, both in the dtype of v, with sums of f32 at least.
ValueId weigh(DecomposeBuilder &m, ValueId weights, ValueId v) {
  TensorType type = m.copyOf(v);
  int64_t isNarrow = type.dtype != m.copyOf(weights).dtype;
  ValueId left = sharedRows(m, m.cast(weights, type.dtype), type.dims[1]);
  return m.add("matmul", {left, v}, {{"wide", isNarrow}});
}

} // namespace

ValueId composites::attention(DecomposeBuilder &m, const Operands &operands) {
  ValueId rows = weights(m, scoresOf(m, operands));
  Dims q = m.copyOf(operands[0]).dims, v = m.copyOf(operands[2]).dims;
  ValueId result = weigh(m, rows, m.stored[2]);
  if (q[1] == v[1])
    return result;
  return m.reshape(result, {q[0], q[1], q[2], v[3]});
}

// ---- rotary ----

ValueId composites::rotary(DecomposeBuilder &m, const Operands &operands) {
  ValueId x = operands[0];
  Dims dims = m.copyOf(x).dims, half = dims;
  bool isInterleaved = m.op.i64("interleaved") != 0;
  half.back() = floorDiv(dims.back(), 2);
  int64_t stride = isInterleaved ? 2 : 1;
  Dim second = isInterleaved ? Dim(1) : half.back();
  ValueId p = lastPart(m, x, 0, half.back(), stride);
  ValueId q = lastPart(m, x, second, half.back(), stride);
  ValueId cos = m.broadcast(operands[1], half, {0, 2, 3});
  ValueId sin = m.broadcast(operands[2], half, {0, 2, 3});
  ValueId first =
      m.add("sub", {m.add("mul", {p, cos}), m.add("mul", {q, sin})});
  ValueId other =
      m.add("add", {m.add("mul", {p, sin}), m.add("mul", {q, cos})});
  if (!isInterleaved)
    return m.add("concat", {first, other}, {{"axis", int64_t(3)}});
  Dims column = half;
  column.push_back(Dim(1));
  ValueId pairs =
      m.add("concat", {m.reshape(first, column), m.reshape(other, column)},
            {{"axis", int64_t(4)}});
  return m.reshape(pairs, dims);
}

} // namespace backplane
