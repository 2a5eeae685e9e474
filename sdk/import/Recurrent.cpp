// SPDX-License-Identifier: Apache-2.0
#include "Recurrent.h"

namespace backplane::frontend {

bool RecurrentShape::read(Node &node, const TensorType &x, int64_t gates) {
  const TensorType &weights = node.inputType(2);
  if (!isFloat(x.dtype))
    node.reject("its input is " + x.str() + ", but must be a float");
  std::optional<int64_t> size;
  if (weights.rank() == 3)
    size = weights.dims[2].constant();
  if (!size || *size < 1 || *size > INT32_MAX ||
      weights.dims[1] != Dim(*size * gates))
    node.refuse("recurrent weights of " + weights.str() + " are not supported");
  hidden = size.value_or(1);
  if (node.i64("hidden_size", hidden) != hidden)
    node.reject("hidden_size is not the size " + std::to_string(hidden) +
                " of its weights");
  batch = x.dims[1];
  return node.ok();
}

// ---- activation functions ----

namespace {

/// A function, with its defaults for what it has.
struct Function {
  std::string_view name;
  std::optional<double> alpha, beta;
};

constexpr Function kFunctions[] = {
    {"Affine", 1.0, 0.0},
    {"Elu", 1.0, {}},
    {"HardSigmoid", 0.2, 0.5},
    {"LeakyRelu", 0.01, {}},
    {"Relu", {}, {}},
    {"ScaledTanh", 1.0, 1.0},
    {"Sigmoid", {}, {}},
    {"Softplus", {}, {}},
    {"Softsign", {}, {}},
    {"Tanh", {}, {}},
    {"ThresholdedRelu", 1.0, {}},
};

const Function *findFunction(std::string_view name) {
  for (const Function &function : kFunctions)
    if (function.name == name)
      return &function;
  return nullptr;
}

/// The next number of a list, or the default.
double next(std::optional<double> otherwise, const std::vector<double> &list,
            size_t &at) {
  return otherwise && at < list.size() ? list[at++] : otherwise.value_or(0);
}

} // namespace

std::vector<Activation> readActivations(Node &node,
                                        std::vector<std::string> defaults,
                                        bool bothDirections) {
  size_t count = defaults.size() * (bothDirections ? 2 : 1);
  std::vector<std::string> names = node.strings("activations");
  if (names.empty()) {
    names = defaults;
    if (bothDirections)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != count)
    node.reject("it has " + std::to_string(names.size()) +
                " activations, but needs " + std::to_string(count));
  std::vector<double> alphas = node.f64s("activation_alpha");
  std::vector<double> betas = node.f64s("activation_beta");
  std::vector<Activation> result;
  size_t alpha = 0, beta = 0;
  for (const std::string &name : names) {
    const Function *function = findFunction(name);
    if (!function)
      node.refuse("the activation '" + name + "' is not supported");
    else
      result.push_back({name, next(function->alpha, alphas, alpha),
                        next(function->beta, betas, beta)});
  }
  return result;
}

ValueId applyActivation(Node &node, const Activation &activation, ValueId x) {
  const auto &[name, alpha, beta] = activation;
  auto scaled = [&](ValueId value, double factor) {
    return node.op("mul", {value, node.fillLike(value, factor)});
  };
  if (name == "Affine")
    return node.op("add", {scaled(x, alpha), node.fillLike(x, beta)});
  if (name == "ScaledTanh")
    return scaled(node.op("tanh", {scaled(x, beta)}), alpha);
  if (name == "HardSigmoid")
    return node.op("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
  if (name == "LeakyRelu")
    return node.op("leaky_relu", {x}, {{"alpha", alpha}});
  if (name == "Elu")
    return node.op("elu", {x}, {{"alpha", alpha}});
  if (name == "ThresholdedRelu")
    return node.op("select", {node.compare("gt", x, node.fillLike(x, alpha)), x,
                              node.fillLike(x, 0)});
  if (name == "Softsign")
    return node.op(
        "div", {x, node.op("add", {node.fillLike(x, 1), node.op("abs", {x})})});
  std::string lower = name;
  lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  return node.op(lower, {x});
}

// ---- parts ----

namespace {

ValueId slice(Node &node, ValueId x, size_t axis, int64_t start, int64_t size) {
  if (!node.ok() || node.type(x).dims[axis] == Dim(size))
    return x;
  return node.part(x, axis, start, size);
}

} // namespace

ValueId sliceFirst(Node &node, ValueId x, int64_t index) {
  if (!node.ok())
    return kNone;
  Dims dims = node.type(x).dims;
  ValueId part = slice(node, x, 0, index, 1);
  return node.reshape(part, Dims(dims.begin() + 1, dims.end()));
}

ValueId sliceLast(Node &node, ValueId x, int64_t start, int64_t size) {
  if (!node.ok())
    return kNone;
  return slice(node, x, node.type(x).rank() - 1, start, size);
}

} // namespace backplane::frontend
