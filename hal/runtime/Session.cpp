// SPDX-License-Identifier: Apache-2.0
//
// Session.cpp: what happens per call.
#include "Session.h"
#include "NameOp.h"
#include "sdk/support/Tensor.h"

#include <algorithm>

namespace backplane::rt {
namespace {

constexpr size_t maxPlans = 16;
constexpr size_t maxIdleCalls = 16;

std::vector<int64_t> keyOf(std::span<const bp_tensor_t> inputs) {
  std::vector<int64_t> key;
  for (const bp_tensor_t &tensor : inputs)
    key.insert(key.end(), tensor.dims, tensor.dims + tensor.rank);
  return key;
}

} // namespace

bool Plan::fits(const Signature &signature,
                std::span<const bp_tensor_t> inputs) const {
  if (inputs.size() != inputBytes.size())
    return false;
  const int64_t *dims = key.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bp_tensor_t &tensor = inputs[i];
    const TensorType &type = signature.inputs()[i].type;
    if (tensor.dtype != uint32_t(type.dtype) || tensor.rank != type.rank() ||
        tensor.size != inputBytes[i] || (tensor.size && !tensor.data) ||
        (tensor.rank && !tensor.dims) ||
        !std::equal(dims, dims + type.rank(), tensor.dims))
      return false;
    dims += type.rank();
  }
  return true;
}

Call::~Call() {
  if (run_)
    (void)run_->wait();
}

Result<Binding> Session::placeOf(const Slot &slot, const Plan *plan) const {
  uint32_t number = slot.index;
  uint32_t inputs = uint32_t(signature().inputs().size());
  const Residents &residents = sides_[slot.device].residents;
  switch (slot.kind) {
  case SlotKind::Input:
    return Binding{nullptr, 0, plan->inputBytes[number], number};
  case SlotKind::Output:
    return Binding{nullptr, 0, plan->outputBytes[number], inputs + number};
  case SlotKind::Weight:
    return residents.weights[number];
  case SlotKind::Variable:
    return Binding{residents.variables.buffer,
                   residents.variables.offsets.at(number),
                   residents.variableBytes.at(number)};
  case SlotKind::Constant:
    return Binding{residents.constants.buffer,
                   residents.constants.offsets.at(number),
                   residents.constantBytes.at(number)};
  default:
    return internalError("a transient has no place of its own");
  }
}

/// Sizes of everything that the shapes of a call decide.
Status Session::measure(Plan &plan, std::span<const bp_tensor_t> inputs,
                        const SymbolValues &symbols) const {
  plan.key = keyOf(inputs);
  for (const bp_tensor_t &tensor : inputs)
    plan.inputBytes.push_back(tensor.size);
  for (uint32_t i = 0; i < signature().outputs().size(); ++i) {
    const Port &port = signature().outputs()[i];
    Result<std::vector<int64_t>> dims = signature().outputShape(i, symbols);
    if (!dims)
      return dims.status();
    Result<std::vector<int64_t>> most = signature().outputBound(i, symbols);
    if (!most)
      return most.status();
    Result<uint64_t> bytes = denseBytes(port.type.dtype, *most);
    if (!bytes)
      return bytes.status().within("output '" + port.name + "'");
    plan.outputBytes.push_back(*bytes);
    plan.outputDims.push_back(std::move(*dims));
  }
  return {};
}

StagedPorts Session::stagedPorts(const Plan &plan) const {
  if (!discrete_)
    return {};
  StagedPorts ports;
  ports.inputCount = plan.inputBytes.size();
  ports.bytes = plan.inputBytes;
  ports.bytes.insert(ports.bytes.end(), plan.outputBytes.begin(),
                     plan.outputBytes.end());
  ports.staged = [&](uint32_t device, uint32_t port) {
    return isDiscrete(*sides_[device].device) && !plan.onDevice[port];
  };
  return ports;
}

Result<std::shared_ptr<Plan>>
Session::makePlan(std::span<const bp_tensor_t> inputs,
                  std::vector<bool> onDevice) {
  TraceScope scope(trace(), "plan");
  Result<SymbolValues> symbols = signature().bind(inputs, true);
  if (!symbols)
    return symbols.status();
  auto plan = std::make_shared<Plan>();
  plan->onDevice = std::move(onDevice);
  if (Status s = measure(*plan, inputs, *symbols); !s.ok())
    return s;
  evaluator_.set(*symbols);
  plan->symbols = std::move(*symbols);
  ResolveContext context{
      executables_, [&](const Slot &slot) { return placeOf(slot, plan.get()); },
      uint32_t(plan->inputBytes.size() + plan->outputBytes.size()), sides_};
  Result<ProgramPlan> program =
      planProgram(variant().program, evaluator_, context, stagedPorts(*plan));
  if (!program)
    return program.status();
  plan->program = std::move(*program);
  return plan;
}

Result<std::shared_ptr<Plan>> Session::findPlan(const CallTensors &tensors) {
  std::vector<bool> onDevice;
  if (discrete_) {
    onDevice.assign(signature().inputs().size() + signature().outputs().size(),
                    false);
    for (size_t i = 0; i < std::min(tensors.memory.size(), onDevice.size());
         ++i)
      onDevice[i] = tensors.memory[i].buffer != nullptr;
  }
  for (size_t i = 0; i < plans_.size(); ++i)
    if (plans_[i]->onDevice == onDevice &&
        plans_[i]->fits(signature(), tensors.inputs)) {
      std::rotate(plans_.begin(), plans_.begin() + long(i),
                  plans_.begin() + long(i) + 1);
      return plans_.front();
    }
  Result<std::shared_ptr<Plan>> plan =
      makePlan(tensors.inputs, std::move(onDevice));
  if (!plan)
    return plan;
  if (plans_.size() == maxPlans)
    plans_.pop_back();
  plans_.insert(plans_.begin(), *plan);
  return plan;
}

Status Session::drain() {
  if (latest_)
    (void)latest_->wait();
  latest_.reset();
  Command barrier = Barrier();
  for (const DeviceState &side : sides_)
    if (Status s = side.queue->run({&barrier, 1}); !s.ok())
      return s;
  return {};
}

/// Calls in flight use the old arena, so it is given back after them and before
/// the new one is counted.
Status Session::growArena(DeviceState &side, uint64_t bytes) {
  if (side.arena && side.arena->size() >= bytes)
    return {};
  if (side.arena)
    if (Status s = drain(); !s.ok())
      return s;
  side.arena.reset();
  for (auto &call : idleCalls_)
    call->arenas_.clear();
  Result<std::shared_ptr<Buffer>> arena =
      allocate(*side.device, budget_, Use::Arena, std::max<uint64_t>(bytes, 1));
  if (!arena)
    return arena.status();
  side.arena = std::move(*arena);
  return {};
}

Status Session::checkOutputs(const Plan &plan,
                             std::span<const bp_tensor_t> outputs) const {
  const std::vector<Port> &ports = signature().outputs();
  if (outputs.size() != ports.size())
    return invalidArgument("the model has " + std::to_string(ports.size()) +
                           " outputs, " + std::to_string(outputs.size()) +
                           " were given");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bp_tensor_t &tensor = outputs[i];
    const std::vector<int64_t> &dims = plan.outputDims[i];
    if (tensor.dtype == uint32_t(ports[i].type.dtype) &&
        tensor.rank == dims.size() && tensor.size == plan.outputBytes[i] &&
        (tensor.data || !tensor.size) && (tensor.dims || !tensor.rank) &&
        std::equal(dims.begin(), dims.end(), tensor.dims))
      continue;
    return invalidArgument(
        "output '" + ports[i].name + "' is " +
        std::string(name(ports[i].type.dtype)) + shapeText(dims) + " with " +
        std::to_string(plan.outputBytes[i]) +
        " bytes for these inputs, the memory given for it does not fit");
  }
  return {};
}

std::unique_ptr<Call> Session::takeCall() {
  if (idleCalls_.empty())
    return std::unique_ptr<Call>(new Call());
  std::unique_ptr<Call> call = std::move(idleCalls_.back());
  idleCalls_.pop_back();
  return call;
}

/// Memory of a port: that of a value on the device, else that of a tensor.
static Status bindPort(PortBinder &ports, const CallTensors &tensors, size_t i,
                       PortMemory &memory) {
  size_t inputs = tensors.inputs.size();
  if (!tensors.memory.empty() && tensors.memory[i].buffer) {
    memory = {tensors.memory[i].buffer, tensors.memory[i].offset};
    return {};
  }
  if (i < inputs)
    return ports.bindInput(i, tensors.inputs[i].data, tensors.inputs[i].size,
                           memory);
  const bp_tensor_t &output = tensors.outputs[i - inputs];
  return ports.bindOutput(i, output.data, output.size, memory);
}

Status Session::bindPorts(Call &call, size_t device,
                          const CallTensors &tensors) {
  DeviceState &side = sides_[device];
  size_t total = tensors.inputs.size() + tensors.outputs.size();
  std::vector<PortMemory> &memory = call.memory_[device];
  std::vector<SlotBinding> &table = call.tables_[device];
  memory.resize(total);
  table.assign(total + 1, {});
  for (size_t i = 0; i < total; ++i) {
    if (!side.usedPorts[i])
      continue;
    if (Status s = bindPort(*side.ports, tensors, i, memory[i]); !s.ok())
      return s;
    table[i] = {memory[i].buffer.get(), memory[i].offset, 0};
  }
  table[total] = {side.arena.get(), 0, 0};
  return {};
}

Status Session::bindPorts(Call &call, const CallTensors &tensors) {
  call.memory_.resize(sides_.size());
  call.tables_.resize(sides_.size());
  for (size_t device = 0; device < sides_.size(); ++device)
    if (Status s = bindPorts(call, device, tensors); !s.ok())
      return s;
  return {};
}

/// Starts the work of a call, or does it where only data decide what it is.
Status Session::start(Plan &plan, Call &call,
                      const std::shared_ptr<Timeline> &ready,
                      bool callerWaits) {
  if (!plan.program.isOnePart()) {
    evaluator_.set(plan.symbols);
    ControlContext context{sides_,
                           budget_,
                           variant(),
                           executables_,
                           iterationsUsed_,
                           [&](const Slot &slot) { return placeOf(slot, nullptr); },
                           evaluator_,
                           plan.regions,
                           plan.rests,
                           signature(),
                           stagedPorts(plan)};
    Status status = ControlRunner(std::move(context))
                        .run(plan.program, variant().program, call.tables_);
    return status.ok() && ready ? ready->signal(1) : status;
  }
  const Part &part = plan.program.parts.front();
  if (sides_.size() > 1) {
    if (latest_)
      (void)latest_->wait();
    latest_ = call.run_ = StepRun::start(sides_, part, call.tables_);
    return {};
  }
  if (ready)
    call.pending_.whenDone([ready](const Status &outcome) {
      outcome.ok() ? (void)ready->signal(1) : ready->fail(outcome);
    });
  Status status = sides_[0].queue->start(
      *part.front().commands, call.tables_[0], call.pending_, callerWaits);
  if (!status.ok())
    call.pending_.whenDone(nullptr);
  return status;
}

Result<std::unique_ptr<Call>> Session::submit(const CallTensors &tensors,
                                              bool callerWaits) {
  for (const DeviceState &side : sides_)
    if (Status s = side.device->lost(); !s.ok())
      return s;
  TraceScope scope(trace(), "submit");
  std::lock_guard lock(mutex_);
  Result<std::shared_ptr<Plan>> plan = findPlan(tensors);
  if (!plan)
    return plan.status();
  if (Status s = checkOutputs(**plan, tensors.outputs); !s.ok())
    return s;
  for (size_t device = 0; device < sides_.size(); ++device)
    if (Status s =
            growArena(sides_[device], (*plan)->program.arenaBytes[device]);
        !s.ok())
      return s;
  std::unique_ptr<Call> call = takeCall();
  Status status = bindPorts(*call, tensors);
  if (status.ok())
    status = start(**plan, *call, tensors.ready, callerWaits);
  if (status.ok())
    status = writeShapes(**plan, *call, tensors.outputs);
  if (!status.ok()) {
    releaseMemory(*call);
    return status;
  }
  call->plan_ = std::move(*plan);
  for (const DeviceState &side : sides_)
    call->arenas_.push_back(side.arena);
  call->session_ = shared_from_this();
  return call;
}

void Session::releaseMemory(Call &call) {
  for (size_t device = 0; device < call.memory_.size(); ++device)
    for (PortMemory &memory : call.memory_[device])
      sides_[device].ports->release(memory);
}

Status Session::wait(std::unique_ptr<Call> call) {
  TraceScope scope(call->session_->trace(), "wait");
  Status status = call->run_ ? call->run_->wait() : call->pending_.wait();
  std::shared_ptr<Session> session = std::move(call->session_);
  if (!status.ok())
    status = nameOp(status, session->variant().program);
  for (const std::vector<PortMemory> &ports : call->memory_)
    for (const PortMemory &memory : ports)
      if (status.ok() && memory.target)
        status = memory.buffer->read(
            0, {static_cast<uint8_t *>(memory.target), size_t(memory.bytes)});
  std::lock_guard lock(session->mutex_);
  session->releaseMemory(*call);
  call->plan_.reset();
  call->arenas_.clear();
  call->run_.reset();
  if (session->idleCalls_.size() < maxIdleCalls)
    session->idleCalls_.push_back(std::move(call));
  return status;
}

Status Call::finish(std::unique_ptr<AnyCall> self) {
  return Session::wait(
      std::unique_ptr<Call>(static_cast<Call *>(self.release())));
}

Result<std::unique_ptr<AnyCall>> Session::begin(const CallTensors &tensors,
                                                bool callerWaits) {
  Result<std::unique_ptr<Call>> call = submit(tensors, callerWaits);
  if (!call)
    return call.status();
  return std::unique_ptr<AnyCall>(std::move(*call));
}

Status Session::reset() {
  std::lock_guard lock(mutex_);
  if (Status s = drain(); !s.ok())
    return s;
  return writeInitialValues();
}

} // namespace backplane::rt
