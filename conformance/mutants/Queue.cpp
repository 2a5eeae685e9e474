// SPDX-License-Identifier: Apache-2.0
//
// The queue: dispatches run as programs, other commands on the reference
// plug-in.
#include "Program.h"
#include "Tables.h"

#include <chrono>
#include <thread>

namespace backplane::mutants {

namespace {

/// What one call came to.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  std::string message;

  static void done(void *context, bp_status_t status, bp_string_t message) {
    *static_cast<Outcome *>(context) = {status, std::string(view(message))};
  }
};

bp_status_t create(bp_device_t *device, uint32_t queueClass,
                   bp_queue_t **outQueue, bp_error_t *error) {
  auto *queue = new bp_queue_t{device, nullptr};
  bp_status_t status = device->self->inner->queue->queue_create(
      device->inner, queueClass, &queue->inner, error);
  if (status == BP_STATUS_OK)
    *outQueue = queue;
  else
    delete queue;
  return status;
}

void destroy(bp_device_t *device, bp_queue_t *queue) {
  device->self->inner->queue->queue_destroy(device->inner, queue->inner);
  delete queue;
}

/// A command that the reference plug-in runs, changed where the fault says so.
void runPlain(bp_device_t &device, const bp_header_t *command,
              Outcome &outcome) {
  bp_completion_t completion = {&Outcome::done, &outcome};
  bp_command_copy_t copy;
  bp_command_fill_t fill;
  if (faultOf(&device) == Fault::CopyNoOffset &&
      command->type == bp_command_copy_t_TYPE) {
    copy = *reinterpret_cast<const bp_command_copy_t *>(command);
    copy.source.offset = 0;
    command = &copy.header;
  }
  if (faultOf(&device) == Fault::FillOneByte &&
      command->type == bp_command_fill_t_TYPE) {
    fill = *reinterpret_cast<const bp_command_fill_t *>(command);
    fill.pattern_size = 1;
    command = &fill.header;
  }
  bp_status_t status = device.self->inner->queue->queue_execute(
      device.innerQueue, &command, 1, &completion, nullptr);
  if (status != BP_STATUS_OK)
    outcome.status = status;
}

/// A dispatch with what it points to.
struct KeptDispatch {
  KeptDispatch(bp_device_t &device, const bp_command_dispatch_t &from)
      : device(device), command(from),
        bindings(from.bindings, from.bindings + from.binding_count),
        constants(from.constants, from.constants + from.constant_count) {
    command.bindings = bindings.data();
    command.constants = constants.data();
  }
  KeptDispatch(const KeptDispatch &) = delete;
  KeptDispatch &operator=(const KeptDispatch &) = delete;

  /// The work of a device that has already said it is done.
  static void runLate(void *context) {
    std::unique_ptr<KeptDispatch> kept(static_cast<KeptDispatch *>(context));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string message;
    (void)kept->command.executable->run(kept->command, 0, message);
    if (--kept->device.late == 0)
      kept->device.late.notify_all();
  }

  bp_device_t &device;
  bp_command_dispatch_t command;
  std::vector<bp_binding_t> bindings;
  std::vector<uint32_t> constants;
};

void runDispatch(bp_device_t &device, const bp_command_dispatch_t &dispatch,
                 size_t place, bool isLast, Outcome &outcome) {
  if (!dispatch.executable)
    return;
  const bp_host_t *host = device.self->host;
  if (isLast && faultOf(&device) == Fault::FenceEarly) {
    ++device.late;
    return host->post(host->self, &KeptDispatch::runLate,
                      new KeptDispatch(device, dispatch));
  }
  outcome.status = dispatch.executable->run(dispatch, place, outcome.message);
  if (outcome.status != BP_STATUS_OK && faultOf(&device) == Fault::LeakOnError)
    (void)host->memory_allocate(host->self, 65536, 64);
}

/// What the mutant changes beside its work.
void touch(const bp_device_t &device) {
  const Mutant &mutant = *device.self->mutant;
  const bp_host_t *host = device.self->host;
  if (mutant.moment == Moment::Execute)
    mutant.touch();
  if (mutant.moment == Moment::Pool)
    host->parallel_for(
        host->self, 64,
        [](void *context, uint64_t, uint32_t) {
          static_cast<const Mutant *>(context)->touch();
        },
        const_cast<Mutant *>(&mutant));
}

bp_status_t execute(bp_queue_t *queue, const bp_header_t *const *commands,
                    uint64_t count, const bp_completion_t *completion,
                    bp_error_t *) {
  bp_device_t &device = *queue->device;
  Outcome outcome;
  touch(device);
  if (count == 0 && faultOf(&device) == Fault::LoseEmptySubmit)
    return BP_STATUS_OK;
  for (uint64_t i = 0; i < count && outcome.status == BP_STATUS_OK; ++i) {
    if (commands[i]->type != bp_command_dispatch_t_TYPE)
      runPlain(device, commands[i], outcome);
    else
      runDispatch(device,
                  *reinterpret_cast<const bp_command_dispatch_t *>(commands[i]),
                  i, i + 1 == count, outcome);
  }
  if (faultOf(&device) == Fault::BadStatusDropped)
    outcome = {};
  completion->done(completion->context, outcome.status, toC(outcome.message));
  if (faultOf(&device) == Fault::CompletesTwice)
    completion->done(completion->context, outcome.status, toC(outcome.message));
  return BP_STATUS_OK;
}

} // namespace

const bp_queue_table_t queueTable = {BP_HEADER(bp_queue_table_t), &create,
                                     &destroy, &execute};

} // namespace backplane::mutants
