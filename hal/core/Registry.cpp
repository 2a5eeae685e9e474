// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Registry.h"
#include "hal/core/CompilerCalls.h"
#include "hal/core/LibraryFile.h"
#include "hal/core/Manifest.h"
#include "hal/core/Plugin.h"
#include "hal/core/Trial.h"
#include "sdk/support/Cache.h"
#include "sdk/support/Hash.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

namespace backplane {

std::shared_ptr<Registry> Registry::create(const LoaderOptions &options,
                                           const bp_graph_table_t *graphTable) {
  std::shared_ptr<Registry> registry(new Registry);
  HostOptions host;
  host.threads = options.threads;
  host.log = options.log;
  host.graphTable = graphTable;
  host.trust = options.trust;
  host.mapArtifacts = options.mapArtifacts;
  if (!options.cacheDir.empty())
    host.driverCache = options.cacheDir + "/driver";
  registry->host_ = std::make_shared<Host>(host);
  const bp_host_cpu_t &cpu = registry->host_->cpu().c();
  for (const LinkedPlugin &linked : linkedPlugins())
    registry->adopt(linked, options);
  const std::vector<FoundManifest> manifests = findManifests(options, cpu);
  auto loadTried = [&](const FoundManifest &found) {
    Status tried = tryPlugin(found.manifest, options);
    if (tried.ok())
      return registry->load(found);
    registry->refuse(found, tried.message());
  };
  for (const FoundManifest &found : manifests)
    if (!linkedPlugins().empty())
      registry->refuse(found, "this program is static and loads no libraries");
    else if (found.refusal.empty())
      loadTried(found);
    else if (!found.givesWay)
      registry->refuse(found, found.refusal);
  for (const FoundManifest &found : manifests)
    if (found.givesWay && registry->has(found.manifest.name))
      registry->refuse(found, found.refusal);
    else if (found.givesWay && linkedPlugins().empty())
      loadTried(found); // what it gave way to is not usable
  registry->checkTargets();
  return registry;
}

namespace {

/// Which plug-in has which target.
using TargetOwners = std::map<std::string, std::string, std::less<>>;

/// The names of the plug-in's targets, distinct and nobody else's.
Status collectTargets(const CompilerPlugin &plugin, const TargetOwners &owners,
                      TargetOwners &own) {
  return callTargets(plugin, [&](const bp_target_t &target) {
    std::string name(view(target.name));
    if (name.empty())
      return invalidArgument("targets: a target has no name");
    if (auto owner = owners.find(name); owner != owners.end())
      return invalidArgument("targets: the target \"" + name +
                             "\" is that of plug-in \"" + owner->second +
                             "\"; give it another name");
    if (!own.emplace(name, plugin.name).second)
      return invalidArgument("targets: the target \"" + name +
                             "\" is listed twice");
    return Status();
  });
}

} // namespace

/// Whether a plug-in of this name was loaded.
bool Registry::has(std::string_view name) const {
  return std::ranges::any_of(
             plugins_,
             [&](const auto &plugin) { return plugin->name() == name; }) ||
         std::ranges::any_of(
             kernelSets_, [&](const auto &set) { return set.plugin == name; });
}

/// Refuses compilers whose targets cannot be listed or take a name of another.
/// Those of the system's folder come first.
void Registry::checkTargets() {
  const std::string folder = systemPluginDir();
  TargetOwners owners;
  std::set<const CompilerPlugin *> done;
  std::vector<std::string> refused;
  auto check = [&](const Plugin &plugin, const CompilerPlugin &compiler) {
    TargetOwners own;
    Status status = collectTargets(compiler, owners, own);
    if (status.ok())
      return owners.merge(own);
    sources_.push_back({compiler.name, plugin.library(), nullptr, {}});
    refuse(sources_.back(), "compiler: " + status.message());
    refused.push_back(compiler.name);
  };
  for (bool system : {true, false})
    for (const std::shared_ptr<Plugin> &plugin : plugins_)
      for (const CompilerPlugin &compiler : compilers_) {
        std::filesystem::path path = plugin->library();
        if (plugin->name() == compiler.name &&
            (path.parent_path() == folder) == system &&
            done.insert(&compiler).second)
          check(*plugin, compiler);
      }
  std::erase_if(compilers_, [&](const CompilerPlugin &compiler) {
    return std::ranges::count(refused, compiler.name);
  });
}

void Registry::adopt(const LinkedPlugin &linked, const LoaderOptions &options) {
  FoundManifest found;
  found.path = "of this program";
  found.manifest.name = linked.name;
  found.manifest.abi = {{BP_ABI_MAJOR, BP_ABI_MINOR}};
  std::string refusal =
      manifestRefusal(found.manifest, options, host_->cpu().c());
  if (!refusal.empty())
    return refuse(found, refusal);
  auto plugin = Plugin::adopt(host_, linked);
  if (!plugin)
    return refuse(found, plugin.message());
  if (linked.driver)
    addDriver(found, *plugin);
  if (linked.compiler)
    addCompiler(*plugin, {});
}

DeviceListing Registry::lineOf(const Source &source) {
  DeviceListing listing;
  listing.plugin = source.plugin;
  listing.manifest = source.manifest;
  listing.builtMinor = source.builtMinor;
  listing.requiredMinor = source.requiredMinor;
  return listing;
}

void Registry::refuse(Source &source, std::string reason) {
  host_->log(BP_LOG_INFO, source.manifest + ": not used: " + reason);
  DeviceListing listing = lineOf(source);
  listing.refusal = std::move(reason);
  source.lines.push_back(std::move(listing));
}

void Registry::refuse(const FoundManifest &found, std::string reason) {
  sources_.push_back({found.manifest.name, found.path, nullptr, {}});
  refuse(sources_.back(), std::move(reason));
}

static Status checkHash(const std::string &library, const std::string &wanted) {
  if (wanted.empty())
    return {};
  Result<std::string> found = sha256OfFile(library);
  if (!found)
    return found.status();
  if (*found != wanted)
    return dataLoss("library " + library + " has SHA-256 " + *found +
                    ", its manifest says " + wanted);
  return {};
}

static Result<std::shared_ptr<Plugin>>
loadLibrary(const std::shared_ptr<Host> &host, const Manifest &manifest,
            const std::string &library, const std::string &hash,
            PluginRoles roles) {
  if (Status status = checkHash(library, hash); !status.ok())
    return status;
  return Plugin::load(host, library, manifest, roles);
}

/// Loads one library of a manifest for all that the manifest names it for.
Status Registry::loadPart(const Manifest &manifest, const std::string &library,
                          const std::string &hash, const FoundManifest &found) {
  const PluginRoles roles = {.driver = manifest.driver == library,
                             .compiler = manifest.compiler == library,
                             .kernels = manifest.kernels == library};
  auto plugin = loadLibrary(host_, manifest, library, hash, roles);
  if (!plugin)
    return plugin.status();
  if (roles.driver)
    addDriver(found, *plugin);
  if (roles.compiler)
    addCompiler(*plugin, manifest.passes);
  if (roles.kernels)
    addKernels(*plugin);
  return {};
}

/// Whether the compiler may map the library later on: who could write the file
/// is asked now, and nobody else can from here on.
static Status checkPassLibrary(const PassLibrary &passes,
                               const FileTrust &trust) {
  if (passes.path.empty())
    return {};
  Result<TrustedFile> file = trust.open(passes.path, "library of passes");
  if (!file)
    return file.status();
  if (Status status = checkLibraryFile(*file); !status.ok())
    return status;
  return checkHash(passes.path, passes.sha256);
}

void Registry::load(const FoundManifest &found) {
  const Manifest &manifest = found.manifest;
  if (Status s = checkPassLibrary(manifest.passes, host_->trust()); !s.ok())
    return refuse(found, "passes: " + s.message());
  struct Part {
    const char *what;
    const std::string &library, &hash;
  };
  std::vector<std::string> done;
  for (const Part &part :
       {Part{"", manifest.driver, manifest.driverSha256},
        Part{"compiler: ", manifest.compiler, manifest.compilerSha256},
        Part{"kernels: ", manifest.kernels, manifest.kernelsSha256}}) {
    if (part.library.empty() ||
        std::count(done.begin(), done.end(), part.library))
      continue;
    done.push_back(part.library);
    if (Status s = loadPart(manifest, part.library, part.hash, found); !s.ok())
      return refuse(found, part.what + s.message());
  }
}

/// Of the library and of what its manifest says: either decides whether the
/// passes run.
static std::string hashOf(const PassLibrary &passes) {
  CacheKey key("passes");
  if (Result<std::string> library = xxhOfFile(passes.path))
    key.add(*library);
  key.add(passes.llvm);
  for (const DeclaredPass &pass : passes.passes)
    key.add(pass.name).add(pass.stage);
  return key.str();
}

void Registry::addCompiler(const std::shared_ptr<Plugin> &plugin,
                           const PassLibrary &passes) {
  CompilerPlugin compiler;
  compiler.name = plugin->name();
  compiler.version = plugin->version();
  if (Result<std::string> hash = xxhOfFile(plugin->library()))
    compiler.hash = *hash;
  if (!passes.path.empty())
    compiler.hash += hashOf(passes);
  compiler.passes = passes;
  compiler.table = &plugin->compiler();
  compiler.self = plugin->self();
  compilers_.push_back(std::move(compiler));
  plugins_.push_back(plugin);
}

void Registry::addKernels(const std::shared_ptr<Plugin> &plugin) {
  KernelSet set;
  set.plugin = plugin->name();
  set.version = plugin->version();
  if (Result<std::string> hash = xxhOfFile(plugin->library()))
    set.hash = *hash;
  set.table = &plugin->kernels();
  set.self = plugin->self();
  set.owner = plugin;
  kernelSets_.push_back(std::move(set));
}

void Registry::addDriver(const FoundManifest &found,
                         const std::shared_ptr<Plugin> &plugin) {
  drivers_.emplace(plugin->name(), plugin);
  plugins_.push_back(plugin);
  sources_.push_back({plugin->name(),
                      found.path,
                      plugin,
                      {},
                      plugin->builtMinor(),
                      plugin->requiredMinor()});
}

/// Writes the lines of a driver, unless they are there.
void Registry::look(Source &source) {
  std::shared_ptr<Plugin> driver = std::exchange(source.driver, nullptr);
  if (!driver)
    return;
  Result<Infos> infos = driver->enumerate({});
  if (!infos)
    return refuse(source, infos.message());
  if (infos->empty())
    return refuse(source, noDevice);
  for (const auto &info : *infos) {
    if (!info) {
      refuse(source, info.message());
      continue;
    }
    DeviceListing listing = lineOf(source);
    listing.uri = source.plugin + "://" + std::string((*info)->id());
    listing.name = (*info)->name();
    listing.refusal = (*info)->refusal();
    listing.info = *info;
    source.lines.push_back(std::move(listing));
  }
}

std::vector<DeviceListing> Registry::listings() {
  std::vector<DeviceListing> all;
  std::lock_guard lock(mutex_);
  for (Source &source : sources_) {
    look(source);
    all.insert(all.end(), source.lines.begin(), source.lines.end());
  }
  return all;
}

std::vector<DeviceListing> Registry::listings(std::string_view plugin) {
  std::vector<DeviceListing> own;
  std::lock_guard lock(mutex_);
  for (Source &source : sources_) {
    if (source.plugin != plugin)
      continue;
    look(source);
    own.insert(own.end(), source.lines.begin(), source.lines.end());
  }
  return own;
}

/// What there is, for messages.
static std::string usableDevices(const std::vector<DeviceListing> &listings) {
  std::string text;
  for (const DeviceListing &listing : listings)
    if (listing.info && listing.refusal.empty())
      text += (text.empty() ? "" : ", ") + listing.uri;
  return text.empty() ? "none" : text;
}

Status Registry::unknownDriver(std::string_view driver) {
  std::vector<std::string> names;
  for (const auto &[name, plugin] : drivers_)
    names.push_back(name);
  std::string text = "no driver \"" + std::string(driver) + "\"";
  for (const DeviceListing &listing : listings(driver))
    if (!listing.refusal.empty())
      return notFound(text + ": its plug-in " + listing.manifest +
                      " is not usable: " + listing.refusal);
  if (std::string near = nearestName(driver, names); !near.empty())
    text += ", did you mean \"" + near + "\"?";
  std::vector<DeviceListing> all = listings();
  if (drivers_.empty() && !all.empty())
    return notFound(text + ", no plug-in is usable: " + all.front().refusal);
  return notFound(text + " (usable devices: " + usableDevices(all) +
                  "); see bp devices");
}

using DeviceInfos = std::vector<Result<std::shared_ptr<const DeviceInfo>>>;

/// Where a driver lists a real device, usable or not, nobody gets an emulated
/// one without naming it.
static bool listsReal(const DeviceInfos &infos) {
  return std::any_of(infos.begin(), infos.end(), [](const auto &info) {
    return info && !(*info)->emulated();
  });
}

/// The device that `uri` means among those of its driver: by id, by number, or
/// the first usable one that is not emulated in place of another; without one,
/// the first, whose refusal says why.
static Result<std::shared_ptr<const DeviceInfo>>
pick(const DeviceUri &uri, const DeviceInfos &infos) {
  std::string asked = "device " + uri.format(), available, standIn;
  size_t ordinal = infos.size(), index = 0;
  std::from_chars(uri.id.data(), uri.id.data() + uri.id.size(), ordinal);
  std::shared_ptr<const DeviceInfo> found, first;
  std::vector<std::string> ids;
  const bool real = listsReal(infos);
  for (const auto &info : infos) {
    bool byNumber = index++ == ordinal;
    if (!info)
      continue;
    ids.emplace_back((*info)->id());
    available += (available.empty() ? "" : ", ") + ids.back();
    bool meant = uri.id.empty() && !(real && (*info)->emulated());
    if (uri.id.empty() && !meant && (*info)->refusal().empty())
      standIn = "; " + uri.driver + "://" + ids.back() +
                " is emulated, and taken by its full name only";
    if (meant && !first)
      first = *info;
    if (uri.id == (*info)->id() || (!found && byNumber) ||
        (!found && meant && (*info)->refusal().empty()))
      found = *info;
  }
  if (!found)
    found = first;
  if (found && found->refusal().empty())
    return found;
  if (found)
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  asked + " cannot be used: " + std::string(found->refusal()) +
                      standIn);
  if (available.empty())
    return notFound(asked + ": the driver finds no device on this machine");
  std::string near = uri.id.empty() ? "" : nearestName(uri.id, ids);
  return notFound(asked + " does not exist or cannot be used, the driver has " +
                  available +
                  (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

/// The C form of the options of a URI, pointing into it.
static std::vector<bp_option_t> optionItems(const DeviceUri &uri) {
  std::vector<bp_option_t> items;
  for (const auto &[key, value] : uri.options)
    items.push_back({toC(key), toC(value)});
  return items;
}

Result<std::shared_ptr<Device>> Registry::device(std::string_view text) {
  Result<DeviceUri> uri = DeviceUri::parse(text);
  if (!uri)
    return uri.status();
  auto driver = drivers_.find(uri->driver);
  if (driver == drivers_.end())
    return unknownDriver(uri->driver);
  std::vector<bp_option_t> items = optionItems(*uri);
  bp_options_t options = {items.data(), items.size()};
  Result<Infos> infos = driver->second->enumerate(options);
  if (!infos)
    return infos.status().within("driver " + uri->driver);
  auto info = pick(*uri, *infos);
  if (!info)
    return info.status();
  uri->id = (*info)->id();
  std::string full = uri->format();
  std::lock_guard lock(mutex_);
  std::weak_ptr<Device> &known = open_[full];
  if (std::shared_ptr<Device> device = known.lock();
      device && device->lost().ok())
    return device;
  auto device = Device::open(driver->second, *info, full, options);
  if (device)
    known = *device;
  return device;
}

} // namespace backplane
