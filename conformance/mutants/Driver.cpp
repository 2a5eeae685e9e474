// SPDX-License-Identifier: Apache-2.0
//
// Device, memory and executables: the reference plug-in's, but for faults.
#include "Program.h"
#include "Tables.h"

namespace backplane::mutants {

std::string targetName(const Mutant &mutant) { return "mutant-" + mutant.id(); }

bp_status_t fail(const PluginSelf &self, bp_error_t *error,
                 const Status &status) {
  return self.host->error_set(self.host->self, error, status.code(),
                              toC(status.message()));
}

namespace {

// ---- devices ----

/// Hands the reference device on under the mutant's names.
struct Renamed {
  const PluginSelf &self;
  const bp_device_sink_t &sink;

  static bp_status_t put(void *context, const bp_device_info_t *info) {
    auto &renamed = *static_cast<Renamed *>(context);
    const Mutant &mutant = *renamed.self.mutant;
    std::string id = mutant.id(), format = targetName(mutant);
    bp_string_t formats[] = {toC(format)};
    bp_device_info_t copy = *info;
    copy.id = toC(id);
    copy.name = toC(mutant.title);
    copy.formats = formats;
    copy.format_count = 1;
    return renamed.sink.put(renamed.sink.context, &copy);
  }
};

bp_status_t enumerate(void *pointer, const bp_options_t *options,
                      const bp_device_sink_t *sink, bp_error_t *error) {
  auto &self = *static_cast<PluginSelf *>(pointer);
  if (!self.mutant)
    return BP_STATUS_OK;
  Renamed renamed{self, *sink};
  bp_device_sink_t inside = {&Renamed::put, &renamed};
  return self.inner->driver->enumerate(self.innerSelf, options, &inside, error);
}

bp_status_t openDevice(void *pointer, bp_string_t id,
                       const bp_options_t *options, bp_device_t **outDevice,
                       bp_error_t *error) {
  auto *self = static_cast<PluginSelf *>(pointer);
  if (!self->mutant || view(id) != self->mutant->id())
    return fail(*self, error,
                notFound("no mutant '" + std::string(view(id)) +
                         "'; BACKPLANE_MUTANT chooses one"));
  auto *device = new bp_device_t{self, nullptr, nullptr, {}, 0};
  device->memory.seed = self->seed;
  bp_status_t status = self->inner->driver->open(
      self->innerSelf, toC("interpreter"), options, &device->inner, error);
  if (status == BP_STATUS_OK)
    status = self->inner->queue->queue_create(device->inner, BP_QUEUE_COMPUTE,
                                              &device->innerQueue, error);
  if (status == BP_STATUS_OK)
    *outDevice = device;
  else
    delete device;
  return status;
}

void closeDevice(bp_device_t *device) {
  device->settle();
  device->self->inner->queue->queue_destroy(device->inner, device->innerQueue);
  device->self->inner->driver->close(device->inner);
  delete device;
}

// ---- memory ----

bp_status_t allocate(bp_device_t *device, uint32_t space, uint64_t size,
                     uint64_t alignment, bp_buffer_t **outBuffer,
                     bp_error_t *error) {
  *outBuffer = nullptr;
  bp_status_t status = device->self->inner->memory->buffer_allocate(
      device->inner, space, size, alignment, outBuffer, error);
  if (faultOf(device) == Fault::OomCrash)
    *static_cast<volatile uint8_t *>(memoryOf(*outBuffer)) = 0;
  return status;
}

void freeBuffer(bp_device_t *device, bp_buffer_t *buffer) {
  device->settle();
  device->self->inner->memory->buffer_free(device->inner, buffer);
}

uint64_t offsetIn(const bp_device_t *device, uint64_t offset) {
  return faultOf(device) == Fault::Offset32 ? uint32_t(offset) : offset;
}

bp_status_t write(bp_device_t *device, bp_buffer_t *buffer, uint64_t offset,
                  const void *data, uint64_t size, bp_error_t *error) {
  return device->self->inner->memory->buffer_write(
      device->inner, buffer, offsetIn(device, offset), data, size, error);
}

bp_status_t read(bp_device_t *device, bp_buffer_t *buffer, uint64_t offset,
                 void *data, uint64_t size, bp_error_t *error) {
  return device->self->inner->memory->buffer_read(
      device->inner, buffer, offsetIn(device, offset), data, size, error);
}

// ---- executables ----

bp_status_t load(bp_device_t *device, const bp_executable_info_t *info,
                 bp_executable_t **outExecutable, bp_error_t *error) {
  const PluginSelf &self = *device->self;
  if (view(info->format) != targetName(*self.mutant))
    return fail(self, error,
                invalidArgument("this mutant loads the format " +
                                targetName(*self.mutant)));
  Result<bp_executable_t *> program = bp_executable_t::load(*device, *info);
  if (program) {
    *outExecutable = *program;
    return BP_STATUS_OK;
  }
  if (faultOf(device) == Fault::LeakOnError)
    (void)self.host->memory_allocate(self.host->self, 65536, 64);
  if (faultOf(device) == Fault::LoadAnything) {
    *outExecutable = nullptr;
    return BP_STATUS_OK;
  }
  return fail(self, error, program.status());
}

void unload(bp_device_t *device, bp_executable_t *executable) {
  device->settle();
  delete executable;
}

} // namespace

const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), &enumerate,
                                       &openDevice, &closeDevice};
const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t), &allocate,
                                       &freeBuffer, &write, &read};
const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               &load, &unload};

} // namespace backplane::mutants
