// SPDX-License-Identifier: Apache-2.0
//
// Random steps that move elements.
#include "RandomGraph.h"

#include <algorithm>
#include <numeric>

namespace backplane::conformance {

namespace {

using enum DType;
using Item = Growth::Item;
using Axes = std::vector<int64_t>;

template <size_t low, size_t high> Item *withRank(Growth &g) {
  return g.find([](const TensorType &type) {
    return type.rank() >= low && type.rank() <= high && type.dtype != Bool;
  });
}

size_t anyAxis(Growth &g, const Dims &dims) {
  return g.dice.below(dims.size());
}

void transposed(Growth &g, const Item &x) {
  Axes order(g.type(x).rank());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[g.dice.below(i + 1)]);
  g.keep(g.s.transpose(x.id, order), x.magnitude);
}

/// Two neighbouring axes become one, or one becomes two.
void reshaped(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  size_t axis = anyAxis(g, dims);
  auto at = dims.begin() + static_cast<ptrdiff_t>(axis);
  std::optional<int64_t> size = dims[axis].constant();
  if (size && *size % 2 == 0 && g.dice.chance(60)) {
    *at = Dim(*size / 2);
    dims.insert(at, Dim(2));
  } else if (axis + 1 < dims.size()) {
    *at = dims[axis] * dims[axis + 1];
    dims.erase(at + 1);
  } else {
    dims.insert(at, Dim(1));
  }
  g.keep(g.s.reshape(x.id, dims), x.magnitude);
}

void sliced(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims, starts(dims.size(), Dim(0)), sizes = dims;
  Axes strides(dims.size(), 1);
  size_t axis = anyAxis(g, dims);
  switch (g.dice.below(4)) {
  case 0: // the second half
    sizes[axis] = ceilDiv(dims[axis], 2);
    starts[axis] = dims[axis] - sizes[axis];
    break;
  case 1: // every other one
    sizes[axis] = ceilDiv(dims[axis], 2);
    strides[axis] = 2;
    break;
  case 2: // all but the first
    starts[axis] = min(dims[axis], 1);
    sizes[axis] = dims[axis] - starts[axis];
    break;
  default: // the first three at most
    sizes[axis] = min(dims[axis], 3);
  }
  g.keep(g.s.op("slice", {x.id},
                {{"starts", starts}, {"sizes", sizes}, {"strides", strides}}),
         x.magnitude);
}

void joined(Growth &g, const Item &x) {
  TensorType type = g.type(x);
  size_t axis = anyAxis(g, type.dims);
  std::vector<ValueId> parts = {x.id, g.like(type).id};
  if (g.dice.chance(40)) {
    TensorType other = type;
    other.dims[axis] = Dim(static_cast<int64_t>(1 + g.dice.below(4)));
    parts.insert(parts.begin(), g.fresh(other.dtype, other.dims, 2).id);
  }
  Dims dims = type.dims;
  dims[axis] = dims[axis] * 3;
  if (g.isSmall(dims))
    g.keep(g.s.op("concat", parts, {{"axis", static_cast<int64_t>(axis)}}),
           std::max(x.magnitude, 8.0));
}

void padded(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims, low(dims.size(), Dim(0)), high = low;
  Dims wide = dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    low[axis] = static_cast<int64_t>(g.dice.below(3));
    high[axis] = static_cast<int64_t>(g.dice.below(2));
    wide[axis] = dims[axis] + low[axis] + high[axis];
  }
  if (!g.isSmall(wide))
    return;
  std::string mode = g.dice.pick({"constant", "edge"});
  ValueId value = g.s.constant(g.type(x).dtype, {}, {1});
  g.keep(g.s.op("pad", {x.id, value},
                {{"low", low}, {"high", high}, {"mode", mode}}),
         std::max(x.magnitude, 1.0));
}

void reversed(Growth &g, const Item &x) {
  auto axis = static_cast<int64_t>(anyAxis(g, g.type(x).dims));
  g.keep(g.s.op("reverse", {x.id}, {{"axes", Axes{axis}}}), x.magnitude);
}

void repeated(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  Axes axes;
  size_t at = g.dice.below(dims.size() + 1);
  for (size_t i = 0; i < dims.size(); ++i)
    axes.push_back(static_cast<int64_t>(i < at ? i : i + 1));
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(at), g.anyDim());
  if (g.isSmall(dims))
    g.keep(g.s.broadcast(x.id, dims, axes), x.magnitude);
}

void lookedUp(Growth &g, const Item &x) {
  Dims dims = g.type(x).dims;
  size_t axis = anyAxis(g, dims);
  Dim bound = dims[axis];
  for (size_t call = 0; call < g.calls().size(); ++call)
    if (g.sizes({bound}, call)[0] < 1)
      return;
  Dims places = {g.anyDim()};
  dims[axis] = places[0];
  if (!g.isSmall(dims))
    return;
  ValueId indices = g.s.indices(g.dice.chance(50) ? I64 : I32, places, bound);
  g.keep(
      g.s.op("gather", {x.id, indices}, {{"axis", static_cast<int64_t>(axis)}}),
      x.magnitude);
}

void putInto(Growth &g, const Item &x) {
  TensorType type = g.type(x);
  size_t axis = anyAxis(g, type.dims);
  Dim bound = type.dims[axis];
  for (size_t call = 0; call < g.calls().size(); ++call)
    if (g.sizes({bound}, call)[0] < 1)
      return;
  ValueId indices = g.s.indices(I64, {Dim(3)}, bound);
  TensorType updates = type;
  updates.dims[axis] = Dim(3);
  std::string combine = g.dice.pick({"none", "add", "min", "max"});
  g.keep(g.s.op("scatter", {x.id, indices, g.like(updates).id},
                {{"axis", static_cast<int64_t>(axis)}, {"combine", combine}}),
         x.magnitude + 8);
}

void counted(Growth &g, const Item &x) {
  if (!g.isSmall(g.type(x).dims))
    return;
  TensorType type = g.type(x);
  ValueId number =
      g.s.op("iota", {},
             {{"dtype", static_cast<int64_t>(I32)},
              {"dims", type.dims},
              {"axis", static_cast<int64_t>(anyAxis(g, type.dims))}});
  ValueId odd =
      g.s.op("compare", {g.with("and", number, 1), g.s.fill(1, number)},
             {{"direction", "eq"}});
  g.keep(g.s.op("select", {odd, x.id, g.s.fill(1, x.id)}),
         std::max(x.magnitude, 1.0));
}

} // namespace

const std::vector<Step> &movingSteps() {
  static const std::vector<Step> all = {
      from<withRank<2, 5>, transposed>, from<withRank<2, 5>, transposed>,
      from<withRank<1, 5>, reshaped>,   from<withRank<1, 5>, reshaped>,
      from<withRank<1, 5>, sliced>,     from<withRank<1, 4>, joined>,
      from<withRank<1, 4>, padded>,     from<withRank<1, 5>, reversed>,
      from<withRank<0, 3>, repeated>,   from<withRank<0, 3>, repeated>,
      from<withRank<1, 3>, lookedUp>,   from<withRank<1, 3>, putInto>,
      from<withRank<1, 4>, counted>};
  return all;
}

} // namespace backplane::conformance
