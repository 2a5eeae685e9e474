// SPDX-License-Identifier: Apache-2.0
#include "ValueCall.h"
#include "Arguments.h"
#include "hal/core/Tables.h"
#include "hal/runtime/Signature.h"

namespace backplane::rt {
namespace {

constexpr uint32_t makes = BP_VALUE_ON_DEVICE | BP_VALUE_ON_HOST;

/// What a call has taken over.
struct Donation {
  void (*release)(void *context);
  void *context;
  std::shared_ptr<Buffer> buffer;
};

/// A result that is not made in its own memory.
struct CopyBack {
  const uint8_t *from;
  ValueTensor to;
};

/// What stands behind the values that a call makes.
struct Made {
  std::vector<int64_t> dims;
  HostMemory host;
  bp_device_buffer_t buffer;
  bp_timeline_t ready;

  static void release(void *context) { delete static_cast<Made *>(context); }
};

/// Copies the struct and looks at what all kinds have.
Status readValue(const bp_value_t *from, uint32_t flags, bp_value_t &out) {
  if (Status s = copyStruct(from, bp_value_t_TYPE, "value", out); !s.ok())
    return s;
  if (out.kind > BP_VALUE_SEQUENCE)
    return unimplemented("kind " + std::to_string(out.kind) + " is unknown");
  if (out.flags & ~flags)
    return unimplemented("flags " + std::to_string(out.flags) +
                         " are not all known, or not for this side");
  if (out.kind == BP_VALUE_SEQUENCE)
    return invalidArgument("the model takes a tensor, given a sequence");
  return out.ready ? isHandle(out.ready) : Status();
}

/// A call in flight, with everything that it uses.
class ValueCall final : public AnyCall {
public:
  explicit ValueCall(std::shared_ptr<AnySession> session)
      : session_(std::move(session)) {}
  ~ValueCall() override {
    inner_.reset();
    releaseDonations();
  }

  Status addInputs(std::span<const bp_value_t *const> inputs);
  Status addOutputs(std::span<bp_value_t *const> outputs);
  Status checkOverlaps() const;
  Status begin(bool callerWaits);
  /// Fills the outputs that the call makes.
  void fill(std::span<bp_value_t *const> outputs);
  /// From now on the donated inputs are the call's.
  void takeDonations() { donations_ = std::move(offered_); }

  bool done() const override { return !inner_ || inner_->done(); }
  Status finish(std::unique_ptr<AnyCall> self) override;

private:
  Status addInput(const bp_value_t &value);
  Status addOutput(bp_value_t value, const Port &port,
                   std::vector<int64_t> dims, const std::vector<int64_t> &most);
  Status make(const bp_value_t &value, const Port &port,
              std::vector<int64_t> dims, const std::vector<int64_t> &most);
  Status awaitReady(const bp_value_t &value);
  bool inPlace(const ValueTensor &tensor) const;
  void addTensor(std::vector<bp_tensor_t> &list, const ValueTensor &tensor,
                 void *data, DeviceRange range);
  uint8_t *hostCopy(uint64_t bytes) {
    return copies_.emplace_back(bytes).data();
  }
  Status settle();
  void releaseDonations();

  std::shared_ptr<AnySession> session_;
  std::vector<bp_tensor_t> inputs_, outputs_;
  std::vector<DeviceRange> memory_;
  std::vector<HostMemory> copies_;
  std::vector<CopyBack> copyBacks_;
  std::vector<std::vector<int64_t>> shapes_; ///< of the outputs
  std::vector<std::unique_ptr<Made>> made_;  ///< one per output, may be null
  std::vector<Donation> offered_, donations_;
  std::vector<std::shared_ptr<Timeline>> earlier_; ///< of calls before this
  std::shared_ptr<Timeline> ready_;
  std::unique_ptr<AnyCall> inner_;
};

bool ValueCall::inPlace(const ValueTensor &tensor) const {
  if (!tensor.dense())
    return false;
  if (!tensor.buffer)
    return true;
  const ValueMemory *values = session_->values();
  return values && values->takes(*tensor.buffer, tensor.value.byte_offset);
}

void ValueCall::addTensor(std::vector<bp_tensor_t> &list,
                          const ValueTensor &tensor, void *data,
                          DeviceRange range) {
  // Of memory on a device only that there is some is looked at.
  void *present = range.buffer ? static_cast<void *>(range.buffer.get()) : data;
  list.push_back({present, tensor.value.dims, tensor.bytes, tensor.value.dtype,
                  tensor.value.rank});
  memory_.push_back(std::move(range));
}

/// Calls of one session run in order: an earlier one needs no wait, but its
/// failure is one of this call too.
Status ValueCall::awaitReady(const bp_value_t &value) {
  if (!value.ready)
    return {};
  const std::shared_ptr<Timeline> &timeline = value.ready->timeline;
  if (timeline->owner() != session_.get() || !session_->values())
    return timeline->wait(value.ready_value).within("ready point");
  earlier_.push_back(timeline);
  return timeline->failure().within("ready point");
}

Status ValueCall::addInput(const bp_value_t &value) {
  if (value.kind == BP_VALUE_ABSENT)
    return invalidArgument("the model needs it, the value is absent");
  Result<ValueTensor> tensor = readTensor(value);
  if (!tensor)
    return tensor.status();
  bool here = inPlace(*tensor);
  if (!here && value.ready)
    if (Status s = value.ready->timeline->wait(value.ready_value); !s.ok())
      return s.within("ready point");
  if (Status s = awaitReady(value); !s.ok())
    return s;
  if (value.flags & BP_VALUE_DONATED)
    offered_.push_back({value.release, value.context, tensor->buffer});
  if (here) {
    addTensor(inputs_, *tensor, tensor->data(),
              {tensor->buffer, tensor->value.byte_offset});
    return {};
  }
  uint8_t *copy = hostCopy(tensor->bytes);
  addTensor(inputs_, *tensor, copy, {});
  return tensor->read(copy);
}

Status ValueCall::addInputs(std::span<const bp_value_t *const> inputs) {
  const std::vector<Port> &ports = session_->signature().inputs();
  if (inputs.size() != ports.size())
    return invalidArgument("the model has " + std::to_string(ports.size()) +
                           " inputs, " + std::to_string(inputs.size()) +
                           " were given");
  for (size_t i = 0; i < inputs.size(); ++i) {
    bp_value_t value;
    Status status = needs(inputs[i], "the value");
    if (status.ok())
      status =
          readValue(inputs[i], BP_VALUE_DONATED | BP_VALUE_READ_ONLY, value);
    if (status.ok())
      status = addInput(value);
    if (!status.ok())
      return status.within("input '" + ports[i].name + "'");
  }
  return {};
}

/// Memory for a result that the application leaves to the call, or drops: for
/// the greatest sizes where data decide them. The call writes those to its
/// dims.
Status ValueCall::make(const bp_value_t &value, const Port &port,
                       std::vector<int64_t> dims,
                       const std::vector<int64_t> &most) {
  auto made = std::make_unique<Made>();
  made->dims = std::move(dims);
  ValueTensor tensor;
  tensor.value.dtype = bp_dtype_t(port.type.dtype);
  tensor.value.rank = uint32_t(made->dims.size());
  tensor.value.dims = made->dims.data();
  Result<uint64_t> bytes = denseBytes(port.type.dtype, most);
  if (!bytes)
    return bytes.status();
  tensor.bytes = *bytes;
  DeviceRange range;
  if (value.flags & BP_VALUE_ON_DEVICE) {
    ValueMemory *values = session_->values();
    if (!values)
      return unimplemented("results stay on the device only in sessions on one "
                           "device of this process; ask for BP_VALUE_ON_HOST");
    auto buffer = values->allocate(*bytes);
    if (!buffer)
      return buffer.status();
    range.buffer = made->buffer.buffer = std::move(*buffer);
  } else {
    made->host = HostMemory(*bytes);
  }
  addTensor(outputs_, tensor, made->host.data(), std::move(range));
  made_.back() = std::move(made);
  return {};
}

Status ValueCall::addOutput(bp_value_t value, const Port &port,
                            std::vector<int64_t> dims,
                            const std::vector<int64_t> &most) {
  bool ask = value.flags & makes;
  if (value.kind == BP_VALUE_ABSENT && ask)
    return invalidArgument("it is absent and asks for memory; a result that "
                           "the call makes is a tensor");
  if (value.kind == BP_VALUE_ABSENT)
    return make(value, port, std::move(dims), most);
  if (ask && (value.data || value.buffer))
    return invalidArgument("it asks for memory and has some");
  if ((value.flags & makes) == makes)
    return invalidArgument("it asks for memory on the host and on the device");
  if (ask)
    return make(value, port, std::move(dims), most);
  if (dims != most)
    return invalidArgument("data decide its shape: ask for it with "
                           "BP_VALUE_ON_HOST or BP_VALUE_ON_DEVICE");
  if (value.flags & BP_VALUE_READ_ONLY)
    return invalidArgument("its memory must not be written");
  Result<ValueTensor> tensor = readTensor(value);
  if (!tensor)
    return tensor.status();
  if (Status s = awaitReady(value); !s.ok())
    return s;
  if (inPlace(*tensor)) {
    addTensor(outputs_, *tensor, tensor->data(),
              {tensor->buffer, tensor->value.byte_offset});
    return {};
  }
  uint8_t *copy = hostCopy(tensor->bytes);
  addTensor(outputs_, *tensor, copy, {});
  copyBacks_.push_back({copy, std::move(*tensor)});
  return {};
}

Status ValueCall::addOutputs(std::span<bp_value_t *const> outputs) {
  const std::vector<Port> &ports = session_->signature().outputs();
  auto shapes = session_->outputShapes(inputs_);
  auto bounds = session_->outputBounds(inputs_);
  if (!shapes || !bounds)
    return (shapes ? bounds : shapes).status();
  if (outputs.size() != ports.size())
    return invalidArgument("the model has " + std::to_string(ports.size()) +
                           " outputs, " + std::to_string(outputs.size()) +
                           " were given");
  for (size_t i = 0; i < outputs.size(); ++i) {
    made_.emplace_back();
    bp_value_t value;
    Status status = needs(outputs[i], "the value");
    if (status.ok())
      status = readValue(outputs[i], makes | BP_VALUE_READ_ONLY, value);
    if (status.ok() && outputs[i]->header.size < sizeof(bp_value_t))
      status = invalidArgument(
          "its header says " + std::to_string(outputs[i]->header.size) +
          " bytes, a value has " + std::to_string(sizeof(bp_value_t)));
    if (status.ok())
      status =
          addOutput(value, ports[i], std::move((*shapes)[i]), (*bounds)[i]);
    if (!status.ok())
      return status.within("output '" + ports[i].name + "'");
  }
  return {};
}

/// Ranges of one buffer of which one is written.
Status ValueCall::checkOverlaps() const {
  auto bytes = [&](size_t i) {
    return i < inputs_.size() ? inputs_[i].size
                              : outputs_[i - inputs_.size()].size;
  };
  for (size_t i = inputs_.size(); i < memory_.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const DeviceRange &a = memory_[i], &b = memory_[j];
      if (a.buffer && a.buffer == b.buffer && a.offset < b.offset + bytes(j) &&
          b.offset < a.offset + bytes(i))
        return invalidArgument(
            "output '" +
            session_->signature().outputs()[i - inputs_.size()].name +
            "' overlaps another value in its buffer");
    }
  return {};
}

Status ValueCall::begin(bool callerWaits) {
  CallTensors tensors{inputs_, outputs_};
  if (session_->values())
    tensors.memory = memory_;
  if (session_->values() && !callerWaits)
    tensors.ready = ready_ = std::make_shared<Timeline>(session_.get());
  auto call = session_->begin(tensors, callerWaits);
  if (!call)
    return call.status();
  inner_ = std::move(*call);
  // Afterwards nothing of the application's dims is read.
  return copyBacks_.empty() ? Status() : settle();
}

void ValueCall::fill(std::span<bp_value_t *const> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    bp_value_t &out = *outputs[i];
    if (!made_[i] || out.kind == BP_VALUE_ABSENT)
      continue;
    bool onDevice = out.flags & BP_VALUE_ON_DEVICE;
    Made *made = made_[i].release();
    const bp_tensor_t &tensor = outputs_[i];
    bp_header_t header = out.header;
    out = {};
    out.header = header;
    out.kind = BP_VALUE_TENSOR;
    out.dtype = tensor.dtype;
    out.rank = tensor.rank;
    out.dims = made->dims.data();
    out.data = onDevice ? nullptr : made->host.data();
    out.buffer = onDevice ? &made->buffer : nullptr;
    out.release = &Made::release;
    out.context = made;
    if (!ready_ || !onDevice)
      continue;
    made->ready.timeline = ready_;
    out.ready = &made->ready;
    out.ready_value = 1;
  }
}

/// Waits and copies what was not made in its own memory.
Status ValueCall::settle() {
  if (!inner_)
    return {};
  AnyCall &running = *inner_;
  Status status = running.finish(std::move(inner_));
  for (const std::shared_ptr<Timeline> &timeline : earlier_)
    if (status.ok())
      status = timeline->failure().within("an earlier call");
  for (const CopyBack &copy : copyBacks_)
    if (status.ok())
      status = copy.to.write(copy.from);
  return status;
}

void ValueCall::releaseDonations() {
  memory_.clear();
  for (Donation &donation : donations_) {
    if (donation.release)
      donation.release(donation.context);
    if (ValueMemory *values = session_->values())
      values->recycle(std::move(donation.buffer));
  }
  donations_.clear();
}

Status ValueCall::finish(std::unique_ptr<AnyCall> self) {
  Status status = settle();
  self.reset();
  return status;
}

} // namespace

Result<std::unique_ptr<AnyCall>>
beginValues(const std::shared_ptr<AnySession> &session,
            std::span<const bp_value_t *const> inputs,
            std::span<bp_value_t *const> outputs, bool callerWaits) {
  auto call = std::make_unique<ValueCall>(session);
  if (Status s = call->addInputs(inputs); !s.ok())
    return s;
  if (Status s = call->addOutputs(outputs); !s.ok())
    return s;
  if (Status s = call->checkOverlaps(); !s.ok())
    return s;
  if (Status s = call->begin(callerWaits); !s.ok())
    return s;
  call->fill(outputs);
  call->takeDonations();
  return std::unique_ptr<AnyCall>(std::move(call));
}

} // namespace backplane::rt
