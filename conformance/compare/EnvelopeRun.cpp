// SPDX-License-Identifier: Apache-2.0
#include "EnvelopeRun.h"

#include "Elements.h"
#include "conformance/oracle/UlpTable.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

bool isNarrow(DType dtype) { return bitWidth(dtype) <= 16; }
/// Significand bits in which a device computes on a dtype.
int computeBits(DType dtype) { return dtype == DType::F64 ? 53 : 24; }

Real rounded(DType dtype, Real value) {
  return decode(dtype, encode(dtype, value));
}

/// The tensor with floats as f64, which hold every float there is.
Tensor widened(const Tensor &tensor) {
  if (!isFloat(tensor.dtype) || tensor.dtype == DType::F64)
    return tensor;
  Tensor wide{DType::F64, tensor.dims, Bytes(tensor.elementCount() * 8)};
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    storeBits(wide, i,
              encode(DType::F64, decode(tensor.dtype, loadBits(tensor, i))));
  return wide;
}

/// Sums in the precision that the target declares for `dtype`, on f64.
Declaration declarationOn(DType dtype, const Declaration &declared) {
  Declaration result;
  for (const char *opClass : {"DOT", "REDUCE"}) {
    Numerics numerics = declared.of(opClass, dtype);
    if (numerics.accumulatorBits == 0)
      numerics.accumulatorBits = computeBits(dtype);
    result.set(opClass, DType::F64, numerics);
  }
  return result;
}

/// Zeros for the subnormal numbers among widened ones of a dtype.
void flush(DType dtype, Tensor &tensor) {
  if (!isFloat(dtype))
    return;
  Real normal = smallest(formatOf(dtype), true);
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    if (Real value = decode(DType::F64, loadBits(tensor, i));
        std::fabs(value) < normal)
      storeBits(tensor, i, encode(DType::F64, std::copysign(Real(0), value)));
}

} // namespace

Real Random::normal() {
  Real sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += unit();
  return sum;
}

Status EnvelopeRun::run(const std::vector<Tensor> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType &type = graph_.type(graph_.inputs[i]);
    for (size_t axis = 0; axis < type.rank(); ++axis)
      if (auto symbol = type.dims[axis].symbolName())
        symbols_.emplace(*symbol, inputs[i].dims[axis]);
    values_[graph_.inputs[i]] = widened(inputs[i]);
  }
  for (const Op &op : graph_.ops)
    if (Status status = compute(op); !status.ok())
      return status.within(op.name);
  return {};
}

Real EnvelopeRun::number(ValueId value, size_t i) const {
  Real number = decode(DType::F64, loadBits(values_[value], i));
  return rounds_ ? rounded(graph_.type(value).dtype, number) : number;
}

Result<std::vector<int64_t>> EnvelopeRun::sizesOf(const Dims &dims) const {
  std::vector<int64_t> sizes;
  for (const Dim &dim : dims) {
    auto size = dim.evaluate(symbols_);
    if (!size)
      return size.status();
    sizes.push_back(*size);
  }
  return sizes;
}

Status EnvelopeRun::compute(const Op &op) {
  if (!op.regions.empty())
    return unimplemented("no envelope of control flow");
  if (op.name == "constant")
    return constant(op);
  if (op.name == "weight" || op.name.starts_with("variable_"))
    return load(op);
  if (op.name == "read") {
    Tensor &size = values_[op.results[0]] = values_[op.operands[0]];
    symbols_[op.string("symbol")] = static_cast<int64_t>(loadBits(size, 0));
    return {};
  }
  std::vector<Tensor> operands;
  for (ValueId operand : op.operands)
    operands.push_back(values_[operand]);
  DType dtype = dtypeOf(op);
  auto graph = alone(op, operands);
  if (!graph)
    return graph.status();
  Numerics numerics = declaration_.of(findOp(op.name)->numericClass, dtype);
  if (flushes(numerics.flushesInput))
    for (size_t i = 0; i < operands.size(); ++i)
      flush(graph_.type(op.operands[i]).dtype, operands[i]);
  auto results = evaluate(*graph, operands, declarationOn(dtype, declaration_));
  if (!results)
    return results.status();
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Expected &result = (*results)[i];
    values_[op.results[i]] = tensorOf(result);
    DType type = graph_.type(op.results[i]).dtype;
    if (rounds_ && result.dtype == DType::F64)
      perturb(op, type, result, values_[op.results[i]]);
    if (flushes(numerics.flushesOutput))
      flush(type, values_[op.results[i]]);
  }
  return {};
}

bool EnvelopeRun::chooses() { return (choices_.bits() % 2 != 0) != opposite_; }

/// Whether this op does in this run what the target may do.
bool EnvelopeRun::flushes(bool declared) {
  return rounds_ && declared && chooses();
}

/// The dtype in which an op computes.
DType EnvelopeRun::dtypeOf(const Op &op) const {
  for (ValueId operand : op.operands)
    if (isFloat(graph_.type(operand).dtype))
      return graph_.type(operand).dtype;
  return graph_.type(op.results[0]).dtype;
}

/// The op as a graph of its own, static and with floats as f64.
Result<Graph> EnvelopeRun::alone(const Op &op,
                                 const std::vector<Tensor> &operands) const {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor &operand : operands)
    ids.push_back(graph.addInput(
        "x", {operand.dtype, Dims(operand.dims.begin(), operand.dims.end())}));
  Attributes attributes = op.attributes;
  for (auto &[name, attribute] : attributes) {
    if (auto *dims = std::get_if<Dims>(&attribute)) {
      auto sizes = sizesOf(*dims);
      if (!sizes)
        return sizes.status();
      *dims = Dims(sizes->begin(), sizes->end());
    }
    if (name == "dtype" &&
        isFloat(static_cast<DType>(std::get<int64_t>(attribute))))
      attribute = static_cast<int64_t>(DType::F64);
  }
  auto results = graph.add(op.name, ids, attributes);
  if (!results)
    return results.status();
  for (ValueId result : *results)
    graph.addOutput(result, "y");
  return graph;
}

/// Puts into each element the error that a device may make.
void EnvelopeRun::perturb(const Op &op, DType dtype, const Expected &result,
                          Tensor &tensor) {
  bool roundsToType = !isNarrow(dtype) || chooses();
  bool contracts = chooses();
  bool isStep = op.name == "add" || op.name == "sub" || op.name == "mul";
  bool isExact = findOp(op.name)->numericClass == "EXACT" && !isStep;
  for (size_t i = 0; i < result.bits.size(); ++i) {
    Real value = decode(DType::F64, result.bits[i]);
    if (!isExact && std::isfinite(value))
      value += errorOf(op, dtype, result, i, value);
    // What only moves keeps what it was made of.
    bool rounds = op.name == "cast" || !isExact;
    if (rounds && !(isStep && contracts))
      value = rounded(dtype == DType::F64 ? dtype : DType::F32, value);
    if (rounds && roundsToType)
      value = isNarrow(dtype) ? roundedEitherWay(dtype, value)
                              : rounded(dtype, value);
    storeBits(tensor, i, encode(DType::F64, value));
  }
}

/// A value beside a tie goes one way on one device and the other way on the
/// next, for an error in f32 that no few runs show: each number of the dtype
/// is as likely as it is near.
Real EnvelopeRun::roundedEitherWay(DType dtype, Real value) {
  Real nearest = rounded(dtype, value);
  if (nearest == value || !std::isfinite(nearest))
    return nearest;
  Real drawn = (random_.unit() - 0.5L) * ulp(formatOf(dtype), nearest);
  return rounded(dtype, value + drawn);
}

Real EnvelopeRun::errorOf(const Op &op, DType dtype, const Expected &result,
                          size_t i, Real value) {
  Real u = std::ldexp(Real(1), -computeBits(dtype));
  std::string_view opClass = findOp(op.name)->numericClass;
  if (opClass == "ULP") {
    DType limits = dtype == DType::F64 ? DType::F64 : DType::F32;
    return random_.sign() * 2 * u * std::fabs(value) *
           ulpsOf(op.name, limits, declaration_.strict);
  }
  if (result.match == Match::Limit && !result.sigma.empty())
    return random_.normal() * result.sigma[i];
  if (result.match == Match::Limit && std::isfinite(result.error[i]))
    return random_.sign() * result.error[i] / 2;
  return dtype == DType::F64 ? random_.sign() * u * value : 0;
}

Status EnvelopeRun::constant(const Op &op) {
  const TensorType &type = graph_.type(op.results[0]);
  auto sizes = sizesOf(type.dims);
  const Bytes *bytes = op.bytes("value");
  if (!sizes || !bytes)
    return invalidArgument("a constant without a value or a size");
  Tensor tensor{type.dtype, *sizes, {}};
  size_t count = tensor.elementCount();
  tensor.data.resize(packedBytes(type.dtype, count));
  bool isFilled = bytes->size() < tensor.data.size();
  Tensor given{type.dtype, {}, *bytes};
  for (size_t i = 0; i < count; ++i)
    storeBits(tensor, i, loadBits(given, isFilled ? 0 : i));
  values_[op.results[0]] = widened(tensor);
  return {};
}

Status EnvelopeRun::load(const Op &op) {
  std::string variable = op.string("variable"), id = op.string("id");
  if (op.name == "variable_write") {
    variables_[variable] = values_[op.operands[0]];
    return {};
  }
  if (auto known = variables_.find(variable); known != variables_.end()) {
    values_[op.results[0]] = known->second;
    return {};
  }
  if (const Variable *declared = graph_.findVariable(variable))
    id = declared->initial;
  const TensorType &type = graph_.type(op.results[0]);
  auto sizes = sizesOf(type.dims);
  const Weight *weight = weights_ && !id.empty() ? weights_->find(id) : nullptr;
  if (!sizes || (!weight && !id.empty()))
    return notFound("the pool has no weight " + id);
  Tensor tensor{type.dtype, *sizes, {}};
  if (weight)
    tensor.data.assign(weight->data.begin(), weight->data.end());
  tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
  values_[op.results[0]] = widened(tensor);
  return {};
}

} // namespace backplane::conformance
