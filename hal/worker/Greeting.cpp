// SPDX-License-Identifier: Apache-2.0
//
// Greeting.cpp: what a worker says of its machine, a device and a target.
#include "Loop.h"
#include "backplane/compiler.h"
#include "sdk/support/Glob.h"

#include <algorithm>
#include <set>
#include <sys/utsname.h>

namespace backplane::worker {
namespace {

struct Targets {
  Hello *hello;
  std::string wanted; ///< empty: what the device takes
  std::string plugin; ///< of the chosen one
};

bp_status_t putTarget(void *context, const bp_target_listing_t *listing) {
  auto &targets = *static_cast<Targets *>(context);
  Hello &hello = *targets.hello;
  bool taken = targets.wanted.empty()
                   ? listing->chosen
                   : view(listing->target->name) == targets.wanted;
  if (!taken)
    return BP_STATUS_OK;
  const bp_target_t &target = *listing->target;
  hello.target = view(target.name);
  targets.plugin = view(listing->plugin);
  hello.storageDTypes = target.storage_dtypes;
  hello.computeDTypes =
      target.compute_dtypes ? target.compute_dtypes : target.storage_dtypes;
  for (uint64_t i = 0; i < std::min<uint64_t>(target.numerics_count, 1024);
       ++i) {
    const bp_numerics_t &from = *target.numerics[i];
    hello.numerics.push_back({std::string(view(from.op_class)), from.dtype,
                              from.accumulator_bits, from.rounding, from.flags,
                              from.operand_bits});
  }
  return BP_STATUS_OK;
}

WireProperty wireProperty(const bp_property_t &property) {
  return {std::string(view(property.key)),
          property.kind,
          property.i64,
          property.f64,
          std::string(view(property.string)),
          {property.i64s, property.i64s + property.count}};
}

WireDevice wireDevice(const bp_device_listing_t &listing) {
  WireDevice device;
  device.uri = view(listing.uri);
  device.plugin = view(listing.plugin);
  device.manifest = view(listing.manifest);
  device.refusal = view(listing.refusal);
  device.name = view(listing.name);
  if (!listing.info)
    return device;
  const bp_device_info_t &info = *listing.info;
  device.id = view(info.id);
  device.identity = view(info.identity);
  device.kind = info.kind;
  device.flags = info.flags;
  device.maxBindings = info.max_bindings;
  device.maxConstants = info.max_constants;
  device.workerCount = info.worker_count;
  device.maxGrid.assign(std::begin(info.max_grid), std::end(info.max_grid));
  device.maxBufferSize = info.max_buffer_size;
  device.maxBindingRange = info.max_binding_range;
  device.bindingAlignment = info.binding_alignment;
  device.memoryBytes = info.memory_bytes;
  for (uint64_t i = 0; i < info.format_count; ++i)
    device.formats.emplace_back(view(info.formats[i]));
  for (uint64_t i = 0; i < info.feature_count; ++i)
    device.features.emplace_back(view(info.features[i]));
  for (uint64_t i = 0; i < info.property_count; ++i)
    device.properties.push_back(wireProperty(info.properties[i]));
  return device;
}

bp_status_t putDevice(void *context, const bp_device_listing_t *listing) {
  static_cast<std::vector<WireDevice> *>(context)->push_back(
      wireDevice(*listing));
  return BP_STATUS_OK;
}

bp_status_t putKernel(void *context, const bp_kernel_listing_t *listing) {
  Hello &hello = *static_cast<Hello *>(context);
  const bp_kernel_t *kernel = listing->kernel;
  bool isOther = !hello.target.empty() && kernel &&
                 !matchesGlob(view(kernel->target), hello.target);
  if (!kernel || isOther)
    return BP_STATUS_OK;
  WireKernel wire = {std::string(view(listing->plugin)),
                     std::string(view(listing->version)),
                     std::string(view(kernel->text)),
                     {}};
  std::set<uint32_t> weights;
  const bp_compiled_t *body = kernel->body; // null: it is IR
  for (uint64_t i = 0; body && i < body->init_launch_count; ++i) {
    const bp_launch_t &launch = *body->init_launches[i];
    for (uint32_t j = 0; j < launch.entry->binding_count; ++j) {
      uint32_t binding = launch.bindings ? launch.bindings[j].binding : j;
      if (binding < BP_LAUNCH_PERSISTENT)
        weights.insert(binding);
    }
  }
  wire.weights.assign(weights.begin(), weights.end());
  hello.kernels.push_back(std::move(wire));
  return BP_STATUS_OK;
}

/// Those of the target; all where no compiler plug-in says which one that is.
Status listKernels(const Context &context, Hello &hello) {
  bp_kernel_listing_sink_t kernels = {putKernel, &hello};
  return checked([&](bp_error_t *error) {
    return bp_context_kernels(context.get(), &kernels, error);
  });
}

/// "Linux 6.1.0 aarch64".
std::string machineText() {
  utsname names = {};
  uname(&names);
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

bp_status_t putNamed(void *context, const bp_device_listing_t *listing) {
  Hello &hello = *static_cast<Hello *>(context);
  hello.deviceName = view(listing->name);
  hello.plugin = view(listing->plugin);
  hello.deviceFlags = listing->info->flags;
  hello.deviceKind = listing->info->kind;
  hello.bufferBytes = listing->info->max_buffer_size;
  return BP_STATUS_OK;
}

/// Says of the device what its driver does; nothing where there is none, which
/// whoever opens it is told.
void nameDevice(const Context &context, Hello &hello) {
  bp_device_listing_sink_t sink = {putNamed, &hello};
  (void)bp_context_device(context.get(), toC(hello.device), &sink, nullptr);
}

} // namespace

std::vector<std::string> setsOf(const Hello &hello) {
  std::vector<std::string> sets;
  for (const WireKernel &kernel : hello.kernels)
    if (std::ranges::find(sets, kernel.set) == sets.end())
      sets.push_back(kernel.set);
  return sets;
}

Result<Hello> describeMachine(const Context &context) {
  Hello hello;
  hello.version = view(bp_version());
  hello.machine = machineText();
  bp_device_listing_sink_t devices = {putDevice, &hello.devices};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_devices(context.get(), &devices, error);
  });
  if (!status.ok())
    return status;
  return hello;
}

Result<Hello> describeDevice(const Context &context, const std::string &device,
                             const std::string &target) {
  Result<Hello> machine = describeMachine(context);
  if (!machine)
    return machine;
  Hello hello = std::move(*machine);
  hello.device = device;
  nameDevice(context, hello);
  Targets chosen{&hello, target, {}};
  bp_target_listing_sink_t targets = {putTarget, &chosen};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_targets(context.get(),
                              toC(target.empty() ? device : std::string()),
                              &targets, error);
  });
  if (!status.ok())
    return status;
  if (Status s = listKernels(context, hello); !s.ok())
    return s;
  std::vector<std::string> plugins = setsOf(hello);
  plugins.insert(plugins.end(), {hello.plugin, chosen.plugin});
  describePlugins(plugins, hello);
  return hello;
}

} // namespace backplane::worker
