// SPDX-License-Identifier: Apache-2.0
//
// Semaphore.cpp: timelines of the ABI. See Queue.h for how they meet those of
// Vulkan.
#include "Queue.h"

#include <algorithm>
#include <chrono>
#include <new>

namespace backplane::vulkan {

static bp_status_t create(bp_device_t *device, uint64_t initial,
                          bp_semaphore_t **out, bp_error_t *error) {
  *out = new (std::nothrow) bp_semaphore_t{initial, {}, {}};
  return *out ? BP_STATUS_OK : outOfMemory(device->driver, error);
}

static void destroy(bp_device_t *, bp_semaphore_t *semaphore) {
  delete semaphore;
}

static bp_status_t failure(const bp_device_t &device,
                           const bp_semaphore_t &semaphore, bp_error_t *error) {
  return fail(device.driver, error, semaphore.failure.status,
              semaphore.failure.message);
}

static bp_status_t query(bp_device_t *device, bp_semaphore_t *semaphore,
                         uint64_t *outValue, bp_error_t *error) {
  Lock lock(device->mutex);
  if (semaphore->failure.status)
    return failure(*device, *semaphore, error);
  *outValue = semaphore->value;
  return BP_STATUS_OK;
}

static bp_status_t signal(bp_device_t *device, bp_semaphore_t *semaphore,
                          uint64_t value, bp_error_t *error) {
  Lock lock(device->mutex);
  if (semaphore->failure.status)
    return failure(*device, *semaphore, error);
  if (value <= semaphore->value)
    return fail(device->driver, error, BP_STATUS_INVALID_ARGUMENT,
                "semaphore value " + std::to_string(value) +
                    " is not above the current one, " +
                    std::to_string(semaphore->value));
  semaphore->value = value;
  device->changed.notify_all();
  advance(*device, lock);
  return BP_STATUS_OK;
}

static bp_status_t wait(bp_device_t *device, bp_semaphore_t *semaphore,
                        uint64_t value, uint64_t timeoutNs, bp_error_t *error) {
  constexpr uint64_t longest = uint64_t(365) * 24 * 3600 * 1000000000u;
  bp_timepoint_t at = {semaphore, value};
  Lock lock(device->mutex);
  bool reached = device->changed.wait_for(
      lock, std::chrono::nanoseconds(std::min(timeoutNs, longest)),
      [&] { return settled(at); });
  if (!reached)
    return fail(device->driver, error, BP_STATUS_DEADLINE_EXCEEDED,
                "semaphore value " + std::to_string(value) +
                    " was not reached in time");
  return semaphore->failure.status ? failure(*device, *semaphore, error)
                                   : BP_STATUS_OK;
}

static bp_status_t submit(bp_queue_t *queue, const bp_timepoint_t *waits,
                          uint64_t waitCount, const bp_timepoint_t *signals,
                          uint64_t signalCount,
                          const bp_header_t *const *commands, uint64_t count,
                          bp_error_t *error) {
  bp_status_t status =
      translate(*queue->device, queue->scratch, commands, count, error);
  if (status != BP_STATUS_OK)
    return status;
  Submission submission;
  submission.waits.assign(waits, waits + waitCount);
  submission.signals.assign(signals, signals + signalCount);
  return enqueue(*queue, queue->scratch, nullptr, queue->recordings,
                 std::move(submission), error);
}

const bp_semaphore_table_t semaphoreTable = {BP_HEADER(bp_semaphore_table_t),
                                             create,
                                             destroy,
                                             query,
                                             signal,
                                             wait,
                                             submit};

} // namespace backplane::vulkan
