// SPDX-License-Identifier: Apache-2.0
//
// Reads hostile bytes. The FlatBuffers verifier bounds every offset; since
// offsets may share what they point to, a budget of the size of the buffer
// bounds what is copied. Our own writer shares nothing.
#include "OpTable.h"
#include "Wire.h"
#include "backplane/graph.h"
#include "sdk/graph/graph_generated.h"

#include <cstring>

namespace backplane {

namespace {

constexpr uint32_t newestFormat = 1;
constexpr size_t maxWireBytes = size_t(1) << 28;
/// Module, graph, op and region graph each take one level.
constexpr flatbuffers::uoffset_t maxTableDepth = 40;
constexpr size_t maxExprLength = 4096;

class ModuleReader {
public:
  explicit ModuleReader(size_t budget) : budget_(budget) {}

  Result<Graph> run(const wire::Module &module) {
    if (module.format() > newestFormat)
      return Status(BP_STATUS_UNIMPLEMENTED,
                    "wire graph has format " + std::to_string(module.format()) +
                        ", this build reads up to 1: update Backplane");
    if (!module.graph())
      return dataLoss("wire form holds no graph");
    Graph graph = read(*module.graph());
    if (!status_.ok())
      return status_;
    return graph;
  }

private:
  void fail(Status status) {
    if (status_.ok())
      status_ = std::move(status);
  }

  /// False when more would be copied than the buffer holds.
  bool spend(size_t bytes) {
    if (status_.ok() && bytes <= budget_) {
      budget_ -= bytes;
      return true;
    }
    fail(dataLoss("wire graph uses parts of its bytes more than once"));
    return false;
  }

  std::string read(const flatbuffers::String *text) {
    if (!text || !spend(text->size()))
      return {};
    return text->str();
  }

  template <typename T>
  std::vector<T> read(const flatbuffers::Vector<T> *values) {
    if (!values || !spend(values->size() * sizeof(T)))
      return {};
    // The verifier does not check that elements of 8 bytes are aligned.
    std::vector<T> copy(values->size());
    if (!copy.empty())
      std::memcpy(copy.data(), values->Data(), copy.size() * sizeof(T));
    return copy;
  }

  /// Reads each entry with `readOne` and hands it to `put`.
  template <typename T, typename F>
  void each(const flatbuffers::Vector<flatbuffers::Offset<T>> *tables, F put) {
    if (!tables || !spend(tables->size() * sizeof(flatbuffers::uoffset_t)))
      return;
    for (const T *table : *tables) {
      if (!status_.ok())
        return;
      put(*table);
    }
  }

  Dim expression(const flatbuffers::String *string) {
    std::string text = read(string);
    if (!status_.ok())
      return {};
    auto [it, isNew] = expressions_.try_emplace(text);
    if (!isNew)
      return it->second;
    if (text.size() > maxExprLength) {
      fail(dataLoss("a dim has " + std::to_string(text.size()) +
                    " characters, the limit is 4096"));
      return {};
    }
    Result<Dim> dim = Dim::parse(text);
    if (!dim) {
      fail(dataLoss(dim.message()));
      return {};
    }
    return it->second = *dim;
  }

  using Texts = flatbuffers::Vector<flatbuffers::Offset<wire::Text>>;

  Dims dims(const flatbuffers::Vector<int64_t> *sizes, const Texts *texts) {
    std::vector<Dim> exprs;
    each(texts,
         [&](const wire::Text &t) { exprs.push_back(expression(t.value())); });
    Dims dims;
    size_t next = 0;
    for (int64_t size : read(sizes)) {
      if (size >= 0)
        dims.push_back(size);
      else if (next < exprs.size())
        dims.push_back(exprs[next++]);
      else
        fail(dataLoss("a dim has neither a size nor an expression"));
    }
    return dims;
  }

  TensorType read(const wire::Type *type) {
    if (!type)
      return {};
    return {DType(type->dtype()), dims(type->sizes(), type->exprs())};
  }

  Attribute read(const wire::Attribute &attribute) {
    switch (attribute.kind()) {
    case BP_ATTRIBUTE_I64:
      return attribute.i64();
    case BP_ATTRIBUTE_F64:
      return attribute.f64();
    case BP_ATTRIBUTE_STRING:
      return read(attribute.text());
    case BP_ATTRIBUTE_I64S:
      return read(attribute.i64s());
    case BP_ATTRIBUTE_DIMS:
      return dims(attribute.i64s(), attribute.exprs());
    case BP_ATTRIBUTE_BYTES:
      return read(attribute.bytes());
    default:
      fail(Status(BP_STATUS_UNIMPLEMENTED,
                  "attribute has the unknown kind " +
                      std::to_string(attribute.kind())));
      return int64_t(0);
    }
  }

  Op read(const wire::Op &from) {
    Op op;
    op.name = read(from.name());
    op.version = from.version();
    op.operands = read(from.operands());
    op.results = read(from.results());
    each(from.attributes(), [&](const wire::Attribute &a) {
      std::string name = read(a.name());
      if (!op.attributes.try_emplace(name, read(a)).second)
        fail(
            dataLoss("attribute " + name + " of " + op.name + " stands twice"));
    });
    if (const OpSpec *spec = findOp(op.name))
      completeNewer(*spec, op.version, op.attributes);
    each(from.regions(),
         [&](const wire::Graph &g) { op.regions.push_back(read(g)); });
    op.location = read(from.location());
    return op;
  }

  void readDeclarations(Graph &graph, const wire::Graph &from) {
    each(from.symbols(), [&](const wire::Symbol &s) {
      graph.symbols.push_back(
          {read(s.name()), s.minimum(), s.maximum(), s.divisor()});
    });
    each(from.assertions(), [&](const wire::Assertion &a) {
      Dim lhs = expression(a.lhs()), rhs = expression(a.rhs());
      graph.assertions.push_back({lhs, rhs, read(a.message())});
    });
    each(from.variables(), [&](const wire::Variable &v) {
      graph.variables.push_back(
          {read(v.name()), read(v.type()), read(v.initial())});
    });
  }

  Graph read(const wire::Graph &from) {
    Graph graph;
    graph.name = read(from.name());
    readDeclarations(graph, from);
    each(from.values(), [&](const wire::Value &v) {
      graph.values.push_back({read(v.type()), read(v.name())});
    });
    each(from.ops(),
         [&](const wire::Op &op) { graph.ops.push_back(read(op)); });
    graph.inputs = read(from.inputs());
    each(from.outputs(), [&](const wire::Output &o) {
      graph.outputs.push_back({o.value(), read(o.name())});
    });
    return graph;
  }

  size_t budget_;
  Status status_;
  std::map<std::string, Dim> expressions_;
};

Result<Graph> readAligned(std::span<const uint8_t> wire) {
  // A table and the offset to it take 8 bytes at least.
  auto maxTables = static_cast<flatbuffers::uoffset_t>(wire.size() / 8 + 1);
  flatbuffers::Verifier verifier(wire.data(), wire.size(), maxTableDepth,
                                 maxTables);
  if (!wire::VerifyModuleBuffer(verifier))
    return dataLoss("the " + std::to_string(wire.size()) +
                    " bytes are no wire graph or are damaged");
  Result<Graph> graph =
      ModuleReader(wire.size()).run(*wire::GetModule(wire.data()));
  if (graph)
    if (Status status = graph->verify(); !status.ok())
      return status.within("wire graph");
  return graph;
}

} // namespace

Result<Graph> readGraph(std::span<const uint8_t> wire) {
  if (wire.size() < 16 || wire.size() > maxWireBytes)
    return dataLoss("a wire graph has 16 bytes to 256 MiB, found " +
                    std::to_string(wire.size()) + " bytes");
  if (reinterpret_cast<uintptr_t>(wire.data()) % 8 == 0)
    return readAligned(wire);
  std::vector<uint64_t> aligned((wire.size() + 7) / 8);
  std::memcpy(aligned.data(), wire.data(), wire.size());
  return readAligned(
      {reinterpret_cast<const uint8_t *>(aligned.data()), wire.size()});
}

} // namespace backplane
