// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "TargetLines.h"

#include <cstdio>

#include "sdk/support/Joined.h"
#include "sdk/support/JsonString.h"
#include "sdk/support/Property.h"
#include "sdk/support/ReadableText.h"

namespace backplane {
namespace {

struct Listing {
  std::string uri, plugin, name, manifest, refusal;
  bool hasDevice = false;
  std::vector<std::string> formats, features, properties;
  std::vector<TargetLine> targets;
  std::string noTargets; ///< why they are not known
  uint32_t flags = 0, workers = 0;
  uint32_t builtMinor = 0, requiredMinor = 0;
};

bp_status_t collect(void *context, const bp_device_listing_t *listing) {
  Listing row{std::string(view(listing->uri)),
              std::string(view(listing->plugin)),
              std::string(view(listing->name)),
              std::string(view(listing->manifest)),
              std::string(view(listing->refusal)),
              listing->info != nullptr,
              {},
              {}};
  row.builtMinor = listing->built_minor;
  row.requiredMinor = listing->required_minor;
  if (const bp_device_info_t *info = listing->info) {
    for (uint64_t i = 0; i < info->format_count; ++i)
      row.formats.emplace_back(view(info->formats[i]));
    for (uint64_t i = 0; i < info->feature_count; ++i)
      row.features.emplace_back(view(info->features[i]));
    if (auto list = copyProperties(info->properties, info->property_count))
      for (const Property &property : *list)
        row.properties.push_back(readable(property.str(), 400));
    row.flags = info->flags;
    row.workers = info->worker_count;
  }
  static_cast<std::vector<Listing> *>(context)->push_back(std::move(row));
  return BP_STATUS_OK;
}

/// "ABI 0.3, needs 0.1, "; empty when the library is not loaded here.
std::string abiOf(const Listing &row) {
  const std::string major = std::to_string(BP_ABI_MAJOR) + ".";
  if (!row.builtMinor)
    return "";
  return "ABI " + major + std::to_string(row.builtMinor) + ", needs " + major +
         std::to_string(row.requiredMinor) + ", ";
}

void printText(const std::vector<Listing> &rows, bool why) {
  size_t usable = 0;
  for (const Listing &row : rows) {
    if (!row.refusal.empty() || !row.hasDevice)
      continue;
    ++usable;
    std::printf("%-24s %s%s\n", row.uri.c_str(), row.name.c_str(),
                row.flags & BP_DEVICE_EMULATED ? " (emulated)" : "");
    if (why)
      std::printf("  plug-in %s (%s), %s%u workers\n  formats: %s\n"
                  "  features: %s\n  properties: %s\n",
                  row.plugin.c_str(), row.manifest.c_str(), abiOf(row).c_str(),
                  row.workers, joined(row.formats, ", ").c_str(),
                  joined(row.features, " ").c_str(),
                  joined(row.properties, " ").c_str());
    for (const TargetLine &target : row.targets)
      std::printf("  target %s\n", target.text().c_str());
    if (!row.noTargets.empty())
      std::printf("  targets: %s\n", readableMessage(row.noTargets).c_str());
  }
  if (!usable)
    std::printf("no usable device\n");
  bool titled = false;
  for (const Listing &row : rows) {
    bool compilerOnly = row.refusal.empty() && !row.hasDevice;
    if (row.refusal.empty() && !(why && compilerOnly))
      continue;
    if (!titled)
      std::printf("%s", why ? "\nwithout a device:\n" : "\nrefused:\n");
    titled = true;
    std::printf(
        "  %-22s %s\n", (row.uri.empty() ? row.plugin : row.uri).c_str(),
        compilerOnly ? "compiler only" : readableMessage(row.refusal).c_str());
    if (why && !row.manifest.empty())
      std::printf("  %-22s %s\n", "", readable(row.manifest, 400).c_str());
  }
}

void printJsonList(const char *key, const std::vector<std::string> &items) {
  std::printf(", \"%s\": [", key);
  for (size_t i = 0; i < items.size(); ++i)
    std::printf("%s%s", i ? ", " : "", jsonString(items[i]).c_str());
  std::printf("]");
}

void printJson(const std::vector<Listing> &rows) {
  std::printf("[");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Listing &row = rows[i];
    std::printf("%s\n  {\"uri\": %s, \"plugin\": %s, \"name\": %s, "
                "\"manifest\": %s, \"usable\": %s, \"refusal\": %s, "
                "\"emulated\": %s, \"workers\": %u, \"built_minor\": %u, "
                "\"required_minor\": %u",
                i ? "," : "", jsonString(row.uri).c_str(),
                jsonString(row.plugin).c_str(), jsonString(row.name).c_str(),
                jsonString(row.manifest).c_str(),
                row.hasDevice && row.refusal.empty() ? "true" : "false",
                jsonString(row.refusal).c_str(),
                row.flags & BP_DEVICE_EMULATED ? "true" : "false", row.workers,
                row.builtMinor, row.requiredMinor);
    printJsonList("formats", row.formats);
    printJsonList("features", row.features);
    printJsonList("properties", row.properties);
    std::printf(", \"targets\": [");
    for (const TargetLine &target : row.targets)
      std::printf("%s%s", &target == row.targets.data() ? "" : ", ",
                  target.json().c_str());
    std::printf("]}");
  }
  std::printf("\n]\n");
}

using Rows = std::vector<Listing>;

Status addLocal(const Context &context, Rows &rows) {
  bp_device_listing_sink_t sink = {collect, &rows};
  return checked([&](bp_error_t *error) {
    return bp_context_devices(context.get(), &sink, error);
  });
}

Status addRemote(const Context &context, const std::string &worker,
                 Rows &rows) {
  bp_device_listing_sink_t sink = {collect, &rows};
  return checked([&](bp_error_t *error) {
    return bp_context_worker_devices(context.get(), toC(worker), &sink, error);
  });
}

bp_status_t putName(void *context, bp_string_t name) {
  static_cast<std::vector<std::string> *>(context)->emplace_back(view(name));
  return BP_STATUS_OK;
}

/// A worker that does not start is a line of its own.
Status addWorkers(const Context &context, Rows &rows) {
  std::vector<std::string> names;
  bp_string_sink_t sink = {putName, &names};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_workers(context.get(), &sink, error);
  });
  for (const std::string &name : names)
    if (Status s = addRemote(context, name, rows); !s.ok()) {
      Listing row;
      row.uri = "worker:" + name;
      row.refusal = s.message();
      rows.push_back(std::move(row));
    }
  return status;
}

/// What compiles for the devices that can be used.
void addTargets(const Context &context, Rows &rows) {
  for (Listing &row : rows) {
    if (!row.hasDevice || !row.refusal.empty())
      continue;
    if (auto targets = targetLines(context, row.uri))
      row.targets = std::move(*targets);
    else
      row.noTargets = targets.message();
  }
}

} // namespace

int runDevices(const DevicesOptions &options) {
  Result<Context> context = openContext(0);
  if (!context)
    return fail(context.status());
  std::vector<Listing> rows;
  Status status = options.worker.empty()
                      ? addLocal(*context, rows)
                      : addRemote(*context, options.worker, rows);
  if (status.ok() && options.workers)
    status = addWorkers(*context, rows);
  if (!status.ok())
    return fail(status);
  if (options.why || options.json)
    addTargets(*context, rows);
  if (options.json)
    printJson(rows);
  else
    printText(rows, options.why);
  return 0;
}

} // namespace backplane
