// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/PageJson.h"

#include <kainjow/mustache.hpp>

using namespace backplane;
namespace mustache = kainjow::mustache;

namespace {

constexpr const char *charts =
#include "conformance/publish/charts.mustache.inc"
    ;
constexpr const char *style =
#include "conformance/publish/style.css.inc"
    ;

/// What a template is filled with. Empty text counts as absent.
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

std::string conformance::render(const char *page,
                                const nlohmann::json &values) {
  mustache::data data = dataOf(values);
  data.set("charts", mustache::data(mustache::partial(
                         [] { return std::string(charts); })));
  data.set("style", mustache::data(
                        mustache::partial([] { return std::string(style); })));
  return mustache::mustache(page).render(data);
}
