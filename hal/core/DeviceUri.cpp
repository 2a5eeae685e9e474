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

static bool isDriverName(std::string_view name) {
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
  constexpr size_t mostBytes = 1024;
  if (text.size() > mostBytes)
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

/// Number of single-letter edits between two words.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string nearestName(std::string_view wanted,
                        const std::vector<std::string> &names) {
  size_t best = std::max<size_t>(2, wanted.size() / 3) + 1;
  std::string nearest;
  for (const std::string &name : names)
    if (size_t distance = editDistance(wanted, name); distance < best) {
      best = distance;
      nearest = name;
    }
  return nearest;
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
