// SPDX-License-Identifier: Apache-2.0
//
// Faulty.cpp: a small driver that keeps all rules but one, which BP_FAULT
// names; with NONE it keeps them all.
#include "FaultyCompiler.h"
#include "FaultyQueue.h"

#include <cfenv>
#include <sys/stat.h>
#include <unistd.h>

namespace {

const bp_host_t *sharedHost; ///< of the latest context

/// As a library does that was built with -ffast-math.
__attribute__((constructor)) void whenLoaded() {
  if (has(FLUSHES_WHEN_LOADED))
    flushDenormals();
}

bp_status_t initialize(const bp_host_t *host, const bp_options_t *options,
                       void **self, bp_error_t *error) {
  if (bp_status_t status = refuseOptions(host, options, error))
    return status;
  if (has(ROUNDS_UP))
    fesetround(FE_UPWARD);
  if (has(FLUSHES))
    flushDenormals();
  if (has(TAKES_SIGNALS))
    std::signal(SIGUSR1, SIG_IGN);
  if (has(PRINTS))
    std::puts("hello"), std::fflush(stdout);
  if (has(LEAVES_THREADS))
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::seconds(3));
    }).detach();
  auto *device = static_cast<bp_device_t *>(
      host->memory_allocate(host->self, sizeof(bp_device_t), 8));
  if (!device && !has(CRASHES_WITHOUT_MEMORY))
    return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
  device->host = sharedHost = host;
  *self = device;
  return BP_STATUS_OK;
}

void shutdown(void *self) {
  auto *device = static_cast<bp_device_t *>(self);
  const bp_host_t *host = has(SHARES_STATE) ? sharedHost : device->host;
  host->memory_free(host->self, device);
  if (has(FREES_TWICE))
    host->memory_free(host->self, device);
}

const void *getTable(void *, bp_string_t name, uint32_t);

bp_status_t enumerate(void *self, const bp_options_t *options,
                      const bp_device_sink_t *sink, bp_error_t *error) {
  const bp_host_t *host = static_cast<bp_device_t *>(self)->host;
  if (bp_status_t status = refuseOptions(host, options, error))
    return status;
  bp_string_t format = text("faulty");
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = text("one");
  info.name = text("test device");
  info.kind = BP_DEVICE_KIND_OTHER;
  info.flags = BP_DEVICE_SYNCHRONOUS;
  info.formats = &format;
  info.format_count = 1;
  info.binding_alignment = 64;
  info.max_bindings = 8;
  bp_status_t status = sink->put(sink->context, &info);
  return has(IGNORES_SINK) ? bp_status_t(BP_STATUS_OK) : status;
}

bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                 bp_device_t **out, bp_error_t *error) {
  *out = static_cast<bp_device_t *>(self);
  if (bp_status_t status = refuseOptions((*out)->host, options, error))
    return status;
  if (has(MOVES_FOLDER) && chdir("/") != 0)
    return BP_STATUS_INTERNAL;
  bool known = id.size == 3 && memcmp(id.data, "one", 3) == 0;
  return known ? bp_status_t(BP_STATUS_OK)
               : fail((*out)->host, error, BP_STATUS_NOT_FOUND, "no device");
}

void close(bp_device_t *) {}

bp_status_t allocate(bp_device_t *device, uint32_t space, uint64_t size,
                     uint64_t alignment, bp_buffer_t **out, bp_error_t *error) {
  const bp_host_t *host = device->host;
  if (has(MASKS_FILES))
    umask(0077);
  if (space > BP_SPACE_STAGING && !has(SKIPS_UNKNOWN))
    return fail(host, error, BP_STATUS_UNIMPLEMENTED, "no such space");
  if (has(GIVES_ANY_SIZE) && size > uint64_t(1) << 40)
    size = 4096;
  if (alignment < 64)
    alignment = 64;
  auto *buffer = new (std::nothrow) bp_buffer_t;
  buffer->data = static_cast<uint8_t *>(host->memory_allocate(
      host->self, size, has(IGNORES_ALIGNMENT) ? 64 : alignment));
  if (has(CRASHES_WITHOUT_MEMORY) && size < 1u << 20)
    *const_cast<volatile uint8_t *>(buffer->data) = 0;
  *out = buffer;
  if (buffer->data)
    return BP_STATUS_OK;
  delete buffer;
  return fail(host, error, BP_STATUS_RESOURCE_EXHAUSTED, "no memory");
}

void release(bp_device_t *device, bp_buffer_t *buffer) {
  device->host->memory_free(device->host->self, buffer->data);
  delete buffer;
}

bp_status_t write(bp_device_t *, bp_buffer_t *buffer, uint64_t offset,
                  const void *data, uint64_t size, bp_error_t *) {
  memcpy(buffer->data + offset, data, size);
  if (has(LEAVES_MMX))
    useMmx();
  return BP_STATUS_OK;
}

bp_status_t read(bp_device_t *, bp_buffer_t *buffer, uint64_t offset,
                 void *data, uint64_t size, bp_error_t *) {
  memcpy(data, buffer->data + offset, size);
  if (has(TRAPS))
    feenableexcept(FE_INVALID);
  if (has(READ_RUNS_OVER))
    static_cast<char *>(data)[size] = 0;
  return BP_STATUS_OK;
}

bp_status_t map(bp_device_t *, bp_buffer_t *buffer, void **out, bp_error_t *) {
  *out = buffer->data;
  return BP_STATUS_OK;
}

bp_status_t load(bp_device_t *device, const bp_executable_info_t *,
                 bp_executable_t **, bp_error_t *error) {
  return fail(device->host, error, BP_STATUS_INVALID_ARGUMENT,
              "nothing can be loaded");
}

void unload(bp_device_t *, bp_executable_t *) {}

const bp_plugin_table_t pluginTable = {BP_HEADER(bp_plugin_table_t), initialize,
                                       shutdown, getTable};
const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                       open, close};
const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t), allocate,
                                       release, write, read};
const bp_memory2_table_t memory2Table = {BP_HEADER(bp_memory2_table_t), map,
                                         nullptr};
const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               load, unload};

const void *getTable(void *, bp_string_t name, uint32_t version) {
  auto is = [&](const char *known) {
    uint64_t size = has(TABLE_BY_PREFIX) && name.size < strlen(known)
                        ? name.size
                        : strlen(known);
    return name.size >= size && (name.size == size || has(TABLE_BY_PREFIX)) &&
           memcmp(name.data, known, size) == 0;
  };
  if (version != 0 || !name.size)
    return nullptr;
  if (is("backplane.memory2"))
    return &memory2Table;
  return is("backplane.command_buffer") ? &commandBufferTable : nullptr;
}

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t bp_plugin_query_v0(const bp_host_info_t *,
                                                       bp_plugin_info_t *out) {
  bp_plugin_info_t info = {BP_HEADER(bp_plugin_info_t)};
  info.name = text("faulty");
  info.vendor = text("test");
  info.version = text("1.0.0");
  info.required_minor = 1;
  info.built_minor = BP_ABI_MINOR;
  info.plugin = &pluginTable;
  info.driver = &driverTable;
  info.memory = &memoryTable;
  info.executable = &executableTable;
  info.queue = &queueTable;
  info.compiler = &compilerTable;
  if (out->header.size < sizeof(info) && !has(QUERY_RUNS_OVER))
    info.header.size = out->header.size;
  memcpy(out, &info, info.header.size);
  return BP_STATUS_OK;
}
