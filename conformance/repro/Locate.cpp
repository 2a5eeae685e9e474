// SPDX-License-Identifier: Apache-2.0
#include "Locate.h"

#include "Minimize.h"
#include "conformance/cases/Data.h"
#include "conformance/compare/Elements.h"

#include <algorithm>
#include <unistd.h>

namespace backplane::conformance {

namespace {

constexpr size_t tries = 200;

/// Whether the machine has as much memory at all.
bool fitsMemory(DType dtype, int64_t count) {
  auto bytes = static_cast<double>(count) * bitWidth(dtype) / 8;
  return bytes < static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<double>(sysconf(_SC_PAGESIZE));
}

bool isWrong(const Examination &found) {
  return found.status == CaseStatus::Fail ||
         found.status == CaseStatus::Flaky ||
         found.status == CaseStatus::Crash ||
         found.status == CaseStatus::Timeout ||
         found.status == CaseStatus::DeviceLost;
}

class Search {
public:
  Search(const Repro &model, const Examine &first, const Examine &second)
      : model_(model), devices_{&first, &second} {}

  Result<std::optional<Location>>
  run(const Examine &observe,
      const std::function<void(size_t, size_t)> &progress) {
    if (Status status = takeValues(observe); !status.ok())
      return status;
    for (size_t i = 0; i < model_.graph.ops.size(); ++i)
      if (!isSource(model_.graph.ops[i]))
        order_.push_back(i);
    size_t windows = (order_.size() + windowStep - 1) / windowStep;
    for (size_t i = 0; i < windows; ++i) {
      progress(i, windows);
      auto repro = window(i * windowStep);
      if (!repro)
        return repro.status();
      auto found = examine(*repro, i * windowStep);
      if (!found || *found)
        return found;
    }
    return examine(model_, 0);
  }

private:
  /// Runs the first device with every value as an output.
  Status takeValues(const Examine &observe) {
    Repro all = model_;
    all.graph.outputs.clear();
    for (ValueId value = 0; value < all.graph.values.size(); ++value)
      all.graph.addOutput(value, "v" + std::to_string(value));
    auto found = observe(all);
    if (!found)
      return found.status();
    if (found->outputs.size() != all.graph.outputs.size())
      return Status(BP_STATUS_ABORTED,
                    "the first device does not run the model: " +
                        found->reason);
    values_.resize(found->outputs.size());
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] = std::move(found->outputs[i]);
    return {};
  }

  Result<Repro> window(size_t start) const {
    std::vector<bool> kept(model_.graph.ops.size());
    size_t end = std::min(order_.size(), start + windowOps);
    for (size_t i = start; i < end; ++i)
      kept[order_[i]] = true;
    std::vector<bool> leaves(model_.graph.values.size());
    for (size_t i = 0; i < model_.graph.ops.size(); ++i)
      for (ValueId operand : model_.graph.ops[i].operands)
        leaves[operand] = leaves[operand] || !kept[i];
    for (const GraphOutput &output : model_.graph.outputs)
      leaves[output.value] = true;
    std::vector<ValueId> outputs;
    for (size_t i = start; i < end; ++i)
      for (ValueId result : model_.graph.ops[order_[i]].results)
        if (leaves[result])
          outputs.push_back(result);
    return carve(model_, kept, outputs, values_);
  }

  Result<std::optional<Location>> examine(const Repro &repro, size_t start) {
    for (size_t device : {size_t(1), size_t(0)}) {
      auto found = (*devices_[device])(repro);
      if (!found)
        return found.status();
      if (isWrong(*found))
        return {describe(repro, device, start)};
    }
    return {std::nullopt};
  }

  std::optional<Location> describe(const Repro &repro, size_t device,
                                   size_t start) {
    Fails fails = [&](const Repro &smaller) {
      auto found = (*devices_[device])(smaller);
      return found && isWrong(*found);
    };
    Location location;
    location.repro = minimize(repro, fails, tries).repro;
    if (auto found = (*devices_[device])(location.repro))
      location.found = std::move(*found);
    location.isFirst = device == 0;
    location.window = order_.empty() ? 0 : order_[start];
    for (const Op &op : location.repro.graph.ops)
      if (!isSource(op))
        location.origin += (location.origin.empty() ? "" : ", ") + op.name +
                           (op.location.empty() ? "" : " of " + op.location);
    return location;
  }

  const Repro &model_;
  const Examine *devices_[2];
  std::vector<size_t> order_; ///< ops that are no sources
  ValueTable values_;
};

} // namespace

Result<std::optional<Location>>
locate(const Repro &model, const Examine &observe, const Examine &first,
       const Examine &second,
       const std::function<void(size_t, size_t)> &progress) {
  return Search(model, first, second).run(observe, progress);
}

Result<std::vector<Tensor>>
seededInputs(const Graph &graph, const SymbolValues &symbols, uint64_t seed) {
  SymbolValues all = symbols;
  for (const Symbol &symbol : graph.symbols)
    all.emplace(symbol.name, std::max<int64_t>(1, symbol.minimum));
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorType &type = graph.type(graph.inputs[i]);
    Tensor tensor{type.dtype, {}, {}};
    for (const Dim &dim : type.dims) {
      auto size = dim.evaluate(all);
      if (!size)
        return size.status();
      tensor.dims.push_back(*size);
    }
    auto count = type.elementCount().evaluate(all);
    if (!count)
      return count.status();
    if (!fitsMemory(type.dtype, *count))
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    "input '" + graph.values[graph.inputs[i]].name + "' has " +
                        std::to_string(*count) +
                        " elements, more than this machine has memory for");
    tensor.data.resize(packedBytes(type.dtype, size_t(*count)));
    double low = isFloat(type.dtype) ? -1 : 0;
    double high = isFloat(type.dtype) ? 1 : 10;
    fill(tensor, {.kind = InputRule::Kind::Range, .low = low, .high = high}, i,
         {.dataSet = "uniform", .seed = seed});
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

} // namespace backplane::conformance
