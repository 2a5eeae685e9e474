// SPDX-License-Identifier: Apache-2.0
#include "Layouts.h"
#include "backplane/abi.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace backplane::lint {

namespace {

constexpr const char *records[] = {
#include "Layouts.inc"
};

using Sizes = std::map<std::string, uint32_t, std::less<>>;

/// By minor version.
const std::map<uint32_t, Sizes> &layouts() {
  static const std::map<uint32_t, Sizes> all = [] {
    std::map<uint32_t, Sizes> result;
    for (const char *record : records) {
      auto json = nlohmann::json::parse(record);
      Sizes &sizes = result[json.at("minor").get<uint32_t>()];
      for (const auto &[name, layout] : json.at("structs").items())
        sizes[name] = layout.at("size").get<uint32_t>();
    }
    return result;
  }();
  return all;
}

} // namespace

uint32_t newestMinor() { return layouts().rbegin()->first; }

uint32_t sizeIn(uint32_t minor, std::string_view structName) {
  auto layout = layouts().find(minor);
  if (layout == layouts().end())
    return 0;
  auto size = layout->second.find(structName);
  return size == layout->second.end() ? 0 : size->second;
}

std::string headerFault(const void *header, uint32_t type,
                        std::string_view structName, std::string_view what,
                        uint32_t minor) {
  bp_header_t found;
  std::memcpy(&found, header, sizeof(found));
  std::string name(what);
  if (found.type != type)
    return name + " has type " + std::to_string(found.type) + ", a " +
           std::string(structName) + " has " + std::to_string(type);
  uint32_t wanted = sizeIn(minor, structName);
  if (!wanted || found.size == wanted)
    return "";
  return name + " has a size of " + std::to_string(found.size) + " bytes, a " +
         std::string(structName) + " of version " +
         std::to_string(BP_ABI_MAJOR) + "." + std::to_string(minor) +
         ", for which the library was built, has " + std::to_string(wanted);
}

} // namespace backplane::lint
