// SPDX-License-Identifier: Apache-2.0
#include "Importer.h"

#include "Import.h"
#include "Node.h"

#include <algorithm>

namespace backplane::frontend {

// ---- names ----

std::string describe(const onnx::NodeProto &node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0)
    name = node.output(0);
  return node.op_type() + " node '" + name + "'";
}

NamedValue *Importer::find(const std::string &name) {
  auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

Status Importer::alias(const std::string &name, NamedValue *tensor) {
  if (!names_.emplace(name, tensor).second)
    return invalidArgument("'" + name + "' is defined twice");
  order_.emplace_back(name, nullptr);
  return Status();
}

void Importer::shadow(const std::string &name, NamedValue tensor) {
  tensor.name = name;
  tensor.depth = scopes_.size();
  tensors_.push_back(std::move(tensor));
  NamedValue *&meaning = names_[name];
  order_.emplace_back(name, meaning);
  meaning = &tensors_.back();
}

Status Importer::define(const std::string &name, NamedValue tensor) {
  tensor.name = name;
  tensor.depth = scopes_.size();
  tensors_.push_back(std::move(tensor));
  return alias(name, &tensors_.back());
}

// ---- ops ----

namespace {

/// Sizes that later arithmetic can rely on.
Status checkSize(const TensorType &type) {
  std::vector<int64_t> fixed;
  for (const Dim &dim : type.dims) {
    if (!dim.valid())
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    "a dim of the result is too large to express");
    if (std::optional<int64_t> value = dim.constant())
      fixed.push_back(*value);
  }
  return elementCount(fixed).status();
}

} // namespace

Result<std::vector<ValueId>> Importer::add(std::string_view op,
                                           std::vector<ValueId> operands,
                                           Attributes attributes,
                                           const std::string &location) {
  auto results =
      graph().add(op, std::move(operands), std::move(attributes), location);
  if (!results.ok())
    return results.status();
  for (ValueId value : *results) {
    Status status = checkSize(graph().type(value));
    if (!status.ok())
      return status;
  }
  return results;
}

Result<Dim> Importer::read(ValueId value, const Dim &bound,
                           const std::string &name,
                           const std::string &location) {
  if (!scopes_.empty())
    return unimplemented("a size that data decide is not supported in the body "
                         "of a control flow op");
  SymbolRanges ranges;
  for (const Symbol &symbol : graph().symbols)
    ranges[symbol.name] = {symbol.minimum, symbol.maximum};
  std::optional<Interval> values = bound.bounds(ranges);
  auto symbol = symbolFor(
      "\x01" + name, values ? std::max<int64_t>(values->high, 0) : INT64_MAX);
  if (!symbol)
    return symbol.status();
  auto added = add("read", {value},
                   {{"symbol", *symbol->symbolName()}, {"bound", Dims{bound}}},
                   location);
  if (!added)
    return added.status();
  return symbol;
}

void Importer::noteMeeting(const Dim &from, const Dim &to, bool inCall) {
  if (from == to)
    return;
  std::map<Dim, bool> &all = meetings_[to];
  all.emplace(from, inCall);
  if (auto before = meetings_.find(from); before != meetings_.end())
    for (const auto &[first, stretched] : before->second)
      if (first != to)
        all.emplace(first, stretched || inCall);
}

std::optional<bool> Importer::meeting(const Dim &from, const Dim &to) const {
  auto all = meetings_.find(to);
  if (all == meetings_.end())
    return std::nullopt;
  auto found = all->second.find(from);
  return found == all->second.end() ? std::nullopt
                                    : std::optional(found->second);
}

bool Importer::isAsserted(const Dim &a, const Dim &b) {
  const std::vector<DimAssertion> &known = graph().assertions;
  return std::any_of(known.begin(), known.end(), [&](const DimAssertion &each) {
    return (each.lhs == a && each.rhs == b) || (each.lhs == b && each.rhs == a);
  });
}

Status Importer::assertEqual(const Dim &a, const Dim &b,
                             const std::string &location,
                             std::string_view why) {
  if (!a.valid() || !b.valid())
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  std::string(why) + ": a size is too large to express");
  if (a == b)
    return Status();
  if ((a - b).constant())
    return invalidArgument(std::string(why) + ": " + a.str() + " is not " +
                           b.str());
  if (!isAsserted(a, b))
    graph().assertions.push_back({a, b, location + ": " + std::string(why)});
  return Status();
}

// ---- constants ----

namespace {

/// Up to this size a constant stands in the graph, above it is a weight.
constexpr size_t kSmallBytes = 64;
/// So many small lists of floats stand in the graph. Each makes a kernel of its
/// own, so that the others are weights: equal layers then share their kernels.
constexpr size_t kMostFloatLists = 128;

/// Whether the elements are floats of which two differ.
bool isFloatList(const HostTensor &host) {
  std::span<const uint8_t> bytes = host.data.bytes;
  size_t unit = bitWidth(host.dtype) / 8;
  return isFloat(host.dtype) && bytes.size() > unit &&
         !std::equal(bytes.begin() + std::ptrdiff_t(unit), bytes.end(),
                     bytes.begin());
}

} // namespace

bool Importer::isWeight(const HostTensor &host) {
  return host.data.bytes.size() > kSmallBytes ||
         (isFloatList(host) && ++floatLists_ > kMostFloatLists);
}

Result<ValueId> Importer::materialise(NamedValue &tensor) {
  if (tensor.value)
    return captureAt(scopes_.size(), *tensor.value, tensor.depth);
  size_t number = scopes_.empty() ? 0 : scopes_.back().number;
  auto known = tensor.constants.find(number);
  if (known != tensor.constants.end())
    return known->second;
  std::string location = "constant '" + tensor.name + "'";
  Result<ValueId> value = tensor.host
                              ? materialiseHost(*tensor.host, location)
                              : materialiseKnown(*tensor.known, location);
  if (value.ok()) {
    tensor.constants[number] = *value;
    graph().values[*value].name = tensor.name;
  }
  return value;
}

Result<ValueId> Importer::materialiseHost(const HostTensor &host,
                                          const std::string &location) {
  TensorType type = host.type();
  Attributes attributes{{"dtype", static_cast<int64_t>(host.dtype)},
                        {"dims", type.dims}};
  std::string_view op = "constant";
  std::span<const uint8_t> bytes = host.data.bytes;
  if (isWeight(host)) {
    Result<WeightId> id = model_.weights.add(type, bytes, host.data.owner);
    if (!id.ok())
      return id.status();
    op = "weight";
    attributes["id"] = *id;
  } else {
    attributes["value"] = Bytes(bytes.begin(), bytes.end());
  }
  auto results = add(op, {}, std::move(attributes), location);
  if (!results.ok())
    return results.status();
  return results->front();
}

Result<ValueId> Importer::materialiseKnown(const Known &known,
                                           const std::string &location) {
  TensorType type = known.type();
  if (auto values = known.constants()) {
    auto bytes = std::make_shared<Bytes>();
    for (int64_t value : *values)
      for (uint8_t byte : encodeInteger(known.dtype, value))
        bytes->push_back(byte);
    return materialiseHost({known.dtype, known.dims, {*bytes, bytes}},
                           location);
  }
  Dims elements;
  for (const KnownElement &element : known.elements)
    elements.push_back(element.value);
  auto result = add("dim", {}, {{"value", elements}}, location);
  if (result.ok() && known.dims.size() != 1)
    result = add("reshape", {result->front()}, {{"dims", type.dims}}, location);
  if (result.ok() && known.dtype != DType::I64)
    result = add("cast", {result->front()},
                 {{"dtype", static_cast<int64_t>(known.dtype)}}, location);
  if (!result.ok())
    return result.status();
  return result->front();
}

// ---- nodes ----

Status Importer::addNodes() { return addNodes(file_->model.graph()); }

Status Importer::addNodes(const onnx::GraphProto &graph) {
  for (const onnx::NodeProto &proto : graph.node()) {
    Node node(*this, proto, *findOnnxOp(proto.op_type()));
    Status status = node.run();
    if (!status.ok())
      return status;
  }
  return Status();
}

namespace {

/// The message on one line: names come from the file.
Status onOneLine(const Status &status) {
  constexpr size_t longest = 4000;
  std::string text = status.message().substr(0, longest);
  for (char &c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F)
      c = '?';
  return Status(status.code(), std::move(text));
}

} // namespace

Result<Model> Importer::run() {
  Status status = runSteps();
  if (!status.ok())
    return onOneLine(status);
  const std::set<std::string> &external = file_->folder.locations();
  model_.externalFiles.assign(external.begin(), external.end());
  return std::move(model_);
}

Status Importer::runSteps() {
  for (auto step :
       {&Importer::checkModel, &Importer::checkOps, &Importer::addInitializers,
        &Importer::addInputs, &Importer::addNodes, &Importer::addOutputs}) {
    Status status = (this->*step)();
    if (!status.ok())
      return status;
  }
  return graph().verify().within("the imported graph is wrong");
}

} // namespace backplane::frontend

namespace backplane {

Result<Model> importOnnx(const std::string &path) {
  auto file = frontend::OnnxFile::open(path);
  if (!file.ok())
    return file.status().within(path);
  Result<Model> model = frontend::Importer(*file).run();
  if (!model.ok())
    return model.status().within(path);
  return model;
}

} // namespace backplane
