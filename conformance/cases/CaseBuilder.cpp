// SPDX-License-Identifier: Apache-2.0
#include "CaseBuilder.h"

#include "Data.h"
#include "Large.h"
#include "conformance/compare/Elements.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <set>

namespace backplane::conformance {

CaseBuilder::CaseBuilder(const Sink &sink, std::string op, DType dtype,
                         std::string_view variant,
                         std::vector<std::string> tags)
    : sink_(sink) {
  unit_.id =
      "L3/" + op + "/" + std::string(name(dtype)) + "/" + std::string(variant);
  unit_.op = std::move(op);
  unit_.dtype = dtype;
  unit_.tags = std::move(tags);
  unit_.graph.name = unit_.id;
}

void CaseBuilder::inLayer(int layer) {
  unit_.layer = layer;
  unit_.id = "L" + std::to_string(layer) + unit_.id.substr(2);
  unit_.graph.name = unit_.id;
}

Dim CaseBuilder::symbol(const std::string &name) {
  (void)unit_.graph.addSymbol({name});
  return Dim::symbol(name);
}

Dims CaseBuilder::symbols(std::initializer_list<const char *> names) {
  Dims dims;
  for (const char *name : names)
    dims.push_back(symbol(name));
  return dims;
}

ValueId CaseBuilder::input(DType dtype, Dims dims, InputRule rule) {
  unit_.rules.push_back(std::move(rule));
  return unit_.graph.addInput("x" + std::to_string(unit_.graph.inputs.size()),
                              {dtype, std::move(dims)});
}

ValueId CaseBuilder::add(std::string_view op, std::vector<ValueId> operands,
                         Attributes attributes) {
  auto results =
      unit_.graph.add(op, std::move(operands), std::move(attributes));
  auto none = static_cast<ValueId>(unit_.graph.values.size());
  if (results)
    return results->empty() ? none : results->front();
  unit_.graph.name = results.message();
  return none;
}

void CaseBuilder::variable(const std::string &name, DType dtype, Dims dims) {
  unit_.graph.variables.push_back({name, {dtype, std::move(dims)}, {}});
}

std::vector<ValueId> CaseBuilder::control(Op op) {
  auto results = unit_.graph.addControl(std::move(op));
  if (results)
    return *results;
  unit_.graph.name = results.message();
  constexpr size_t most = 9;
  return std::vector<ValueId>(most,
                              static_cast<ValueId>(unit_.graph.values.size()));
}

ValueId CaseBuilder::weight(DType dtype, Dims dims, double low, double high) {
  // Every number but 0 would be true.
  Tensor tensor{dtype == DType::Bool ? DType::U8 : dtype, {}, {}};
  for (const Dim &dim : dims)
    tensor.dims.push_back(dim.constant().value_or(0));
  tensor.data.resize(packedBytes(dtype, tensor.elementCount()));
  size_t number = unit_.graph.ops.size();
  fill(tensor, {.kind = InputRule::Kind::Range, .low = low, .high = high},
       number, {.dataSet = "uniform", .seed = hashText(unit_.id)});
  auto id = unit_.weights.add({dtype, dims}, std::move(tensor.data));
  return add("weight", {},
             {{"id", id ? *id : ""},
              {"dtype", static_cast<int64_t>(dtype)},
              {"dims", std::move(dims)}});
}

NumberRange smallNumbers(DType dtype) {
  if (isFloat(dtype))
    return {-1, 1};
  return {isSignedInteger(dtype) ? -7 : 0, 8};
}

ValueId CaseBuilder::weight(DType dtype, Dims dims) {
  NumberRange range = dtype == DType::I8   ? NumberRange{-128, 128}
                      : dtype == DType::U8 ? NumberRange{0, 256}
                                           : smallNumbers(dtype);
  return weight(dtype, std::move(dims), range.first, range.second);
}

void CaseBuilder::output(ValueId value) {
  if (value >= unit_.graph.values.size())
    return;
  unit_.graph.addOutput(value,
                        "y" + std::to_string(unit_.graph.outputs.size()));
}

uint64_t seedOf(const Selection &selection, const std::string &name) {
  uint64_t seed = hashText(name);
  return selection.seed == 0 ? seed : randomBits(seed, selection.seed);
}

Case makeCase(const Selection &selection, const std::string &unit, Depth depth,
              std::string dataSet, SymbolValues symbols) {
  Case made;
  made.id = unit + "/" + dataSet;
  const char *separator = "-";
  for (const auto &[name, value] : symbols) {
    made.id += separator + name + "=" + std::to_string(value);
    separator = ",";
  }
  made.seed = seedOf(selection, made.id);
  made.symbols = std::move(symbols);
  made.dataSet = std::move(dataSet);
  made.depth = depth;
  return made;
}

void CaseBuilder::addCase(Depth depth, std::string dataSet,
                          SymbolValues symbols) {
  if (depth > sink_.selection.depth)
    return;
  keep(makeCase(sink_.selection, unit_.id, depth, std::move(dataSet),
                std::move(symbols)));
}

void CaseBuilder::keep(Case added) {
  unit_.depth = std::min(unit_.depth, added.depth);
  unit_.cases.push_back(std::move(added));
}

void CaseBuilder::addErrors(Depth depth, const SymbolValues &symbols) {
  addCase(depth, "errors", symbols);
  for (const char *one : {"errors-end", "errors-below"})
    addCase(Depth::Standard, one, symbols);
}

void CaseBuilder::addLarge(const std::string &name, std::string dataSet,
                           Method method, SymbolValues symbols, Depth depth) {
  Case added;
  added.id = unit_.id + "/" + name;
  added.seed = seedOf(sink_.selection, added.id);
  added.dataSet = std::move(dataSet);
  added.depth = depth;
  added.method = method;
  added.symbols = std::move(symbols);
  keep(std::move(added));
}

void CaseBuilder::makeLarge(Large large, bool numbers) {
  large.model = unit_.graph;
  if (numbers)
    unit_.graph = withNumbers(unit_.graph, unit_.cases.at(0).symbols);
  unit_.large = std::make_shared<const Large>(std::move(large));
}

namespace {

/// Whether an operand of an op is only held and moved.
bool isMoved(const Op &op, size_t operand) {
  static const std::set<std::string_view> moves = {
      "weight", "constant", "broadcast", "reshape", "transpose", "slice",
      "concat", "pad",      "reverse",   "pack",    "unpack"};
  if (op.name == "gather" || op.name == "scatter")
    return operand != 1 &&
           (op.name == "gather" || op.string("combine", "none") == "none");
  return op.name == "select" ? operand != 0 : moves.contains(op.name);
}

/// Dtypes that some op of a graph computes with; a result of an op that moves
/// has the dtype of its first or last operand.
std::set<DType> computedWith(const Graph &graph) {
  std::set<DType> dtypes;
  for (const Op &op : graph.ops) {
    for (const Graph &region : op.regions)
      dtypes.merge(computedWith(region));
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (!isMoved(op, i))
        dtypes.insert(graph.type(op.operands[i]).dtype);
    if (!isMoved(op, op.operands.size()))
      for (ValueId result : op.results)
        dtypes.insert(graph.type(result).dtype);
  }
  return dtypes;
}

} // namespace

void setDTypes(Unit &unit) {
  std::set<DType> computed = computedWith(unit.graph), stored;
  if (unit.graph.ops.empty())
    computed.insert(unit.dtype);
  for (const backplane::Value &value : unit.graph.values)
    if (!computed.contains(value.type.dtype))
      stored.insert(value.type.dtype);
  unit.dtypes.assign(computed.begin(), computed.end());
  unit.stored.assign(stored.begin(), stored.end());
}

void CaseBuilder::finish() {
  setDTypes(unit_);
  if (!unit_.cases.empty())
    sink_.put(std::move(unit_));
}

Depth smokeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::F8E5M2:
  case DType::I64:
  case DType::I32:
  case DType::I8:
  case DType::I4:
  case DType::Bool:
    return Depth::Smoke;
  default:
    return Depth::Standard;
  }
}

std::vector<DType> dtypesOf(std::string_view op) {
  std::vector<DType> dtypes;
  const OpSpec *spec = findOp(op);
  for (uint32_t i = 1; spec && i < BP_DTYPE_COUNT_; ++i)
    if (contains(spec->types, DType(i)))
      dtypes.push_back(DType(i));
  return dtypes;
}

} // namespace backplane::conformance
