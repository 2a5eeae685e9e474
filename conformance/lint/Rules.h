// SPDX-License-Identifier: Apache-2.0
//
// Rules.h: the rules of `bp lint`, as a table. docs/reference/lint-rules.md is
// made of it. A number keeps its meaning for ever; a rule that goes leaves a
// gap.
#ifndef BACKPLANE_CONFORMANCE_LINT_RULES_H
#define BACKPLANE_CONFORMANCE_LINT_RULES_H

#include "conformance/plugin/Check.h"

#include <string>
#include <string_view>
#include <vector>

namespace backplane::lint {

/// Note: nothing is wrong, but somebody may want to know.
enum class Severity { Note, Warning, Error };
const char *nameOf(Severity severity);

struct Rule {
  std::string number; ///< "BPL103"
  Severity severity;
  std::string asks;   ///< what is asked, a sentence without its full stop
  std::string remedy; ///< what to do, likewise
  std::string why;    ///< for the page; empty: `asks` says it
  std::string checks; ///< glob over the groups of checks that ask it, or empty
};

/// Ordered by number.
const std::vector<Rule> &allRules();
/// Null when there is none.
const Rule *findRule(std::string_view number);
/// The rule of a check.
const Rule &ruleOf(const checks::Check &check);

/// The reference page.
std::string rulesPage();

} // namespace backplane::lint

#endif // BACKPLANE_CONFORMANCE_LINT_RULES_H
