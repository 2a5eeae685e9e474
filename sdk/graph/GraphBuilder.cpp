// SPDX-License-Identifier: Apache-2.0
//
// The builder functions of bp_graph_table_t.
#include "GraphHandle.h"
#include "OpTable.h"

#include <algorithm>
#include <optional>
#include <span>

using namespace backplane;

struct bp_graph_builder_t {
  Graph graph;
};

namespace backplane {

namespace {

std::string copy(bp_string_t text) { return std::string(view(text)); }

Result<Dims> parseDims(const bp_string_t *texts, uint32_t count) {
  if (!texts && count)
    return invalidArgument("dims are missing");
  Dims dims;
  for (uint32_t i = 0; i < count; ++i) {
    Result<Dim> dim = Dim::parse(view(texts[i]));
    if (!dim)
      return dim.status();
    dims.push_back(std::move(*dim));
  }
  return dims;
}

Result<Attribute> toAttribute(const bp_attribute_t &from) {
  switch (from.kind) {
  case BP_ATTRIBUTE_I64:
    return Attribute(from.i64);
  case BP_ATTRIBUTE_F64:
    return Attribute(from.f64);
  case BP_ATTRIBUTE_STRING:
    return Attribute(copy(from.string));
  case BP_ATTRIBUTE_I64S:
    if (!from.i64s && from.count)
      return invalidArgument("i64s are missing");
    return Attribute(std::vector<int64_t>(from.i64s, from.i64s + from.count));
  case BP_ATTRIBUTE_DIMS: {
    Result<Dims> dims = parseDims(from.dims, from.count);
    if (!dims)
      return dims.status();
    return Attribute(std::move(*dims));
  }
  case BP_ATTRIBUTE_BYTES: {
    const auto *data = static_cast<const uint8_t *>(from.bytes.data);
    if (!data && from.bytes.size)
      return invalidArgument("bytes are missing");
    return Attribute(Bytes(data, data + from.bytes.size));
  }
  default:
    return unimplemented("attribute kind " + std::to_string(from.kind) +
                         " is unknown");
  }
}

bp_status_t create(bp_string_t name, bp_graph_builder_t **outBuilder) {
  return guarded(nullptr, [&]() -> Status {
    *outBuilder = nullptr;
    auto builder = std::make_unique<bp_graph_builder_t>();
    builder->graph.name = copy(name);
    *outBuilder = builder.release();
    return {};
  });
}

void destroy(bp_graph_builder_t *builder) { delete builder; }

bp_status_t addSymbol(bp_graph_builder_t *builder,
                      const bp_symbol_info_t *symbol) {
  return guarded(nullptr, [&] {
    return builder->graph.addSymbol({copy(symbol->name), symbol->minimum,
                                     symbol->maximum, symbol->divisor});
  });
}

bp_status_t addInput(bp_graph_builder_t *builder, bp_string_t name,
                     bp_dtype_t dtype, const bp_string_t *dims, uint32_t rank,
                     uint32_t *outValue, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (dtype == BP_DTYPE_INVALID || dtype >= BP_DTYPE_COUNT_)
      return unimplemented("dtype " + std::to_string(dtype) + " is unknown");
    if (rank > maxRank)
      return invalidArgument("input has rank " + std::to_string(rank) +
                             ", the limit is " + std::to_string(maxRank));
    Result<Dims> sizes = parseDims(dims, rank);
    if (!sizes)
      return sizes.status();
    *outValue = builder->graph.addInput(copy(name), {DType(dtype), *sizes});
    return {};
  });
}

Result<Attributes> toAttributes(std::span<const bp_attribute_t> from) {
  Attributes attributes;
  for (const bp_attribute_t &attribute : from) {
    Result<Attribute> value = toAttribute(attribute);
    if (!value)
      return value.status().within(copy(attribute.name));
    attributes.insert_or_assign(copy(attribute.name), std::move(*value));
  }
  return attributes;
}

/// Whether there is such a version of an op, with that many results. An op that
/// nobody knows is left to Graph::add.
Status checkOp(std::string_view name, uint32_t version, uint32_t results) {
  const OpSpec *spec = findOp(name);
  if (!spec)
    return {};
  if (version < 1 || version > spec->version)
    return unimplemented(std::string(name) + " has versions 1 to " +
                         std::to_string(spec->version) + ", asked for " +
                         std::to_string(version));
  if (static_cast<uint32_t>(spec->results) != results)
    return invalidArgument(std::string(name) + " has " +
                           std::to_string(spec->results) +
                           " results, asked for " + std::to_string(results));
  return {};
}

/// The attributes need no newer version than this one.
Status checkVersion(std::string_view name, uint32_t version,
                    const Attributes &attributes) {
  const OpSpec *spec = findOp(name);
  uint32_t least = spec ? minVersion(*spec, attributes) : version;
  if (least <= version)
    return {};
  return invalidArgument(std::string(name) + " was asked for at version " +
                         std::to_string(version) +
                         ", its attributes need version " +
                         std::to_string(least));
}

/// What a plug-in says of an op that it adds.
struct AddedOp {
  std::string_view name;
  std::optional<uint32_t> version; ///< none: the least that says it
  std::span<const uint32_t> operands;
  std::span<const bp_attribute_t> attributes;
  std::string_view location;
};

Status append(Graph &graph, const AddedOp &op, std::span<uint32_t> outResults) {
  const OpSpec *spec = findOp(op.name);
  uint32_t newest = spec ? spec->version : 1;
  if (Status s = checkOp(op.name, op.version.value_or(newest),
                         static_cast<uint32_t>(outResults.size()));
      !s.ok())
    return s;
  Result<Attributes> converted = toAttributes(op.attributes);
  if (!converted)
    return converted.status();
  if (Status s = checkVersion(op.name, op.version.value_or(newest), *converted);
      !s.ok())
    return s;
  auto results = graph.add(
      op.name, std::vector<ValueId>(op.operands.begin(), op.operands.end()),
      std::move(*converted), std::string(op.location));
  if (!results)
    return results.status();
  if (op.version)
    graph.ops.back().version = *op.version;
  std::copy(results->begin(), results->end(), outResults.begin());
  return {};
}

bp_status_t addOpVersion(bp_graph_builder_t *builder, bp_string_t name,
                         uint32_t version, const uint32_t *operands,
                         uint32_t operandCount,
                         const bp_attribute_t *attributes,
                         uint32_t attributeCount, bp_string_t location,
                         uint32_t *outResults, uint32_t resultCount,
                         bp_error_t *error) {
  return guarded(error, [&] {
    return append(builder->graph,
                  {view(name),
                   version,
                   {operands, operandCount},
                   {attributes, attributeCount},
                   view(location)},
                  {outResults, resultCount});
  });
}

bp_status_t addOp(bp_graph_builder_t *builder, bp_string_t name,
                  const uint32_t *operands, uint32_t operandCount,
                  const bp_attribute_t *attributes, uint32_t attributeCount,
                  bp_string_t location, uint32_t *outResults,
                  uint32_t resultCount, bp_error_t *error) {
  return guarded(error, [&] {
    return append(builder->graph,
                  {view(name),
                   std::nullopt,
                   {operands, operandCount},
                   {attributes, attributeCount},
                   view(location)},
                  {outResults, resultCount});
  });
}

bp_status_t addOutput(bp_graph_builder_t *builder, uint32_t value,
                      bp_string_t name, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (value >= builder->graph.values.size())
      return invalidArgument("there is no value %" + std::to_string(value));
    builder->graph.addOutput(value, copy(name));
    return {};
  });
}

bp_status_t finish(bp_graph_builder_t *builder, bp_graph_t **outGraph,
                   bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    *outGraph = nullptr;
    if (Status status = builder->graph.verify(); !status.ok())
      return status;
    *outGraph = wrapGraph(std::move(builder->graph));
    builder->graph = Graph();
    return {};
  });
}

} // namespace

void setBuilderFunctions(bp_graph_table_t &table) {
  table.builder_create = create;
  table.builder_destroy = destroy;
  table.builder_symbol = addSymbol;
  table.builder_input = addInput;
  table.builder_op = addOp;
  table.builder_op_version = addOpVersion;
  table.builder_output = addOutput;
  table.builder_finish = finish;
}

} // namespace backplane
