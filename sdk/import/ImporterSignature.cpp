// SPDX-License-Identifier: Apache-2.0
//
// The frame of a model: versions, the check that every op is supported,
// initialisers, inputs, outputs.
#include "Importer.h"

#include "OnnxOps.h"

namespace backplane::frontend {

namespace {

bool isStandard(const std::string &domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string supportedOpsets() {
  return std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset);
}

} // namespace

// ---- checks before the import ----

Status Importer::checkModel() {
  const onnx::ModelProto &model = file_->model;
  if (model.ir_version() > onnx::IR_VERSION)
    return unimplemented("IR version " + std::to_string(model.ir_version()) +
                         " is newer than " + std::to_string(onnx::IR_VERSION));
  for (const onnx::OperatorSetIdProto &entry : model.opset_import()) {
    if (!isStandard(entry.domain()))
      continue;
    if (opset_ != 0 && opset_ != entry.version())
      return invalidArgument("the model imports two opsets of ai.onnx");
    opset_ = entry.version();
    if (opset_ < kOldestOpset || opset_ > kNewestOpset)
      return unimplemented("opset " + std::to_string(opset_) +
                           " is not supported, only " + supportedOpsets());
  }
  if (opset_ == 0)
    return invalidArgument("the model does not import an opset of ai.onnx");
  collectUses(model.graph());
  graph().name = model.graph().name();
  return Status();
}

void Importer::collectUses(const onnx::GraphProto &graph) {
  for (const onnx::NodeProto &node : graph.node()) {
    used_.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectUses(attribute.g());
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    used_.insert(output.name());
  for (const auto *list : {&graph.output(), &graph.value_info()})
    for (const onnx::ValueInfoProto &value : *list)
      declared_.emplace(value.name(), &value.type());
}

Status Importer::checkOps() {
  const onnx::ModelProto &model = file_->model;
  std::map<std::string, int64_t> versions;
  for (const onnx::OperatorSetIdProto &entry : model.opset_import())
    versions[entry.domain()] = entry.version();
  std::set<std::pair<std::string, std::string>> refused;
  std::string message;
  Status status = checkOps(model.graph(), versions, refused, message);
  if (!status.ok())
    return status;
  return message.empty() ? Status() : unimplemented(message);
}

/// Adds to `message` what is not supported, each op once.
Status
Importer::checkOps(const onnx::GraphProto &graph,
                   const std::map<std::string, int64_t> &versions,
                   std::set<std::pair<std::string, std::string>> &refused,
                   std::string &message) const {
  auto isFunction = [&](const onnx::NodeProto &node) {
    for (const onnx::FunctionProto &function : file_->model.functions())
      if (function.domain() == node.domain() &&
          function.name() == node.op_type())
        return true;
    return false;
  };
  for (const onnx::NodeProto &node : graph.node()) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        if (Status s = checkOps(attribute.g(), versions, refused, message);
            !s.ok())
          return s;
    bool standard = isStandard(node.domain());
    const OnnxOp *op = standard ? findOnnxOp(node.op_type()) : nullptr;
    if (op && opset_ >= op->since && opset_ <= op->until &&
        node.overload().empty() && !isFunction(node))
      continue;
    if (!refused.insert({node.domain(), node.op_type()}).second)
      continue;
    auto version = versions.find(node.domain());
    message += (message.empty() ? "op '" : "; op '") + node.op_type() +
               "' of domain '" + (standard ? "ai.onnx" : node.domain()) +
               "' opset " +
               (standard                    ? std::to_string(opset_)
                : version == versions.end() ? "(not imported)"
                                            : std::to_string(version->second)) +
               " (node '" +
               (node.name().empty() && node.output_size() ? node.output(0)
                                                          : node.name()) +
               "') is not supported";
    if (isFunction(node))
      message += " as a function of the model, inline it before";
  }
  if (graph.sparse_initializer_size())
    return unimplemented("sparse initializers are not supported");
  return Status();
}

// ---- initialisers and inputs ----

Status Importer::addInitializers() {
  for (const Initializer &initializer : file_->initializers)
    if (Status s = addInitializer(initializer.proto, initializer.raw); !s.ok())
      return s;
  return Status();
}

Status Importer::addInitializer(const onnx::TensorProto &proto,
                                std::optional<std::span<const uint8_t>> raw) {
  const std::string &name = proto.name();
  if (name.empty())
    return invalidArgument("an initializer has no name");
  Result<HostTensor> host = readTensor(proto, raw, file_->folder, file_);
  if (!host.ok())
    return host.status().within("initializer '" + name + "'");
  NamedValue tensor;
  tensor.type = host->type();
  tensor.known = knownContents(*host);
  tensor.host = std::move(*host);
  return define(name, std::move(tensor)).within("initializer '" + name + "'");
}

Status Importer::addInputs() {
  std::set<std::string> seen;
  for (const onnx::ValueInfoProto &input : file_->model.graph().input()) {
    if (!seen.insert(input.name()).second)
      return invalidArgument("input '" + input.name() + "' is listed twice");
    // Old files list initialisers as inputs too.
    if (find(input.name()))
      continue;
    Status status = addInput(input);
    if (!status.ok())
      return status.within("input '" + input.name() + "'");
  }
  return Status();
}

Status Importer::addInput(const onnx::ValueInfoProto &input) {
  if (input.name().empty())
    return invalidArgument("an input has no name");
  if (!input.type().has_tensor_type())
    return unimplemented("only tensors are supported");
  const onnx::TypeProto::Tensor &declared = input.type().tensor_type();
  if (!declared.has_shape())
    return unimplemented("the rank is unknown; declare the shape");
  Result<DType> dtype = dtypeOf(declared.elem_type());
  if (!dtype.ok())
    return dtype.status();
  if (static_cast<size_t>(declared.shape().dim_size()) > maxRank)
    return unimplemented("rank " + std::to_string(declared.shape().dim_size()) +
                         " is above " + std::to_string(maxRank));
  TensorType type{*dtype, {}};
  std::vector<int64_t> fixed;
  for (const auto &dim : declared.shape().dim()) {
    std::string fallback =
        input.name() + "_d" + std::to_string(type.dims.size());
    Result<Dim> made = inputDim(dim, fallback);
    if (!made.ok())
      return made.status();
    type.dims.push_back(*made);
    if (made->constant())
      fixed.push_back(*made->constant());
  }
  Status status = elementCount(fixed).status();
  if (!status.ok())
    return status;
  NamedValue tensor;
  tensor.type = type;
  tensor.value = graph().addInput(input.name(), type);
  return define(input.name(), std::move(tensor));
}

Result<Dim> Importer::inputDim(const onnx::TensorShapeProto::Dimension &dim,
                               const std::string &fallback) {
  // Some exporters write -1 for a size that they leave open.
  if (dim.has_dim_value() && dim.dim_value() != -1) {
    if (dim.dim_value() < 0)
      return invalidArgument("the size " + std::to_string(dim.dim_value()) +
                             " is negative");
    return Dim(dim.dim_value());
  }
  // A name of its own keeps an unnamed dim apart from all others; "?" is how
  // some exporters write that there is none.
  bool named = !dim.dim_param().empty() && dim.dim_param() != "?";
  return symbolFor(named ? dim.dim_param() : "\x01" + fallback);
}

namespace {

constexpr size_t kMaxSymbols = 1024;

} // namespace

/// Symbols are identifiers; other characters of the model's text become '_'.
Result<Dim> Importer::symbolFor(const std::string &text, int64_t maximum) {
  auto known = symbols_.find(text);
  if (known != symbols_.end())
    return Dim::symbol(known->second);
  std::string name;
  for (char c : text.substr(0, 40)) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c != '\x01')
      name += letter || (c >= '0' && c <= '9') ? c : '_';
  }
  if (!Dim::isSymbolName(name))
    name = "d_" + name;
  if (symbols_.size() >= kMaxSymbols)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "the model has more than " + std::to_string(kMaxSymbols) +
                      " symbolic sizes");
  auto taken = [&](const std::string &candidate) {
    for (const Symbol &symbol : graph().symbols)
      if (symbol.name == candidate)
        return true;
    return false;
  };
  std::string unique = name;
  for (int i = 1; taken(unique); ++i)
    unique = name + "_" + std::to_string(i);
  Status status = graph().addSymbol(Symbol{.name = unique, .maximum = maximum});
  if (!status.ok())
    return status;
  symbols_[text] = unique;
  return Dim::symbol(unique);
}

bool Importer::isNamed(const Dim &dim) const {
  std::optional<std::string> symbol = dim.symbolName();
  if (!symbol)
    return false;
  // tf2onnx writes unk__N for what TensorFlow does not know.
  for (const auto &[text, name] : symbols_)
    if (name == *symbol)
      return text[0] != '\x01' && !text.starts_with("unk__");
  return false;
}

// ---- outputs ----

Status Importer::addOutputs() {
  std::set<std::string> seen;
  for (const onnx::ValueInfoProto &output : file_->model.graph().output()) {
    Status status = seen.insert(output.name()).second
                        ? addOutput(output)
                        : invalidArgument("it is listed twice");
    if (!status.ok())
      return status.within("output '" + output.name() + "'");
  }
  if (seen.empty())
    return invalidArgument("the graph has no output");
  return Status();
}

namespace {

/// The declared type against the one found; symbols and sizes that only one
/// side knows are not compared.
Status checkDeclared(const onnx::TypeProto &declared, const TensorType &found) {
  if (!declared.has_tensor_type())
    return declared.value_case() == onnx::TypeProto::VALUE_NOT_SET
               ? Status()
               : unimplemented("only tensors are supported");
  const onnx::TypeProto::Tensor &tensor = declared.tensor_type();
  if (tensor.elem_type() != onnx::TensorProto::UNDEFINED) {
    Result<DType> dtype = dtypeOf(tensor.elem_type());
    if (!dtype.ok())
      return dtype.status();
    if (*dtype != found.dtype)
      return invalidArgument("declared as " + std::string(name(*dtype)) +
                             ", but it is " + found.str());
  }
  if (!tensor.has_shape())
    return Status();
  std::string text;
  bool equal = static_cast<size_t>(tensor.shape().dim_size()) == found.rank();
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto &dim = tensor.shape().dim(i);
    text += (i ? ", " : "") +
            (dim.has_dim_value() ? std::to_string(dim.dim_value()) : "?");
    if (equal && dim.has_dim_value() && found.dims[i].constant())
      equal = dim.dim_value() == *found.dims[i].constant();
  }
  if (!equal)
    return invalidArgument("declared with the dims [" + text + "], but it is " +
                           found.str());
  return Status();
}

} // namespace

Status Importer::addOutput(const onnx::ValueInfoProto &output) {
  NamedValue *tensor = find(output.name());
  if (!tensor)
    return invalidArgument("nothing defines it");
  Status status = checkDeclared(output.type(), tensor->type);
  if (!status.ok())
    return status;
  Result<ValueId> value = materialise(*tensor);
  if (!value.ok())
    return value.status();
  graph().addOutput(*value, output.name());
  return Status();
}

} // namespace backplane::frontend
