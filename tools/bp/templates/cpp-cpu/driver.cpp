// SPDX-License-Identifier: Apache-2.0
//
// driver.cpp: the device. The host has validated handles, ranges and counts of
// every call; only blobs are checked here, because they come from files.
//
// A buffer is memory of the host and a queue does its work in the caller's
// thread: replace them by those of your runtime. A queue that no longer waits
// has execute(Commands, Completion) in place of run, and the device no
// BP_DEVICE_SYNCHRONOUS.
#include "acme.h"

#include <algorithm>
#include <cstring>

static constexpr uint64_t alignmentBytes = 64;

// ---- Devices ----

Status Plugin::enumerate(Options options, DeviceSink sink) {
  if (Status status = options.refuseAll(pluginName); !status.ok())
    return status;
  const bp_string_t format = toC(formatName);
  bp_device_info_t info = {};
  info.header = BP_HEADER(bp_device_info_t);
  info.id = toC(deviceId);
  info.name = toC("acme on the CPU");
  info.kind = BP_DEVICE_KIND_CPU;
  info.flags = BP_DEVICE_SYNCHRONOUS;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = alignmentBytes;
  info.max_bindings = maxBindings;
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_parameters = maxParameters;
  info.worker_count = host_.workers();
  return sink.put(info);
}

Result<std::unique_ptr<Device>> Plugin::open(std::string_view id,
                                             Options options) {
  if (Status status = options.refuseAll(pluginName); !status.ok())
    return status;
  if (id != deviceId)
    return notFound("acme has no device '" + std::string(id) + "', only '" +
                    std::string(deviceId) + "'");
  return std::make_unique<Device>(host_);
}

// ---- Memory ----

static std::byte *bytesIn(const Device::Buffer &buffer, uint64_t offset) {
  return static_cast<std::byte *>(buffer.get()) + offset;
}

Result<std::unique_ptr<Device::Buffer>>
Device::allocate(uint32_t space, uint64_t size, uint64_t alignment) {
  if (space > BP_SPACE_STAGING)
    return unimplemented("acme has no memory space " + std::to_string(space));
  auto buffer = std::make_unique<Buffer>(host_, size,
                                         std::max(alignment, alignmentBytes));
  if (!*buffer)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "acme cannot allocate " + std::to_string(size) + " bytes");
  return buffer;
}

Status Device::write(Buffer &buffer, uint64_t offset,
                     std::span<const std::byte> data) {
  std::memcpy(bytesIn(buffer, offset), data.data(), data.size());
  return {};
}

Status Device::read(Buffer &buffer, uint64_t offset,
                    std::span<std::byte> data) {
  std::memcpy(data.data(), bytesIn(buffer, offset), data.size());
  return {};
}

// ---- Executables ----

Result<std::unique_ptr<Device::Executable>>
Device::load(const bp_executable_info_t &info) {
  auto instruction = readBlob(info);
  if (!instruction)
    return instruction.status();
  return std::make_unique<Executable>(Executable{*instruction});
}

// ---- Queues ----

Result<std::unique_ptr<Device::Queue>>
Device::createQueue(uint32_t queueClass) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return unimplemented("acme has no queue of class " +
                         std::to_string(queueClass));
  return std::make_unique<Queue>(Queue{host_});
}

static std::byte *bytesOf(const BufferRange<Device> &range) {
  return bytesIn(*range.buffer, range.offset);
}

// Work-groups run on the threads of the host, in any order.
static Status runDispatch(Host host, const Dispatch<Device> &dispatch) {
  Call call = {};
  for (uint64_t i = 0; i < dispatch.bindings(); ++i)
    call.bindings[i] = reinterpret_cast<float *>(bytesOf(dispatch.binding(i)));
  call.parameters = dispatch.parameters().data();
  const int64_t width = dispatch.grid()[0];
  host.parallelFor(dispatch.groups(), [&](uint64_t index, uint32_t) {
    dispatch.executable().instruction->run(call, int64_t(index) % width,
                                           int64_t(index) / width);
  });
  return {};
}

static Status runCopy(const Copy<Device> &copy) {
  std::memcpy(bytesOf(copy.target), bytesOf(copy.source), copy.target.length);
  return {};
}

static Status runFill(const Fill<Device> &fill) {
  std::byte *data = bytesOf(fill.target);
  for (uint64_t i = 0; i < fill.target.length; ++i)
    data[i] = std::byte(fill.pattern >> (8 * (i % fill.patternSize)));
  return {};
}

Status Device::Queue::run(Commands commands) {
  return visitCommands<Device>(
      commands,
      Overloaded{
          [&](const Dispatch<Device> &one) { return runDispatch(host, one); },
          [](const Copy<Device> &one) { return runCopy(one); },
          [](const Fill<Device> &one) { return runFill(one); },
          [](Barrier) { return Status(); }}); // commands never overlap
}
