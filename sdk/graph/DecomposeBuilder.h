// SPDX-License-Identifier: Apache-2.0
//
// DecomposeBuilder.h: what the decompositions are written with. Private to
// sdk/graph.
#ifndef BACKPLANE_GRAPH_DECOMPOSEBUILDER_H
#define BACKPLANE_GRAPH_DECOMPOSEBUILDER_H

#include "Graph.h"
#include "sdk/support/Element.h"

namespace backplane {

/// Appends primitives. After the first failure nothing is added, every value
/// has as many axes of size 1 as a value can have, so that rules may go on
/// reading sizes, and the failure is what the decomposition gives.
class DecomposeBuilder {
public:
  /// `stored` are the operands as the composite has them: those that are given
  /// to its decomposition may be wider.
  DecomposeBuilder(Graph &graph, const Op &op,
                   const std::vector<ValueId> &stored,
                   const std::string &location)
      : op(op), stored(stored), graph_(graph), location_(location) {}

  ValueId add(std::string_view name, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    if (!status.ok())
      return 0;
    auto results =
        graph_.add(name, std::move(operands), std::move(attributes), location_);
    if (!results) {
      status = results.status();
      return 0;
    }
    return (*results)[0];
  }

  const TensorType &type(ValueId value) const {
    static const TensorType failed{DType::F32, Dims(maxRank, Dim(1))};
    return status.ok() ? graph_.type(value) : failed;
  }

  /// A number as a tensor of the type of `like`.
  ValueId fill(double value, const TensorType &like) {
    return add("constant", {},
               {{"value", encodeElement(like.dtype, value)},
                {"dtype", int64_t(like.dtype)},
                {"dims", like.dims}});
  }

  ValueId cast(ValueId x, DType to) {
    return type(x).dtype == to ? x : add("cast", {x}, {{"dtype", int64_t(to)}});
  }

  ValueId broadcast(ValueId x, const Dims &dims, std::vector<int64_t> axes) {
    return add("broadcast", {x}, {{"dims", dims}, {"axes", std::move(axes)}});
  }

  ValueId compare(std::string direction, ValueId a, ValueId b) {
    return add("compare", {a, b}, {{"direction", std::move(direction)}});
  }

  /// A binary op whose second operand is a number.
  ValueId with(std::string_view name, ValueId x, double value) {
    ValueId number = fill(value, copyOf(x));
    return add(name, {x, number});
  }

  /// Reduces along axes, which get the size 1.
  ValueId reduceTo1(std::string kind, ValueId x, std::vector<int64_t> axes) {
    return add("reduce", {x},
               {{"kind", std::move(kind)},
                {"axes", std::move(axes)},
                {"keep", int64_t(1)}});
  }

  /// Repeats a value along its axes of size 1.
  ValueId repeat(ValueId x, const Dims &dims) {
    return broadcast(x, dims, axesFrom(0, dims.size()));
  }

  /// Reduces along axes and repeats the result along them.
  ValueId reduceAlong(std::string kind, ValueId x, std::vector<int64_t> axes) {
    Dims dims = copyOf(x).dims;
    return repeat(reduceTo1(std::move(kind), x, std::move(axes)), dims);
  }

  /// The type of a value, safe to keep while values are added.
  TensorType copyOf(ValueId value) const { return type(value); }

  ValueId reshape(ValueId x, const Dims &dims) {
    return add("reshape", {x}, {{"dims", dims}});
  }

  /// All axes from `first` on.
  static std::vector<int64_t> axesFrom(size_t first, size_t rank) {
    std::vector<int64_t> axes;
    for (size_t axis = first; axis < rank; ++axis)
      axes.push_back(static_cast<int64_t>(axis));
    return axes;
  }

  /// A dim as a tensor of the type of `like`.
  ValueId fillDim(const Dim &dim, const TensorType &like) {
    if (std::optional<int64_t> value = dim.constant())
      return fill(static_cast<double>(*value), like);
    ValueId number = add("dim", {}, {{"value", Dims{dim}}});
    ValueId scalar = reshape(cast(number, like.dtype), {});
    return broadcast(scalar, like.dims, {});
  }

  const Op &op;
  const std::vector<ValueId> &stored;
  Status status;

private:
  Graph &graph_;
  const std::string &location_;
};

using Operands = std::vector<ValueId>;

/// The decompositions, in Decompose*.cpp: a function for each composite, by its
/// name. decompose chooses by that of the builder's op.
namespace composites {
#include "sdk/graph/Composites.inc"
} // namespace composites

} // namespace backplane

#endif // BACKPLANE_GRAPH_DECOMPOSEBUILDER_H
