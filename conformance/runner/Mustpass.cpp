// SPDX-License-Identifier: Apache-2.0
#include "Mustpass.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <map>
#include <set>

namespace backplane::conformance {
namespace {

constexpr size_t maxIds = 1'000'000;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    size_t space = text.find(' ');
    if (space != 0)
      result.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(space, text.size() - 1) + 1);
  }
  return result;
}

Status wrong(size_t line, const std::string &what) {
  return dataLoss("mustpass list, line " + std::to_string(line) + ": " + what);
}

} // namespace

std::string hashOfIds(std::vector<std::string> ids) {
  std::ranges::sort(ids);
  std::string lines;
  for (const std::string &id : ids)
    lines += id + "\n";
  return sha256(asBytes(lines));
}

std::string mustpassText(const std::vector<std::string> &ids) {
  std::map<std::string, std::set<std::string>> endsOf;
  for (const std::string &id : ids) {
    size_t slash = id.rfind('/');
    endsOf[id.substr(0, slash)].insert(id.substr(slash + 1));
  }
  std::map<std::set<std::string>, std::vector<std::string>> blocks;
  for (const auto &[unit, ends] : endsOf)
    blocks[ends].push_back(unit);
  std::string text;
  for (const auto &[ends, units] : blocks) {
    text += "[";
    for (const std::string &end : ends)
      text += (text.ends_with('[') ? "" : " ") + end;
    text += "]\n";
    for (const std::string &unit : units)
      text += unit + "\n";
  }
  return text;
}

Result<std::vector<std::string>> parseMustpass(std::string_view text) {
  std::vector<std::string> ids, ends;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t stop = text.find('\n');
    std::string_view line = text.substr(0, stop);
    text.remove_prefix(std::min(stop, text.size() - 1) + 1);
    if (line.empty() || line[0] == '#')
      continue;
    if (line[0] == '[') {
      if (line.back() != ']')
        return wrong(number, "a block does not end with ]");
      ends = words(line.substr(1, line.size() - 2));
      continue;
    }
    if (ends.empty())
      return wrong(number, "a unit stands in no block");
    if (ids.size() + ends.size() > maxIds)
      return wrong(number, "more than a million cases");
    for (const std::string &end : ends)
      ids.push_back(std::string(line) + "/" + end);
  }
  std::ranges::sort(ids);
  auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end())
    return dataLoss("mustpass list: " + *twice + " stands twice");
  return ids;
}

} // namespace backplane::conformance
