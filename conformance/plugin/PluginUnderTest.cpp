// SPDX-License-Identifier: Apache-2.0
#include "PluginUnderTest.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/Manifest.h"

namespace backplane::checks {

Result<PluginUnderTest>
findPluginUnderTest(const std::string &uri,
                    const bp_context_options_t &context) {
  Result<DeviceUri> parsed = DeviceUri::parse(uri);
  if (!parsed)
    return parsed.status();
  Result<LoaderOptions> options = loaderOptions(&context);
  if (!options)
    return options.status();
  PluginUnderTest tested;
  tested.uri = uri;
  tested.device = parsed->id;
  for (const auto &[key, value] : parsed->options)
    tested.options.emplace_back(key, value);
  CpuInfo cpu = CpuInfo::detect();
  std::string refusal;
  for (const FoundManifest &found : findManifests(*options, cpu.c())) {
    if (found.manifest.name != parsed->driver)
      continue;
    refusal += "; " + found.path + ": " +
               (found.refusal.empty() ? "it has no driver" : found.refusal);
    if (!found.refusal.empty() || found.manifest.driver.empty())
      continue;
    Result<TrustedFile> library =
        options->trust.open(found.manifest.driver, "plug-in library");
    if (!library)
      return library.status();
    tested.name = found.manifest.name;
    tested.library = library->path();
    return tested;
  }
  return notFound("no usable plug-in with the driver \"" + parsed->driver +
                  "\"" + refusal + "; see bp devices");
}

} // namespace backplane::checks
