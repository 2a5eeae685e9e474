// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "Groups.h"

#include <cstdio>
#include <cstdlib>

namespace backplane::checks {

bool Trial::ok() const {
  std::lock_guard lock(mutex_);
  return outcome_.kind == Outcome::Pass;
}

void Trial::end(Outcome::Kind kind, std::string text) {
  std::lock_guard lock(mutex_);
  if (outcome_.kind == Outcome::Pass)
    outcome_ = {kind, std::move(text)};
}

void Trial::fail(std::string text) { end(Outcome::Fail, std::move(text)); }
void Trial::skip(std::string why) {
  end(Outcome::NotSupported, std::move(why));
}
void Trial::giveUp(std::string why) {
  end(Outcome::ResourceError, std::move(why));
}

bool Trial::expect(bool holds, const std::string &text) {
  if (!holds)
    fail(text);
  return holds;
}

bool Trial::expectOk(const Status &status, const std::string &what) {
  return expect(status.ok(), what + ": " + status.message());
}

void Trial::abandon(const std::string &why) {
  fail(why);
  leaving_.lock(); // and never unlocked: others that come here wait for the end
  if (leave_)
    leave_(outcome());
  else
    std::fprintf(stderr, "a check was abandoned: %s\n", why.c_str());
  std::_Exit(1);
}

Trial::Outcome Trial::outcome() const {
  std::lock_guard lock(mutex_);
  return outcome_;
}

void Group::add(const std::string &name, Depth depth,
                std::function<void(Trial &)> run) {
  Check check;
  check.id = prefix_ + "/" + name;
  check.group = prefix_;
  check.layer = prefix_[1] - '0';
  check.depth = depth;
  check.tags = tags_;
  check.what = what_;
  check.graph = graph_;
  check.run = std::move(run);
  all_.push_back(std::move(check));
}

const std::vector<Check> &allChecks() {
  static const std::vector<Check> checks = [] {
    std::vector<Check> all;
    for (auto *addGroup : groups)
      addGroup(all);
    return all;
  }();
  return checks;
}

const Check *findCheck(std::string_view id) {
  for (const Check &check : allChecks())
    if (check.id == id)
      return &check;
  return nullptr;
}

Trial::Outcome runCheck(const Check &check, const PluginUnderTest &tested,
                        Trial::Leave leave) {
  Trial trial(tested, std::move(leave));
  check.run(trial);
  return trial.outcome();
}

} // namespace backplane::checks
