// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

#include <chrono>
#include <new>

namespace backplane::gpu {
namespace {

bp_status_t create(bp_device_t *device, uint64_t initial, bp_semaphore_t **out,
                   bp_error_t *error) {
  *out = new (std::nothrow) bp_semaphore_t{initial, {}};
  return *out ? BP_STATUS_OK : outOfMemory(device->driver, error);
}

void destroy(bp_device_t *, bp_semaphore_t *semaphore) { delete semaphore; }

bp_status_t failure(const bp_device_t &device, const Outcome &outcome,
                    bp_error_t *error) {
  return fail(device.driver, error, outcome.status, outcome.message);
}

bp_status_t query(bp_device_t *device, bp_semaphore_t *semaphore,
                  uint64_t *outValue, bp_error_t *error) {
  Lock lock(device->mutex);
  *outValue = semaphore->value;
  Outcome outcome = semaphore->failure;
  lock.unlock();
  return outcome.status ? failure(*device, outcome, error) : BP_STATUS_OK;
}

bp_status_t signal(bp_device_t *device, bp_semaphore_t *semaphore,
                   uint64_t value, bp_error_t *error) {
  Lock lock(device->mutex);
  uint64_t before = semaphore->value;
  Outcome outcome = semaphore->failure;
  if (outcome.status == BP_STATUS_OK && value > before) {
    semaphore->value = value;
    device->changed.notify_all();
    advance(*device, lock);
    return BP_STATUS_OK;
  }
  lock.unlock();
  if (outcome.status)
    return failure(*device, outcome, error);
  return fail(device->driver, error, BP_STATUS_INVALID_ARGUMENT,
              "semaphore value " + std::to_string(value) +
                  " is not above the current one, " + std::to_string(before));
}

bp_status_t wait(bp_device_t *device, bp_semaphore_t *semaphore, uint64_t value,
                 uint64_t timeoutNs, bp_error_t *error) {
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  bp_timepoint_t at = {semaphore, value};
  Lock lock(device->mutex);
  bool reached = device->changed.wait_for(
      lock, std::chrono::nanoseconds(std::min(timeoutNs, longest)),
      [&] { return settled(at); });
  Outcome outcome = semaphore->failure;
  lock.unlock();
  if (!reached)
    return fail(device->driver, error, BP_STATUS_DEADLINE_EXCEEDED,
                "semaphore value " + std::to_string(value) +
                    " was not reached in time");
  return outcome.status ? failure(*device, outcome, error) : BP_STATUS_OK;
}

bp_status_t queueSubmit(bp_queue_t *queue, const bp_timepoint_t *waits,
                        uint64_t waitCount, const bp_timepoint_t *signals,
                        uint64_t signalCount,
                        const bp_header_t *const *commands, uint64_t count,
                        bp_error_t *error) {
  return submit(*queue, {commands, count},
                {{waits, waitCount}, {signals, signalCount}}, error);
}

} // namespace

const bp_semaphore_table_t semaphoreTable = {BP_HEADER(bp_semaphore_table_t),
                                             create,
                                             destroy,
                                             query,
                                             signal,
                                             wait,
                                             queueSubmit};

} // namespace backplane::gpu
