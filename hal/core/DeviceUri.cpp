// SPDX-License-Identifier: Apache-2.0
#include "hal/core/DeviceUri.h"

#include <algorithm>
#include <vector>

namespace backplane {

static Status badUri(std::string_view text, std::string_view reason) {
  return invalidArgument("device \"" + std::string(text.substr(0, 256)) +
                         "\": " + std::string(reason) +
                         "; write driver, driver://id or "
                         "driver://id?key=value");
}

bool isDriverName(std::string_view name) {
  return !name.empty() && name.size() <= 32 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

static Status parseOptions(std::string_view text, std::string_view query,
                           DeviceUri &uri) {
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      return badUri(text, "an option is not of the form key=value");
    std::string key(pair.substr(0, equals));
    for (const auto &[other, value] : uri.options)
      if (other == key)
        return badUri(text, "option " + key + " is given twice");
    uri.options.emplace_back(key, pair.substr(equals + 1));
  }
  return {};
}

Result<DeviceUri> DeviceUri::parse(std::string_view text) {
  constexpr size_t maxBytes = 1024;
  if (text.size() > maxBytes)
    return badUri(text, "longer than 1024 bytes");
  DeviceUri uri;
  std::string_view rest = text, query;
  if (size_t mark = rest.find('?'); mark != std::string_view::npos) {
    query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (size_t mark = rest.find("://"); mark != std::string_view::npos) {
    uri.id = rest.substr(mark + 3);
    rest = rest.substr(0, mark);
  }
  if (!isDriverName(rest))
    return badUri(text, "no driver name in front");
  uri.driver = rest;
  if (Status status = parseOptions(text, query, uri); !status.ok())
    return status;
  return uri;
}

std::string DeviceUri::format() const {
  std::string text = driver + "://" + id;
  char separator = '?';
  for (const auto &[key, value] : options) {
    text += separator + key + "=" + value;
    separator = '&';
  }
  return text;
}

std::vector<std::string> splitUris(std::string_view joined) {
  std::vector<std::string> uris(1);
  for (char c : joined)
    if (c == '+')
      uris.emplace_back();
    else
      uris.back() += c;
  return uris;
}

} // namespace backplane
