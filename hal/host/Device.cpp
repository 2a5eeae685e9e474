// SPDX-License-Identifier: Apache-2.0
//
// Device.cpp: the one device of the driver and its memory.
#include "Driver.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace backplane::host {

#if defined(__x86_64__)
static constexpr bp_string_t formats[] = {{"elf-x86_64", 10}, {"native", 6}};
#elif defined(__aarch64__)
static constexpr bp_string_t formats[] = {{"elf-aarch64", 11}, {"native", 6}};
#endif

static constexpr std::string_view deviceId = "cpu";

static Status refuseOptions(plugin::Options options) {
  if (options.empty())
    return {};
  return invalidArgument("the host driver knows no option \"" +
                         std::string(view(options.items()[0].key)) +
                         "\"; it has none, write host://cpu");
}

static std::vector<bp_string_t> splitFeatures(bp_string_t text) {
  std::vector<bp_string_t> features;
  std::string_view rest(text.data, text.size);
  while (!rest.empty()) {
    size_t end = std::min(rest.find(','), rest.size());
    features.push_back({rest.data(), end});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return features;
}

static uint64_t memoryBytes() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * uint64_t(size) : 0;
}

/// The sizes of caches that the operating system knows.
static std::vector<bp_property_t> cachesOf(const bp_host_cpu_t &cpu) {
  const std::pair<const char *, uint64_t> levels[] = {
      {"cache_bytes.1", cpu.l1_bytes},
      {"cache_bytes.2", cpu.l2_bytes},
      {"cache_bytes.3", cpu.l3_bytes}};
  std::vector<bp_property_t> properties;
  for (auto [key, bytes] : levels)
    if (bytes)
      properties.push_back({.key = {key, std::strlen(key)},
                            .kind = BP_PROPERTY_I64,
                            .i64 = int64_t(bytes)});
  return properties;
}

Status Driver::enumerate(plugin::Options options, plugin::DeviceSink sink) {
  if (Status status = refuseOptions(options); !status.ok())
    return status;
  const bp_host_cpu_t &cpu = host_.cpu();
  std::vector<bp_string_t> features = splitFeatures(cpu.features);
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(deviceId);
  info.name = cpu.model;
  info.kind = BP_DEVICE_KIND_CPU;
  info.flags = BP_DEVICE_UNIFIED_MEMORY | BP_DEVICE_SYNCHRONOUS;
  info.formats = formats;
  info.format_count = std::size(formats);
  info.features = features.data();
  info.feature_count = features.size();
  info.binding_alignment = alignment;
  info.memory_bytes = memoryBytes();
  info.max_bindings = maxBindings;
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_parameters = BP_MAX_PARAMETERS;
  info.worker_count = host_.workers();
  std::vector<bp_property_t> properties = cachesOf(cpu);
  info.properties = properties.data();
  info.property_count = properties.size();
  return sink.put(info);
}

Result<std::unique_ptr<Device>> Driver::open(std::string_view id,
                                             plugin::Options options) {
  if (Status status = refuseOptions(options); !status.ok())
    return status;
  if (id != deviceId)
    return notFound("the host driver has one device, cpu");
  return make<Device>(host_);
}

// ---- Memory ----

Result<std::unique_ptr<Buffer>> Device::allocate(uint32_t space, uint64_t size,
                                                 uint64_t wanted) {
  if (space > BP_SPACE_STAGING)
    return unimplemented("the host driver has no memory space " +
                         std::to_string(space));
  constexpr uint64_t hugePage = 2u << 20;
  bool isHuge = size >= 2 * hugePage;
  void *data =
      host.allocate(size, isHuge ? hugePage : std::max(wanted, alignment));
  if (!data)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "there is no memory for a buffer of " + std::to_string(size) +
                      " bytes");
  if (isHuge)
    madvise(data, size / hugePage * hugePage, MADV_HUGEPAGE);
  Result<std::unique_ptr<Buffer>> buffer = make<Buffer>(host, data, true);
  if (!buffer)
    host.release(data);
  return buffer;
}

Status Device::write(Buffer &buffer, uint64_t offset,
                     std::span<const std::byte> data) {
  std::memcpy(buffer.data + offset, data.data(), data.size());
  return {};
}

Status Device::read(Buffer &buffer, uint64_t offset,
                    std::span<std::byte> data) {
  std::memcpy(data.data(), buffer.data + offset, data.size());
  return {};
}

Result<void *> Device::map(Buffer &buffer) {
  return static_cast<void *>(buffer.data);
}

Result<std::unique_ptr<Buffer>> Device::import(void *pointer, uint64_t, bool) {
  return make<Buffer>(host, pointer, false);
}

} // namespace backplane::host
