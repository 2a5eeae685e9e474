// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/Manifest.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/support/JsonString.h"
#include "sdk/support/PublishedPasses.h"

#include <algorithm>
#include <cstdio>

namespace backplane {
namespace {

std::string text(std::string_view view) { return std::string(view); }

/// A pass in C++ of a plug-in, as its manifest declares it.
struct VendorPass {
  DeclaredPass pass;
  std::string origin; ///< plug-in, library and LLVM
};

Result<std::vector<VendorPass>> vendorPasses() {
  bp_context_options_t environment = {BP_HEADER(bp_context_options_t)};
  bp_context_options_from_env(&environment);
  Result<LoaderOptions> options = loaderOptions(&environment);
  if (!options)
    return options.status();
  std::vector<VendorPass> all;
  for (const FoundManifest &found :
       findManifests(*options, CpuInfo::detect().c())) {
    const PassLibrary &library = found.manifest.passes;
    for (const DeclaredPass &pass : library.passes)
      if (found.refusal.empty())
        all.push_back({pass, found.manifest.name + " " +
                                 found.manifest.version + ", " + library.path +
                                 " for LLVM " + library.llvm});
  }
  return all;
}

/// Whether the stage and the pass that were asked for are there.
Status checkNames(const PassesOptions &options,
                  const std::vector<VendorPass> &vendors) {
  std::vector<std::string> stageNames, passNames;
  for (const VendorPass &vendor : vendors)
    passNames.push_back(vendor.pass.name);
  for (const Stage *stage : stages)
    stageNames.emplace_back(stage->name);
  for (const PublishedPass &pass : publishedPasses())
    passNames.emplace_back(pass.name);
  if (!options.stage.empty() && !findStage(options.stage))
    return invalidArgument("there is no stage '" + options.stage + "'" +
                           suggestion(options.stage, stageNames));
  if (!options.name.empty() && !std::ranges::count(passNames, options.name))
    return invalidArgument("there is no pass '" + options.name + "'" +
                           suggestion(options.name, passNames));
  return {};
}

bool isAsked(const PassesOptions &options, std::string_view stage,
             std::string_view name) {
  return (options.stage.empty() || options.stage == stage) &&
         (options.name.empty() || options.name == name);
}

std::vector<const PublishedPass *> chosen(const PassesOptions &options) {
  std::vector<const PublishedPass *> passes;
  for (const Stage *stage : stages)
    for (const PublishedPass &pass : publishedPasses())
      if (pass.stage == stage->name && isAsked(options, pass.stage, pass.name))
        passes.push_back(&pass);
  return passes;
}

using Fields = std::vector<std::pair<const char *, std::string_view>>;

Fields fieldsOf(const PublishedPass &pass) {
  return {{"stage", pass.stage},
          {"promise", pass.promise},
          {"origin", "Backplane"},
          {"needs", pass.needs},
          {"gives", pass.gives}};
}

Fields fieldsOf(const VendorPass &vendor) {
  return {{"stage", vendor.pass.stage},
          {"promise", "none"},
          {"origin", vendor.origin}};
}

void print(std::string_view name, std::string_view summary,
           const Fields &fields) {
  std::printf("%s: %s\n", text(name).c_str(), text(summary).c_str());
  for (auto [key, value] : fields)
    std::printf("  %-8s %s\n", key, text(value).c_str());
}

void print(const PublishedPass &pass) {
  print(pass.name, pass.summary, fieldsOf(pass));
  for (const PassOption &option : pass.options)
    std::printf("  option   %s (%s): %s\n", text(option.name).c_str(),
                text(option.type).c_str(), text(option.description).c_str());
}

void print(const VendorPass &vendor) {
  print(vendor.pass.name, vendor.pass.summary, fieldsOf(vendor));
}

/// Members of an object, without its braces.
std::string jsonOf(std::string_view name, std::string_view summary,
                   const Fields &fields) {
  std::string members =
      "\"name\": " + jsonString(name) + ", \"summary\": " + jsonString(summary);
  for (auto [key, value] : fields)
    members += ", \"" + std::string(key) + "\": " + jsonString(value);
  return members;
}

std::string jsonOf(const VendorPass &vendor) {
  return "  {" +
         jsonOf(vendor.pass.name, vendor.pass.summary, fieldsOf(vendor)) + "}";
}

std::string jsonOf(const PublishedPass &pass) {
  std::string options;
  for (const PassOption &option : pass.options)
    options += (options.empty() ? "" : ", ") + std::string("{\"name\": ") +
               jsonString(option.name) +
               ", \"type\": " + jsonString(option.type) +
               ", \"description\": " + jsonString(option.description) + "}";
  return "  {" + jsonOf(pass.name, pass.summary, fieldsOf(pass)) +
         ", \"options\": [" + options + "]}";
}

} // namespace

int runPasses(const PassesOptions &options) {
  Result<std::vector<VendorPass>> vendors = vendorPasses();
  if (!vendors)
    return fail(vendors.status());
  if (Status s = checkNames(options, *vendors); !s.ok())
    return fail(s);
  std::string json;
  auto put = [&](const auto &pass) {
    if (options.json)
      json += (json.empty() ? "" : ",\n") + jsonOf(pass);
    else
      print(pass);
  };
  for (const PublishedPass *pass : chosen(options))
    put(*pass);
  for (const VendorPass &vendor : *vendors)
    if (isAsked(options, vendor.pass.stage, vendor.pass.name))
      put(vendor);
  if (options.json)
    std::printf("[\n%s\n]\n", json.c_str());
  return 0;
}

} // namespace backplane
