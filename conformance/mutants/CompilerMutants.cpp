// SPDX-License-Identifier: Apache-2.0
//
// Mutants 36 to 40: graphs as a broken compiler would leave them. They are
// compiled in place of the graph that was asked for.
#include "Mutant.h"

#include "sdk/graph/OpTable.h"
#include "sdk/support/Element.h"

#include <algorithm>

namespace backplane::mutants {

namespace {

using Values = std::vector<ValueId>;

const Op *producer(const Graph &graph, ValueId value) {
  for (const Op &op : graph.ops)
    for (ValueId result : op.results)
      if (result == value)
        return &op;
  return nullptr;
}

bool isContraction(const Op *op) {
  return op && (op->name == "matmul" || op->name == "conv");
}

/// 36
Result<Graph> clampFirst(const Graph &graph) {
  return rebuild(graph,
                 [](Graph &to, const Op &op,
                    const Values &operands) -> std::optional<Values> {
                   if (op.name != "relu" && op.name != "clamp")
                     return std::nullopt;
                   const Op *sum = producer(to, operands[0]);
                   if (!sum || sum->name != "add")
                     return std::nullopt;
                   Values terms = sum->operands;
                   if (!isContraction(producer(to, terms[0])))
                     std::swap(terms[0], terms[1]);
                   if (!isContraction(producer(to, terms[0])))
                     return std::nullopt;
                   auto low = to.add(op.name, {terms[0]}, op.attributes);
                   if (!low)
                     return std::nullopt;
                   auto result = to.add("add", {low->front(), terms[1]});
                   return result ? std::optional(*result) : std::nullopt;
                 });
}

size_t usesOf(const Graph &graph, ValueId value) {
  size_t uses = 0;
  for (const Op &op : graph.ops)
    uses += size_t(std::ranges::count(op.operands, value));
  return uses;
}

/// 37
Result<Graph> dropResidual(const Graph &graph) {
  return rebuild(graph,
                 [&](Graph &to, const Op &op,
                     const Values &operands) -> std::optional<Values> {
                   if (op.name != "add" || !producer(to, operands[0]) ||
                       op.operands[0] == op.operands[1])
                     return std::nullopt;
                   for (size_t side : {0, 1})
                     if (usesOf(graph, op.operands[side]) > 1 &&
                         producer(to, operands[1 - side]))
                       return Values{operands[1 - side]};
                   return std::nullopt;
                 });
}

/// 38: later readers of an operand of an elementwise op see its result.
Result<Graph> clobberOperands(const Graph &graph) {
  std::map<ValueId, ValueId> clobbered;
  return rebuild(graph,
                 [&](Graph &to, const Op &op,
                     const Values &operands) -> std::optional<Values> {
                   Values seen = operands;
                   for (ValueId &operand : seen)
                     if (auto found = clobbered.find(operand);
                         found != clobbered.end())
                       operand = found->second;
                   Op copy = op;
                   copy.operands = seen;
                   for (ValueId &result : copy.results)
                     result = to.addValue(graph.type(result));
                   const OpSpec *spec = findOp(op.name);
                   if (spec && spec->elementwise && !copy.results.empty() &&
                       to.type(operands[0]) == to.type(copy.results[0]))
                     clobbered[operands[0]] = copy.results[0];
                   to.ops.push_back(copy);
                   return copy.results;
                 });
}

/// 39
Result<Graph> mergeUnequal(const Graph &graph) {
  return rebuild(graph,
                 [](Graph &to, const Op &op,
                    const Values &operands) -> std::optional<Values> {
                   if (operands.empty())
                     return std::nullopt;
                   Values earlier;
                   for (const Op &other : to.ops)
                     if (other.name == op.name && other.operands == operands &&
                         other.attributes != op.attributes)
                       earlier = other.results;
                   if (earlier.empty())
                     return std::nullopt;
                   auto own = to.add(op.name, operands, op.attributes);
                   if (own && to.type(own->front()) == to.type(earlier.front()))
                     return earlier;
                   return std::nullopt;
                 });
}

/// 40
Result<Graph> foldNarrowly(const Graph &graph) {
  return rebuild(
      graph,
      [](Graph &to, const Op &op, const Values &) -> std::optional<Values> {
        const Bytes *value = op.bytes("value");
        auto dtype = DType(op.i64("dtype"));
        if (op.name != "constant" || !value || bitWidth(dtype) < 32)
          return std::nullopt;
        DType narrow = dtype == DType::F64   ? DType::F32
                       : dtype == DType::F32 ? DType::BF16
                       : dtype == DType::I64 ? DType::I32
                                             : DType::I16;
        Bytes folded;
        for (size_t i = 0; i < value->size() * 8 / bitWidth(dtype); ++i) {
          Bytes low = encodeElement(narrow, decodeElement(dtype, *value, i));
          Bytes wide = encodeElement(dtype, decodeElement(narrow, low, 0));
          folded.insert(folded.end(), wide.begin(), wide.end());
        }
        Attributes attributes = op.attributes;
        attributes["value"] = folded;
        auto added = to.add("constant", {}, attributes);
        return added ? std::optional(*added) : std::nullopt;
      });
}

} // namespace

ByNumber<Rewrite> compilerMutants() {
  return {{36, clampFirst},
          {37, dropResidual},
          {38, clobberOperands},
          {39, mergeUnequal},
          {40, foldNarrowly}};
}

} // namespace backplane::mutants
