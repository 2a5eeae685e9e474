// SPDX-License-Identifier: Apache-2.0
//
// Context.cpp: backplane.h up to devices, targets and kernels.
#include "Arguments.h"
#include "Handles.h"
#include "hal/core/LoaderOptions.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/service/RemoteTargets.h"
#include "sdk/service/Targets.h"
#include "sdk/support/Version.h"

using namespace backplane;
using namespace backplane::rt;

namespace {

Status putListing(const DeviceListing &from,
                  const bp_device_listing_sink_t &sink) {
  bp_device_listing_t listing = {BP_HEADER(bp_device_listing_t)};
  listing.uri = toC(from.uri);
  listing.plugin = toC(from.plugin);
  listing.name = toC(from.name);
  listing.manifest = toC(from.manifest);
  listing.refusal = toC(from.refusal);
  listing.info = from.info ? &from.info->c() : nullptr;
  listing.built_minor = from.builtMinor;
  listing.required_minor = from.requiredMinor;
  bp_status_t code = sink.put(sink.context, &listing);
  return code == BP_STATUS_OK ? Status()
                              : Status(code, "the sink refused a device");
}

Status putTarget(const TargetInfo &info, const bp_target_t &target,
                 const std::string &misfit, bool chosen,
                 const bp_target_listing_sink_t &sink) {
  bp_target_listing_t listing = {BP_HEADER(bp_target_listing_t)};
  listing.plugin = toC(info.plugin->name);
  listing.misfit = toC(misfit);
  listing.target = &target;
  listing.chosen = chosen;
  bp_status_t code = sink.put(sink.context, &listing);
  return code == BP_STATUS_OK ? Status()
                              : Status(code, "the sink refused a target");
}

Status putKernel(const KernelSet &set, const bp_kernel_t *kernel,
                 const std::string &refusal,
                 const bp_kernel_listing_sink_t &sink) {
  bp_kernel_listing_t listing = {BP_HEADER(bp_kernel_listing_t)};
  listing.plugin = toC(set.plugin);
  listing.version = toC(set.version);
  listing.refusal = toC(refusal);
  listing.kernel = kernel;
  bp_status_t code = sink.put(sink.context, &listing);
  return code == BP_STATUS_OK ? Status()
                              : Status(code, "the sink refused a kernel");
}

/// A failure is that of the sink; one of the set is a line.
Status listKernels(const KernelSet &set, const bp_kernel_listing_sink_t &sink) {
  Status refused;
  Status described = callDescribe(set, [&](const bp_kernel_t &kernel) {
    refused = putKernel(set, &kernel, "", sink);
    return refused;
  });
  if (described.ok() || !refused.ok())
    return refused;
  return putKernel(set, nullptr, described.message(), sink);
}

/// A line of a worker's list, as "worker:NAME/URI".
Status putRemote(std::string_view worker, const worker::WireDevice &from,
                 const bp_device_listing_sink_t &sink) {
  auto info = worker::deviceInfo(from);
  DeviceListing listing;
  if (!from.uri.empty())
    listing.uri = "worker:" + std::string(worker) + "/" + from.uri;
  listing.plugin = from.plugin;
  listing.name = from.name;
  listing.manifest = from.manifest;
  listing.refusal = info ? from.refusal : info.message();
  if (info)
    listing.info = *info;
  return putListing(listing, sink);
}

Status listRemoteTargets(bp_context_t &context, std::string_view text,
                         const bp_target_listing_sink_t &sink) {
  Result<RemoteTargets> targets =
      RemoteTargets::of(*context.registry, *context.workers, text);
  if (!targets)
    return targets.status();
  Result<std::string> chosen = targets->best();
  return targets->each([&](const TargetInfo &info, const bp_target_t &target,
                           const std::string &misfit) {
    return putTarget(info, target, misfit, chosen && *chosen == info.name,
                     sink);
  });
}

Status listAllTargets(bp_context_t &context,
                      const bp_target_listing_sink_t &sink) {
  bp_device_info_t none = {BP_HEADER(bp_device_info_t)};
  none.id = toC("none");
  auto info = DeviceInfo::copy(&none);
  if (!info)
    return info.status();
  return describeTargets(*context.registry, "", **info,
                         [&](const TargetInfo &target, const bp_target_t &c,
                             const std::string &misfit) {
                           return putTarget(target, c, misfit, false, sink);
                         });
}

} // namespace

bp_string_t bp_version(void) { return toC(productVersion); }

bp_error_t *bp_error_create(void) { return new (std::nothrow) bp_error_t(); }

void bp_error_destroy(bp_error_t *error) { delete error; }

bp_string_t bp_error_message(const bp_error_t *error) {
  return error ? toC(error->message) : bp_string_t{nullptr, 0};
}

void bp_context_options_from_env(bp_context_options_t *options) {
  contextOptionsFromEnvironment(options);
}

bp_status_t bp_context_create(const bp_context_options_t *options,
                              bp_context_t **out_context, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = needs(out_context, "out_context"); !s.ok())
      return s;
    Result<LoaderOptions> loader = loaderOptions(options);
    if (!loader)
      return loader.status();
    auto context = std::make_unique<bp_context_t>();
    context->registry = Registry::create(*loader, graphTable());
    context->compiler =
        std::make_shared<ModelCompiler>(context->registry, *loader);
    context->workers =
        std::make_shared<worker::Pool>(loader->workersFile, loader->trust);
    *out_context = context.release();
    return {};
  });
}

void bp_context_destroy(bp_context_t *context) {
  if (!isHandle(context).ok())
    return;
  (void)bp_context_trace_end(context, nullptr);
  delete context;
}

bp_status_t bp_context_devices(bp_context_t *context,
                               const bp_device_listing_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isSink(sink)}); !s.ok())
      return s;
    for (const DeviceListing &listing : context->registry->listings())
      if (Status s = putListing(listing, *sink); !s.ok())
        return s;
    return {};
  });
}

bp_status_t bp_context_device(bp_context_t *context, bp_string_t device_uri,
                              const bp_device_listing_sink_t *sink,
                              bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isText(device_uri, "device_uri"),
                            isSink(sink)});
        !s.ok())
      return s;
    auto listing = context->registry->listing(view(device_uri));
    return listing ? putListing(*listing, *sink) : listing.status();
  });
}

bp_status_t bp_context_workers(bp_context_t *context,
                               const bp_string_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isSink(sink)}); !s.ok())
      return s;
    auto workers = context->workers->workers();
    if (!workers)
      return workers.status();
    for (const worker::NamedWorker &worker : *workers)
      if (bp_status_t code = sink->put(sink->context, toC(worker.name)))
        return Status(code, "the sink refused a worker");
    return {};
  });
}

bp_status_t bp_context_worker_devices(bp_context_t *context, bp_string_t name,
                                      const bp_device_listing_sink_t *sink,
                                      bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            firstOf({isHandle(context), isText(name, "name"), isSink(sink)});
        !s.ok())
      return s;
    auto devices = context->workers->devices(std::string(view(name)));
    if (!devices)
      return devices.status();
    for (const worker::WireDevice &device : *devices)
      if (Status s = putRemote(view(name), device, *sink); !s.ok())
        return s;
    return {};
  });
}

bp_status_t bp_context_targets(bp_context_t *context, bp_string_t device_uri,
                               const bp_target_listing_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isText(device_uri, "device_uri"),
                            isSink(sink)});
        !s.ok())
      return s;
    if (worker::RemoteUri::matches(view(device_uri)))
      return listRemoteTargets(*context, view(device_uri), *sink);
    if (!device_uri.size)
      return listAllTargets(*context, *sink);
    auto device = context->registry->device(view(device_uri));
    if (!device)
      return device.status();
    std::string driver = (*device)->uri().substr(0, (*device)->uri().find(':'));
    Result<std::string> chosen =
        bestTarget(*context->registry, driver, (*device)->info(),
                   "device " + (*device)->uri());
    return describeTargets(
        *context->registry, driver, (*device)->info(),
        [&](const TargetInfo &info, const bp_target_t &target,
            const std::string &misfit) {
          return putTarget(info, target, misfit, chosen && *chosen == info.name,
                           *sink);
        });
  });
}

bp_status_t bp_context_kernels(bp_context_t *context,
                               const bp_kernel_listing_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf({isHandle(context), isSink(sink)}); !s.ok())
      return s;
    for (const KernelSet &set : context->registry->kernelSets())
      if (Status s = listKernels(set, *sink); !s.ok())
        return s;
    return {};
  });
}
