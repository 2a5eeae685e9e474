// SPDX-License-Identifier: Apache-2.0
//
// A node's inputs, attributes and outputs. NodeOps.cpp has the calls that
// append ops.
#include "Node.h"

#include "sdk/graph/Rounding.h"

#include <algorithm>

namespace backplane::frontend {

Node::Node(Importer &importer, const onnx::NodeProto &proto,
           const OnnxOp &entry)
    : importer_(importer), proto_(proto), entry_(entry),
      location_(describe(proto)) {}

void Node::fail(Status status) {
  if (status_.ok())
    status_ = std::move(status);
}

Status Node::checkShape() {
  int inputs = proto_.input_size();
  if (inputs < entry_.minInputs ||
      (entry_.maxInputs >= 0 && inputs > entry_.maxInputs))
    return invalidArgument("it has " + std::to_string(inputs) + " inputs");
  for (int i = 0; i < inputs; ++i) {
    const std::string &name = proto_.input(i);
    if (name.empty() && i < entry_.minInputs)
      return invalidArgument("input " + std::to_string(i) + " is missing");
    if (!name.empty() && !importer_.find(name))
      return invalidArgument("it reads '" + name +
                             "', which nothing before it defines");
  }
  std::set<std::string> seen;
  for (const onnx::AttributeProto &attribute : proto_.attribute()) {
    if (!seen.insert(attribute.name()).second)
      return invalidArgument("attribute '" + attribute.name() +
                             "' is given twice");
    if (!allowsAttribute(entry_, attribute.name(), opset()))
      return unimplemented("attribute '" + attribute.name() +
                           "' is not supported in opset " +
                           std::to_string(opset()));
    if (!attribute.ref_attr_name().empty())
      return unimplemented("attribute '" + attribute.name() +
                           "' refers to a function's attribute");
  }
  return Status();
}

Status Node::checkOutputs() {
  for (int i = 0; i < proto_.output_size(); ++i) {
    const std::string &name = proto_.output(i);
    if (name.empty() || importer_.find(name))
      continue;
    bool extra = entry_.maxOutputs >= 0 && i >= entry_.maxOutputs;
    if (extra || importer_.isUsed(name))
      return unimplemented("output " + std::to_string(i) + " ('" + name +
                           "') is not supported");
  }
  return Status();
}

Status Node::run() {
  status_ = checkShape();
  // A result under a name that is taken must not hide behind the old one.
  for (const std::string &name : proto_.output())
    if (ok() && !name.empty() && importer_.find(name))
      reject("'" + name + "' is defined twice");
  size_t first = importer_.graph().ops.size();
  if (ok())
    entry_.handler(*this);
  if (ok())
    status_ = checkOutputs();
  checkRounding(first);
  // Messages of the graph name the location already.
  return status_.message().starts_with(location_) ? status_
                                                  : status_.within(location_);
}

void Node::checkRounding(size_t firstOp) {
  if (!ok())
    return;
  if (const Op *op = secondRounding(importer_.graph(), firstOp, location_))
    fail(internalError("its import rounds to a narrow float before '" +
                       op->name + "'"));
}

// ---- inputs ----

bool Node::has(size_t input) const {
  return input < inputCount() && !proto_.input(static_cast<int>(input)).empty();
}

const NamedValue &Node::tensor(size_t input) {
  static const NamedValue none;
  if (has(input))
    if (NamedValue *found =
            importer_.find(proto_.input(static_cast<int>(input))))
      return *found;
  reject("input " + std::to_string(input) + " is missing");
  return none;
}

ValueId Node::value(size_t input) {
  NamedValue *found = nullptr;
  if (ok() && has(input))
    found = importer_.find(proto_.input(static_cast<int>(input)));
  if (!found) {
    reject("input " + std::to_string(input) + " is missing");
    return kNone;
  }
  Result<ValueId> value = importer_.materialise(*found);
  if (!value.ok()) {
    fail(value.status());
    return kNone;
  }
  DType dtype = type(*value).dtype;
  if (!roundsOnce_ || !isNarrowFloat(dtype))
    return *value;
  if (narrow_ == DType::Invalid)
    narrow_ = dtype;
  return cast(*value, DType::F32);
}

std::vector<ValueId> Node::values() {
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputCount(); ++i)
    values.push_back(value(i));
  return values;
}

const Known *Node::known(size_t input) {
  const NamedValue &found = tensor(input);
  return found.known ? &*found.known : nullptr;
}

const Known *Node::requireKnown(size_t input, std::string_view what) {
  const Known *found = known(input);
  if (!found && ok())
    refuse("its " + std::string(what) + " ('" + tensor(input).name +
           "') is computed from data, so it is not known at import");
  return found;
}

std::vector<int64_t> Node::requireIntegers(size_t input,
                                           std::string_view what) {
  const Known *found = requireKnown(input, what);
  if (!found)
    return {};
  auto values = found->constants();
  if (!values)
    refuse("its " + std::string(what) + " depends on symbolic sizes");
  else if (found->dims.size() > 1)
    reject("its " + std::string(what) + " has rank " +
           std::to_string(found->dims.size()));
  return values.value_or(std::vector<int64_t>());
}

std::optional<double> Node::constantNumber(size_t input) {
  const NamedValue &found = tensor(input);
  if (found.host && found.host->count() == 1)
    return numberAt(*found.host, 0);
  if (found.known && found.known->elements.size() == 1)
    if (auto value = found.known->elements[0].value.constant())
      return static_cast<double>(*value);
  return std::nullopt;
}

// ---- attributes ----

bool Node::hasAttribute(std::string_view name) const {
  return std::any_of(proto_.attribute().begin(), proto_.attribute().end(),
                     [&](const auto &each) { return each.name() == name; });
}

/// The attribute, or null; fails when it has another type. Files of the first
/// versions leave the type out, their field tells it.
const onnx::AttributeProto *Node::attribute(std::string_view name, int type) {
  using A = onnx::AttributeProto;
  for (const A &each : proto_.attribute()) {
    if (each.name() != name)
      continue;
    bool untyped = each.type() == A::UNDEFINED;
    bool fits = each.type() == type;
    if (untyped)
      fits = (type == A::INT && each.has_i()) ||
             (type == A::FLOAT && each.has_f()) ||
             (type == A::STRING && each.has_s()) ||
             (type == A::TENSOR && each.has_t()) ||
             (type == A::GRAPH && each.has_g()) ||
             (type == A::STRINGS && each.strings_size()) ||
             (type == A::INTS && each.ints_size()) ||
             (type == A::FLOATS && each.floats_size());
    if (fits)
      return &each;
    reject("attribute '" + std::string(name) + "' has the wrong type");
  }
  return nullptr;
}

int64_t Node::i64(std::string_view name, int64_t otherwise) {
  const auto *found = attribute(name, onnx::AttributeProto::INT);
  return found ? found->i() : otherwise;
}

double Node::f64(std::string_view name, double otherwise) {
  const auto *found = attribute(name, onnx::AttributeProto::FLOAT);
  return found ? static_cast<double>(found->f()) : otherwise;
}

std::string Node::string(std::string_view name, std::string_view otherwise) {
  const auto *found = attribute(name, onnx::AttributeProto::STRING);
  return found ? found->s() : std::string(otherwise);
}

std::vector<int64_t> Node::i64s(std::string_view name) {
  const auto *found = attribute(name, onnx::AttributeProto::INTS);
  if (!found)
    return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<double> Node::f64s(std::string_view name) {
  const auto *found = attribute(name, onnx::AttributeProto::FLOATS);
  if (!found)
    return {};
  return {found->floats().begin(), found->floats().end()};
}

const onnx::TensorProto *Node::tensorAttribute(std::string_view name) {
  const auto *found = attribute(name, onnx::AttributeProto::TENSOR);
  return found ? &found->t() : nullptr;
}

const onnx::GraphProto *Node::graphAttribute(std::string_view name) {
  const auto *found = attribute(name, onnx::AttributeProto::GRAPH);
  if (!found)
    reject("attribute '" + std::string(name) + "' is missing");
  return found ? &found->g() : nullptr;
}

DType Node::dtype(std::string_view name, DType otherwise) {
  if (!hasAttribute(name))
    return otherwise;
  int64_t given = i64(name, 0);
  Result<DType> type = dtypeOf(
      static_cast<int>(std::clamp<int64_t>(given, -1, int64_t(1) << 20)));
  if (!type.ok())
    fail(type.status());
  return type.ok() ? *type : otherwise;
}

std::vector<std::string> Node::strings(std::string_view name) {
  const auto *found = attribute(name, onnx::AttributeProto::STRINGS);
  if (!found)
    return {};
  return {found->strings().begin(), found->strings().end()};
}

bool Node::flag(std::string_view name, bool otherwise) {
  int64_t value = i64(name, otherwise);
  if (value != 0 && value != 1)
    reject("attribute '" + std::string(name) + "' is " + std::to_string(value) +
           ", but must be 0 or 1");
  return value == 1;
}

// ---- axes ----

size_t Node::axis(int64_t axis, size_t rank) {
  int64_t signedRank = static_cast<int64_t>(rank);
  if (axis < -signedRank || axis >= signedRank) {
    reject("axis " + std::to_string(axis) + " is out of range for rank " +
           std::to_string(rank));
    return 0;
  }
  return static_cast<size_t>(axis < 0 ? axis + signedRank : axis);
}

std::vector<int64_t> Node::axes(std::span<const int64_t> axes, size_t rank) {
  std::set<int64_t> sorted;
  for (int64_t each : axes)
    if (!sorted.insert(static_cast<int64_t>(axis(each, rank))).second)
      reject("axis " + std::to_string(each) + " is given twice");
  return {sorted.begin(), sorted.end()};
}

// ---- outputs ----

bool Node::isUsed(size_t output) const {
  if (output >= static_cast<size_t>(proto_.output_size()))
    return false;
  const std::string &name = proto_.output(static_cast<int>(output));
  return !name.empty() && importer_.isUsed(name);
}

void Node::define(size_t output, NamedValue tensor) {
  if (!ok() || output >= static_cast<size_t>(proto_.output_size()))
    return;
  const std::string &name = proto_.output(static_cast<int>(output));
  if (!name.empty())
    fail(importer_.define(name, std::move(tensor)));
}

void Node::out(size_t output, ValueId value) {
  if (!ok() || value == kNone || output >= outputCount() ||
      outputName(output).empty())
    return;
  if (narrow_ != DType::Invalid && type(value).dtype == DType::F32)
    value = cast(value, narrow_);
  if (importer_.graph().values[value].name.empty())
    importer_.graph().values[value].name = outputName(output);
  NamedValue tensor;
  tensor.type = type(value);
  tensor.value = value;
  define(output, std::move(tensor));
}

void Node::out(size_t output, Known known) {
  NamedValue tensor;
  tensor.type = known.type();
  tensor.known = std::move(known);
  define(output, std::move(tensor));
}

void Node::out(size_t output, HostTensor host) {
  NamedValue tensor;
  tensor.type = host.type();
  tensor.known = knownContents(host);
  tensor.host = std::move(host);
  define(output, std::move(tensor));
}

void Node::outNested(const onnx::GraphProto &nested) {
  if (!ok())
    return;
  size_t mark = importer_.nameMark();
  std::vector<NamedValue *> results = this->nested(nested);
  importer_.forget(mark);
  if (ok() && results.size() != outputCount())
    reject("it has " + std::to_string(outputCount()) +
           " outputs, its nested graph " + std::to_string(results.size()));
  for (size_t i = 0; ok() && i < results.size(); ++i)
    if (const std::string &name = proto_.output(static_cast<int>(i));
        !name.empty())
      fail(importer_.alias(name, results[i]));
}

void Node::outSame(size_t output, size_t input) {
  tensor(input);
  if (!ok() || output >= static_cast<size_t>(proto_.output_size()))
    return;
  const std::string &name = proto_.output(static_cast<int>(output));
  if (!name.empty())
    fail(importer_.alias(
        name, importer_.find(proto_.input(static_cast<int>(input)))));
}

} // namespace backplane::frontend
