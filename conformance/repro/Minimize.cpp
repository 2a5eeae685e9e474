// SPDX-License-Identifier: Apache-2.0
#include "Minimize.h"

#include "conformance/compare/Elements.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

/// The first elements along each axis.
Tensor cropped(const Tensor &from, const std::vector<int64_t> &dims) {
  Tensor to{from.dtype, dims, {}};
  size_t count = to.elementCount();
  to.data.resize(packedBytes(to.dtype, count));
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i, source = 0, stride = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
      auto size = static_cast<size_t>(dims[axis]);
      source += rest % size * stride;
      rest /= size;
      stride *= static_cast<size_t>(from.dims[axis]);
    }
    storeBits(to, i, loadBits(from, source));
  }
  return to;
}

bool fits(const std::vector<int64_t> &small,
          const std::vector<int64_t> &large) {
  for (size_t axis = 0; axis < small.size(); ++axis)
    if (small[axis] < 0 || small[axis] > large[axis])
      return false;
  return true;
}

class Minimizer {
public:
  Minimizer(Repro repro, const Fails &fails, size_t budget)
      : best_(std::move(repro)), fails_(fails), budget_(budget) {}

  Minimized run() {
    if (auto plain = withoutWeights(best_))
      (void)offer(std::move(*plain));
    size_t before;
    do {
      before = accepted_;
      keepOneOutput();
      cutTheEnd();
      deleteOps();
      bypassOps();
      shrinkDims();
    } while (accepted_ != before && tries_ < budget_);
    bindSymbols();
    (void)offer(liftedConstants());
    shrinkDims();
    shrinkAxes();
    simplifyNumbers();
    return {std::move(best_), tries_};
  }

private:
  /// Takes the repro when it fails too.
  bool offer(Repro repro) {
    if (tries_ >= budget_)
      return false;
    ++tries_;
    if (!fails_(repro))
      return false;
    best_ = std::move(repro);
    ++accepted_;
    return true;
  }

  bool offer(Result<Repro> repro) { return repro && offer(std::move(*repro)); }

  std::vector<bool> all() const {
    return std::vector<bool>(best_.graph.ops.size(), true);
  }

  void keepOneOutput() {
    std::vector<GraphOutput> outputs = best_.graph.outputs;
    ValueTable none(best_.graph.values.size());
    for (const GraphOutput &output : outputs)
      if (outputs.size() > 1 &&
          offer(carve(best_, all(), {output.value}, none)))
        return;
  }

  /// The first op whose result is wrong becomes the output.
  void cutTheEnd() {
    ValueTable none(best_.graph.values.size());
    for (size_t i = 0; i + 1 < best_.graph.ops.size(); ++i) {
      const Op &op = best_.graph.ops[i];
      if (isSource(op) || op.results.empty())
        continue;
      if (offer(carve(best_, all(), op.results, none)))
        return;
    }
  }

  /// Takes out runs of ops, first half of them, then a quarter, …
  void deleteOps() {
    for (size_t size = best_.graph.ops.size() / 2; size > 0; size /= 2)
      for (size_t start = 0; start < best_.graph.ops.size();)
        if (!deleteRun(start, size))
          start += size;
  }

  bool deleteRun(size_t start, size_t size) {
    auto values = valuesByOracle(best_);
    if (!values)
      return false;
    std::vector<bool> kept = all();
    bool any = false;
    for (size_t i = start; i < std::min(kept.size(), start + size); ++i) {
      any |= !isSource(best_.graph.ops[i]);
      kept[i] = false;
    }
    std::vector<ValueId> outputs;
    for (const GraphOutput &output : best_.graph.outputs)
      outputs.push_back(output.value);
    return any && offer(carve(best_, kept, outputs, *values));
  }

  /// Takes an operand of the same type for the result.
  void bypassOps() {
    for (size_t i = best_.graph.ops.size(); i-- > 0;) {
      if (i >= best_.graph.ops.size())
        continue;
      Op op = best_.graph.ops[i];
      for (ValueId operand : op.operands)
        if (op.results.size() == 1 && bypass(op.results[0], operand))
          break;
    }
  }

  bool bypass(ValueId result, ValueId operand) {
    if (best_.graph.type(result) != best_.graph.type(operand))
      return false;
    Repro next = best_;
    for (Op &op : next.graph.ops)
      std::replace(op.operands.begin(), op.operands.end(), result, operand);
    for (GraphOutput &output : next.graph.outputs)
      if (output.value == result)
        return false;
    ValueTable none(next.graph.values.size());
    std::vector<ValueId> outputs;
    for (const GraphOutput &output : next.graph.outputs)
      outputs.push_back(output.value);
    return offer(carve(next, std::vector<bool>(next.graph.ops.size(), true),
                       outputs, none));
  }

  /// Each symbol and each number among the dims of inputs.
  void shrinkDims() {
    std::set<std::string> names;
    std::set<int64_t> numbers;
    for (ValueId input : best_.graph.inputs)
      for (const Dim &dim : best_.graph.type(input).dims) {
        if (auto symbol = dim.symbolName())
          names.insert(*symbol);
        if (auto number = dim.constant(); number && *number > 1)
          numbers.insert(*number);
      }
    for (const std::string &name : names)
      shrinkSymbol(name);
    for (int64_t number : numbers)
      for (int64_t smaller : smallerThan(number))
        if (offer(resized(Dim(number), Dim(smaller))))
          break;
  }

  static std::vector<int64_t> smallerThan(int64_t size) {
    std::vector<int64_t> sizes;
    for (int64_t candidate : {int64_t(1), int64_t(2), int64_t(3), size / 4,
                              size / 2, size - size / 4, size - 1})
      if (candidate > 0 && candidate < size &&
          (sizes.empty() || candidate > sizes.back()))
        sizes.push_back(candidate);
    return sizes;
  }

  void shrinkSymbol(const std::string &name) {
    SymbolValues symbols = symbolsOf(best_);
    for (int64_t smaller : smallerThan(symbols[name])) {
      symbols[name] = smaller;
      if (offer(cropped(best_.graph, symbols)))
        break;
    }
  }

  /// Constants of several elements as inputs, whose dims can shrink.
  Repro liftedConstants() const {
    Repro next = best_;
    next.graph.ops.clear();
    for (const Op &op : best_.graph.ops) {
      const Bytes *value = op.bytes("value");
      Tensor tensor;
      if (op.name == "constant" && value) {
        const TensorType &type = best_.graph.type(op.results[0]);
        tensor = {type.dtype, {}, *value};
        for (const Dim &dim : type.dims)
          tensor.dims.push_back(dim.constant().value_or(0));
      }
      size_t count = tensor.elementCount();
      bool isWhole = tensor.data.size() == packedBytes(tensor.dtype, count);
      if (tensor.data.empty() || count < 2 || !isWhole) {
        next.graph.ops.push_back(op);
        continue;
      }
      next.graph.values[op.results[0]].name =
          "c" + std::to_string(next.inputs.size());
      next.graph.inputs.push_back(op.results[0]);
      next.inputs.push_back(std::move(tensor));
    }
    return next;
  }

  /// Plain numbers in place of symbols, once their sizes are small.
  void bindSymbols() {
    for (const auto &[name, size] : symbolsOf(best_))
      (void)offer(resized(Dim::symbol(name), Dim(size)));
  }

  /// The graph with smaller inputs.
  Result<Repro> cropped(const Graph &graph, const SymbolValues &symbols) const {
    Repro next{graph, best_.weights, {}};
    for (size_t i = 0; i < best_.inputs.size(); ++i) {
      std::vector<int64_t> dims;
      for (const Dim &dim : graph.type(graph.inputs[i]).dims) {
        auto size = dim.evaluate(symbols);
        dims.push_back(size ? *size : -1);
      }
      if (!fits(dims, best_.inputs[i].dims))
        return invalidArgument("an input would grow");
      next.inputs.push_back(conformance::cropped(best_.inputs[i], dims));
    }
    return next;
  }

  /// One dim instead of another everywhere.
  Result<Repro> resized(const Dim &from, const Dim &to) const {
    auto name = from.symbolName();
    auto graph = withDims(best_.graph, [&](const Dim &dim, auto) {
      return name ? dim.substitute({{*name, to}}) : dim == from ? to : dim;
    });
    if (!graph)
      return graph.status();
    return cropped(*graph, symbolsOf(best_));
  }

  /// One axis of all inputs, where ops keep axes apart that are equally long.
  void shrinkAxes() {
    for (size_t axis = 0; axis < maxRank; ++axis)
      for (int64_t smaller : {1, 2, 3, 4, 5, 8}) {
        auto graph = withDims(
            best_.graph, [&](const Dim &dim, std::optional<size_t> place) {
              bool isLarger = dim.constant().value_or(0) > smaller;
              return place == axis && isLarger ? Dim(smaller) : dim;
            });
        if (graph && *graph != best_.graph &&
            offer(cropped(*graph, symbolsOf(best_))))
          break;
      }
  }

  void simplifyNumbers() {
    for (size_t i = 0; i < best_.inputs.size(); ++i)
      for (int way = 0; way < 3; ++way)
        if (offer(simplified(i, way)))
          break;
  }

  /// All ones, all zeros, or rounded to integers.
  Repro simplified(size_t input, int way) const {
    Repro next = best_;
    Tensor &tensor = next.inputs[input];
    for (size_t i = 0; i < tensor.elementCount(); ++i) {
      Real value = numberOf(tensor.dtype, loadBits(tensor, i));
      Real simple = way == 0 ? 1 : way == 1 ? 0 : std::round(value);
      if (std::isfinite(simple))
        storeBits(tensor, i, elementBits(tensor.dtype, simple));
    }
    return next;
  }

  Repro best_;
  const Fails &fails_;
  size_t budget_, tries_ = 0, accepted_ = 0;
};

} // namespace

Minimized minimize(Repro repro, const Fails &fails, size_t budget) {
  return Minimizer(std::move(repro), fails, budget).run();
}

} // namespace backplane::conformance
