// SPDX-License-Identifier: Apache-2.0
#include "Signature.h"

namespace backplane::rt {
namespace {

std::string axisName(const Port &port, size_t axis) {
  return "input '" + port.name + "' axis " + std::to_string(axis);
}

std::vector<Port> readPorts(const std::vector<PortInfo> &list) {
  std::vector<Port> ports;
  for (const PortInfo &info : list) {
    Port port{info.name, info.type, {}, {}, {}};
    for (const Dim &dim : info.type.dims) {
      port.sizes.push_back(dim.constant().value_or(-1));
      port.texts.push_back(dim.str());
    }
    ports.push_back(std::move(port));
  }
  // After the last move: short texts lie inside their strings.
  for (Port &port : ports)
    for (const std::string &dim : port.texts)
      port.textViews.push_back(toC(dim));
  return ports;
}

} // namespace

Signature Signature::read(const ArtifactInfo &artifact) {
  Signature signature;
  signature.inputs_ = readPorts(artifact.inputs);
  signature.outputs_ = readPorts(artifact.outputs);
  for (const Symbol &symbol : artifact.symbols)
    signature.symbols_[symbol.name] = symbol;
  signature.checks_ = artifact.checks;
  return signature;
}

Result<uint64_t> denseBytes(DType type, std::span<const int64_t> dims) {
  uint64_t bits = bitWidth(type);
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bits, uint64_t(dim), &bits) ||
        bits > (uint64_t(1) << 62))
      return Status(BP_STATUS_OUT_OF_RANGE, "its size overflows");
  return (bits + 7) / 8;
}

Status Signature::checkTensors(std::span<const bp_tensor_t> inputs,
                               bool withData) const {
  if (inputs.size() != inputs_.size())
    return invalidArgument("the model has " + std::to_string(inputs_.size()) +
                           " inputs, " + std::to_string(inputs.size()) +
                           " were given");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port &port = inputs_[i];
    const bp_tensor_t &tensor = inputs[i];
    std::string what = "input '" + port.name + "'";
    if (tensor.dtype != uint32_t(port.type.dtype))
      return invalidArgument(what + " is " + port.type.str() + ", " +
                             std::string(name(DType(tensor.dtype))) +
                             " was given");
    if (tensor.rank != port.type.rank() || (tensor.rank && !tensor.dims))
      return invalidArgument(what + " is " + port.type.str() + " of rank " +
                             std::to_string(port.type.rank()) + ", rank " +
                             std::to_string(tensor.rank) + " was given");
    Result<uint64_t> bytes =
        denseBytes(port.type.dtype, {tensor.dims, tensor.rank});
    if (!bytes)
      return bytes.status().within(what);
    if (withData && (*bytes != tensor.size || (*bytes && !tensor.data)))
      return invalidArgument(
          what + " of this shape has " + std::to_string(*bytes) + " bytes, " +
          std::to_string(tensor.data ? tensor.size : 0) + " were given");
  }
  return {};
}

Status Signature::bindAxis(const Port &port, uint32_t axis, int64_t size,
                           SymbolValues &values) const {
  std::optional<std::string> name = port.type.dims[axis].symbolName();
  if (!name || !values.emplace(*name, size).second)
    return {};
  auto found = symbols_.find(*name);
  if (found == symbols_.end())
    return {};
  const Symbol &symbol = found->second;
  if (size >= symbol.minimum && size <= symbol.maximum &&
      size % symbol.divisor == 0)
    return {};
  std::string expected = "from " + std::to_string(symbol.minimum);
  if (symbol.maximum != INT64_MAX)
    expected += " to " + std::to_string(symbol.maximum);
  if (symbol.divisor != 1)
    expected += ", a multiple of " + std::to_string(symbol.divisor);
  return invalidArgument(axisName(port, axis) + ": expected " + *name + " " +
                         expected + ", found " + std::to_string(size));
}

Status Signature::checkAxes(std::span<const bp_tensor_t> inputs,
                            const SymbolValues &values) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (uint32_t axis = 0; axis < inputs[i].rank; ++axis) {
      const Dim &dim = inputs_[i].type.dims[axis];
      Result<int64_t> value = dim.evaluate(values);
      if (!value)
        return value.status().within(axisName(inputs_[i], axis));
      if (*value == inputs[i].dims[axis])
        continue;
      std::string expected = std::to_string(*value);
      if (!dim.constant())
        expected = dim.str() + " = " + expected;
      return invalidArgument(axisName(inputs_[i], axis) + ": expected " +
                             expected + ", found " +
                             std::to_string(inputs[i].dims[axis]));
    }
  return {};
}

Result<SymbolValues> Signature::bind(std::span<const bp_tensor_t> inputs,
                                     bool withData) const {
  if (Status s = checkTensors(inputs, withData); !s.ok())
    return s;
  SymbolValues values;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (uint32_t axis = 0; axis < inputs[i].rank; ++axis)
      if (Status s = bindAxis(inputs_[i], axis, inputs[i].dims[axis], values);
          !s.ok())
        return s;
  if (Status s = checkAxes(inputs, values); !s.ok())
    return s;
  for (const DimAssertion &check : checks_) {
    Result<int64_t> lhs = check.lhs.evaluate(values);
    Result<int64_t> rhs = check.rhs.evaluate(values);
    if (!lhs || !rhs)
      return (lhs ? rhs.status() : lhs.status()).within(check.message);
    if (*lhs != *rhs)
      return invalidArgument(check.message + ": expected " + check.lhs.str() +
                             " == " + check.rhs.str() + ", found " +
                             std::to_string(*lhs) + " and " +
                             std::to_string(*rhs));
  }
  return values;
}

Result<std::vector<int64_t>>
Signature::outputShape(uint32_t index, const SymbolValues &symbols) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : outputs_[index].type.dims) {
    Result<int64_t> size = dim.evaluate(symbols);
    if (!size || *size < 0)
      return Status(
          BP_STATUS_OUT_OF_RANGE,
          "output '" + outputs_[index].name + "' axis " +
              std::to_string(shape.size()) + " has size " + dim.str() +
              (size ? " = " + std::to_string(*size) : ": " + size.message()));
    shape.push_back(*size);
  }
  return shape;
}

} // namespace backplane::rt
