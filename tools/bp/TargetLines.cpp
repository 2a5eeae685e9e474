// SPDX-License-Identifier: Apache-2.0
#include "TargetLines.h"

#include "backplane/compiler.h"
#include "sdk/support/JsonString.h"
#include "sdk/support/ReadableText.h"

namespace backplane {
namespace {

/// Collects the targets of one driver.
struct Collector {
  std::string driver;
  std::vector<TargetLine> lines;
};

bp_status_t collect(void *context, const bp_target_listing_t *listing) {
  auto &all = *static_cast<Collector *>(context);
  const bp_target_t &target = *listing->target;
  if (view(target.driver) == all.driver)
    all.lines.push_back(
        {std::string(view(target.name)), std::string(view(listing->plugin)),
         std::string(view(target.toolchain)),
         std::string(view(listing->misfit)), listing->chosen != 0});
  return BP_STATUS_OK;
}

/// "host" of "host://cpu" and of "worker:board/host://cpu".
std::string driverOf(const std::string &uri) {
  std::string driver = uri.substr(0, uri.find("://"));
  return driver.substr(driver.find_last_of("/:") + 1);
}

} // namespace

std::string TargetLine::text() const {
  std::string line = name + ": plug-in " + plugin;
  if (!toolchain.empty())
    line += ", toolchain " + readable(toolchain, 80);
  if (!misfit.empty())
    return line + ", " + readable(misfit, 400);
  return chosen ? line + ", taken when none is named" : line;
}

std::string TargetLine::json() const {
  return "{\"name\": " + jsonString(name) +
         ", \"plugin\": " + jsonString(plugin) +
         ", \"toolchain\": " + jsonString(toolchain) +
         ", \"misfit\": " + jsonString(misfit) +
         ", \"chosen\": " + (chosen ? "true" : "false") + "}";
}

Result<std::vector<TargetLine>> targetLines(const Context &context,
                                            const std::string &uri) {
  Collector all{driverOf(uri), {}};
  bp_target_listing_sink_t sink = {collect, &all};
  Status status = checked([&](bp_error_t *error) {
    return bp_context_targets(context.get(), toC(uri), &sink, error);
  });
  if (!status.ok())
    return status;
  return std::move(all.lines);
}

} // namespace backplane
