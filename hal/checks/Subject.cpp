// SPDX-License-Identifier: Apache-2.0
#include "Subject.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/Manifest.h"

namespace backplane::checks {

Result<Subject> findSubject(const std::string &uri,
                            const bp_context_options_t &context) {
  Result<DeviceUri> parsed = DeviceUri::parse(uri);
  if (!parsed)
    return parsed.status();
  Result<LoaderOptions> options = loaderOptions(&context);
  if (!options)
    return options.status();
  Subject subject;
  subject.uri = uri;
  subject.device = parsed->id;
  for (const auto &[key, value] : parsed->options)
    subject.options.emplace_back(key, value);
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
    subject.name = found.manifest.name;
    subject.library = library->path();
    return subject;
  }
  return notFound("no usable plug-in with the driver \"" + parsed->driver +
                  "\"" + refusal + "; see bp devices");
}

} // namespace backplane::checks
