// SPDX-License-Identifier: Apache-2.0
#include "hal/core/MemberReader.h"
#include "sdk/support/NearestName.h"

#include <algorithm>
#include <limits>

namespace backplane {

using Json = nlohmann::json;

static constexpr size_t maxTextBytes = 256;

void MemberReader::onlyHas(std::initializer_list<const char *> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto &[key, value] : object_.items())
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      std::string near = nearestName(key, names);
      complain(key,
               "is not a member that a manifest has" +
                   (near.empty() ? "" : ", did you mean \"" + near + "\"?"));
    }
}

std::string MemberReader::text(const char *key, bool required) {
  const Json *value = find(key, required);
  if (!value)
    return "";
  if (!value->is_string())
    return complain(key, "is not a string");
  const std::string &text = value->get_ref<const std::string &>();
  if (text.size() > maxTextBytes || text.find('\0') != std::string::npos)
    return complain(key, "is longer than 256 bytes or holds a zero byte");
  return text;
}

uint32_t MemberReader::number(const char *key, bool required) {
  return uint32_t(count(key, required, std::numeric_limits<uint32_t>::max(),
                        "is not a small non-negative integer"));
}

uint64_t MemberReader::count(const char *key, bool required, uint64_t max,
                             const char *complaint) {
  const Json *value = find(key, required);
  if (!value)
    return 0;
  if (!value->is_number_unsigned() || value->get<uint64_t>() > max) {
    complain(key, complaint);
    return 0;
  }
  return value->get<uint64_t>();
}

std::vector<std::string> MemberReader::texts(const char *key) {
  std::vector<std::string> result;
  const Json *value = find(key, false);
  if (!value)
    return result;
  if (!value->is_array())
    complain(key, "is not a list of strings");
  else
    for (const Json &item : *value)
      if (item.is_string())
        result.push_back(item.get<std::string>());
      else
        complain(key, "is not a list of strings");
  return result;
}

Json MemberReader::object(const char *key, bool required) {
  const Json *value = find(key, required);
  if (value && !value->is_object())
    complain(key, "is not an object");
  return value && value->is_object() ? *value : Json::object();
}

std::vector<Json> MemberReader::objects(const char *key) {
  const Json *value = find(key, true);
  if (!value)
    return {};
  if (value->is_object())
    return {*value};
  if (!value->is_array() || value->empty() ||
      !std::all_of(value->begin(), value->end(),
                   [](const Json &item) { return item.is_object(); }))
    complain(key, "is not an object or a list of objects");
  return value->is_array() ? value->get<std::vector<Json>>()
                           : std::vector<Json>();
}

std::string MemberReader::complain(std::string_view key,
                                   std::string_view what) {
  if (status.ok())
    status =
        invalidArgument("\"" + std::string(key) + "\" " + std::string(what));
  return "";
}

const Json *MemberReader::find(const char *key, bool required) {
  auto it = object_.find(key);
  if (it != object_.end())
    return &*it;
  if (required)
    complain(key, "is missing");
  return nullptr;
}

} // namespace backplane
