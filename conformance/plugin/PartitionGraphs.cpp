// SPDX-License-Identifier: Apache-2.0
#include "PartitionGraphs.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>

namespace backplane::checks {
namespace {

constexpr int64_t size = 16; ///< rows and columns of products

/// Builds one of the graphs; what it adds is right by construction.
class Sketch {
public:
  explicit Sketch(std::string name) { odd_.name = std::move(name); }

  ValueId input(const char *name, TensorType type) {
    return odd_.graph.addInput(name, std::move(type));
  }
  ValueId op(const char *name, std::vector<ValueId> operands,
             Attributes attributes = {}) {
    auto made =
        odd_.graph.add(name, std::move(operands), std::move(attributes));
    if (!made)
      throw std::logic_error(odd_.name + ": " + made.message());
    return made->front();
  }
  ValueId weight() {
    const TensorType type{DType::F32, {Dim(size), Dim(size)}};
    std::vector<float> values(size * size);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i % 7 + odd_.weights.all().size());
    const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    auto id = odd_.weights.add(
        type, Bytes(bytes, bytes + values.size() * sizeof(float)));
    if (!id)
      throw std::logic_error(odd_.name + ": " + id.message());
    return op("weight", {},
              {{"id", *id},
               {"dtype", int64_t(DType::F32)},
               {"dims", Dims(type.dims)}});
  }
  ValueId product(ValueId x) { return op("matmul", {x, weight()}); }
  void symbol(const char *name, int64_t divisor) {
    (void)odd_.graph.addSymbol({name, divisor, 1024, divisor});
  }
  void output(ValueId value, const char *name = "y") {
    odd_.graph.addOutput(value, name);
  }
  OddGraph take() { return std::move(odd_); }

private:
  OddGraph odd_;
};

TensorType square() { return {DType::F32, {Dim(size), Dim(size)}}; }

OddGraph chain() {
  Sketch s("chain");
  s.output(s.op("exp", {s.op("neg", {s.input("x", square())})}));
  return s.take();
}

OddGraph layers() {
  Sketch s("layers");
  ValueId x = s.input("x", square());
  for (int i = 0; i < 3; ++i)
    x = s.op("exp", {s.op("add", {s.product(x), s.weight()})});
  s.output(x);
  return s.take();
}

/// Products before and behind an op that few devices take, and beside it.
OddGraph bypass() {
  Sketch s("bypass");
  ValueId a = s.product(s.input("x", square()));
  ValueId turned = s.op("reverse", {a}, {{"axes", std::vector<int64_t>{0}}});
  s.output(s.product(s.op("add", {s.op("exp", {a}), turned})));
  return s.take();
}

OddGraph empty() {
  Sketch s("empty");
  s.output(s.input("x", square()));
  return s.take();
}

OddGraph ofDims(const char *name, Dims dims) {
  Sketch s(name);
  ValueId x = s.input("x", {DType::F32, std::move(dims)});
  s.output(s.op("add", {s.op("neg", {x}), x}));
  return s.take();
}

OddGraph symbols() {
  Sketch s("symbols");
  s.symbol("n", 1);
  s.symbol("m", 8);
  Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  ValueId x = s.input("x", {DType::F32, {n, m}});
  ValueId y = s.input("z", {DType::F32, {m, Dim(size)}});
  s.output(s.product(s.op("exp", {s.op("matmul", {x, y})})));
  return s.take();
}

/// A sum in each dtype that has one.
OddGraph dtypes() {
  Sketch s("dtypes");
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,
                     DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                     DType::U32, DType::U64}) {
    const std::string tag(name(type));
    ValueId x = s.input(tag.c_str(), {type, {Dim(size)}});
    s.output(s.op("add", {x, x}), (tag + "_sum").c_str());
  }
  ValueId x = s.input("bool", {DType::Bool, {Dim(size)}});
  s.output(s.op("not", {x}), "not");
  return s.take();
}

/// A value twice, an input, and one that nobody uses.
OddGraph outputs() {
  Sketch s("outputs");
  ValueId x = s.input("x", square());
  ValueId y = s.product(x);
  (void)s.op("exp", {y});
  s.output(y, "once");
  s.output(y, "twice");
  s.output(x, "given");
  return s.take();
}

OddGraph longOne() {
  constexpr int layerCount = 100;
  Sketch s("long");
  ValueId x = s.input("x", square());
  for (int i = 0; i < layerCount; ++i)
    x = s.op("exp", {s.product(x)});
  s.output(x);
  return s.take();
}

bool comesWithUser(const Op &op) {
  static const std::set<std::string, std::less<>> names = {
      "weight", "constant", "broadcast", "iota", "dim", "reshape"};
  return names.count(op.name) > 0;
}

constexpr uint32_t noOp = UINT32_MAX;

/// The op that makes each value.
std::vector<uint32_t> producersOf(const Graph &graph) {
  std::vector<uint32_t> producers(graph.values.size(), noOp);
  for (uint32_t op = 0; op < graph.ops.size(); ++op)
    for (ValueId value : graph.ops[op].results)
      producers[value] = op;
  return producers;
}

} // namespace

const std::vector<OddGraph> &oddGraphs() {
  static const std::vector<OddGraph> graphs = [] {
    constexpr size_t rank = 16;
    std::vector<OddGraph> all;
    all.push_back(chain());
    all.push_back(layers());
    all.push_back(bypass());
    all.push_back(empty());
    all.push_back(ofDims("scalar", {}));
    all.push_back(ofDims("rank-16", Dims(rank, Dim(2))));
    all.push_back(ofDims("no-elements", {Dim(0), Dim(3)}));
    all.push_back(symbols());
    all.push_back(dtypes());
    all.push_back(outputs());
    all.push_back(longOne());
    return all;
  }();
  return graphs;
}

std::optional<uint32_t> pathBack(const Graph &graph,
                                 const std::vector<uint32_t> &set) {
  std::vector<bool> inside(graph.ops.size()), behind(graph.ops.size());
  for (uint32_t op : set)
    inside[op] = true;
  const std::vector<uint32_t> producers = producersOf(graph);
  /// Behind what comes with its users.
  std::function<void(ValueId, std::vector<uint32_t> &)> addSources =
      [&](ValueId value, std::vector<uint32_t> &sources) {
        const uint32_t from = producers[value];
        if (from == noOp)
          return;
        if (inside[from] || !comesWithUser(graph.ops[from]))
          return sources.push_back(from);
        for (ValueId operand : graph.ops[from].operands)
          addSources(operand, sources);
      };
  for (uint32_t op = 0; op < graph.ops.size(); ++op) {
    std::vector<uint32_t> sources;
    for (ValueId operand : graph.ops[op].operands)
      addSources(operand, sources);
    for (uint32_t from : sources) {
      if (inside[op] && behind[from])
        return from;
      if (!inside[op] && (inside[from] || behind[from]))
        behind[op] = true;
    }
  }
  return std::nullopt;
}

std::optional<Dispatch> dispatchOf(const OddGraph &odd,
                                   const std::vector<uint32_t> &set) {
  const Graph &from = odd.graph;
  const std::vector<uint32_t> producers = producersOf(from);
  std::set<uint32_t> inside(set.begin(), set.end());
  Dispatch dispatch;
  Graph &to = dispatch.graph;
  to.symbols = from.symbols;
  std::map<ValueId, ValueId> ids;
  auto operandOf = [&](ValueId value) {
    auto [at, fresh] = ids.emplace(value, 0);
    if (!fresh)
      return at->second;
    at->second =
        to.addInput("in" + std::to_string(to.inputs.size()), from.type(value));
    const Op *op =
        producers[value] == noOp ? nullptr : &from.ops[producers[value]];
    bool isWeight = op && op->name == "weight";
    dispatch.ids.push_back(isWeight ? op->string("id") : "");
    dispatch.weights.push_back(isWeight ? odd.weights.find(dispatch.ids.back())
                                        : nullptr);
    return at->second;
  };
  std::vector<ValueId> made;
  for (uint32_t number : inside) {
    Op op = from.ops[number];
    if (op.name == "weight")
      continue; // an input
    for (ValueId &operand : op.operands)
      operand = operandOf(operand);
    for (ValueId &result : op.results) {
      made.push_back(result);
      result = ids[result] = to.addValue(from.type(result));
    }
    to.ops.push_back(std::move(op));
  }
  auto isUsed = [&](ValueId value) {
    for (uint32_t op = 0; op < from.ops.size(); ++op)
      if (!inside.count(op) && std::ranges::count(from.ops[op].operands, value))
        return true;
    return std::ranges::any_of(from.outputs, [&](const GraphOutput &output) {
      return output.value == value;
    });
  };
  for (ValueId value : made)
    if (isUsed(value))
      to.addOutput(ids[value], "out" + std::to_string(to.outputs.size()));
  return to.outputs.empty() ? std::nullopt : std::optional(std::move(dispatch));
}

GuardedWeights::GuardedWeights(const Dispatch &dispatch)
    : dispatch_(dispatch), memory_(dispatch.weights.size()) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const Weight *weight = dispatch.weights[i];
    if (!weight)
      continue;
    auto memory = worker::GuardedMemory::create(weight->data.size());
    if (!memory)
      continue;
    std::memcpy(memory->data(), weight->data.data(), weight->data.size());
    memory_[i].emplace(std::move(*memory));
  }
}

bp_weight_reader_t GuardedWeights::c() {
  return {
      [](void *context, uint32_t input, bp_string_t *id, bp_bytes_t *values) {
        return static_cast<GuardedWeights *>(context)->read(input, id, values);
      },
      this};
}

bp_status_t GuardedWeights::read(uint32_t input, bp_string_t *id,
                                 bp_bytes_t *values) {
  if (input >= memory_.size() && complaint_.empty())
    complaint_ = "asks for weight " + std::to_string(input) +
                 ", the dispatch has " + std::to_string(memory_.size()) +
                 " inputs";
  if (input >= memory_.size() || !memory_[input])
    return BP_STATUS_NOT_FOUND;
  if (id)
    *id = {dispatch_.ids[input].data(), dispatch_.ids[input].size()};
  if (values)
    *values = {memory_[input]->data(), memory_[input]->size()};
  return BP_STATUS_OK;
}

std::string GuardedWeights::complaint() const {
  for (size_t i = 0; complaint_.empty() && i < memory_.size(); ++i)
    if (memory_[i] &&
        (!memory_[i]->intact() ||
         std::memcmp(memory_[i]->data(), dispatch_.weights[i]->data.data(),
                     memory_[i]->size()) != 0))
      return "writes to weight " + std::to_string(i) + ", or beside it";
  return complaint_;
}

} // namespace backplane::checks
