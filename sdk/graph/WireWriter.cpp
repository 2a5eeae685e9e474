// SPDX-License-Identifier: Apache-2.0
#include "OpTable.h"
#include "Wire.h"
#include "backplane/graph.h"
#include "sdk/graph/graph_generated.h"

namespace backplane {

namespace {

using flatbuffers::Offset;
template <typename T> using Vector = Offset<flatbuffers::Vector<T>>;
using Texts = Vector<Offset<wire::Text>>;

class Writer {
public:
  Bytes run(const Graph &graph) {
    wire::FinishModuleBuffer(builder_,
                             wire::CreateModule(builder_, 1, write(graph)));
    return Bytes(builder_.GetBufferPointer(),
                 builder_.GetBufferPointer() + builder_.GetSize());
  }

private:
  /// Absent when empty.
  Offset<flatbuffers::String> string(std::string_view text) {
    if (text.empty())
      return 0;
    return builder_.CreateString(text.data(), text.size());
  }

  template <typename T> Vector<T> numbers(const std::vector<T> &values) {
    return values.empty() ? Vector<T>() : builder_.CreateVector(values);
  }

  /// Writes each with `write`, which gives an offset.
  template <typename T, typename F>
  auto tables(const std::vector<T> &values, F write)
      -> Vector<decltype(write(values[0]))> {
    std::vector<decltype(write(values[0]))> offsets;
    for (const T &value : values)
      offsets.push_back(write(value));
    if (offsets.empty())
      return 0;
    return builder_.CreateVector(offsets);
  }

  /// The sizes and the text of those that are no plain sizes.
  std::pair<Vector<int64_t>, Texts> dims(const Dims &dims) {
    std::vector<int64_t> sizes;
    std::vector<std::string> exprs;
    for (const Dim &dim : dims) {
      sizes.push_back(std::max<int64_t>(dim.constant().value_or(-1), -1));
      if (sizes.back() < 0)
        exprs.push_back(dim.str());
    }
    Texts texts = tables(exprs, [&](const std::string &text) {
      return wire::CreateText(builder_, string(text));
    });
    return {numbers(sizes), texts};
  }

  Offset<wire::Type> write(const TensorType &type) {
    auto [sizes, exprs] = dims(type.dims);
    return wire::CreateType(builder_, static_cast<uint8_t>(type.dtype), sizes,
                            exprs);
  }

  Offset<wire::Attribute> write(const std::string &name,
                                const Attribute &value) {
    auto at = string(name);
    switch (value.index()) {
    case 0:
      return wire::CreateAttribute(builder_, at, BP_ATTRIBUTE_I64,
                                   std::get<int64_t>(value));
    case 1:
      return wire::CreateAttribute(builder_, at, BP_ATTRIBUTE_F64, 0,
                                   std::get<double>(value));
    case 2:
      return wire::CreateAttribute(builder_, at, BP_ATTRIBUTE_STRING, 0, 0,
                                   string(std::get<std::string>(value)));
    case 3:
      return wire::CreateAttribute(
          builder_, at, BP_ATTRIBUTE_I64S, 0, 0, 0,
          numbers(std::get<std::vector<int64_t>>(value)));
    case 4: {
      auto [sizes, exprs] = dims(std::get<Dims>(value));
      return wire::CreateAttribute(builder_, at, BP_ATTRIBUTE_DIMS, 0, 0, 0,
                                   sizes, exprs);
    }
    default:
      return wire::CreateAttribute(builder_, at, BP_ATTRIBUTE_BYTES, 0, 0, 0, 0,
                                   0, numbers(std::get<Bytes>(value)));
    }
  }

  Offset<wire::Op> write(const Op &op) {
    std::vector<Offset<wire::Attribute>> attributes;
    for (const auto &[name, value] : op.attributes)
      if (isInVersion(op.name, op.version, name))
        attributes.push_back(write(name, value));
    auto regions =
        tables(op.regions, [&](const Graph &region) { return write(region); });
    return wire::CreateOp(builder_, string(op.name), op.version,
                          numbers(op.operands), numbers(op.results),
                          numbers(attributes), regions, string(op.location));
  }

  Offset<wire::Graph> write(const Graph &graph) {
    auto symbols = tables(graph.symbols, [&](const Symbol &s) {
      return wire::CreateSymbol(builder_, string(s.name), s.minimum, s.maximum,
                                s.divisor);
    });
    auto assertions = tables(graph.assertions, [&](const DimAssertion &a) {
      return wire::CreateAssertion(builder_, string(a.lhs.str()),
                                   string(a.rhs.str()), string(a.message));
    });
    auto variables = tables(graph.variables, [&](const Variable &v) {
      return wire::CreateVariable(builder_, string(v.name), write(v.type),
                                  string(v.initial));
    });
    auto values = tables(graph.values, [&](const Value &v) {
      return wire::CreateValue(builder_, write(v.type), string(v.name));
    });
    auto ops = tables(graph.ops, [&](const Op &op) { return write(op); });
    auto outputs = tables(graph.outputs, [&](const GraphOutput &o) {
      return wire::CreateOutput(builder_, o.value, string(o.name));
    });
    return wire::CreateGraph(builder_, string(graph.name), symbols, assertions,
                             variables, values, ops, numbers(graph.inputs),
                             outputs);
  }

  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace

Bytes writeGraph(const Graph &graph) { return Writer().run(graph); }

} // namespace backplane
