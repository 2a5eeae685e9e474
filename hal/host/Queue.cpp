// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>

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

/// A scratch slice per worker of at least this size.
bool growWorkspace(bp_queue_t &queue, uint64_t bytes) {
  if (bytes <= queue.workspaceBytes)
    return true;
  const bp_host_t &host = *queue.device->driver->host;
  uint64_t slice = (bytes + alignment - 1) / alignment * alignment;
  void *fresh = host.memory_allocate(
      host.self, slice * host.worker_count(host.self), alignment);
  if (!fresh)
    return false;
  host.memory_free(host.self, queue.workspace);
  queue.workspace = fresh;
  queue.workspaceBytes = slice;
  return true;
}

Outcome kernelError(uint32_t word, const PreparedCommand &step) {
  plugin::KernelFailure failure = plugin::kernelFailure(word, step.op);
  return {failure.code,
          "op " + std::to_string(failure.op) + ": " + failure.what};
}

/// Runs steps that no barrier parts.
Outcome runWave(const bp_host_t &host, Run &run, uint32_t *errors,
                const Wave &wave) {
  run.steps = run.program.steps.data() + wave.first;
  run.errors = errors + wave.first;
  host.parallel_for(host.self, wave.groups,
                    wave.count == 1 ? runOneStep : runManySteps, &run);
  for (uint32_t i = 0; i < wave.count; ++i)
    if (run.errors[i])
      return kernelError(run.errors[i], run.steps[i]);
  return {};
}

uint64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
}

/// Runs the steps of a wave one after the other and notes when each ran.
Outcome runTimed(const bp_host_t &host, Run &run, uint32_t *errors,
                 const Wave &wave, bp_timestamp_t *times) {
  for (uint32_t i = wave.first; i < wave.first + wave.count; ++i) {
    times[i].begin_ns = nowNs();
    Outcome outcome =
        runWave(host, run, errors, {i, 1, run.program.steps[i].groups});
    times[i].end_ns = nowNs();
    if (outcome.status != BP_STATUS_OK)
      return outcome;
  }
  return {};
}

} // namespace

bp_status_t translate(const Driver &driver, PreparedCommands &program,
                      const bp_header_t *const *commands, uint64_t count,
                      bp_error_t *error) {
  std::optional<uint32_t> unknown = program.assign(commands, count);
  if (unknown)
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the host driver has no command of type " +
                    std::to_string(*unknown));
  return BP_STATUS_OK;
}

Outcome run(bp_queue_t &queue, const PreparedCommands &program,
            const bp_binding_t *table, bp_timestamp_t *times) {
  const bp_host_t &host = *queue.device->driver->host;
  if (!growWorkspace(queue, program.workspace))
    return {BP_STATUS_RESOURCE_EXHAUSTED,
            "there is no memory for the scratch of a kernel, " +
                std::to_string(program.workspace) + " bytes per worker"};
  queue.pointers = program.pointers;
  queue.parameters = program.parameters;
  queue.errors.assign(program.steps.size(), 0);
  for (const Patch &patch : program.patches)
    if (const bp_binding_t &slot = table[patch.slot]; slot.buffer)
      queue.pointers[patch.pointer] =
          slot.buffer->data + slot.offset + patch.offset;
  for (const ParameterPatch &patch : program.parameterPatches)
    queue.pointers[patch.pointer] =
        reinterpret_cast<uint8_t *>(queue.parameters.data() + patch.parameter);
  Run run = {program,
             queue.pointers.data(),
             static_cast<uint8_t *>(queue.workspace),
             queue.workspaceBytes,
             nullptr,
             nullptr};
  uint32_t *errors = queue.errors.data();
  for (const Wave &wave : program.waves) {
    Outcome outcome = times ? runTimed(host, run, errors, wave, times)
                            : runWave(host, run, errors, wave);
    if (outcome.status != BP_STATUS_OK)
      return outcome;
  }
  return {};
}

static void complete(const bp_completion_t &completion,
                     const Outcome &outcome) {
  completion.done(completion.context, outcome.status,
                  {outcome.message.data(), outcome.message.size()});
}

static bp_status_t create(bp_device_t *device, uint32_t queueClass,
                          bp_queue_t **out, bp_error_t *error) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return fail(*device->driver, error, BP_STATUS_UNIMPLEMENTED,
                "the host driver has no queue of class " +
                    std::to_string(queueClass));
  *out = new (std::nothrow) bp_queue_t{device};
  return *out ? BP_STATUS_OK
              : fail(*device->driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "out of memory");
}

static void destroy(bp_device_t *device, bp_queue_t *queue) {
  const bp_host_t &host = *device->driver->host;
  cancel(*queue);
  host.memory_free(host.self, queue->workspace);
  delete queue;
}

static bp_status_t execute(bp_queue_t *queue,
                           const bp_header_t *const *commands, uint64_t count,
                           const bp_completion_t *completion,
                           bp_error_t *error) {
  drain(*queue);
  bp_status_t status =
      translate(*queue->device->driver, queue->scratch, commands, count, error);
  if (status != BP_STATUS_OK)
    return status;
  complete(*completion, run(*queue, queue->scratch, nullptr));
  return BP_STATUS_OK;
}

const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), create,
                                     destroy, execute};

// ---- Timestamps ----

static bp_status_t executeTimed(bp_queue_t *queue,
                                const bp_header_t *const *commands,
                                uint64_t count, bp_timestamp_t *times,
                                const bp_completion_t *completion,
                                bp_error_t *error) {
  drain(*queue);
  const PreparedCommands &program = queue->scratch;
  bp_status_t status =
      translate(*queue->device->driver, queue->scratch, commands, count, error);
  if (status != BP_STATUS_OK)
    return status;
  std::vector<bp_timestamp_t> each(program.steps.size());
  Outcome outcome = run(*queue, program, nullptr, each.data());
  size_t step = 0; // every command but a barrier is one
  for (uint64_t i = 0; i < count; ++i)
    if (commands[i]->type != bp_command_barrier_t_TYPE)
      times[i] = each[step++];
  complete(*completion, outcome);
  return BP_STATUS_OK;
}

const bp_timestamps_table_t timestampsTable = {BP_HEADER(bp_timestamps_table_t),
                                               executeTimed};

// ---- Command buffers ----

static bp_status_t record(bp_device_t *device,
                          const bp_header_t *const *commands, uint64_t count,
                          bp_command_buffer_t **out, bp_error_t *error) {
  auto *recorded = new (std::nothrow) bp_command_buffer_t;
  if (!recorded)
    return fail(*device->driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "out of memory");
  bp_status_t status =
      translate(*device->driver, recorded->program, commands, count, error);
  if (status != BP_STATUS_OK)
    delete recorded;
  else
    *out = recorded;
  return status;
}

static void forget(bp_device_t *, bp_command_buffer_t *commands) {
  delete commands;
}

static bp_status_t replay(bp_queue_t *queue, bp_command_buffer_t *commands,
                          const bp_binding_t *table, uint64_t,
                          const bp_completion_t *completion, bp_error_t *) {
  drain(*queue);
  complete(*completion, run(*queue, commands->program, table));
  return BP_STATUS_OK;
}

const bp_command_buffer_table_t commandBufferTable = {
    BP_HEADER(bp_command_buffer_table_t), record, forget, replay};

} // namespace backplane::host
