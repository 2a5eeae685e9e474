// SPDX-License-Identifier: Apache-2.0
//
// Report.h: what `bp lint` found, asked and left out.
#ifndef BACKPLANE_CONFORMANCE_LINT_REPORT_H
#define BACKPLANE_CONFORMANCE_LINT_REPORT_H

#include "Rules.h"

#include <set>

namespace backplane::lint {

struct Finding {
  const Rule *rule;
  std::string where; ///< file name, or the id of a check
  std::string found; ///< one line
};

/// What was not looked at, and why.
struct Skipped {
  std::string what, reason;
};

class Report {
public:
  /// The plug-in, as it was asked for. With `only`, findings of other rules are
  /// left out.
  explicit Report(std::string plugin, std::set<std::string> only = {})
      : plugin_(std::move(plugin)), only_(std::move(only)) {}

  void find(std::string_view rule, std::string where, std::string_view found);
  void skip(std::string what, std::string_view reason);
  /// A rule was asked, whatever came of it.
  void ask(std::string_view rule) { asked_.emplace(rule); }

  /// Whether the rule was found broken, shown or not.
  bool has(std::string_view rule) const;
  bool wants(const std::string &rule) const {
    return only_.empty() || only_.contains(rule);
  }
  size_t count(Severity severity) const;
  const std::vector<Finding> &findings() const { return findings_; }
  const std::vector<Skipped> &skipped() const { return skipped_; }

  /// Lines for people: findings, what was skipped, a line of counts.
  std::string text() const;
  std::string json() const;

private:
  std::string plugin_;
  std::vector<Finding> findings_;
  std::vector<Skipped> skipped_;
  std::set<std::string> only_;
  std::set<std::string, std::less<>> asked_, broken_;
};

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_REPORT_H
