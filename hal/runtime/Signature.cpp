// SPDX-License-Identifier: Apache-2.0
#include "Signature.h"
#include "backplane/graph.h"

#include <algorithm>

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
  for (const VariantInfo &variant : artifact.variants) {
    for (const program::Command &command : variant.program.commands)
      if (const auto *read = std::get_if<program::Read>(&command))
        signature.reads_.push_back(*read);
    if (variant.unknownRequirement.empty())
      break;
  }
  for (const DimAssertion &check : artifact.checks)
    (signature.usesRead(check.lhs) || signature.usesRead(check.rhs)
         ? signature.dataChecks_
         : signature.checks_)
        .push_back(check);
  return signature;
}

bool Signature::usesRead(const Dim &dim) const {
  std::set<std::string> used;
  dim.collectSymbols(used);
  return std::ranges::any_of(reads_, [&](const program::Read &read) {
    return used.contains(read.symbol);
  });
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

namespace {

bool inRange(const Symbol &symbol, int64_t value) {
  return value >= symbol.minimum && value <= symbol.maximum &&
         value % symbol.divisor == 0;
}

/// "from 1 to 8, a multiple of 4"
std::string rangeText(const Symbol &symbol) {
  std::string text = "from " + std::to_string(symbol.minimum);
  if (symbol.maximum != INT64_MAX)
    text += " to " + std::to_string(symbol.maximum);
  if (symbol.divisor != 1)
    text += ", a multiple of " + std::to_string(symbol.divisor);
  return text;
}

Status checkAssertion(const DimAssertion &check, const SymbolValues &values) {
  Result<int64_t> lhs = check.lhs.evaluate(values);
  Result<int64_t> rhs = check.rhs.evaluate(values);
  if (!lhs || !rhs)
    return (lhs ? rhs.status() : lhs.status()).within(check.message);
  if (*lhs == *rhs)
    return {};
  return invalidArgument(check.message + ": expected " + check.lhs.str() +
                         " == " + check.rhs.str() + ", found " +
                         std::to_string(*lhs) + " and " + std::to_string(*rhs));
}

} // namespace

Status Signature::bindAxis(const Port &port, uint32_t axis, int64_t size,
                           SymbolValues &values) const {
  std::optional<std::string> name = port.type.dims[axis].symbolName();
  if (!name || !values.emplace(*name, size).second)
    return {};
  auto found = symbols_.find(*name);
  if (found == symbols_.end())
    return {};
  const Symbol &symbol = found->second;
  if (inRange(symbol, size))
    return {};
  return invalidArgument(axisName(port, axis) + ": expected " + *name + " " +
                         rangeText(symbol) + ", found " + std::to_string(size));
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
  for (const DimAssertion &check : checks_)
    if (Status s = checkAssertion(check, values); !s.ok())
      return s;
  return values;
}

Status Signature::define(const program::Read &read, int64_t value,
                         SymbolValues &symbols) const {
  Result<int64_t> bound = read.bound.evaluate(symbols);
  if (!bound)
    return bound.status().within("bound of " + read.symbol);
  std::string found = read.symbol + " is " + std::to_string(value);
  if (value < 0 || value > *bound)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  found + ", expected from 0 to " + std::to_string(*bound));
  auto declared = symbols_.find(read.symbol);
  if (declared != symbols_.end() && !inRange(declared->second, value))
    return Status(BP_STATUS_OUT_OF_RANGE,
                  found + ", expected " + rangeText(declared->second));
  symbols[read.symbol] = value;
  for (const DimAssertion &check : dataChecks_) {
    std::set<std::string> used;
    check.lhs.collectSymbols(used);
    check.rhs.collectSymbols(used);
    if (used.contains(read.symbol) && isKnown(check.lhs, symbols) &&
        isKnown(check.rhs, symbols))
      if (Status s = checkAssertion(check, symbols); !s.ok())
        return s;
  }
  return {};
}

SymbolRanges rangesOf(const SymbolValues &symbols) {
  SymbolRanges ranges;
  for (const auto &[name, value] : symbols)
    ranges[name] = {value, value};
  return ranges;
}

Status addReadRanges(const program::Read &read, SymbolRanges &ranges) {
  Result<int64_t> most = greatest(read.bound, ranges);
  if (!most)
    return most.status().within("bound of " + read.symbol);
  ranges[read.symbol] = {0, *most};
  return {};
}

Result<int64_t> greatest(const Dim &dim, const SymbolRanges &ranges) {
  std::optional<Interval> bounds = dim.bounds(ranges);
  if (!bounds)
    return Status(BP_STATUS_OUT_OF_RANGE,
                  "'" + dim.str() + "' has no greatest value");
  return std::max<int64_t>(bounds->high, 0);
}

bool isKnown(const Dim &dim, const SymbolValues &symbols) {
  std::set<std::string> used;
  dim.collectSymbols(used);
  return std::ranges::all_of(
      used, [&](const std::string &name) { return symbols.contains(name); });
}

Result<std::vector<int64_t>>
Signature::outputBound(uint32_t index, const SymbolValues &symbols) const {
  SymbolRanges ranges = rangesOf(symbols);
  for (const program::Read &read : reads_)
    if (Status s = addReadRanges(read, ranges); !s.ok())
      return s;
  std::vector<int64_t> shape;
  for (const Dim &dim : outputs_[index].type.dims) {
    Result<int64_t> size =
        usesRead(dim) ? greatest(dim, ranges) : dim.evaluate(symbols);
    if (!size)
      return size.status().within("output '" + outputs_[index].name + "'");
    shape.push_back(*size);
  }
  return shape;
}

Result<std::vector<int64_t>>
Signature::outputShape(uint32_t index, const SymbolValues &symbols) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : outputs_[index].type.dims) {
    if (usesRead(dim) && !isKnown(dim, symbols)) {
      shape.push_back(BP_DIM_SYMBOLIC);
      continue;
    }
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

Result<std::vector<std::vector<int64_t>>>
Signature::outputShapes(std::span<const bp_tensor_t> inputs) const {
  return shapesOf(inputs, &Signature::outputShape);
}

Result<std::vector<std::vector<int64_t>>>
Signature::outputBounds(std::span<const bp_tensor_t> inputs) const {
  return shapesOf(inputs, &Signature::outputBound);
}

Result<std::vector<std::vector<int64_t>>>
Signature::shapesOf(std::span<const bp_tensor_t> inputs,
                    ShapeOf shapeOf) const {
  Result<SymbolValues> symbols = bind(inputs, false);
  if (!symbols)
    return symbols.status();
  std::vector<std::vector<int64_t>> shapes;
  for (uint32_t i = 0; i < outputs_.size(); ++i) {
    Result<std::vector<int64_t>> dims = (this->*shapeOf)(i, *symbols);
    if (!dims)
      return dims.status();
    shapes.push_back(std::move(*dims));
  }
  return shapes;
}

} // namespace backplane::rt
