// SPDX-License-Identifier: Apache-2.0
#include "Report.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace backplane::lint {

void Report::find(std::string_view rule, std::string where,
                  std::string_view found) {
  const Rule *known = findRule(rule);
  if (!known)
    throw std::logic_error("there is no rule " + std::string(rule));
  ask(rule);
  broken_.emplace(rule);
  if (wants(known->number))
    findings_.push_back({known, std::move(where), readableMessage(found)});
}

void Report::skip(std::string what, std::string_view reason) {
  skipped_.push_back({std::move(what), readableMessage(reason)});
}

bool Report::has(std::string_view rule) const { return broken_.contains(rule); }

size_t Report::count(Severity severity) const {
  return size_t(std::ranges::count_if(findings_, [&](const Finding &finding) {
    return finding.rule->severity == severity;
  }));
}

std::string Report::text() const {
  std::string out;
  for (const Finding &finding : findings_)
    out += finding.rule->number + " " + nameOf(finding.rule->severity) + ": " +
           finding.where + ": " + finding.found + "; asked is that " +
           finding.rule->asks + "; to do: " + finding.rule->remedy + "\n";
  for (const Skipped &one : skipped_)
    out += "skipped " + one.what + ": " + one.reason + "\n";
  auto counted = [&](Severity severity) {
    size_t number = count(severity);
    return std::to_string(number) + " " + nameOf(severity) +
           (number == 1 ? "" : "s");
  };
  out += plugin_ + ": " + counted(Severity::Error) + ", " +
         counted(Severity::Warning) + ", " + counted(Severity::Note) + "; " +
         std::to_string(asked_.size()) + " of " +
         std::to_string(allRules().size()) + " rules asked\n";
  return out;
}

std::string Report::json() const {
  using Json = nlohmann::ordered_json;
  Json findings = Json::array(), skipped = Json::array();
  for (const Finding &finding : findings_)
    findings.push_back({{"rule", finding.rule->number},
                        {"severity", nameOf(finding.rule->severity)},
                        {"where", finding.where},
                        {"found", finding.found},
                        {"asked", finding.rule->asks},
                        {"to_do", finding.rule->remedy}});
  for (const Skipped &one : skipped_)
    skipped.push_back({{"what", one.what}, {"reason", one.reason}});
  Json all = {{"plugin", plugin_},
              {"errors", count(Severity::Error)},
              {"warnings", count(Severity::Warning)},
              {"notes", count(Severity::Note)},
              {"asked", asked_},
              {"findings", findings},
              {"skipped", skipped}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace backplane::lint
