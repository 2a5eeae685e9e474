// SPDX-License-Identifier: Apache-2.0
//
// Device.cpp: listing and opening devices.
#include "Device.h"

#include <array>
#include <new>

namespace backplane::cuda {

static constexpr bp_string_t formats[] = {
    {"ptx", 3}, {"native", 6}, {"cubin", 5}};
static constexpr uint32_t warp = 32;

/// Numbers that targets may compare.
static std::array<bp_property_t, 4> propertiesOf(const PhysicalDevice &device) {
  auto number = [](std::string_view key, int64_t value) {
    bp_property_t property = {};
    property.key = {key.data(), key.size()};
    property.kind = BP_PROPERTY_I64;
    property.i64 = value;
    return property;
  };
  return {number("sm", device.sm),
          number("group_threads", device.maxGroupThreads),
          number("shared_bytes", device.sharedBytes),
          number("subgroup_size", warp)};
}

static bp_status_t list(const PhysicalDevice &device, const Options &options,
                        const bp_device_sink_t *sink) {
  static constexpr bp_string_t tf32[] = {{"tf32", 4}};
  constexpr uint32_t bindingAlignment = 256;
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(device.id);
  info.name = toC(device.name);
  info.kind = BP_DEVICE_KIND_GPU;
  info.flags = BP_DEVICE_DISCRETE;
  if (device.emulated)
    info.flags |= BP_DEVICE_EMULATED;
  info.formats = formats;
  // The emulator executes PTX alone.
  info.format_count = std::size(formats) - device.emulated;
  info.features = tf32;
  info.feature_count = options.tf32;
  info.max_buffer_size = device.memoryBytes;
  info.binding_alignment = bindingAlignment;
  info.memory_bytes = device.memoryBytes;
  info.max_bindings = maxBindings;
  info.max_constants = BP_MAX_CONSTANTS;
  info.max_parameters = BP_MAX_PARAMETERS;
  info.max_shared_bytes = uint64_t(device.maxSharedBytes);
  info.subgroup_sizes = warp;
  for (int i = 0; i < 3; ++i)
    info.max_grid[i] = uint32_t(device.maxGrid[i]);
  info.worker_count = uint32_t(std::max(device.multiprocessors, 1));
  info.identity = toC(device.identity);
  info.refusal = toC(device.refusal);
  auto properties = propertiesOf(device);
  if (device.refusal.empty()) {
    info.properties = properties.data();
    info.property_count = properties.size();
  }
  return sink->put(sink->context, &info);
}

static bp_status_t enumerate(void *self, const bp_options_t *options,
                             const bp_device_sink_t *sink, bp_error_t *error) {
  const Driver &driver = *plugin::Self<Plugin>::of(self).plugin;
  Options read;
  if (bp_status_t status = readOptions(driver, options, read, error))
    return status;
  for (const PhysicalDevice &device : describeAll(read))
    if (bp_status_t status = list(device, read, sink))
      return status;
  return BP_STATUS_OK;
}

static bp_status_t open(const Driver &driver, const PhysicalDevice &physical,
                        bp_device_t **out, bp_error_t *error) {
  std::unique_ptr<Device> device(new (std::nothrow) Device(driver, physical));
  if (!device)
    return outOfMemory(driver, error);
  CUcontext context = nullptr;
  if (CUresult result =
          device->cuda.cuDevicePrimaryCtxRetain(&context, physical.handle))
    return device->fail(error, result, "cannot open " + physical.name);
  device->context = context;
  Current current(*device);
  if (CUresult result = device->makePool())
    return device->fail(error, result,
                        "cannot make a pool of memory of " + physical.name);
  *out = device.release();
  return BP_STATUS_OK;
}

static bp_status_t open(void *self, bp_string_t id, const bp_options_t *options,
                        bp_device_t **out, bp_error_t *error) {
  const Driver &driver = *plugin::Self<Plugin>::of(self).plugin;
  Options read;
  if (bp_status_t status = readOptions(driver, options, read, error))
    return status;
  for (const PhysicalDevice &physical : describeAll(read)) {
    if (std::string_view(id.data, id.size) != physical.id)
      continue;
    if (!physical.refusal.empty())
      return fail(driver, error, BP_STATUS_FAILED_PRECONDITION,
                  physical.name + " cannot be used: " + physical.refusal);
    return open(driver, physical, out, error);
  }
  return fail(driver, error, BP_STATUS_NOT_FOUND,
              "no CUDA device has this id; `bp devices` lists them");
}

static void close(bp_device_t *device) { delete device; }

const bp_driver_table_t driverTable = {BP_HEADER(bp_driver_table_t), enumerate,
                                       open, close};

static bp_status_t deviceHandles(bp_device_t *device, bp_device_handles_t *out,
                                 bp_error_t *) {
  const bp_device_handles_t handles = of(*device).handles();
  const uint32_t room = std::min(out->header.size, handles.header.size);
  std::memcpy(static_cast<void *>(out), &handles, room);
  out->header.size = room;
  return BP_STATUS_OK;
}

const bp_interop_table_t interopTable = {BP_HEADER(bp_interop_table_t),
                                         deviceHandles};

Device::Device(const Driver &driver, const PhysicalDevice &physical)
    : bp_device_t(driver), physical(physical), cuda(*physical.cuda) {}

Device::~Device() {
  if (!context)
    return;
  {
    Current current(*this);
    if (pool)
      cuda.cuMemPoolDestroy(pool);
    if (memoryStream)
      cuda.cuStreamDestroy(memoryStream);
  }
  cuda.cuDevicePrimaryCtxRelease(physical.handle);
}

bp_device_handles_t Device::handles() const {
  bp_device_handles_t handles = {BP_HEADER(bp_device_handles_t)};
  handles.api = toC("cuda");
  handles.context = context;
  handles.find = [](void *self, const char *name) {
    return static_cast<const Cuda *>(self)->find(name);
  };
  handles.find_self = const_cast<Cuda *>(&cuda);
  return handles;
}

bp_status_t Device::fail(bp_error_t *error, CUresult result,
                         std::string_view what) {
  std::string why = cuda.describe(result);
  if (isSticky(result)) {
    lose(why.c_str());
    gpu::Lock lock(mutex);
    gpu::advance(*this, lock);
  }
  return cuda::fail(driver, error, statusOf(result),
                    std::string(what) + ": " + why);
}

gpu::Outcome Device::outcomeOf(CUresult result) {
  gpu::Outcome outcome{statusOf(result)};
  constexpr std::string_view what = "the CUDA device failed: ";
  std::span<char> text = outcome.message;
  text = text.subspan(what.copy(text.data(), what.size()));
  cuda.describe(result, text);
  if (isSticky(result))
    lose(text.data());
  return outcome;
}

} // namespace backplane::cuda
