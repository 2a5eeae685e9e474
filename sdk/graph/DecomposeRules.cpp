// SPDX-License-Identifier: Apache-2.0
#include "DecomposeRules.h"

#include "DecomposeBuilder.h"
#include "OpTable.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace backplane {

// ---- activations ----

/// 1 / (1 + exp(-x)), and exp(x) / (1 + exp(x)) below 0: the exponential never
/// overflows, so results below the least normal number are not lost.
ValueId composites::sigmoid(DecomposeBuilder &m, ValueId x) {
  ValueId e = m.add("exp", {m.add("neg", {m.add("abs", {x})})});
  ValueId positive = m.compare("ge", x, m.fill(0, m.copyOf(x)));
  ValueId top = m.add("select", {positive, m.fill(1, m.copyOf(x)), e});
  return m.add("div", {top, m.with("add", e, 1)});
}

ValueId composites::relu(DecomposeBuilder &m, ValueId x) {
  return m.with("max", x, 0);
}

static ValueId clampTo(DecomposeBuilder &m, ValueId x, double low,
                       double high) {
  if (low != -INFINITY)
    x = m.with("max", x, low);
  if (high != INFINITY)
    x = m.with("min", x, high);
  return x;
}

static ValueId scaled(DecomposeBuilder &m, ValueId x, double factor,
                      double offset) {
  return m.with("add", m.with("mul", x, factor), offset);
}

ValueId composites::softplus(DecomposeBuilder &m, ValueId x) {
  ValueId e = m.add("exp", {m.add("neg", {m.add("abs", {x})})});
  return m.add("add", {relu(m, x), m.add("log1p", {e})});
}

/// x where x `direction` 0, else `other`.
static ValueId where(DecomposeBuilder &m, std::string direction, ValueId x,
                     ValueId other) {
  ValueId zero = m.fill(0, m.copyOf(x));
  return m.add("select", {m.compare(std::move(direction), x, zero), x, other});
}

ValueId composites::leaky_relu(DecomposeBuilder &m, ValueId x) {
  return where(m, "ge", x, m.with("mul", x, m.op.f64("alpha")));
}

ValueId composites::elu(DecomposeBuilder &m, ValueId x) {
  ValueId below = m.with("mul", m.add("expm1", {x}), m.op.f64("alpha"));
  return where(m, "gt", x, below);
}

ValueId composites::selu(DecomposeBuilder &m, ValueId x) {
  ValueId below = m.with("mul", m.add("expm1", {x}), m.op.f64("alpha"));
  return m.with("mul", where(m, "gt", x, below), m.op.f64("gamma"));
}

ValueId composites::celu(DecomposeBuilder &m, ValueId x) {
  double alpha = m.op.f64("alpha");
  ValueId power = m.add("expm1", {m.with("div", x, alpha)});
  return where(m, "gt", x, m.with("mul", power, alpha));
}

ValueId composites::softsign(DecomposeBuilder &m, ValueId x) {
  return m.add("div", {x, m.with("add", m.add("abs", {x}), 1)});
}

ValueId composites::gelu(DecomposeBuilder &m, ValueId x) {
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

ValueId composites::silu(DecomposeBuilder &m, ValueId x) {
  return m.add("mul", {x, sigmoid(m, x)});
}

/// tanh(log(1 + e)) is (e * e + 2 * e) / (e * e + 2 * e + 2); where x is above
/// 0, both are multiplied by u * u, u = exp(-|x|), so that nothing overflows.
ValueId composites::mish(DecomposeBuilder &m, ValueId x) {
  ValueId zero = m.fill(0, m.copyOf(x));
  ValueId above = m.compare("ge", x, zero);
  ValueId u = m.add("exp", {m.add("neg", {m.add("abs", {x})})});
  ValueId two = m.fill(2, m.copyOf(x)), one = m.fill(1, m.copyOf(x));
  ValueId high = m.add("add", {one, m.add("add", {u, u})});
  ValueId low = m.add("mul", {u, m.add("add", {u, two})});
  ValueId n = m.add("select", {above, high, low});
  ValueId rest = m.add("select", {above, m.add("mul", {u, u}), one});
  ValueId d = m.add("add", {n, m.add("add", {rest, rest})});
  return m.add("mul", {x, m.add("div", {n, d})});
}

ValueId composites::clamp(DecomposeBuilder &m, ValueId x) {
  return clampTo(m, x, m.op.f64("low"), m.op.f64("high"));
}

ValueId composites::hard_sigmoid(DecomposeBuilder &m, ValueId x) {
  return clampTo(m, scaled(m, x, m.op.f64("alpha"), m.op.f64("beta")), 0, 1);
}

ValueId composites::hard_swish(DecomposeBuilder &m, ValueId x) {
  return m.add("mul", {x, clampTo(m, scaled(m, x, 1.0 / 6, 0.5), 0, 1)});
}

ValueId composites::prelu(DecomposeBuilder &m, const Operands &operands) {
  ValueId below = m.add("mul", {operands[0], operands[1]});
  return where(m, "ge", operands[0], below);
}

// ---- normalisation ----

static ValueId softmaxOf(DecomposeBuilder &m, ValueId x, bool isLog) {
  std::vector<int64_t> axes = {m.op.i64("axis")};
  ValueId low = m.add("sub", {x, m.reduceAlong("max", x, axes)});
  ValueId e = m.add("exp", {low});
  ValueId sum = m.reduceAlong("sum", e, axes);
  if (isLog)
    return m.add("sub", {low, m.add("log", {sum})});
  return m.add("div", {e, sum});
}

ValueId composites::softmax(DecomposeBuilder &m, ValueId x) {
  return softmaxOf(m, x, false);
}

ValueId composites::log_softmax(DecomposeBuilder &m, ValueId x) {
  return softmaxOf(m, x, true);
}

/// log(sum(exp(x))); an infinite maximum is not taken out, so that no
/// infinities are subtracted.
ValueId composites::log_sum_exp(DecomposeBuilder &m, ValueId x) {
  std::vector<int64_t> axes = m.op.i64s("axes");
  TensorType type = m.copyOf(x);
  ValueId top = m.add(
      "reduce", {x},
      {{"kind", std::string("max")}, {"axes", axes}, {"keep", int64_t(1)}});
  ValueId infinite = m.add("is_inf", {top});
  ValueId safe = m.add("select", {infinite, m.fill(0, m.copyOf(top)), top});
  ValueId repeated =
      m.broadcast(safe, type.dims, DecomposeBuilder::axesFrom(0, type.rank()));
  ValueId e = m.add("exp", {m.add("sub", {x, repeated})});
  ValueId sum = m.add(
      "reduce", {e},
      {{"kind", std::string("sum")}, {"axes", axes}, {"keep", int64_t(1)}});
  ValueId result = m.add("add", {m.add("log", {sum}), safe});
  if (m.op.i64("keep"))
    return result;
  Dims dims;
  for (size_t i = 0; i < type.rank(); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i)))
      dims.push_back(type.dims[i]);
  return m.reshape(result, dims);
}

// ---- avg_pool ----

static ValueId sumPool(DecomposeBuilder &m, ValueId x) {
  Attributes attributes = m.op.attributes;
  attributes.erase("count_padding");
  attributes["kind"] = std::string("sum");
  return m.add("pool", {x}, std::move(attributes));
}

ValueId composites::avg_pool(DecomposeBuilder &m, ValueId x) {
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
  type.dims[0] = type.dims[1] = Dim(1);
  ValueId counts = sumPool(m, m.fill(1, type));
  ValueId divisor = m.broadcast(counts, result.dims,
                                DecomposeBuilder::axesFrom(0, type.rank()));
  return m.add("div", {sum, divisor});
}

// ---- all ----

Result<ValueId> decomposeOp(Graph &graph, const Op &composite,
                            const std::vector<ValueId> &operands,
                            const std::string &location) {
  DecomposeBuilder m(graph, composite, operands, location);
  DType type = graph.type(operands[0]).dtype;
  bool isExact = findOp(composite.name)->numericClass == "EXACT" ||
                 composite.name == "relu" || composite.name == "clamp";
  bool isWidened = isFloat(type) && bitWidth(type) < 32 && !isExact;
  std::vector<ValueId> wide = operands;
  if (isWidened)
    for (ValueId &operand : wide)
      operand = m.cast(operand, DType::F32);
  ValueId result = composites::decompose(m, wide);
  if (m.status.ok() && isWidened)
    result = m.cast(result, type);
  if (!m.status.ok())
    return m.status;
  return result;
}

} // namespace backplane
