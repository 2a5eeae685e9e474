// SPDX-License-Identifier: Apache-2.0
#include "RecurrentCell.h"

namespace backplane::frontend {

ValueId Cell::add(ValueId a, ValueId b) const {
  return a == kNone || b == kNone ? (a == kNone ? b : a)
                                  : node.binary("add", a, b);
}

/// Gate `index` of a value whose last axis has all gates.
ValueId Cell::gate(ValueId value, int64_t index) const {
  return value == kNone
             ? kNone
             : sliceLast(node, value, index * shape.hidden, shape.hidden);
}

/// The weights of one gate.
ValueId Cell::weightsOf(int64_t gate) const {
  if (!node.ok())
    return kNone;
  size_t rows = node.type(weights).rank() - 2;
  return node.part(weights, rows, gate * shape.hidden, shape.hidden);
}

ValueId Cell::activate(size_t which, ValueId x) const {
  if (clip > 0)
    x = node.op("clamp", {x}, {{"low", -clip}, {"high", clip}});
  return applyActivation(node, activations[which], x);
}

ValueId Cell::product(ValueId state, ValueId ofWeights) const {
  return node.op("matmul", {state, ofWeights}, {{"transpose_b", int64_t(1)}});
}

ValueId Cell::oneMinus(ValueId x) const {
  return node.op("sub", {node.fillLike(x, 1), x});
}

void Cell::stepRnn(ValueId x) {
  h = activate(0, add(add(x, product(h, weights)), bias));
}

/// Gates z, r, h.
void Cell::stepGru(ValueId x) {
  ValueId all = add(product(h, weights), bias);
  auto sum = [&](int64_t index) {
    return add(gate(x, index), gate(all, index));
  };
  ValueId z = activate(0, sum(0)), r = activate(0, sum(1));
  ValueId inner = kNone;
  if (flag) {
    inner = mul(r, gate(all, 2));
  } else {
    inner = product(mul(r, h), weightsOf(2));
    inner = add(inner, gate(bias, 2));
  }
  ValueId candidate = activate(1, add(gate(x, 2), inner));
  h = add(mul(oneMinus(z), candidate), mul(z, h));
}

/// Gates i, o, f, c; peepholes i, o, f.
void Cell::stepLstm(ValueId x) {
  ValueId all = add(add(x, product(h, weights)), bias);
  auto opened = [&](int64_t index, ValueId seen) {
    ValueId sum = gate(all, index);
    if (peepholes != kNone)
      sum = add(sum, mul(gate(peepholes, index), seen));
    return activate(0, sum);
  };
  ValueId i = opened(0, c);
  ValueId f = flag ? oneMinus(i) : opened(2, c);
  ValueId candidate = activate(1, gate(all, 3));
  c = add(mul(f, c), mul(i, candidate));
  ValueId o = opened(1, c);
  h = mul(o, applyActivation(node, activations[2], c));
}

} // namespace backplane::frontend
