// SPDX-License-Identifier: Apache-2.0
#include "GraphHandle.h"
#include "OpTable.h"
#include "Wire.h"

using namespace backplane;

// ---- handle ----

bp_graph_t::bp_graph_t(Graph owned) : bp_graph_t(new Graph(std::move(owned))) {
  this->owned.reset(const_cast<Graph *>(graph));
}

bp_graph_t::bp_graph_t(const Graph *view)
    : graph(view), origins(view->values.size()), opTexts(view->ops.size()) {
  for (const Value &value : view->values) {
    Texts texts;
    for (const Dim &dim : value.type.dims)
      texts.push_back(dim.str());
    dimTexts.push_back(std::move(texts));
  }
  for (uint32_t i = 0; i < view->inputs.size(); ++i)
    origins[view->inputs[i]] = {BP_NONE, i};
  for (uint32_t i = 0; i < view->ops.size(); ++i) {
    const Op &op = view->ops[i];
    for (uint32_t r = 0; r < op.results.size(); ++r)
      origins[op.results[r]] = {i, r};
    for (const Graph &region : op.regions)
      opTexts[i].regions.push_back(std::make_unique<bp_graph_t>(&region));
    for (const auto &[name, value] : op.attributes)
      if (const Dims *dims = std::get_if<Dims>(&value)) {
        DimTexts &texts = opTexts[i].dims[name];
        for (const Dim &dim : *dims)
          texts.texts.push_back(dim.str());
        for (const std::string &text : texts.texts)
          texts.views.push_back(toC(text));
      }
  }
}

const Op *bp_graph_t::op(uint32_t index) const {
  return index < graph->ops.size() ? &graph->ops[index] : nullptr;
}

const Value *bp_graph_t::value(uint32_t index) const {
  return index < graph->values.size() ? &graph->values[index] : nullptr;
}

SymbolValues bp_graph_t::bind(const int64_t *symbols) const {
  SymbolValues values;
  for (size_t i = 0; symbols && i < graph->symbols.size(); ++i)
    values[graph->symbols[i].name] = symbols[i];
  return values;
}

namespace backplane {

namespace {

uint32_t count(size_t size) { return static_cast<uint32_t>(size); }

template <typename T> uint32_t entry(const std::vector<T> &list, uint32_t i) {
  return i < list.size() ? list[i] : BP_NONE;
}

// ---- open ----

bp_status_t graphOpen(bp_bytes_t wire, bp_graph_t **outGraph,
                      bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (!outGraph || (!wire.data && wire.size))
      return invalidArgument("graph_open needs bytes and a place for a graph");
    *outGraph = nullptr;
    Result<Graph> graph =
        readGraph({static_cast<const uint8_t *>(wire.data), wire.size});
    if (!graph)
      return graph.status();
    *outGraph = wrapGraph(std::move(*graph));
    return {};
  });
}

void graphClose(bp_graph_t *graph) { delete graph; }

bp_status_t graphWrite(const bp_graph_t *graph, const bp_bytes_sink_t *sink) {
  return guarded(nullptr, [&]() -> Status {
    Bytes wire = writeGraph(*graph->graph);
    bp_status_t code = sink->put(sink->context, {wire.data(), wire.size()});
    return code == BP_STATUS_OK ? Status() : Status(code, "");
  });
}

// ---- read ----

void graphInfo(const bp_graph_t *graph, bp_graph_info_t *out) {
  const Graph &g = *graph->graph;
  *out = {toC(g.name),
          count(g.ops.size()),
          count(g.values.size()),
          count(g.inputs.size()),
          count(g.outputs.size()),
          count(g.symbols.size()),
          0};
}

void symbolInfo(const bp_graph_t *graph, uint32_t index,
                bp_symbol_info_t *out) {
  *out = {};
  if (index >= graph->graph->symbols.size())
    return;
  const Symbol &symbol = graph->graph->symbols[index];
  *out = {toC(symbol.name), symbol.minimum, symbol.maximum, symbol.divisor};
}

uint32_t graphInput(const bp_graph_t *graph, uint32_t index) {
  return entry(graph->graph->inputs, index);
}

uint32_t graphOutput(const bp_graph_t *graph, uint32_t index) {
  const auto &outputs = graph->graph->outputs;
  return index < outputs.size() ? outputs[index].value : BP_NONE;
}

bp_string_t outputName(const bp_graph_t *graph, uint32_t index) {
  const auto &outputs = graph->graph->outputs;
  return index < outputs.size() ? toC(outputs[index].name) : bp_string_t{};
}

void valueInfo(const bp_graph_t *graph, uint32_t index, bp_value_info_t *out) {
  *out = {{}, BP_DTYPE_INVALID, 0, BP_NONE, 0};
  const Value *value = graph->value(index);
  if (!value)
    return;
  const auto &origin = graph->origins[index];
  *out = {toC(value->name), static_cast<bp_dtype_t>(value->type.dtype),
          count(value->type.rank()), origin.producer, origin.result};
}

const Dim *findDim(const bp_graph_t *graph, uint32_t index, uint32_t axis) {
  const Value *value = graph->value(index);
  return value && axis < value->type.rank() ? &value->type.dims[axis] : nullptr;
}

int64_t valueDim(const bp_graph_t *graph, uint32_t value, uint32_t axis) {
  const Dim *dim = findDim(graph, value, axis);
  return dim ? dim->constant().value_or(BP_DIM_SYMBOLIC) : 0;
}

bp_string_t valueDimText(const bp_graph_t *graph, uint32_t value,
                         uint32_t axis) {
  return findDim(graph, value, axis) ? toC(graph->dimTexts[value][axis])
                                     : bp_string_t{};
}

/// Evaluates dims into `out`; negative ones only where they are allowed.
Status evaluate(const bp_graph_t *graph, const Dims &dims,
                const int64_t *symbols, bool isShape, int64_t *out) {
  SymbolValues values = graph->bind(symbols);
  for (size_t i = 0; i < dims.size(); ++i) {
    Result<int64_t> value = dims[i].evaluate(values);
    if (!value)
      return value.status();
    if (isShape && *value < 0)
      return Status(BP_STATUS_OUT_OF_RANGE, "a size is negative");
    out[i] = *value;
  }
  return {};
}

bp_status_t valueShape(const bp_graph_t *graph, uint32_t index,
                       const int64_t *symbols, int64_t *outDims) {
  return guarded(nullptr, [&]() -> Status {
    const Value *value = graph->value(index);
    if (!value)
      return invalidArgument("no such value");
    return evaluate(graph, value->type.dims, symbols, true, outDims);
  });
}

void opInfo(const bp_graph_t *graph, uint32_t index, bp_op_info_t *out) {
  *out = {};
  const Op *op = graph->op(index);
  if (!op)
    return;
  *out = {toC(op->name),
          toC(op->location),
          op->version,
          count(op->operands.size()),
          count(op->results.size()),
          count(op->regions.size())};
}

uint32_t opOperand(const bp_graph_t *graph, uint32_t index, uint32_t i) {
  const Op *op = graph->op(index);
  return op ? entry(op->operands, i) : BP_NONE;
}

uint32_t opResult(const bp_graph_t *graph, uint32_t index, uint32_t i) {
  const Op *op = graph->op(index);
  return op ? entry(op->results, i) : BP_NONE;
}

const bp_graph_t *opRegion(const bp_graph_t *graph, uint32_t index,
                           uint32_t i) {
  const Op *op = graph->op(index);
  return op && i < op->regions.size() ? graph->opTexts[index].regions[i].get()
                                      : nullptr;
}

// ---- attributes ----

const Attribute *findAttribute(const bp_graph_t *graph, uint32_t index,
                               bp_string_t name) {
  const Op *op = graph->op(index);
  if (!op)
    return nullptr;
  auto it = op->attributes.find(view(name));
  return it == op->attributes.end() ? nullptr : &it->second;
}

/// Fills the members of the kind that is held.
struct AttributeFiller {
  bp_attribute_t &out;

  void operator()(int64_t value) const {
    out.kind = BP_ATTRIBUTE_I64;
    out.i64 = value;
  }
  void operator()(double value) const {
    out.kind = BP_ATTRIBUTE_F64;
    out.f64 = value;
  }
  void operator()(const std::string &value) const {
    out.kind = BP_ATTRIBUTE_STRING;
    out.string = toC(value);
  }
  void operator()(const std::vector<int64_t> &value) const {
    out.kind = BP_ATTRIBUTE_I64S;
    out.count = count(value.size());
    out.i64s = value.data();
  }
  void operator()(const Dims &value) const {
    out.kind = BP_ATTRIBUTE_DIMS;
    out.count = count(value.size());
  }
  void operator()(const Bytes &value) const {
    out.kind = BP_ATTRIBUTE_BYTES;
    out.bytes = {value.data(), value.size()};
  }
};

void fillAttribute(const bp_graph_t *graph, uint32_t op,
                   const Attributes::value_type &named, bp_attribute_t *out) {
  out->name = toC(named.first);
  std::visit(AttributeFiller{*out}, named.second);
  if (out->kind == BP_ATTRIBUTE_DIMS)
    out->dims = graph->opTexts[op].dims.find(named.first)->second.views.data();
}

void attribute(const bp_graph_t *graph, uint32_t index, bp_string_t name,
               bp_attribute_t *out) {
  *out = {};
  if (!findAttribute(graph, index, name))
    return;
  const Attributes &attributes = graph->graph->ops[index].attributes;
  fillAttribute(graph, index, *attributes.find(view(name)), out);
}

/// What an op of its version has.
std::vector<Attributes::const_iterator> attributesOf(const Op &op) {
  std::vector<Attributes::const_iterator> result;
  for (auto it = op.attributes.begin(); it != op.attributes.end(); ++it)
    if (isInVersion(op.name, op.version, it->first))
      result.push_back(it);
  return result;
}

uint32_t attributeCount(const bp_graph_t *graph, uint32_t index) {
  const Op *op = graph->op(index);
  return op ? count(attributesOf(*op).size()) : 0;
}

void attributeAt(const bp_graph_t *graph, uint32_t index, uint32_t at,
                 bp_attribute_t *out) {
  *out = {};
  if (at < attributeCount(graph, index))
    fillAttribute(graph, index, *attributesOf(*graph->op(index))[at], out);
}

uint32_t opVersion(bp_string_t name) {
  const OpSpec *spec = findOp(view(name));
  return spec ? spec->version : 0;
}

bp_status_t attributeDims(const bp_graph_t *graph, uint32_t op,
                          bp_string_t name, const int64_t *symbols,
                          int64_t *outDims, uint32_t capacity) {
  return guarded(nullptr, [&]() -> Status {
    const Attribute *found = findAttribute(graph, op, name);
    const Dims *dims = found ? std::get_if<Dims>(found) : nullptr;
    if (!dims)
      return notFound("no such dims attribute");
    if (dims->size() > capacity)
      return Status(BP_STATUS_OUT_OF_RANGE, "more dims than capacity");
    return evaluate(graph, *dims, symbols, false, outDims);
  });
}

bp_graph_table_t makeTable() {
  bp_graph_table_t table = {BP_HEADER(bp_graph_table_t)};
  table.graph_open = graphOpen;
  table.graph_close = graphClose;
  table.graph_write = graphWrite;
  table.graph_info = graphInfo;
  table.symbol_info = symbolInfo;
  table.input = graphInput;
  table.output = graphOutput;
  table.output_name = outputName;
  table.value_info = valueInfo;
  table.value_dim = valueDim;
  table.value_dim_text = valueDimText;
  table.value_shape = valueShape;
  table.op_info = opInfo;
  table.op_operand = opOperand;
  table.op_result = opResult;
  table.op_region = opRegion;
  table.attribute = attribute;
  table.attribute_dims = attributeDims;
  table.attribute_count = attributeCount;
  table.attribute_at = attributeAt;
  table.op_version = opVersion;
  setBuilderFunctions(table);
  return table;
}

} // namespace

const bp_graph_table_t *graphTable() {
  static const bp_graph_table_t table = makeTable();
  return &table;
}

const Graph &graphOf(const bp_graph_t *graph) { return *graph->graph; }

bp_graph_t *wrapGraph(Graph graph) { return new bp_graph_t(std::move(graph)); }

} // namespace backplane
