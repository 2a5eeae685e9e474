// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

#include "hal/core/FloatScope.h"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace backplane::host {

namespace {

/// What the workers of a wave share.
struct Run {
  const PreparedCommands &program;
  uint8_t *const *pointers;
  uint8_t *workspace;
  uint64_t workspaceBytes;
  const PreparedCommand *steps;
  uint32_t *errors; ///< one for each step
};

/// Runs one piece of a copy or fill.
void transfer(const PreparedCommand &step, uint8_t *const *pointers,
              uint64_t group) {
  uint64_t begin = group * pieceBytes;
  uint64_t size = std::min(step.length - begin, pieceBytes);
  uint8_t *target = pointers[0] + begin;
  if (!step.fill) {
    std::memcpy(target, pointers[1] + begin, size);
    return;
  }
  uint8_t bytes[4];
  std::memcpy(bytes, &step.pattern, sizeof(bytes));
  if (bytes[0] == bytes[1] && bytes[1] == bytes[2] && bytes[2] == bytes[3]) {
    std::memset(target, bytes[0], size);
    return;
  }
  for (uint64_t i = 0; i < size; ++i)
    target[i] = bytes[i % sizeof(bytes)];
}

void runGroup(const Run &run, uint32_t index, uint64_t group, uint32_t worker) {
  const PreparedCommand &step = run.steps[index];
  uint8_t *const *pointers = run.pointers + step.pointers;
  if (!step.function)
    return transfer(step, pointers, group);
  bp_cpu_call_t call;
  call.constants = run.program.constants.data() + step.constants;
  call.bindings = reinterpret_cast<void *const *>(pointers);
  call.workspace = run.workspace + worker * run.workspaceBytes;
  call.error = run.errors + index;
  std::copy_n(step.grid, 3, call.grid);
  call.reserved = 0;
  if (step.groups == step.grid[0])
    return step.function(&call, uint32_t(group), 0, 0);
  uint64_t row = group / step.grid[0];
  step.function(&call, uint32_t(group % step.grid[0]),
                uint32_t(row % step.grid[1]), uint32_t(row / step.grid[1]));
}

void runOneStep(void *context, uint64_t group, uint32_t worker) {
  runGroup(*static_cast<const Run *>(context), 0, group, worker);
}

void runManySteps(void *context, uint64_t group, uint32_t worker) {
  const Run &run = *static_cast<const Run *>(context);
  uint32_t index = 0;
  while (group >= run.steps[index].groups)
    group -= run.steps[index++].groups;
  runGroup(run, index, group, worker);
}

/// Runs steps that no barrier parts.
Status runWave(const bp_host_t &host, Run &run, uint32_t *errors,
               const Wave &wave) {
  run.steps = run.program.steps.data() + wave.first;
  run.errors = errors + wave.first;
  bp_loop_body_t body = wave.count == 1 ? runOneStep : runManySteps;
  if (wave.groups != 1) {
    host.parallel_for(host.self, wave.groups, body, &run);
  } else { // is not worth the pool
    FloatScope::renew();
    body(&run, 0, 0);
  }
  for (uint32_t i = 0; i < wave.count; ++i)
    if (run.errors[i])
      return plugin::kernelStatus(run.errors[i], run.steps[i].op);
  return {};
}

uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
}

/// Runs the steps of a wave one after the other and notes when each ran.
Status runTimed(const bp_host_t &host, Run &run, uint32_t *errors,
                const Wave &wave, bp_timestamp_t *times) {
  for (uint32_t i = wave.first; i < wave.first + wave.count; ++i) {
    times[i].begin_ns = nowNs();
    Status status =
        runWave(host, run, errors, {i, 1, run.program.steps[i].groups});
    times[i].end_ns = nowNs();
    if (!status.ok())
      return status;
  }
  return {};
}

} // namespace

/// A scratch slice per worker of at least this size.
bool Queue::growWorkspace(uint64_t bytes) {
  if (bytes <= workspaceBytes_)
    return true;
  const Host host = device_.host;
  uint64_t slice = (bytes + alignment - 1) / alignment * alignment;
  void *fresh = host.allocate(slice * host.workers(), alignment);
  if (!fresh)
    return false;
  host.release(workspace_);
  workspace_ = fresh;
  workspaceBytes_ = slice;
  return true;
}

Status Queue::play(const PreparedCommands &program, const bp_binding_t *table,
                   bp_timestamp_t *times) {
  if (!growWorkspace(program.workspace))
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "there is no memory for the scratch of a kernel, " +
                      std::to_string(program.workspace) + " bytes per worker");
  pointers_ = program.pointers;
  parameters_ = program.parameters;
  errors_.assign(program.steps.size(), 0);
  for (const Patch &patch : program.patches) {
    plugin::BufferRange<Device> slot(table[patch.slot]);
    if (slot.buffer)
      pointers_[patch.pointer] = slot.buffer->data + slot.offset + patch.offset;
  }
  for (const ParameterPatch &patch : program.parameterPatches)
    pointers_[patch.pointer] =
        reinterpret_cast<uint8_t *>(parameters_.data() + patch.parameter);
  Run run = {
      program,         pointers_.data(), static_cast<uint8_t *>(workspace_),
      workspaceBytes_, nullptr,          nullptr};
  const bp_host_t &host = device_.host.c();
  for (const Wave &wave : program.waves) {
    Status status = times ? runTimed(host, run, errors_.data(), wave, times)
                          : runWave(host, run, errors_.data(), wave);
    if (!status.ok())
      return status;
  }
  return {};
}

Result<std::unique_ptr<Queue>> Device::createQueue(uint32_t queueClass) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return unimplemented("the host driver has no queue of class " +
                         std::to_string(queueClass));
  return make<Queue>(*this);
}

Status Queue::execute(Commands commands, const Completion &completion) {
  drain();
  Status status = scratch_.assign(commands);
  if (status.ok())
    completion.done(play(scratch_, nullptr));
  return status;
}

Status Queue::executeTimed(Commands commands, std::span<bp_timestamp_t> times,
                           const Completion &completion) {
  drain();
  Status status = scratch_.assign(commands);
  if (!status.ok())
    return status;
  std::vector<bp_timestamp_t> each(scratch_.steps.size());
  Status outcome = play(scratch_, nullptr, each.data());
  size_t step = 0; // every command but a barrier is one
  for (size_t i = 0; i < commands.size(); ++i)
    if (commands[i]->type != bp_command_barrier_t_TYPE)
      times[i] = each[step++];
  completion.done(outcome);
  return {};
}

// ---- Command buffers ----

Result<std::unique_ptr<CommandBuffer>> Device::record(Commands commands) {
  Result<std::unique_ptr<CommandBuffer>> recorded = make<CommandBuffer>();
  if (!recorded)
    return recorded;
  if (Status status = (*recorded)->program.assign(commands); !status.ok())
    return status;
  return recorded;
}

Status Queue::execute(const CommandBuffer &commands,
                      std::span<const bp_binding_t> table,
                      const Completion &completion) {
  drain();
  completion.done(play(commands.program, table.data()));
  return {};
}

} // namespace backplane::host
