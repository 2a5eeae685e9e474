// SPDX-License-Identifier: Apache-2.0
#include "Checks.h"

#include "Control.h"

#include <algorithm>

namespace backplane {

namespace {

/// One pass over a graph, in time linear in its size.
class Verifier {
public:
  explicit Verifier(const Graph &graph, const Verifier *around = nullptr)
      : graph_(graph), around_(around), depth_(around ? around->depth_ + 1 : 0),
        defined_(graph.values.size()) {
    for (const Symbol &symbol : graph.symbols)
      symbols_.insert(symbol.name);
    for (const Op &op : graph.ops)
      if (op.name == "read")
        pending_.insert(op.string("symbol"));
  }

  Status run() {
    Status status = checkDeclarations();
    for (size_t i = 0; status.ok() && i < graph_.values.size(); ++i)
      status = checkType(graph_.values[i].type)
                   .within("value %" + std::to_string(i) +
                           (graph_.values[i].name.empty()
                                ? ""
                                : " (" + graph_.values[i].name + ")"));
    for (size_t i = 0; status.ok() && i < graph_.inputs.size(); ++i)
      status = define(graph_.inputs[i]).within("input " + std::to_string(i));
    for (size_t i = 0; status.ok() && i < graph_.ops.size(); ++i)
      status = checkOp(graph_.ops[i]).within(describe(i));
    for (size_t i = 0; status.ok() && i < graph_.outputs.size(); ++i)
      status = checkUse(graph_.outputs[i].value)
                   .within("output " + std::to_string(i));
    if (!status.ok())
      return status;
    auto missing = std::find(defined_.begin(), defined_.end(), false);
    if (missing != defined_.end())
      return invalidArgument("nothing defines value %" +
                             std::to_string(missing - defined_.begin()));
    return {};
  }

  /// What is checked next comes after all ops.
  void passOps() { pending_.clear(); }

private:
  std::string describe(size_t op) const {
    const std::string &location = graph_.ops[op].location;
    return "op " + std::to_string(op) +
           (location.empty() ? "" : " (" + location + ")");
  }

  /// Whether the graph or one around it declares the symbol.
  bool knows(const std::string &symbol) const {
    return symbols_.contains(symbol) || (around_ && around_->knows(symbol));
  }

  Status checkDeclarations() {
    std::set<std::string_view> seen;
    for (const Symbol &symbol : graph_.symbols) {
      if (Status status = checkSymbol(symbol); !status.ok())
        return status;
      if (!seen.insert(symbol.name).second ||
          (around_ && around_->knows(symbol.name)))
        return invalidArgument("symbol " + symbol.name + " is declared twice");
    }
    for (const DimAssertion &assertion : graph_.assertions)
      for (const Dim *dim : {&assertion.lhs, &assertion.rhs})
        if (Status status = checkDim(*dim); !status.ok())
          return status.within("assertion");
    std::set<std::string> names;
    for (const Variable &variable : graph_.variables)
      if (Status status = checkVariable(variable, names); !status.ok())
        return status.within("variable " + variable.name);
    return {};
  }

  Status checkVariable(const Variable &variable, std::set<std::string> &names) {
    if (!names.insert(variable.name).second)
      return invalidArgument("is declared twice");
    if (!variable.type.isStatic())
      return invalidArgument("has the type " + variable.type.str() +
                             ", needs plain sizes");
    if (!variable.initial.empty() && variable.initial.size() != 32)
      return invalidArgument("starts from \"" + variable.initial +
                             "\", which is no weight id");
    return checkType(variable.type);
  }

  /// Whether the graph or one around it reads the symbol later on.
  bool isPending(const std::string &symbol) const {
    return pending_.contains(symbol) || (around_ && around_->isPending(symbol));
  }

  /// No symbol of the dims is read later on.
  Status checkOrder(std::span<const Dim> dims) const {
    std::set<std::string> used;
    for (const Dim &dim : dims)
      dim.collectSymbols(used);
    for (const std::string &name : used)
      if (isPending(name))
        return invalidArgument("symbol " + name +
                               " is used before the op that reads it");
    return {};
  }

  /// A read defines its symbol, once.
  Status defineSymbol(const Op &op) {
    std::string symbol = op.string("symbol");
    if (around_)
      return unimplemented("a region reads no sizes");
    if (!symbols_.contains(symbol))
      return invalidArgument("read: symbol " + symbol + " is not declared");
    if (!pending_.erase(symbol))
      return invalidArgument("read: symbol " + symbol + " is read twice");
    return {};
  }

  Status checkDim(const Dim &dim) {
    if (dim.constant())
      return {};
    if (!dim.valid())
      return invalidArgument("a dim is too complex or too large");
    std::set<std::string> used;
    dim.collectSymbols(used);
    for (const std::string &name : used)
      if (!knows(name))
        return invalidArgument("symbol " + name + " of dim \"" + dim.str() +
                               "\" is not declared");
    return {};
  }

  Status checkType(const TensorType &type) {
    if (bitWidth(type.dtype) == 0)
      return invalidArgument("has no dtype");
    if (type.rank() > maxRank)
      return invalidArgument("has rank " + std::to_string(type.rank()) +
                             ", the limit is " + std::to_string(maxRank));
    __int128 elements = 1;
    for (const Dim &dim : type.dims) {
      int64_t size = dim.constant().value_or(1);
      if (size < 0)
        return invalidArgument("has a negative size: " + type.str());
      if (Status status = checkDim(dim); !status.ok())
        return status;
      // Zeros are left out, so that every other size is checked too.
      elements *= std::max<int64_t>(size, 1);
      if (elements > maxElements)
        return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                      "has more than 2^46 elements: " + type.str());
    }
    return {};
  }

  Status define(ValueId value) {
    if (value >= defined_.size())
      return invalidArgument("there is no value %" + std::to_string(value));
    if (defined_[value])
      return invalidArgument("value %" + std::to_string(value) +
                             " is defined twice");
    defined_[value] = true;
    return checkOrder(graph_.type(value).dims);
  }

  Status checkUse(ValueId value) const {
    if (value >= defined_.size())
      return invalidArgument("there is no value %" + std::to_string(value));
    if (!defined_[value])
      return invalidArgument("value %" + std::to_string(value) +
                             " is used before it is defined");
    return {};
  }

  Status checkControl(const Op &op) {
    for (ValueId operand : op.operands)
      if (Status status = checkUse(operand); !status.ok())
        return status;
    if (Status status = checkDims(op.attributes); !status.ok())
      return status;
    if (depth_ == maxRegionDepth)
      return invalidArgument("regions are nested more than " +
                             std::to_string(maxRegionDepth) + " deep");
    for (const Graph &region : op.regions)
      if (Status status = Verifier(region, this).run(); !status.ok())
        return status.within("region of " + op.name);
    return defineResults(op, controlTypes(graph_, op));
  }

  Status checkOp(const Op &op) {
    if (isControl(op.name))
      return checkControl(op);
    const OpSpec *spec = findOp(op.name);
    if (!spec)
      return Status(BP_STATUS_UNIMPLEMENTED, "no op has the name " + op.name);
    if (op.version < 1 || op.version > spec->version)
      return Status(BP_STATUS_UNIMPLEMENTED,
                    op.name + " has version " + std::to_string(op.version) +
                        ", known are 1 to " + std::to_string(spec->version));
    if (uint32_t least = minVersion(*spec, op.attributes); least > op.version)
      return invalidArgument(op.name + " has version " +
                             std::to_string(op.version) +
                             ", its attributes need " + std::to_string(least));
    if (!op.regions.empty())
      return invalidArgument(op.name + " takes no regions, found " +
                             std::to_string(op.regions.size()));
    std::vector<TensorType> operands;
    for (ValueId operand : op.operands) {
      if (Status status = checkUse(operand); !status.ok())
        return status;
      operands.push_back(graph_.type(operand));
    }
    if (Status status = checkDims(op.attributes); !status.ok())
      return status;
    return checkTypes(op, {*spec, operands, op.attributes});
  }

  Status checkDims(const Attributes &attributes) {
    for (const auto &[name, value] : attributes)
      if (const Dims *dims = std::get_if<Dims>(&value)) {
        for (const Dim &dim : *dims)
          if (Status status = checkDim(dim); !status.ok())
            return status;
        if (Status status = checkOrder(*dims); !status.ok())
          return status;
      }
    return {};
  }

  Status checkTypes(const Op &op, const OpUse &use) {
    auto types = inferTypes(use.spec, use.operands, use.attributes);
    if (types)
      if (Status status = checkVariableUse(graph_, use); !status.ok())
        return status;
    if (types && op.name == "read")
      if (Status status = defineSymbol(op); !status.ok())
        return status;
    return defineResults(op, types);
  }

  /// The results are new and have these types.
  Status defineResults(const Op &op,
                       const Result<std::vector<TensorType>> &types) {
    if (!types)
      return types.status();
    if (types->size() != op.results.size())
      return invalidArgument(op.name + " has " + std::to_string(types->size()) +
                             " results, found " +
                             std::to_string(op.results.size()));
    for (size_t i = 0; i < types->size(); ++i) {
      if (Status status = define(op.results[i]); !status.ok())
        return status;
      const TensorType &stored = graph_.type(op.results[i]);
      if (stored != (*types)[i])
        return invalidArgument(op.name + " gives " + (*types)[i].str() +
                               ", but value %" + std::to_string(op.results[i]) +
                               " is " + stored.str());
    }
    return {};
  }

  const Graph &graph_;
  const Verifier *around_; ///< of what a region stands in
  size_t depth_;           ///< regions around the graph
  std::vector<bool> defined_;
  std::set<std::string, std::less<>> symbols_;
  std::set<std::string, std::less<>> pending_; ///< to be read by later ops
};

} // namespace

Status verifyRegion(const Graph &region, const Graph &around) {
  Verifier outer(around);
  outer.passOps();
  return Verifier(region, &outer).run();
}

Status Graph::verify() const { return Verifier(*this).run(); }

} // namespace backplane
