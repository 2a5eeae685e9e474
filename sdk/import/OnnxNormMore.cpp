// SPDX-License-Identifier: Apache-2.0
//
// GroupNormalization, LpNormalization, MeanVarianceNormalization and LRN.
#include "OnnxHandlers.h"

namespace backplane::frontend {

void onnxGroupNormalization(Node &node) {
  if (node.i64("stash_type", 1) != 1)
    return node.refuse("stash_type is supported as 1 only");
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  if (!node.requireRank(x, 2))
    return;
  ValueId scale = node.withDims(node.value(1), {dims[1]});
  ValueId bias = node.withDims(node.value(2), {dims[1]});
  node.out(0, node.op("group_norm", {x, scale, bias},
                      {{"groups", node.i64("num_groups", 0)},
                       {"epsilon",
                        node.f64("epsilon", static_cast<double>(1e-5f))}}));
}

/// x over its norm along one axis; zeros stay zeros.
void onnxLpNormalization(Node &node) {
  int64_t p = node.i64("p", 2);
  if (p != 1 && p != 2)
    return node.reject("attribute 'p' is " + std::to_string(p) +
                       ", but must be 1 or 2");
  node.roundOnce();
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  auto axis =
      static_cast<int64_t>(node.axis(node.i64("axis", -1), dims.size()));
  ValueId size = p == 1 ? node.op("abs", {x}) : node.op("mul", {x, x});
  ValueId norm = node.reduce("sum", size, {axis}, true);
  if (p == 2)
    norm = node.op("sqrt", {norm});
  norm = node.broadcast(norm, dims);
  ValueId zero = node.fillLike(norm, 0);
  ValueId empty = node.compare("eq", norm, zero);
  node.out(0, node.op("select", {empty, zero, node.op("div", {x, norm})}));
}

void onnxMeanVarianceNormalization(Node &node) {
  std::vector<int64_t> given = node.i64s("axes");
  if (given.empty())
    given = {0, 2, 3};
  node.roundOnce();
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  std::vector<int64_t> axes = node.axes(given, dims.size());
  ValueId centred =
      node.op("sub", {x, node.broadcast(node.mean(x, axes, true), dims)});
  ValueId square = node.op("mul", {centred, centred});
  ValueId deviation = node.op("sqrt", {node.mean(square, axes, true)});
  deviation = node.op("add", {deviation, node.fillLike(deviation, 1e-9)});
  node.out(0, node.op("div", {centred, node.broadcast(deviation, dims)}));
}

/// x / (bias + alpha / size * sum of x^2 over `size` channels around)^beta.
void onnxLrn(Node &node) {
  int64_t size = node.i64("size", 0);
  if (size < 1 || size > (int64_t(1) << 30))
    return node.reject("attribute 'size' is " + std::to_string(size));
  node.roundOnce();
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  if (!node.requireRank(x, 2))
    return;
  Dims flat{dims[0], Dim(1), dims[1],
            product(Dims(dims.begin() + 2, dims.end()))};
  using List = std::vector<int64_t>;
  ValueId square = node.reshape(node.op("mul", {x, x}), flat);
  ValueId sum = node.op("pool", {square},
                        {{"kind", std::string("sum")},
                         {"window", List{size, 1}},
                         {"strides", List{1, 1}},
                         {"dilations", List{1, 1}},
                         {"low", List{(size - 1) / 2, 0}},
                         {"high", List{size / 2, 0}}});
  sum = node.reshape(sum, dims);
  double alpha = node.f64("alpha", static_cast<double>(1e-4f));
  ValueId factor = node.fillLike(sum, alpha / static_cast<double>(size));
  ValueId base = node.op("add", {node.op("mul", {sum, factor}),
                                 node.fillLike(sum, node.f64("bias", 1))});
  ValueId power =
      node.op("pow", {base, node.fillLike(base, node.f64("beta", 0.75))});
  node.out(0, node.op("div", {x, power}));
}

} // namespace backplane::frontend
