// SPDX-License-Identifier: Apache-2.0
#include "Calls.h"
#include "sdk/support/Hash.h"

#include <cstring>

namespace backplane::worker {
namespace {

std::vector<bp_tensor_t> asC(const std::vector<Held> &tensors) {
  std::vector<bp_tensor_t> result;
  for (const Held &tensor : tensors)
    result.push_back(tensor.c());
  return result;
}

bool isFloatType(uint32_t dtype) {
  return (dtype >= BP_DTYPE_F64 && dtype <= BP_DTYPE_F8E5M2) ||
         (dtype >= BP_DTYPE_F8E4M3FNUZ && dtype <= BP_DTYPE_F4E2M1FN);
}

unsigned bitsOf(uint32_t dtype) {
  switch (dtype) {
  case BP_DTYPE_F64:
  case BP_DTYPE_I64:
  case BP_DTYPE_U64:
    return 64;
  case BP_DTYPE_F32:
  case BP_DTYPE_I32:
  case BP_DTYPE_U32:
    return 32;
  case BP_DTYPE_F16:
  case BP_DTYPE_BF16:
  case BP_DTYPE_I16:
  case BP_DTYPE_U16:
    return 16;
  case BP_DTYPE_I4:
  case BP_DTYPE_U4:
  case BP_DTYPE_F4E2M1FN:
    return 4;
  default:
    return 8;
  }
}

Result<uint64_t> bytesOf(uint32_t dtype, const std::vector<int64_t> &dims) {
  uint64_t bits = bitsOf(dtype);
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bits, uint64_t(dim), &bits))
      return Status(BP_STATUS_OUT_OF_RANGE, "the size of an output overflows");
  return bits / 8 + (bits % 8 != 0);
}

Result<GuardedMemory> take(uint64_t bytes, bool guarded) {
  return guarded ? GuardedMemory::create(bytes) : GuardedMemory::plain(bytes);
}

/// dtypes of the outputs, and their dims for these inputs.
struct OutputShapes {
  std::vector<uint32_t> dtypes;
  std::vector<std::vector<int64_t>> dims, bounds;
};

Result<OutputShapes> shapesOf(const OpenSession &open,
                              const std::vector<Held> &inputs) {
  OutputShapes shapes;
  uint32_t count = bp_artifact_output_count(open.artifact->get());
  for (uint32_t i = 0; i < count; ++i) {
    bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
    if (bp_artifact_output(open.artifact->get(), i, &info) != BP_STATUS_OK)
      return internalError("the artifact does not describe its outputs");
    shapes.dtypes.push_back(info.dtype);
    shapes.dims.emplace_back(info.rank);
  }
  shapes.bounds = shapes.dims;
  std::vector<bp_tensor_t> given = asC(inputs);
  for (auto [ask, list] :
       {std::pair(&bp_session_output_shapes, &shapes.dims),
        std::pair(&bp_session_output_bounds, &shapes.bounds)}) {
    std::vector<int64_t *> rows;
    for (auto &row : *list)
      rows.push_back(row.data());
    Status status = checked([&, ask = ask](bp_error_t *error) {
      return ask(open.session.get(), given.data(), uint32_t(given.size()),
                 rows.data(), error);
    });
    if (!status.ok())
      return status;
  }
  return shapes;
}

} // namespace

Result<PreparedCall> PreparedCall::make(const OpenSession &open,
                                        const RunMessage &message,
                                        bool guarded) {
  PreparedCall call(open, message);
  Status status = call.makeInputs(guarded);
  if (status.ok())
    status = call.makeOutputs(guarded);
  if (!status.ok())
    return status;
  call.fillOutputs();
  return call;
}

Status PreparedCall::makeInputs(bool guarded) {
  for (const WireTensor &tensor : message_->inputs) {
    Result<GuardedMemory> memory = take(tensor.data.size(), guarded);
    if (!memory)
      return memory.status();
    if (!tensor.data.empty())
      std::memcpy(memory->data(), tensor.data.data(), tensor.data.size());
    inputs_.push_back({std::move(*memory), tensor.dims, tensor.dtype});
  }
  return {};
}

Status PreparedCall::makeOutputs(bool guarded) {
  auto shapes = shapesOf(*open_, inputs_);
  if (!shapes)
    return shapes.status();
  for (size_t i = 0; i < shapes->dims.size(); ++i) {
    Result<uint64_t> bytes = bytesOf(shapes->dtypes[i], shapes->bounds[i]);
    if (!bytes)
      return bytes.status();
    Result<GuardedMemory> memory = take(*bytes, guarded);
    if (!memory)
      return memory.status();
    outputs_.push_back({std::move(*memory), shapes->dims[i], shapes->dtypes[i],
                        shapes->dims[i]});
  }
  return {};
}

void PreparedCall::fillOutputs() const {
  for (const Held &output : outputs_)
    std::memset(output.memory.data(),
                isFloatType(output.dtype) ? message_->floatFill
                                          : message_->otherFill,
                size_t(output.memory.size()));
}

std::vector<bp_tensor_t> PreparedCall::askForOutputs() {
  for (Held &output : outputs_)
    output.dims = output.asked;
  return asC(outputs_);
}

Status PreparedCall::run() {
  return runSession(open_->session, asC(inputs_), askForOutputs());
}

Result<bp_call_t *> PreparedCall::submit() {
  std::vector<bp_tensor_t> inputs = asC(inputs_), outputs = askForOutputs();
  bp_call_t *call = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_session_submit(open_->session.get(), inputs.data(),
                             uint32_t(inputs.size()), outputs.data(),
                             uint32_t(outputs.size()), &call, error);
  });
  if (!status.ok())
    return status;
  return call;
}

Status PreparedCall::wait(bp_call_t *call) {
  return checked([&](bp_error_t *error) { return bp_call_wait(call, error); });
}

std::string PreparedCall::damage() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const GuardedMemory &memory = inputs_[i].memory;
    if (hashBytes({memory.data(), size_t(memory.size())}) !=
        hashBytes(message_->inputs[i].data))
      return "the run changed input " + std::to_string(i);
    if (!memory.intact())
      return "the run wrote beside input " + std::to_string(i);
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (!outputs_[i].memory.intact())
      return "the run wrote beyond output " + std::to_string(i);
  return {};
}

ResultMessage PreparedCall::result() const {
  ResultMessage result;
  result.damage = damage();
  for (const Held &output : outputs_) {
    // A failed run has decided no sizes.
    Result<uint64_t> bytes = bytesOf(output.dtype, output.dims);
    const uint8_t *data = output.memory.data();
    result.outputs.push_back(
        {output.dtype, output.dims, {data, data + (bytes ? *bytes : 0)}});
  }
  return result;
}

bool PreparedCall::gives(const ResultMessage &result) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Payload &data = result.outputs[i].data;
    if (outputs_[i].dims != result.outputs[i].dims)
      return false;
    if (!data.empty() &&
        std::memcmp(outputs_[i].memory.data(), data.data(), data.size()) != 0)
      return false;
  }
  return true;
}

} // namespace backplane::worker
