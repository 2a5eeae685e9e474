// SPDX-License-Identifier: Apache-2.0
#include "DecomposeRules.h"

#include "Element.h"

#include <cmath>
#include <numbers>

namespace backplane {

namespace {

/// Appends primitives. After the first failure everything is value 0, and the
/// failure is what the decomposition gives.
class Maker {
public:
  Maker(Graph &graph, const Op &op, const std::string &location)
      : op(op), graph_(graph), location_(location) {}

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

  const TensorType &type(ValueId value) const { return graph_.type(value); }

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

  /// Reduces along axes and repeats the result along them.
  ValueId reduceAlong(std::string kind, ValueId x, std::vector<int64_t> axes) {
    Dims dims = copyOf(x).dims;
    ValueId kept = add("reduce", {x},
                       {{"kind", std::move(kind)},
                        {"axes", std::move(axes)},
                        {"keep", int64_t(1)}});
    std::vector<int64_t> all;
    for (size_t i = 0; i < dims.size(); ++i)
      all.push_back(static_cast<int64_t>(i));
    return broadcast(kept, dims, std::move(all));
  }

  /// The type of a value, safe to keep while values are added.
  TensorType copyOf(ValueId value) const { return graph_.type(value); }

  const Op &op;
  Status status;

private:
  Graph &graph_;
  const std::string &location_;
};

// ---- activations ----

ValueId sigmoid(Maker &m, ValueId x) {
  ValueId e = m.add("exp", {m.add("neg", {x})});
  return m.add("recip", {m.with("add", e, 1)});
}

ValueId relu(Maker &m, ValueId x) { return m.with("max", x, 0); }

ValueId clampTo(Maker &m, ValueId x, double low, double high) {
  if (low != -INFINITY)
    x = m.with("max", x, low);
  if (high != INFINITY)
    x = m.with("min", x, high);
  return x;
}

ValueId scaled(Maker &m, ValueId x, double factor, double offset) {
  return m.with("add", m.with("mul", x, factor), offset);
}

ValueId softplus(Maker &m, ValueId x) {
  ValueId e = m.add("exp", {m.add("neg", {m.add("abs", {x})})});
  return m.add("add", {relu(m, x), m.add("log1p", {e})});
}

/// x where x `direction` 0, else `other`.
ValueId where(Maker &m, std::string direction, ValueId x, ValueId other) {
  ValueId zero = m.fill(0, m.copyOf(x));
  return m.add("select", {m.compare(std::move(direction), x, zero), x, other});
}

ValueId leakyRelu(Maker &m, ValueId x) {
  return where(m, "ge", x, m.with("mul", x, m.op.f64("alpha")));
}

ValueId elu(Maker &m, ValueId x) {
  ValueId below = m.with("mul", m.add("expm1", {x}), m.op.f64("alpha"));
  return where(m, "gt", x, below);
}

ValueId gelu(Maker &m, ValueId x) {
  ValueId inner = 0;
  if (m.op.string("approximate") == "tanh") {
    ValueId cubic = m.add("mul", {m.add("mul", {x, x}), x});
    ValueId sum = m.add("add", {x, m.with("mul", cubic, 0.044715)});
    double factor = std::sqrt(2 * std::numbers::inv_pi);
    inner = m.add("tanh", {m.with("mul", sum, factor)});
  } else {
    inner = m.add("erf", {m.with("mul", x, std::numbers::sqrt2 / 2)});
  }
  ValueId half = m.with("mul", x, 0.5);
  return m.add("mul", {half, m.with("add", inner, 1)});
}

// ---- normalisation ----

ValueId softmax(Maker &m, ValueId x, bool isLog) {
  std::vector<int64_t> axes = {m.op.i64("axis")};
  ValueId low = m.add("sub", {x, m.reduceAlong("max", x, axes)});
  ValueId e = m.add("exp", {low});
  ValueId sum = m.reduceAlong("sum", e, axes);
  if (isLog)
    return m.add("sub", {low, m.add("log", {sum})});
  return m.add("div", {e, sum});
}

/// A dim as a tensor of the type of `like`.
ValueId fillDim(Maker &m, const Dim &dim, const TensorType &like) {
  if (std::optional<int64_t> value = dim.constant())
    return m.fill(static_cast<double>(*value), like);
  ValueId number = m.add("dim", {}, {{"value", Dims{dim}}});
  ValueId scalar =
      m.add("reshape", {m.cast(number, like.dtype)}, {{"dims", Dims{}}});
  return m.broadcast(scalar, like.dims, {});
}

ValueId layerNorm(Maker &m, const std::vector<ValueId> &operands) {
  ValueId x = operands[0];
  TensorType type = m.copyOf(x);
  std::vector<int64_t> axes;
  Dim count(1);
  for (auto axis = static_cast<size_t>(m.op.i64("axis")); axis < type.rank();
       ++axis) {
    axes.push_back(static_cast<int64_t>(axis));
    count = count * type.dims[axis];
  }
  ValueId number = fillDim(m, count, type);
  ValueId mean = m.add("div", {m.reduceAlong("sum", x, axes), number});
  ValueId centered = m.add("sub", {x, mean});
  ValueId square = m.add("mul", {centered, centered});
  ValueId variance = m.add("div", {m.reduceAlong("sum", square, axes), number});
  ValueId deviation =
      m.add("sqrt", {m.with("add", variance, m.op.f64("epsilon"))});
  ValueId normal = m.add("div", {centered, deviation});
  ValueId scale = m.broadcast(operands[1], type.dims, axes);
  ValueId bias = m.broadcast(operands[2], type.dims, axes);
  return m.add("add", {m.add("mul", {normal, scale}), bias});
}

/// Factor and offset per channel come first, from operands that are weights
/// most often, so that folding leaves one multiply and one add.
ValueId batchNorm(Maker &m, const std::vector<ValueId> &operands) {
  ValueId x = operands[0], scale = operands[1], bias = operands[2],
          mean = operands[3], variance = operands[4];
  ValueId deviation =
      m.add("sqrt", {m.with("add", variance, m.op.f64("epsilon"))});
  ValueId factor = m.add("div", {scale, deviation});
  ValueId offset = m.add("sub", {bias, m.add("mul", {mean, factor})});
  Dims dims = m.copyOf(x).dims;
  ValueId product = m.add("mul", {x, m.broadcast(factor, dims, {1})});
  return m.add("add", {product, m.broadcast(offset, dims, {1})});
}

// ---- avg_pool ----

ValueId sumPool(Maker &m, ValueId x) {
  Attributes attributes = m.op.attributes;
  attributes.erase("count_padding");
  attributes["kind"] = std::string("sum");
  return m.add("pool", {x}, std::move(attributes));
}

ValueId avgPool(Maker &m, ValueId x) {
  TensorType type = m.copyOf(x);
  ValueId sum = sumPool(m, x);
  TensorType result = m.copyOf(sum);
  bool isPadded = false;
  for (const char *side : {"low", "high"})
    for (int64_t size : m.op.i64s(side))
      isPadded |= size != 0;
  if (!isPadded || m.op.i64("count_padding")) {
    double count = 1;
    for (int64_t size : m.op.i64s("window"))
      count *= static_cast<double>(size);
    return m.with("div", sum, count);
  }
  std::vector<int64_t> axes;
  for (size_t i = 0; i < type.rank(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  type.dims[0] = type.dims[1] = Dim(1);
  ValueId counts = sumPool(m, m.fill(1, type));
  return m.add("div", {sum, m.broadcast(counts, result.dims, axes)});
}

// ---- all ----

ValueId decomposeUnary(Maker &m, ValueId x) {
  const std::string &name = m.op.name;
  if (name == "relu")
    return relu(m, x);
  if (name == "sigmoid")
    return sigmoid(m, x);
  if (name == "silu")
    return m.add("mul", {x, sigmoid(m, x)});
  if (name == "softplus")
    return softplus(m, x);
  if (name == "leaky_relu")
    return leakyRelu(m, x);
  if (name == "elu")
    return elu(m, x);
  if (name == "gelu")
    return gelu(m, x);
  if (name == "clamp")
    return clampTo(m, x, m.op.f64("low"), m.op.f64("high"));
  if (name == "hard_sigmoid")
    return clampTo(m, scaled(m, x, m.op.f64("alpha"), m.op.f64("beta")), 0, 1);
  if (name == "hard_swish")
    return m.add("mul", {x, clampTo(m, scaled(m, x, 1.0 / 6, 0.5), 0, 1)});
  if (name == "softmax" || name == "log_softmax")
    return softmax(m, x, name == "log_softmax");
  if (name == "avg_pool")
    return avgPool(m, x);
  m.status = unimplemented("composite " + name + " has no decomposition");
  return 0;
}

} // namespace

Result<ValueId> decomposeOp(Graph &graph, const Op &composite,
                            const std::vector<ValueId> &operands,
                            const std::string &location) {
  Maker m(graph, composite, location);
  DType type = graph.type(operands[0]).dtype;
  bool isExact = composite.name == "relu" || composite.name == "clamp";
  bool isWidened = isFloat(type) && bitWidth(type) < 32 && !isExact;
  std::vector<ValueId> wide = operands;
  if (isWidened)
    for (ValueId &operand : wide)
      operand = m.cast(operand, DType::F32);
  ValueId result = 0;
  if (composite.name == "layer_norm")
    result = layerNorm(m, wide);
  else if (composite.name == "batch_norm")
    result = batchNorm(m, wide);
  else
    result = decomposeUnary(m, wide[0]);
  if (m.status.ok() && isWidened)
    result = m.cast(result, type);
  if (!m.status.ok())
    return m.status;
  return result;
}

} // namespace backplane
