// SPDX-License-Identifier: Apache-2.0
#include "Evaluate.h"

#include <cmath>
#include <functional>

namespace backplane::test {

namespace {

using Index = std::vector<size_t>;

size_t count(const Index &sizes) {
  size_t total = 1;
  for (size_t size : sizes)
    total *= size;
  return total;
}

Index unravel(size_t flat, const Index &sizes) {
  Index index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    index[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return index;
}

size_t ravel(const Index &index, const Index &sizes) {
  size_t flat = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    flat = flat * sizes[i] + index[i];
  return flat;
}

const std::map<std::string, std::function<double(double)>> unary = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"recip", [](double x) { return 1 / x; }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
};

double propagate(double a, double b, bool takeA) {
  return std::isnan(a) || std::isnan(b) ? NAN : takeA ? a : b;
}

const std::map<std::string, std::function<double(double, double)>> binary = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"max", [](double a, double b) { return propagate(a, b, a > b); }},
    {"min", [](double a, double b) { return propagate(a, b, a < b); }},
};

class Evaluator {
public:
  Evaluator(const Graph &graph, const SymbolValues &symbols)
      : graph_(graph), symbols_(symbols), values_(graph.values.size()) {}

  Tensor run(const std::vector<Tensor> &inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      values_[graph_.inputs[i]] = inputs[i];
    for (const Op &op : graph_.ops) {
      Tensor &result = values_[op.results[0]];
      const TensorType &type = graph_.type(op.results[0]);
      for (const Dim &dim : type.dims)
        result.sizes.push_back(size_t(*dim.evaluate(symbols_)));
      result.data.resize(count(result.sizes));
      compute(op, result);
      for (double &x : result.data)
        x = decodeElement(type.dtype, encodeElement(type.dtype, x), 0);
    }
    return values_[graph_.outputs[0].value];
  }

private:
  const Tensor &operand(const Op &op, size_t i) const {
    return values_[op.operands[i]];
  }

  void each(Tensor &result, const std::function<double(size_t)> &value) {
    for (size_t i = 0; i < result.data.size(); ++i)
      result.data[i] = value(i);
  }

  void compute(const Op &op, Tensor &result) {
    if (auto it = unary.find(op.name); it != unary.end())
      return each(result,
                  [&](size_t i) { return it->second(operand(op, 0).data[i]); });
    if (auto it = binary.find(op.name); it != binary.end())
      return each(result, [&](size_t i) {
        return it->second(operand(op, 0).data[i], operand(op, 1).data[i]);
      });
    if (op.name == "cast" || op.name == "reshape")
      return each(result, [&](size_t i) { return operand(op, 0).data[i]; });
    if (op.name == "select")
      return each(result, [&](size_t i) {
        return operand(op, operand(op, 0).data[i] != 0 ? 1 : 2).data[i];
      });
    if (op.name == "constant")
      return each(result, [&](size_t) {
        return decodeElement(DType(op.i64("dtype")), *op.bytes("value"), 0);
      });
    if (op.name == "dim")
      return each(result, [&](size_t i) {
        return double(*op.dims("value")[i].evaluate(symbols_));
      });
    computeShaped(op, result);
  }

  void computeShaped(const Op &op, Tensor &result) {
    if (op.name == "compare")
      return each(result, [&](size_t i) {
        double a = operand(op, 0).data[i], b = operand(op, 1).data[i];
        return op.string("direction") == "gt" ? a > b : a >= b;
      });
    if (op.name == "broadcast")
      return each(result, [&](size_t i) { return broadcast(op, result, i); });
    if (op.name == "reduce")
      return reduce(op, result);
    if (op.name == "pool")
      return each(result, [&](size_t i) { return pool(op, result, i); });
    ADD_FAILURE() << "the test cannot evaluate " << op.name;
  }

  double broadcast(const Op &op, const Tensor &result, size_t flat) const {
    const Tensor &x = operand(op, 0);
    Index to = unravel(flat, result.sizes), from;
    std::vector<int64_t> axes = op.i64s("axes");
    for (size_t i = 0; i < axes.size(); ++i)
      from.push_back(x.sizes[i] == 1 ? 0 : to[size_t(axes[i])]);
    return x.data[ravel(from, x.sizes)];
  }

  void reduce(const Op &op, Tensor &result) const {
    const Tensor &x = operand(op, 0);
    bool isMax = op.string("kind") == "max";
    std::fill(result.data.begin(), result.data.end(), isMax ? -INFINITY : 0);
    for (size_t i = 0; i < x.data.size(); ++i) {
      Index at = unravel(i, x.sizes);
      for (int64_t axis : op.i64s("axes"))
        at[size_t(axis)] = 0;
      double &into = result.data[ravel(at, result.sizes)];
      into = isMax ? std::max(into, x.data[i]) : into + x.data[i];
    }
  }

  /// The sum of the two-dimensional window at one result.
  double pool(const Op &op, const Tensor &result, size_t flat) const {
    const Tensor &x = operand(op, 0);
    Index at = unravel(flat, result.sizes);
    std::vector<int64_t> window = op.i64s("window");
    double sum = 0;
    for (int64_t i = 0; i < window[0] * window[1]; ++i) {
      int64_t offsets[] = {i / window[1], i % window[1]};
      Index from = at;
      bool isInside = true;
      for (size_t axis = 0; axis < 2; ++axis) {
        int64_t p = int64_t(at[axis + 2]) * op.i64s("strides")[axis] +
                    offsets[axis] * op.i64s("dilations")[axis] -
                    op.i64s("low")[axis];
        isInside &= p >= 0 && p < int64_t(x.sizes[axis + 2]);
        from[axis + 2] = size_t(p);
      }
      sum += isInside ? x.data[ravel(from, x.sizes)] : 0;
    }
    return sum;
  }

  const Graph &graph_;
  const SymbolValues &symbols_;
  std::vector<Tensor> values_;
};

} // namespace

Tensor evaluate(const Graph &graph, const std::vector<Tensor> &inputs,
                const SymbolValues &symbols) {
  return Evaluator(graph, symbols).run(inputs);
}

} // namespace backplane::test
