// SPDX-License-Identifier: Apache-2.0
//
// Device.cpp: the one device of the driver and its memory.
#include "Driver.h"

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

plugin::Tables Driver::tables() {
  return {&driverTable,    &memoryTable,    &executableTable,
          &queueTable,     &memory2Table,   &commandBufferTable,
          &semaphoreTable, &timestampsTable};
}

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message) {
  return driver.host->error_set(driver.host->self, error, status, toC(message));
}

bp_status_t refuseOptions(const Driver &driver, const bp_options_t *options,
                          bp_error_t *error) {
  if (!options || options->count == 0)
    return BP_STATUS_OK;
  std::string key(options->items[0].key.data, options->items[0].key.size);
  return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
              "the host driver knows no option \"" + key +
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

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const Driver &driver = *plugin::Self<Driver>::of(self).plugin;
  bp_status_t status = refuseOptions(driver, options, error);
  if (status != BP_STATUS_OK)
    return status;
  const bp_host_t &host = *driver.host;
  std::vector<bp_string_t> features = splitFeatures(host.cpu->features);
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(deviceId);
  info.name = host.cpu->model;
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
  info.worker_count = host.worker_count(host.self);
  std::vector<bp_property_t> properties = cachesOf(*host.cpu);
  info.properties = properties.data();
  info.property_count = properties.size();
  return sink->put(sink->context, &info);
}

static bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                        bp_device_t **out, bp_error_t *error) {
  Driver &driver = *plugin::Self<Driver>::of(self).plugin;
  bp_status_t status = refuseOptions(driver, options, error);
  if (status != BP_STATUS_OK)
    return status;
  if (std::string_view(id.data, id.size) != deviceId)
    return fail(driver, error, BP_STATUS_NOT_FOUND,
                "the host driver has one device, cpu");
  *out = new (std::nothrow) bp_device_t{&driver};
  return *out ? BP_STATUS_OK
              : fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "out of memory");
}

static void close(bp_device_t *device) { delete device; }

// ---- Memory ----

static bp_status_t wrap(const Driver &driver, void *data, uint64_t size,
                        bool owned, bp_buffer_t **out, bp_error_t *error) {
  *out =
      new (std::nothrow) bp_buffer_t{static_cast<uint8_t *>(data), size, owned};
  return *out ? BP_STATUS_OK
              : fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                     "out of memory");
}

static bp_status_t bufferAllocate(bp_device_t *device, uint32_t space,
                                  uint64_t size, uint64_t wanted,
                                  bp_buffer_t **out, bp_error_t *error) {
  if (space > BP_SPACE_STAGING)
    return fail(*device->driver, error, BP_STATUS_UNIMPLEMENTED,
                "the host driver has no memory space " + std::to_string(space));
  constexpr uint64_t hugePage = 2u << 20;
  const bp_host_t &host = *device->driver->host;
  uint64_t start = wanted < alignment ? alignment : wanted;
  if (size >= 2 * hugePage)
    start = hugePage;
  void *data = host.memory_allocate(host.self, size, start);
  if (!data)
    return fail(*device->driver, error, BP_STATUS_RESOURCE_EXHAUSTED,
                "there is no memory for a buffer of " + std::to_string(size) +
                    " bytes");
  if (size >= 2 * hugePage)
    madvise(data, size / hugePage * hugePage, MADV_HUGEPAGE);
  bp_status_t status = wrap(*device->driver, data, size, true, out, error);
  if (status != BP_STATUS_OK)
    host.memory_free(host.self, data);
  return status;
}

static void bufferFree(bp_device_t *device, bp_buffer_t *buffer) {
  const bp_host_t &host = *device->driver->host;
  if (buffer->owned)
    host.memory_free(host.self, buffer->data);
  delete buffer;
}

static bp_status_t bufferWrite(bp_device_t *, bp_buffer_t *buffer,
                               uint64_t offset, const void *data, uint64_t size,
                               bp_error_t *) {
  std::memcpy(buffer->data + offset, data, size);
  return BP_STATUS_OK;
}

static bp_status_t bufferRead(bp_device_t *, bp_buffer_t *buffer,
                              uint64_t offset, void *data, uint64_t size,
                              bp_error_t *) {
  std::memcpy(data, buffer->data + offset, size);
  return BP_STATUS_OK;
}

static bp_status_t bufferMap(bp_device_t *, bp_buffer_t *buffer, void **out,
                             bp_error_t *) {
  *out = buffer->data;
  return BP_STATUS_OK;
}

static bp_status_t bufferImport(bp_device_t *device, void *pointer,
                                uint64_t size, uint8_t, bp_buffer_t **out,
                                bp_error_t *error) {
  return wrap(*device->driver, pointer, size, false, out, error);
}

const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                       open, close};
const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t),
                                       bufferAllocate, bufferFree, bufferWrite,
                                       bufferRead};
const bp_memory2_table_t memory2Table = {BP_HEADER(bp_memory2_table_t),
                                         bufferMap, bufferImport};

} // namespace backplane::host
