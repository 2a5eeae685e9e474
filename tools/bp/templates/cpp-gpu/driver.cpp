// SPDX-License-Identifier: Apache-2.0
//
// driver.cpp: the device. The host has validated handles, ranges and counts of
// every call; only blobs are checked here, because they come from files.
//
// Memory and command processor are those of a GPU in software: put the calls of
// your runtime in their place. What a GPU of the host's own memory has
// otherwise is in README.md.
#include "acme.h"

#include <backplane/helpers.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

static constexpr uint64_t alignmentBytes = 256;

// ---- Devices ----

Status Plugin::enumerate(Options options, DeviceSink sink) {
  if (Status status = options.refuseAll(pluginName); !status.ok())
    return status;
  const bp_string_t format = toC(formatName);
  bp_device_info_t info = {};
  info.header = BP_HEADER(bp_device_info_t);
  info.id = toC(deviceId);
  info.name = toC("acme in software");
  info.kind = BP_DEVICE_KIND_GPU;
  // Kernels get memory of the device only, and nobody times an emulation.
  info.flags = BP_DEVICE_DISCRETE | BP_DEVICE_EMULATED;
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
  return static_cast<std::byte *>(buffer.bytes.get()) + offset;
}

Result<std::unique_ptr<Device::Buffer>>
Device::allocate(uint32_t space, uint64_t size, uint64_t alignment) {
  if (space > BP_SPACE_STAGING)
    return unimplemented("acme has no memory space " + std::to_string(space));
  HostMemory bytes(host_, size, std::max(alignment, alignmentBytes));
  if (!bytes)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "acme cannot allocate " + std::to_string(size) + " bytes");
  return std::make_unique<Buffer>(
      Buffer{std::move(bytes), space == BP_SPACE_STAGING});
}

// The host waits for both: of device memory it asks them for what is small.
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

Result<void *> Device::map(Buffer &buffer) {
  if (buffer.isStaging)
    return buffer.bytes.get();
  return unimplemented("acme maps staging buffers, this one is in the memory "
                       "of the device");
}

// ---- Executables ----

Result<std::unique_ptr<Device::Executable>>
Device::load(const bp_executable_info_t &info) {
  auto instruction = readBlob(info);
  if (!instruction)
    return instruction.status();
  return std::make_unique<Executable>(Executable{*instruction});
}

// ---- Recorded commands ----

void Device::CommandBuffer::Free::operator()(bp_header_t **list) const {
  std::free(list);
}

Result<std::unique_ptr<Device::CommandBuffer>>
Device::CommandBuffer::copyOf(Commands commands) {
  auto made = std::make_unique<CommandBuffer>();
  made->list_.reset(bp_commands_copy(commands.data(), commands.size()));
  made->count_ = commands.size();
  if (!made->list_)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "acme has no memory for " + std::to_string(commands.size()) +
                      " commands");
  return made;
}

Result<std::unique_ptr<Device::CommandBuffer>>
Device::record(Commands commands) {
  return CommandBuffer::copyOf(commands);
}

// ---- Queues ----

Result<std::unique_ptr<Device::Queue>>
Device::createQueue(uint32_t queueClass) {
  if (queueClass > BP_QUEUE_TRANSFER)
    return unimplemented("acme has no queue of class " +
                         std::to_string(queueClass));
  return std::make_unique<Queue>(host_);
}

Device::Queue::Queue(Host host)
    : host_(host), processor_([this] { serve(); }) {}

Device::Queue::~Queue() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  processor_.join();
}

Status Device::Queue::enqueue(Work work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_one();
  return {};
}

// The commands are the host's until the call returns.
Status Device::Queue::executeTimed(Commands commands,
                                   std::span<bp_timestamp_t> times,
                                   Completion completion) {
  auto own = CommandBuffer::copyOf(commands);
  if (!own)
    return own.status();
  const CommandBuffer *recorded = own->get();
  return enqueue({std::move(*own), recorded, {}, times, completion});
}

Status Device::Queue::execute(Commands commands, Completion completion) {
  return executeTimed(commands, {}, completion);
}

Status Device::Queue::execute(CommandBuffer &recorded,
                              std::span<const bp_binding_t> table,
                              Completion completion) {
  return enqueue(
      {nullptr, &recorded, {table.begin(), table.end()}, {}, completion});
}

void Device::Queue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
    if (work_.empty())
      return;
    const Work work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    finished([&] { return run(work); },
             [&](const Status &status) { work.completion.done(status); });
    lock.lock();
  }
}

// ---- The command processor ----

namespace {

// Runs one command; slots of its bindings are entries of the table.
struct Processor {
  Host host;
  std::span<const bp_binding_t> table;

  std::byte *bytesOf(const BufferRange<Device> &range) const {
    if (range.buffer)
      return bytesIn(*range.buffer, range.offset);
    const BufferRange<Device> bound(table[range.slot]);
    return bytesIn(*bound.buffer, bound.offset + range.offset);
  }

  // Work-groups run on the threads of the host, in any order.
  Status operator()(const Dispatch<Device> &dispatch) const {
    Call call = {};
    for (uint64_t i = 0; i < dispatch.bindings(); ++i)
      call.bindings[i] =
          reinterpret_cast<float *>(bytesOf(dispatch.binding(i)));
    call.parameters = dispatch.parameters().data();
    const int64_t width = dispatch.grid()[0];
    host.parallelFor(dispatch.groups(), [&](uint64_t index, uint32_t) {
      dispatch.executable().instruction->run(call, int64_t(index) % width,
                                             int64_t(index) / width);
    });
    return {};
  }

  Status operator()(const Copy<Device> &copy) const {
    std::memcpy(bytesOf(copy.target), bytesOf(copy.source), copy.source.length);
    return {};
  }

  Status operator()(const Fill<Device> &fill) const {
    std::byte *data = bytesOf(fill.target);
    for (uint64_t i = 0; i < fill.target.length; ++i)
      data[i] = std::byte(fill.pattern >> (8 * (i % fill.patternSize)));
    return {};
  }

  Status operator()(Barrier) const { return {}; } // commands never overlap
};

uint64_t now() {
  using namespace std::chrono;
  return uint64_t(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch())
          .count());
}

} // namespace

Status Device::Queue::run(const Work &work) {
  const Commands commands = work.recorded->commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    const uint64_t begin = now();
    if (Status status =
            visitCommand<Device>(commands[i], Processor{host_, work.table});
        !status.ok())
      return status;
    if (!work.times.empty())
      work.times[i] = {begin, now()};
  }
  return {};
}
