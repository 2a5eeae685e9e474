// SPDX-License-Identifier: Apache-2.0
//
// DeviceBuffer.cpp: value.h, memory of devices and timelines.
#include "Arguments.h"
#include "hal/worker/Workers.h"

using namespace backplane;
using namespace backplane::rt;

bp_status_t bp_device_buffer_create(bp_context_t *context,
                                    bp_string_t device_uri, uint64_t size,
                                    bp_device_buffer_t **out_buffer,
                                    bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isText(device_uri, "device_uri"),
                            needs(out_buffer, "out_buffer")});
        !s.ok())
      return s;
    if (size == 0)
      return invalidArgument("a device buffer has at least 1 byte");
    std::string_view uri = view(device_uri);
    if (worker::RemoteUri::matches(uri))
      return unimplemented("memory of '" + std::string(uri) +
                           "' belongs to another process; give sessions on it "
                           "host memory");
    auto device = context->registry->device(uri);
    if (!device)
      return device.status();
    auto buffer = (*device)->allocate(size);
    if (!buffer)
      return buffer.status();
    *out_buffer = new bp_device_buffer_t{.buffer = std::move(*buffer)};
    return {};
  });
}

void bp_device_buffer_destroy(bp_device_buffer_t *buffer) {
  if (isHandle(buffer).ok())
    delete buffer;
}

/// Memory that a copy reads or writes.
static Status isRange(const void *data, uint64_t size) {
  return size && !data ? invalidArgument("data is NULL") : Status();
}

bp_status_t bp_device_buffer_write(bp_device_buffer_t *buffer, uint64_t offset,
                                   const void *data, uint64_t size,
                                   bp_error_t *error) {
  return guarded(error, [&] {
    Status status = firstOf({isHandle(buffer), isRange(data, size)});
    return status.ok() ? buffer->buffer->write(
                             offset, {static_cast<const uint8_t *>(data), size})
                       : status;
  });
}

bp_status_t bp_device_buffer_read(const bp_device_buffer_t *buffer,
                                  uint64_t offset, void *data, uint64_t size,
                                  bp_error_t *error) {
  return guarded(error, [&] {
    Status status = firstOf({isHandle(buffer), isRange(data, size)});
    return status.ok() ? buffer->buffer->read(
                             offset, {static_cast<uint8_t *>(data), size})
                       : status;
  });
}

void *bp_device_buffer_map(bp_device_buffer_t *buffer) {
  return isHandle(buffer).ok() ? buffer->buffer->map() : nullptr;
}

uint64_t bp_device_buffer_size(const bp_device_buffer_t *buffer) {
  return isHandle(buffer).ok() ? buffer->buffer->size() : 0;
}

bp_string_t bp_device_buffer_device(const bp_device_buffer_t *buffer) {
  return isHandle(buffer).ok() ? toC(buffer->buffer->device().uri())
                               : bp_string_t{nullptr, 0};
}

bp_status_t bp_timeline_create(bp_timeline_t **out_timeline,
                               bp_error_t *error) {
  return guarded(error, [&] {
    Status status = needs(out_timeline, "out_timeline");
    if (status.ok())
      *out_timeline =
          new bp_timeline_t{.timeline = std::make_shared<Timeline>()};
    return status;
  });
}

void bp_timeline_destroy(bp_timeline_t *timeline) {
  if (isHandle(timeline).ok())
    delete timeline;
}

bp_status_t bp_timeline_signal(bp_timeline_t *timeline, uint64_t value,
                               bp_error_t *error) {
  return guarded(error, [&] {
    Status status = isHandle(timeline);
    return status.ok() ? timeline->timeline->signal(value) : status;
  });
}

bp_status_t bp_timeline_fail(bp_timeline_t *timeline, bp_status_t status,
                             bp_string_t message, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(timeline), isText(message, "message")});
        !s.ok())
      return s;
    if (status == BP_STATUS_OK)
      return invalidArgument("a timeline does not fail with BP_STATUS_OK");
    timeline->timeline->fail(Status(status, std::string(view(message))));
    return {};
  });
}

bp_status_t bp_timeline_wait(bp_timeline_t *timeline, uint64_t value,
                             uint64_t timeout_ns, bp_error_t *error) {
  return guarded(error, [&] {
    Status status = isHandle(timeline);
    return status.ok() ? timeline->timeline->wait(value, timeout_ns) : status;
  });
}

uint64_t bp_timeline_value(const bp_timeline_t *timeline) {
  return isHandle(timeline).ok() ? timeline->timeline->value() : 0;
}
