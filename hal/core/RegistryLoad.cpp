// SPDX-License-Identifier: Apache-2.0
//
// RegistryLoad.cpp: the libraries of a plug-in, loaded for all that they are.
#include "hal/core/CompilerCalls.h"
#include "hal/core/LibraryFile.h"
#include "hal/core/Manifest.h"
#include "hal/core/Plugin.h"
#include "hal/core/Registry.h"
#include "sdk/support/Cache.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace backplane {

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

} // namespace backplane
