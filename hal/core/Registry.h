// SPDX-License-Identifier: Apache-2.0
//
// Registry.h: all plug-ins of a process: found, filtered, loaded, initialised;
// their devices listed; a device opened by its URI. A plug-in that cannot be
// used never makes this fail: it is listed with the reason. A driver looks for
// its devices when somebody first asks for them.
#ifndef BACKPLANE_CORE_REGISTRY_H
#define BACKPLANE_CORE_REGISTRY_H

#include "backplane/cpp/Result.h"
#include "hal/core/CompilerPlugin.h"
#include "hal/core/Device.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/Host.h"
#include "hal/core/KernelSet.h"
#include "hal/core/LoaderOptions.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

class Plugin;
struct FoundManifest;
struct Manifest;
struct LinkedPlugin;

/// One line of the device list: a device, or a plug-in that gave none.
struct DeviceListing {
  std::string uri;      ///< "host://cpu"; empty when there is no device
  std::string plugin;   ///< name, empty when the manifest could not be read
  std::string name;     ///< of the device, for people
  std::string manifest; ///< path
  std::string refusal;  ///< why it cannot be used, empty when it can
  std::shared_ptr<const DeviceInfo> info; ///< null when there is no device
  /// ABI minor versions of the driver's library, 0 when it is not loaded.
  uint32_t builtMinor = 0, requiredMinor = 0;
};

/// The refusal of a driver that lists nothing, which is no fault of it.
inline constexpr const char *noDevice = "finds no device on this machine";

/// Thread-safe. Devices, and what is made from them, keep their plug-in loaded
/// and the host services alive; the tables in compilers() live as long as the
/// registry.
class Registry {
public:
  /// Loads what `options` name. `graphTable` is handed to plug-ins that ask
  /// for "backplane.graph"; it may be NULL.
  static std::shared_ptr<Registry> create(const LoaderOptions &options,
                                          const bp_graph_table_t *graphTable);

  Host &host() { return *host_; }
  const Host &host() const { return *host_; }

  /// Every plug-in and device, usable or not, in the order of the search.
  std::vector<DeviceListing> listings();
  /// Those of the plug-ins of this name; no other driver looks for devices.
  std::vector<DeviceListing> listings(std::string_view plugin);

  /// Opens a device: "host://cpu", "host" (its first usable device), with
  /// options "host://cpu?key=value". The same URI gives the same Device while
  /// somebody holds it and it is not lost. A failure names what was asked, what
  /// there is and, for a misspelt name, the nearest one.
  Result<std::shared_ptr<Device>> device(std::string_view uri);
  /// The line of the device that a URI means, without opening it: what its
  /// driver says with the URI's options, which opening may still refuse.
  Result<DeviceListing> listing(std::string_view uri);

  /// Compiler plug-ins in the order of the search.
  const std::vector<CompilerPlugin> &compilers() const { return compilers_; }
  /// Sets of registered kernels, likewise.
  const std::vector<KernelSet> &kernelSets() const { return kernelSets_; }

private:
  Registry() = default;
  /// What a URI means to a driver.
  struct Found {
    std::shared_ptr<Plugin> driver;
    std::shared_ptr<const DeviceInfo> info;
  };
  Result<Found> find(DeviceUri &uri, bp_options_t options);
  /// A plug-in with its lines of the list.
  struct Source {
    std::string plugin, manifest;
    std::shared_ptr<Plugin> driver; ///< asked for devices at the first need
    std::vector<DeviceListing> lines;
    uint32_t builtMinor = 0, requiredMinor = 0;
  };
  void load(const FoundManifest &found);
  bool has(std::string_view name) const;
  void checkTargets();
  void adopt(const LinkedPlugin &linked, const LoaderOptions &options);
  void refuse(const FoundManifest &found, std::string reason);
  void addCompiler(const std::shared_ptr<Plugin> &plugin,
                   const PassLibrary &passes);
  void addKernels(const std::shared_ptr<Plugin> &plugin);
  Status loadPart(const Manifest &manifest, const std::string &library,
                  const std::string &hash, const FoundManifest &found);
  void addDriver(const FoundManifest &found,
                 const std::shared_ptr<Plugin> &plugin);
  void look(Source &source);
  void refuse(Source &source, std::string reason);
  static DeviceListing lineOf(const Source &source);
  static DeviceListing lineOf(const Source &source, std::string uri,
                              std::shared_ptr<const DeviceInfo> info);
  Status unknownDriver(std::string_view driver);

  std::shared_ptr<Host> host_;
  std::map<std::string, std::shared_ptr<Plugin>, std::less<>> drivers_;
  std::vector<std::shared_ptr<Plugin>> plugins_;
  std::vector<CompilerPlugin> compilers_;
  std::vector<KernelSet> kernelSets_;
  std::mutex mutex_; ///< guards everything below once the registry is made
  std::vector<Source> sources_;
  std::map<std::string, std::weak_ptr<Device>, std::less<>> open_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_REGISTRY_H
