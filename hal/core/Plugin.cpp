// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Plugin.h"
#include "hal/core/DeviceLimits.h"
#include "hal/core/Error.h"
#include "hal/core/Guarded.h"
#include "hal/core/LibraryFile.h"
#include "hal/core/Manifest.h"
#include "hal/core/PluginCall.h"
#include "sdk/support/FileTrust.h"

#include <algorithm>
#include <dlfcn.h>
#include <set>

namespace backplane {

/// Lowest minor version that this host still serves.
static constexpr uint32_t minorLow = 1;

static std::string abiVersion(uint32_t minor) {
  return std::to_string(BP_ABI_MAJOR) + "." + std::to_string(minor);
}

Status Plugin::open() {
  // Nobody else can put another file in its place until it is loaded, nor
  // later.
  Result<TrustedFile> file = host_->trust().open(library_, "plug-in library");
  if (!file)
    return file.status();
  library_ = file->path();
  if (Status status = checkLibraryFile(*file); !status.ok())
    return status;
  {
    PluginCall call("loading"); // constructors run
    handle_ = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle_) {
    const char *reason = dlerror();
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "cannot load the library: " +
                      std::string(reason ? reason : "no reason given"));
  }
  query_ = reinterpret_cast<bp_plugin_query_t>(
      dlsym(handle_, BP_PLUGIN_QUERY_SYMBOL));
  if (!query_)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "the library does not export " BP_PLUGIN_QUERY_SYMBOL);
  return {};
}

Status Plugin::query(bp_plugin_info_t &out) const {
  Guarded<bp_plugin_info_t> answer(BP_HEADER(bp_plugin_info_t));
  bp_host_info_t host = {BP_HEADER(bp_host_info_t)};
  host.minor_low = minorLow;
  host.minor_high = BP_ABI_MINOR;
  host.version = toC("0.1.0");
  auto call = [&](bp_error_t *) { return query_(&host, &answer.value()); };
  if (Status status = callPlugin(BP_PLUGIN_QUERY_SYMBOL, call); !status.ok())
    return status;
  if (!answer.intact())
    return invalidArgument(BP_PLUGIN_QUERY_SYMBOL
                           " wrote behind the struct that it was given");
  return copyStruct(&answer.value(), bp_plugin_info_t_TYPE, "plug-in info",
                    out);
}

static Status checkVersions(const bp_plugin_info_t &info) {
  if (info.required_minor > BP_ABI_MINOR)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "needs ABI version " + abiVersion(info.required_minor) +
                      ", this host has " + abiVersion(BP_ABI_MINOR) +
                      "; update Backplane");
  if (info.built_minor < minorLow)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "built for ABI version " + abiVersion(info.built_minor) +
                      ", this host serves " + abiVersion(minorLow) +
                      " and later; update the plug-in");
  if (info.required_minor > info.built_minor)
    return invalidArgument(
        "says that it needs ABI version " + abiVersion(info.required_minor) +
        " but was built for " + abiVersion(info.built_minor));
  return {};
}

static Status checkTexts(const bp_plugin_info_t &info) {
  constexpr uint64_t maxBytes = 256;
  for (auto [text, what] :
       {std::pair(info.name, "name"), std::pair(info.vendor, "vendor"),
        std::pair(info.version, "version")})
    if (text.size > maxBytes || (text.size && !text.data))
      return invalidArgument(std::string("its ") + what +
                             " is a damaged string");
  return {};
}

/// Takes over what the library said, after checks.
Status Plugin::accept(const bp_plugin_info_t &info, PluginRoles roles) {
  if (Status status = checkVersions(info); !status.ok())
    return status;
  if (Status status = checkTexts(info); !status.ok())
    return status;
  if (view(info.name) != name_)
    return invalidArgument("calls itself \"" + std::string(view(info.name)) +
                           "\", its manifest \"" + name_ + "\"");
  vendor_ = view(info.vendor);
  if (!version_.empty() && view(info.version) != version_)
    return invalidArgument(
        "says that it is version \"" + std::string(view(info.version)) +
        "\", its manifest \"" + version_ + "\"; install both from one package");
  version_ = view(info.version);
  builtMinor_ = info.built_minor;
  requiredMinor_ = info.required_minor;
  unloadable_ = info.flags & BP_PLUGIN_UNLOADABLE;
  if (Status status = copyPluginTable(info.plugin, plugin_); !status.ok())
    return status;
  if (roles.driver)
    if (Status status = copyDriverTables(info, driver_.emplace()); !status.ok())
      return status;
  if (roles.compiler)
    if (Status status = copyCompilerTable(info.compiler, compiler_.emplace());
        !status.ok())
      return status;
  if (roles.kernels)
    if (Status status = copyKernelsTable(info.kernels, kernels_.emplace());
        !status.ok())
      return status;
  hostTable_ = host_->table(std::min<uint32_t>(BP_ABI_MINOR, info.built_minor));
  return {};
}

Status Plugin::initialize(const std::map<std::string, std::string> &given) {
  std::vector<bp_option_t> items;
  for (const auto &[key, value] : given)
    items.push_back({toC(key), toC(value)});
  bp_options_t options = {items.data(), items.size()};
  if (Status status = callPlugin("initialize", plugin_.initialize, &hostTable_,
                                 &options, &self_);
      !status.ok())
    return status;
  initialized_ = true;
  if (driver_)
    findOptionalTables();
  return {};
}

void Plugin::findOptionalTables() {
  auto table = [&](std::string_view name) -> const void * {
    try {
      PluginCall call("get_table");
      return plugin_.get_table(self_, toC(name), 0);
    } catch (...) {
      return nullptr;
    }
  };
  std::string warning;
  copyOptionalTables(table("backplane.memory2"), table("backplane.semaphore"),
                     table("backplane.command_buffer"), *driver_, &warning);
  copyTimestamps(table("backplane.timestamps"), *driver_, &warning);
  copyInterop(table("backplane.interop"), *driver_, &warning);
  if (!warning.empty())
    host_->log(BP_LOG_WARNING,
               "plug-in " + name_ + ": " + warning + "; the host does without");
}

Status Plugin::start(PluginRoles roles,
                     const std::map<std::string, std::string> &options) {
  bp_plugin_info_t info;
  Status status = query(info);
  if (status.ok())
    status = accept(info, roles);
  if (status.ok())
    status = initialize(options);
  return status;
}

Result<std::shared_ptr<Plugin>> Plugin::adopt(std::shared_ptr<Host> host,
                                              const LinkedPlugin &linked) {
  std::shared_ptr<Plugin> plugin(new Plugin);
  plugin->host_ = std::move(host);
  plugin->name_ = linked.name;
  plugin->query_ = linked.query;
  Status status =
      plugin->start({.driver = linked.driver, .compiler = linked.compiler}, {});
  if (!status.ok())
    return status;
  return plugin;
}

Result<std::shared_ptr<Plugin>> Plugin::load(std::shared_ptr<Host> host,
                                             const std::string &library,
                                             const Manifest &manifest,
                                             PluginRoles roles) {
  std::shared_ptr<Plugin> plugin(new Plugin);
  plugin->host_ = std::move(host);
  plugin->library_ = library;
  plugin->name_ = manifest.name;
  plugin->version_ = manifest.version;
  Status status = plugin->open();
  if (status.ok())
    status = plugin->start(roles, manifest.options);
  if (!status.ok())
    return status;
  return plugin;
}

static std::span<const LinkedPlugin> linked;

void setLinkedPlugins(std::span<const LinkedPlugin> plugins) {
  linked = plugins;
}

std::span<const LinkedPlugin> linkedPlugins() { return linked; }

Plugin::~Plugin() {
  if (initialized_)
    callPluginVoid("shutdown", plugin_.shutdown, self_);
  if (handle_ && unloadable_) {
    PluginCall call("unloading");
    dlclose(handle_);
  }
}

namespace {

/// Receives devices from `enumerate`.
struct Collector {
  static constexpr size_t maxDevices = 256;

  std::vector<Result<std::shared_ptr<const DeviceInfo>>> devices;
  std::set<std::string, std::less<>> ids;
  bool mayKnowMore; ///< built for a later ABI than this

  bp_status_t put(const bp_device_info_t *info) {
    if (devices.size() >= maxDevices)
      return BP_STATUS_RESOURCE_EXHAUSTED;
    auto device = DeviceInfo::copy(info);
    if (device && !mayKnowMore)
      if (Status status = checkDeviceLimits(info); !status.ok())
        device = status;
    if (device && !ids.insert(std::string((*device)->id())).second)
      device = invalidArgument("device id " + std::string((*device)->id()) +
                               " is listed twice");
    devices.push_back(std::move(device));
    return BP_STATUS_OK;
  }
};

} // namespace

Result<DeviceInfos> Plugin::enumerate(const bp_options_t &options) const {
  Collector collector;
  collector.mayKnowMore = builtMinor_ > BP_ABI_MINOR;
  bp_device_sink_t sink = {};
  sink.context = &collector;
  sink.put = [](void *context, const bp_device_info_t *info) {
    return static_cast<Collector *>(context)->put(info);
  };
  Status status = callPlugin("enumerate", driver_->driver.enumerate, self_,
                             &options, &sink);
  if (collector.devices.size() >= Collector::maxDevices)
    return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                  "enumerate: lists more than " +
                      std::to_string(Collector::maxDevices) +
                      " devices, which no machine has");
  if (!status.ok())
    return status;
  return std::move(collector.devices);
}

} // namespace backplane
