// SPDX-License-Identifier: Apache-2.0
#include "DevicePolicy.h"
#include "sdk/support/NearestName.h"

#include <array>

namespace backplane::rt {
namespace {

constexpr std::array<std::string_view, 3> aims = {"latency", "throughput",
                                                  "power"};
constexpr size_t maxUris = 64;

bool isAim(std::string_view item) {
  return item.starts_with("auto:") || item == "auto";
}

Result<Aim> parseAim(std::string_view text) {
  std::string_view asked = text.substr(text.find(':') + 1);
  for (size_t i = 0; i < aims.size(); ++i)
    if (asked == aims[i])
      return Aim(i);
  std::string near = nearestName(asked, {aims.begin(), aims.end()});
  return invalidArgument(
      "device '" + std::string(text.substr(0, 256)) +
      "': there are auto:latency, auto:throughput and auto:power" +
      (near.empty() ? "" : "; did you mean auto:" + near + "?"));
}

/// What a device is, as far as an aim cares.
enum class Sort { Npu, SharedGpu, Cpu, Other, Gpu };

Sort sortOf(const bp_device_info_t &info) {
  switch (info.kind) {
  case BP_DEVICE_KIND_CPU:
    return Sort::Cpu;
  case BP_DEVICE_KIND_NPU:
    return Sort::Npu;
  case BP_DEVICE_KIND_GPU:
    return info.flags & BP_DEVICE_UNIFIED_MEMORY ? Sort::SharedGpu : Sort::Gpu;
  default:
    return Sort::Other;
  }
}

std::string_view describe(Sort sort) {
  switch (sort) {
  case Sort::Npu:
    return "an NPU";
  case Sort::SharedGpu:
    return "a GPU in the memory of the host";
  case Sort::Cpu:
    return "a CPU";
  case Sort::Gpu:
    return "a GPU with memory of its own";
  default:
    return "of no declared kind";
  }
}

/// Place of each sort, in the order of the enum.
constexpr int places[3][5] = {
    {1, 2, 0, 4, 3}, // latency: first what needs no transfer and no wake-up
    {1, 2, 3, 4, 0}, // throughput: first what is widest
    {0, 1, 2, 3, 4}, // power: first what was built to use little
};

} // namespace

std::string_view name(Aim aim) { return aims[size_t(aim)]; }

Result<DevicePolicy> DevicePolicy::parse(std::string_view text) {
  DevicePolicy policy;
  policy.text = text.empty() ? "host" : text;
  for (std::string_view rest = policy.text;;) {
    size_t comma = rest.find(',');
    std::string_view uri = rest.substr(0, comma);
    if (uri.empty() || (isAim(uri) && policy.aim) ||
        policy.uris.size() == maxUris)
      return invalidArgument("device '" + policy.text.substr(0, 256) +
                             "': a list names at most 64 devices, separated "
                             "by commas, and auto: once");
    if (!uri.starts_with("worker:") &&
        uri.find("+worker:") != std::string_view::npos)
      return invalidArgument("device '" + std::string(uri.substr(0, 256)) +
                             "': devices joined by a plus are those of one "
                             "machine, here or behind one worker");
    if (!isAim(uri)) {
      policy.uris.emplace_back(uri);
    } else {
      Result<Aim> aim = parseAim(uri);
      if (!aim)
        return aim.status();
      policy.aim = *aim;
      policy.aimAt = policy.uris.size();
    }
    if (comma == std::string_view::npos)
      return policy;
    rest.remove_prefix(comma + 1);
  }
}

Standing standing(Aim aim, const DeviceInfo &device, uint32_t rank) {
  if (device.emulated())
    return {lastResort + 1, "is emulated, the last resort"};
  if (rank == 0)
    return {lastResort, "has rank 0, a fallback"};
  Sort sort = sortOf(device.c());
  int place = places[size_t(aim)][size_t(sort)];
  return {place, "is " + std::string(describe(sort)) + ", place " +
                     std::to_string(place + 1) + " of 5 for " +
                     std::string(name(aim))};
}

} // namespace backplane::rt
