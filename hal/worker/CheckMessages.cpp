// SPDX-License-Identifier: Apache-2.0
#include "CheckMessages.h"

namespace backplane::worker {
namespace {

/// Whether a device of a greeting has a grid of three sizes.
Status checkDevices(const std::vector<WireDevice> &devices) {
  for (const WireDevice &device : devices)
    if (device.maxGrid.size() != 3)
      return dataLoss("a device in a frame is damaged");
  return {};
}

Status checkTensors(const std::vector<WireTensor> &tensors) {
  for (const WireTensor &tensor : tensors) {
    bool sane = tensor.dims.size() <= 16 && tensor.dtype < BP_DTYPE_COUNT_;
    for (int64_t dim : tensor.dims)
      sane &= dim >= 0;
    if (!sane)
      return dataLoss("a tensor in a frame has a damaged type");
  }
  return {};
}

template <typename T> Status checkAll(const std::vector<T> &messages) {
  for (const T &message : messages)
    if (Status s = check(message); !s.ok())
      return s;
  return {};
}

} // namespace

Status check(const Hello &message) { return checkDevices(message.devices); }

Status check(const RunMessage &message) { return checkTensors(message.inputs); }

Status check(const ResultMessage &message) {
  return checkTensors(message.outputs);
}

Status check(const BatchMessage &message) {
  if (message.mode > BatchMessage::Threads || message.rounds == 0)
    return dataLoss("a batch in a frame is damaged");
  return checkAll(message.runs);
}

Status check(const BatchedMessage &message) {
  Status status = checkAll(message.results);
  return status.ok() ? checkAll(message.odd) : status;
}

Status check(const CompileMessage &message) {
  return checkTensors(message.weights);
}

Status check(const JobMessage &message) {
  if (message.minimums.size() != message.symbols.size() ||
      message.maximums.size() != message.symbols.size())
    return dataLoss("a job in a frame has damaged limits");
  return checkTensors(message.graph.weights);
}

Status check(const AnswerMessage &message) {
  bool known = message.type == uint32_t(FrameType::Result) ||
               message.type == uint32_t(FrameType::Checked) ||
               message.type == uint32_t(FrameType::Error);
  return known ? Status() : dataLoss("an answer has a damaged type");
}

} // namespace backplane::worker
