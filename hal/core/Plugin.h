// SPDX-License-Identifier: Apache-2.0
//
// Plugin.h: one loaded and initialised library of a plug-in, behind the
// host's own copies of its tables.
#ifndef BACKPLANE_CORE_PLUGIN_H
#define BACKPLANE_CORE_PLUGIN_H

#include "backplane/cpp/Result.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/Host.h"
#include "hal/core/LinkedPlugins.h"
#include "hal/core/Tables.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace backplane {

struct Manifest;

/// What a library must offer.
struct PluginRoles {
  bool driver = false;
  bool compiler = false;
  bool kernels = false;
};

/// Initialised; the last owner shuts it down. Keeps its Host alive.
class Plugin {
public:
  /// Checks, maps, asks and initialises the library at the canonical path
  /// `library`, one of those that the manifest names.
  static Result<std::shared_ptr<Plugin>> load(std::shared_ptr<Host> host,
                                              const std::string &library,
                                              const Manifest &manifest,
                                              PluginRoles roles);
  /// Asks and initialises one that the program was linked with.
  static Result<std::shared_ptr<Plugin>> adopt(std::shared_ptr<Host> host,
                                               const LinkedPlugin &linked);
  ~Plugin();
  Plugin(const Plugin &) = delete;
  Plugin &operator=(const Plugin &) = delete;

  const std::string &name() const { return name_; }
  const std::string &vendor() const { return vendor_; }
  const std::string &version() const { return version_; }
  const std::string &library() const { return library_; }
  /// ABI minor versions: what it was built with, and the least that it needs.
  uint32_t builtMinor() const { return builtMinor_; }
  uint32_t requiredMinor() const { return requiredMinor_; }
  void *self() const { return self_; }
  Host &host() const { return *host_; }
  /// Only with the driver role.
  const DriverTables &driver() const { return *driver_; }
  /// Only with the compiler role.
  const bp_compiler_table_t &compiler() const { return *compiler_; }
  /// Only with the kernels role.
  const bp_kernels_table_t &kernels() const { return *kernels_; }

  /// The devices that the driver lists with these options. Devices whose
  /// description is damaged or repeats an id come as a failure each.
  Result<DeviceInfos> enumerate(const bp_options_t &options) const;

private:
  Plugin() = default;
  Status open();
  Status query(bp_plugin_info_t &info) const;
  Status accept(const bp_plugin_info_t &info, PluginRoles roles);
  Status initialize(const std::map<std::string, std::string> &options);
  Status start(PluginRoles roles,
               const std::map<std::string, std::string> &options);
  void findOptionalTables();

  std::shared_ptr<Host> host_;
  std::string library_;
  std::string name_;
  std::string vendor_;
  std::string version_;
  uint32_t builtMinor_ = 0, requiredMinor_ = 0;
  bp_host_t hostTable_ = {};
  void *handle_ = nullptr;
  bp_plugin_query_t query_ = nullptr;
  bool unloadable_ = false;
  bool initialized_ = false;
  void *self_ = nullptr;
  bp_plugin_table_t plugin_ = {};
  std::optional<DriverTables> driver_;
  std::optional<bp_compiler_table_t> compiler_;
  std::optional<bp_kernels_table_t> kernels_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_PLUGIN_H
