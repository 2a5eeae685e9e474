// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Html.h"

#include "conformance/publish/PageJson.h"

#include <kainjow/mustache.hpp>

using namespace backplane;
namespace mustache = kainjow::mustache;

namespace {

constexpr const char *page =
#include "conformance/publish/ReportPage.inc"
    ;

/// What the template is filled with. Empty text counts as absent.
mustache::data dataOf(const nlohmann::json &json) {
  if (json.is_object()) {
    mustache::data object;
    for (const auto &[key, value] : json.items())
      object.set(key, dataOf(value));
    return object;
  }
  if (json.is_array()) {
    mustache::data list(mustache::data::type::list);
    for (const auto &value : json)
      list.push_back(dataOf(value));
    return list;
  }
  if (json.is_string() && !json.empty() && !json.get<std::string>().empty())
    return json.get<std::string>();
  return json.is_boolean() && json.get<bool>();
}

} // namespace

std::string conformance::reportHtml(const RunFacts &facts,
                                    const RunVerdict &verdict,
                                    const std::vector<Record> &records) {
  return mustache::mustache(page).render(
      dataOf(pageJson(facts, verdict, records)));
}
