// SPDX-License-Identifier: Apache-2.0
#include "Loop.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/LinkedPlugins.h"
#include "hal/core/Manifest.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <filesystem>

namespace backplane::worker {

void describePlugins(const std::vector<std::string> &names, Hello &hello) {
  std::vector<WireFile> &files = hello.files;
  Result<LoaderOptions> options = loaderOptions(&takenEnvironment());
  if (!options)
    return;
  auto add = [&](const std::string &path) {
    Result<std::string> hash = sha256OfFile(path);
    std::string name = std::filesystem::path(path).filename();
    bool known = std::ranges::any_of(
        files, [&](const WireFile &file) { return file.name == name; });
    if (hash && !known)
      files.push_back({name, *hash});
  };
  // A static worker is the plug-in's file itself.
  std::error_code code;
  if (!linkedPlugins().empty())
    add(std::filesystem::read_symlink("/proc/self/exe", code));
  const CpuInfo cpu = CpuInfo::detect();
  for (const FoundManifest &found : findManifests(*options, cpu.c())) {
    if (!std::ranges::count(names, found.manifest.name))
      continue;
    uint64_t budget = found.manifest.multiplyAdds;
    if (budget && (!hello.budget || budget < hello.budget))
      hello.budget = budget;
    for (const std::string &path :
         {found.path, found.manifest.driver, found.manifest.compiler,
          found.manifest.kernels, found.manifest.passes.path})
      if (!path.empty())
        add(path);
  }
  std::ranges::sort(files, {}, &WireFile::name);
}

} // namespace backplane::worker
