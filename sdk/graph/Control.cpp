// SPDX-License-Identifier: Apache-2.0
#include "Control.h"

namespace backplane {

namespace {

using Types = Result<std::vector<TensorType>>;

Status broken(const Op &op, int constraint, const std::string &text) {
  return invalidArgument(op.name + " C" + std::to_string(constraint) + ": " +
                         text);
}

/// Exactly these attributes, of these kinds (indices of Attribute).
Status checkAttributes(const Op &op,
                       std::map<std::string_view, size_t> wanted) {
  for (const auto &[name, value] : op.attributes) {
    auto found = wanted.find(name);
    if (found == wanted.end())
      return invalidArgument(op.name + " has no attribute " + name);
    if (value.index() != found->second)
      return invalidArgument(op.name + ": " + name + " has the wrong kind");
    wanted.erase(found);
  }
  if (!wanted.empty())
    return invalidArgument(op.name + ": attribute " +
                           std::string(wanted.begin()->first) + " is missing");
  return {};
}

constexpr size_t kI64 = 0, kString = 2, kDims = 4;

/// An attribute that holds one dim or none.
Result<std::optional<Dim>> optionalDim(const Op &op, std::string_view name) {
  Dims dims = op.dims(name);
  if (dims.size() > 1)
    return invalidArgument(op.name + ": " + std::string(name) +
                           " has more than one dim");
  return dims.empty() ? std::optional<Dim>() : std::optional<Dim>(dims[0]);
}

TensorType predicateType() { return {DType::Bool, {}}; }

/// The inputs of a region have the types of the operands from `first` on.
Status checkInputs(const Graph &graph, const Op &op, const Graph &region,
                   size_t first) {
  size_t count = op.operands.size() - first;
  if (region.inputs.size() != count)
    return broken(op, 1,
                  "a region takes the operands, found " +
                      std::to_string(region.inputs.size()) + " inputs for " +
                      std::to_string(count) + " operands");
  for (size_t i = 0; i < count; ++i) {
    const TensorType &inner = region.type(region.inputs[i]);
    const TensorType &outer = graph.type(op.operands[first + i]);
    if (inner != outer)
      return broken(op, 1,
                    "a region takes the operands, found input " + inner.str() +
                        " for " + outer.str());
  }
  return {};
}

Status checkPredicate(const Graph &graph, const Op &op) {
  if (op.operands.empty() || graph.type(op.operands[0]) != predicateType())
    return broken(op, 2, "the first operand is a bool scalar");
  return {};
}

std::vector<TensorType> outputTypes(const Graph &region) {
  std::vector<TensorType> types;
  for (const GraphOutput &output : region.outputs)
    types.push_back(region.type(output.value));
  return types;
}

/// A region declares no variables, and no symbol but the iteration.
Status checkDeclarations(const Op &op, const Graph &region,
                         const std::string &iteration) {
  if (!region.variables.empty())
    return broken(op, 3, "a region declares no variables");
  for (const Symbol &symbol : region.symbols)
    if (symbol.name != iteration)
      return broken(op, 3,
                    "a region declares no symbol but the iteration, found " +
                        symbol.name);
  if (region.symbols.size() != (iteration.empty() ? 0 : 1))
    return broken(op, 3, "the region declares the symbol " + iteration);
  return {};
}

Types ifTypes(const Graph &graph, const Op &op) {
  auto condition = ifCondition(op);
  if (!condition)
    return condition.status();
  size_t first = *condition ? 0 : 1;
  if (first)
    if (Status s = checkPredicate(graph, op); !s.ok())
      return s;
  if (op.regions.size() != 2)
    return broken(op, 1, "it has two regions");
  for (const Graph &region : op.regions) {
    if (Status s = checkInputs(graph, op, region, first); !s.ok())
      return s;
    if (Status s = checkDeclarations(op, region, ""); !s.ok())
      return s;
  }
  std::vector<TensorType> types = outputTypes(op.regions[0]);
  if (types != outputTypes(op.regions[1]))
    return broken(op, 4, "both regions give the same types");
  return types;
}

Status checkWhile(const Graph &graph, const Op &op, const WhileInfo &info) {
  if (info.conditional)
    if (Status s = checkPredicate(graph, op); !s.ok())
      return s;
  if (op.regions.size() != 1)
    return broken(op, 1, "it has one region");
  if (!info.conditional && !info.limit)
    return broken(op, 5, "it has a predicate or a limit");
  if (op.operands.size() - info.firstOperand() < info.carried)
    return broken(op, 1, "it carries more values than it has operands");
  const Graph &region = op.regions[0];
  if (Status s = checkInputs(graph, op, region, info.firstOperand()); !s.ok())
    return s;
  return checkDeclarations(op, region, info.iteration);
}

/// Adds the types of what is stacked, from output `first` of the region on.
Status addStacked(const Op &op, const WhileInfo &info,
                  const std::vector<TensorType> &given, size_t first,
                  std::vector<TensorType> &types) {
  for (size_t i = first; i < given.size(); ++i) {
    if (!info.limit)
      return broken(op, 7, "stacked results need a limit");
    std::set<std::string> used;
    for (const Dim &dim : given[i].dims)
      dim.collectSymbols(used);
    if (used.contains(info.iteration))
      return broken(op, 7,
                    "a stacked result has one size in all iterations, found " +
                        given[i].str());
    types.push_back(given[i]);
    types.back().dims.insert(types.back().dims.begin(), *info.limit);
  }
  return {};
}

Types whileTypes(const Graph &graph, const Op &op) {
  auto info = whileInfo(op);
  if (!info)
    return info.status();
  if (Status s = checkWhile(graph, op, *info); !s.ok())
    return s;
  std::vector<TensorType> given = outputTypes(op.regions[0]), types;
  size_t first = info->firstOperand();
  if (given.size() < first || given.size() - first < info->carried ||
      (first && given[0] != predicateType()))
    return broken(op, 2, "the region gives the predicate and what is carried");
  for (size_t i = first; i < first + info->carried; ++i) {
    const TensorType &before = graph.type(op.operands[i]);
    if (given[i] != before)
      return broken(op, 6,
                    "a carried value keeps its type, found " + before.str() +
                        " and " + given[i].str());
    types.push_back(given[i]);
  }
  if (Status s = addStacked(op, *info, given, first + info->carried, types);
      !s.ok())
    return s;
  return types;
}

} // namespace

bool isControl(std::string_view name) {
  return name == "if" || name == "while";
}

Result<std::optional<Dim>> ifCondition(const Op &op) {
  if (Status s = checkAttributes(op, {{"condition", kDims}}); !s.ok())
    return s;
  return optionalDim(op, "condition");
}

Result<WhileInfo> whileInfo(const Op &op) {
  if (Status s = checkAttributes(op, {{"carried", kI64},
                                      {"conditional", kI64},
                                      {"iteration", kString},
                                      {"limit", kDims}});
      !s.ok())
    return s;
  auto limit = optionalDim(op, "limit");
  if (!limit)
    return limit.status();
  int64_t carried = op.i64("carried"), conditional = op.i64("conditional");
  if (carried < 0 || (conditional != 0 && conditional != 1))
    return invalidArgument(op.name + ": carried is " + std::to_string(carried) +
                           ", conditional " + std::to_string(conditional));
  return WhileInfo{conditional == 1, static_cast<size_t>(carried), *limit,
                   op.string("iteration")};
}

Result<std::vector<TensorType>> controlTypes(const Graph &graph, const Op &op) {
  if (op.version != 1)
    return Status(BP_STATUS_UNIMPLEMENTED, op.name + " has version " +
                                               std::to_string(op.version) +
                                               ", known is 1");
  return op.name == "if" ? ifTypes(graph, op) : whileTypes(graph, op);
}

std::vector<Symbol> symbolsInside(std::span<const Symbol> around,
                                  const Graph &region) {
  std::vector<Symbol> symbols(around.begin(), around.end());
  symbols.insert(symbols.end(), region.symbols.begin(), region.symbols.end());
  return symbols;
}

} // namespace backplane
