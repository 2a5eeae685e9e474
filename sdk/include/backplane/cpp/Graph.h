// SPDX-License-Identifier: Apache-2.0
//
// Graph.h: reading and building graphs in a plug-in: views over an open graph,
// and owners of what the C functions of graph.h make.
#ifndef BACKPLANE_CPP_GRAPH_H
#define BACKPLANE_CPP_GRAPH_H

#include "backplane/cpp/PluginHost.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace backplane::plugin {

class GraphView;
class OpView;

/// An attribute of an op. What it gives lives as long as the graph; an
/// attribute that is absent or of another kind gives nothing.
class AttributeView {
public:
  explicit AttributeView(const bp_attribute_t &attribute) : c_(attribute) {}

  const bp_attribute_t &c() const { return c_; }
  std::string_view name() const { return view(c_.name); }
  bool present() const { return c_.kind != BP_ATTRIBUTE_NONE; }
  /// Also of bools and dtypes.
  std::optional<int64_t> integer() const {
    return c_.kind == BP_ATTRIBUTE_I64 ? std::optional(c_.i64) : std::nullopt;
  }
  std::optional<double> real() const {
    return c_.kind == BP_ATTRIBUTE_F64 ? std::optional(c_.f64) : std::nullopt;
  }
  std::optional<std::string_view> text() const {
    return c_.kind == BP_ATTRIBUTE_STRING ? std::optional(view(c_.string))
                                          : std::nullopt;
  }
  std::span<const int64_t> integers() const {
    return c_.kind == BP_ATTRIBUTE_I64S ? std::span(c_.i64s, c_.count)
                                        : std::span<const int64_t>();
  }
  /// Expressions over the graph's symbols.
  std::span<const bp_string_t> dims() const {
    return c_.kind == BP_ATTRIBUTE_DIMS ? std::span(c_.dims, c_.count)
                                        : std::span<const bp_string_t>();
  }
  std::span<const std::byte> bytes() const {
    return c_.kind == BP_ATTRIBUTE_BYTES
               ? std::span(static_cast<const std::byte *>(c_.bytes.data),
                           c_.bytes.size)
               : std::span<const std::byte>();
  }

private:
  bp_attribute_t c_;
};

/// A value of a graph.
class ValueView {
public:
  ValueView(const bp_graph_table_t *table, const bp_graph_t *graph,
            uint32_t value)
      : table_(table), graph_(graph), value_(value) {
    table_->value_info(graph_, value_, &info_);
  }

  uint32_t number() const { return value_; }
  std::string_view name() const { return view(info_.name); }
  bp_dtype_t dtype() const { return info_.dtype; }
  uint32_t rank() const { return info_.rank; }
  bool isInput() const { return info_.producer == BP_NONE; }
  /// Which input it is, or which result of its producer.
  uint32_t index() const { return info_.result; }
  /// The op that makes it; nothing for an input.
  inline std::optional<OpView> producer() const;
  /// The size of an axis; nothing where it is no plain number.
  std::optional<int64_t> size(uint32_t axis) const {
    int64_t dim = table_->value_dim(graph_, value_, axis);
    return dim == BP_DIM_SYMBOLIC ? std::nullopt : std::optional(dim);
  }
  /// The size of an axis as an expression over the graph's symbols.
  std::string_view sizeText(uint32_t axis) const {
    return view(table_->value_dim_text(graph_, value_, axis));
  }
  bool operator==(const ValueView &other) const {
    return graph_ == other.graph_ && value_ == other.value_;
  }

private:
  const bp_graph_table_t *table_;
  const bp_graph_t *graph_;
  uint32_t value_;
  bp_value_info_t info_ = {};
};

/// An op of a graph.
class OpView {
public:
  OpView(const bp_graph_table_t *table, const bp_graph_t *graph, uint32_t op)
      : table_(table), graph_(graph), op_(op) {
    table_->op_info(graph_, op_, &info_);
  }

  uint32_t number() const { return op_; }
  std::string_view name() const { return view(info_.name); }
  std::string_view location() const { return view(info_.location); }
  uint32_t version() const { return info_.version; }
  uint32_t operands() const { return info_.operand_count; }
  uint32_t results() const { return info_.result_count; }
  ValueView operand(uint32_t index) const {
    return {table_, graph_, table_->op_operand(graph_, op_, index)};
  }
  ValueView result(uint32_t index = 0) const {
    return {table_, graph_, table_->op_result(graph_, op_, index)};
  }
  AttributeView attribute(std::string_view name) const {
    bp_attribute_t attribute = {};
    table_->attribute(graph_, op_, toC(name), &attribute);
    return AttributeView(attribute);
  }

private:
  const bp_graph_table_t *table_;
  const bp_graph_t *graph_;
  uint32_t op_;
  bp_op_info_t info_ = {};
};

inline std::optional<OpView> ValueView::producer() const {
  return isInput() ? std::nullopt
                   : std::optional(OpView(table_, graph_, info_.producer));
}

/// A graph that somebody else keeps open. Thread-safe.
class GraphView {
public:
  GraphView(const bp_graph_table_t *table, const bp_graph_t *graph)
      : table_(table), graph_(graph) {
    table_->graph_info(graph_, &info_);
  }

  const bp_graph_table_t *table() const { return table_; }
  const bp_graph_t *c() const { return graph_; }
  std::string_view name() const { return view(info_.name); }
  uint32_t ops() const { return info_.op_count; }
  uint32_t values() const { return info_.value_count; }
  uint32_t inputs() const { return info_.input_count; }
  uint32_t outputs() const { return info_.output_count; }
  uint32_t symbols() const { return info_.symbol_count; }
  OpView op(uint32_t index) const { return {table_, graph_, index}; }
  ValueView value(uint32_t number) const { return {table_, graph_, number}; }
  ValueView input(uint32_t index) const {
    return value(table_->input(graph_, index));
  }
  ValueView output(uint32_t index = 0) const {
    return value(table_->output(graph_, index));
  }
  bp_symbol_info_t symbol(uint32_t index) const {
    bp_symbol_info_t info = {};
    table_->symbol_info(graph_, index, &info);
    return info;
  }
  /// The wire form.
  Result<std::vector<std::byte>> write() const {
    std::vector<std::byte> bytes;
    bp_bytes_sink_t sink = {
        [](void *context, bp_bytes_t from) {
          const auto *data = static_cast<const std::byte *>(from.data);
          static_cast<std::vector<std::byte> *>(context)->assign(
              data, data + from.size);
          return bp_status_t(BP_STATUS_OK);
        },
        &bytes};
    bp_status_t code = table_->graph_write(graph_, &sink);
    if (code)
      return Status(code, "cannot write the graph");
    return bytes;
  }

private:
  const bp_graph_table_t *table_;
  const bp_graph_t *graph_;
  bp_graph_info_t info_ = {};
};

/// An open graph, closed on destruction.
class Graph {
public:
  Graph(const bp_graph_table_t *table, bp_graph_t *graph)
      : graph_(graph, Close{table}) {}

  /// Opens and verifies wire bytes, which may be freed after.
  static Result<Graph> open(const bp_graph_table_t *table,
                            std::span<const std::byte> wire) {
    bp_graph_t *graph = nullptr;
    bp_status_t code =
        table->graph_open({wire.data(), wire.size()}, &graph, nullptr);
    if (code)
      return Status(code, "the bytes are no graph");
    return Graph(table, graph);
  }

  GraphView view() const { return {graph_.get_deleter().table, graph_.get()}; }

private:
  struct Close {
    const bp_graph_table_t *table;
    void operator()(bp_graph_t *graph) const { table->graph_close(graph); }
  };
  std::unique_ptr<bp_graph_t, Close> graph_;
};

/// Builds a graph, op by op. A failure says what could not be added.
class GraphBuilder {
public:
  static Result<GraphBuilder> create(const bp_graph_table_t *table,
                                     std::string_view name) {
    bp_graph_builder_t *builder = nullptr;
    bp_status_t code = table->builder_create(toC(name), &builder);
    if (code)
      return Status(code, "cannot begin the graph '" + std::string(name) + "'");
    return GraphBuilder(table, builder);
  }

  Status symbol(const bp_symbol_info_t &symbol) {
    return is(table().builder_symbol(builder_.get(), &symbol), "symbol",
              view(symbol.name));
  }
  /// `dims` are expressions over the symbols.
  Result<uint32_t> input(std::string_view name, bp_dtype_t dtype,
                         std::span<const bp_string_t> dims) {
    uint32_t value = BP_NONE;
    Status status =
        is(table().builder_input(builder_.get(), toC(name), dtype, dims.data(),
                                 uint32_t(dims.size()), &value, nullptr),
           "input", name);
    return status.ok() ? Result(value) : Result<uint32_t>(status);
  }
  /// Adds an op with `results` results at its newest version.
  Result<std::vector<uint32_t>>
  op(std::string_view name, std::span<const uint32_t> operands,
     std::span<const bp_attribute_t> attributes = {}, uint32_t results = 1,
     std::string_view location = {}) {
    std::vector<uint32_t> made(results, BP_NONE);
    Status status =
        is(table().builder_op(builder_.get(), toC(name), operands.data(),
                              uint32_t(operands.size()), attributes.data(),
                              uint32_t(attributes.size()), toC(location),
                              made.data(), results, nullptr),
           "op", name);
    if (!status.ok())
      return status;
    return made;
  }
  Status output(uint32_t value, std::string_view name) {
    return is(table().builder_output(builder_.get(), value, toC(name), nullptr),
              "output", name);
  }
  /// Verifies the whole. The builder is empty after.
  Result<Graph> finish() {
    bp_graph_t *graph = nullptr;
    Status status = is(table().builder_finish(builder_.get(), &graph, nullptr),
                       "graph", "as a whole");
    if (!status.ok())
      return status;
    return Graph(&table(), graph);
  }

private:
  struct Destroy {
    const bp_graph_table_t *table;
    void operator()(bp_graph_builder_t *builder) const {
      table->builder_destroy(builder);
    }
  };
  GraphBuilder(const bp_graph_table_t *table, bp_graph_builder_t *builder)
      : builder_(builder, Destroy{table}) {}
  const bp_graph_table_t &table() const {
    return *builder_.get_deleter().table;
  }
  static Status is(bp_status_t code, std::string_view what,
                   std::string_view name) {
    if (!code)
      return {};
    return Status(code, "the graph does not take the " + std::string(what) +
                            " '" + std::string(name) + "'");
  }

  std::unique_ptr<bp_graph_builder_t, Destroy> builder_;
};

} // namespace backplane::plugin

#endif // BACKPLANE_CPP_GRAPH_H
