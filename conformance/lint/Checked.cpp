// SPDX-License-Identifier: Apache-2.0
//
// Checked.cpp: the checks of plug-in binaries, in processes of their own: one
// runs them in turn, the next goes on behind the one that ended it.
#include "Child.h"
#include "Lint.h"
#include "hal/core/DeviceUri.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace backplane::lint {

using checks::Check;
using checks::Trial;

namespace {

constexpr size_t maxEnds = 5; ///< of processes, of one plug-in

/// A check of one library.
struct Planned {
  const Check *check;
  const LintedLibrary *library;
};

/// The checks that need no driver.
bool isOfEveryLibrary(const Check &check) {
  return check.group == "L0/query/size" || check.group == "L0/query/host" ||
         check.group == "L0/query/pure";
}

class Checker {
public:
  Checker(const LintedPlugin &plugin, const LintOptions &options,
          Report &report)
      : plugin_(plugin), options_(options), report_(report) {}

  void run();

private:
  void plan();
  bool wanted(const Check &check);
  size_t runFrom(size_t first);
  void runHere(const Planned &planned, const Teller &teller) const;
  void hear(std::string_view word, const std::string &text);
  void sayWhatWasSkipped();

  const LintedPlugin &plugin_;
  const LintOptions &options_;
  Report &report_;
  std::vector<Planned> planned_;
  size_t current_ = 0; ///< index of the check under way
  bool underWay_ = false;
  size_t ends_ = 0;
  size_t withoutModels_ = 0, withoutDevice_ = 0;
  /// Rule and reason of checks that did not apply, and how many.
  std::map<std::pair<std::string, std::string>, size_t> notSupported_;
};

bool Checker::wanted(const Check &check) {
  if (check.depth > options_.depth || check.group == "L0/file")
    return false; // The rules of files ask the latter.
  if (!report_.wants(ruleOf(check).number))
    return false;
  if (!check.graph.empty() && options_.artifacts.empty()) {
    ++withoutModels_;
    return false;
  }
  return true;
}

void Checker::plan() {
  for (const Check &check : checks::allChecks()) {
    if (!wanted(check))
      continue;
    bool anywhere = isOfEveryLibrary(check), planned = false;
    for (const LintedLibrary &library : plugin_.libraries)
      if (anywhere || (library.driver && plugin_.usableDevice)) {
        planned_.push_back({&check, &library});
        planned = true;
      }
    withoutDevice_ += !planned;
  }
}

void Checker::runHere(const Planned &planned, const Teller &teller) const {
  const Check &check = *planned.check;
  Result<checks::PluginUnderTest> found = underTest(plugin_);
  checks::PluginUnderTest tested =
      found ? *found : checks::PluginUnderTest{.name = plugin_.name};
  tested.library = planned.library->path;
  tested.timeout = options_.timeout * 2 / 3; // it ends before its process
  std::vector<uint8_t> artifact;
  if (!check.graph.empty()) {
    std::ifstream in(options_.artifacts + "/" + check.graph + ".bpx",
                     std::ios::binary);
    artifact.assign(std::istreambuf_iterator<char>(in), {});
  }
  tested.artifact = tested.again = artifact;
  auto tell = [&](const Trial::Outcome &outcome) {
    constexpr const char *words[] = {"pass", "fail", "not", "none"};
    teller.tell(words[outcome.kind], outcome.text);
  };
  tell(runCheck(check, tested, tell));
}

void Checker::hear(std::string_view word, const std::string &text) {
  const Planned &planned = planned_[current_];
  const Rule &rule = ruleOf(*planned.check);
  if (word == "begin") {
    current_ = size_t(std::strtoull(text.c_str(), nullptr, 10));
    underWay_ = true;
    return;
  }
  underWay_ = false;
  report_.ask(rule.number);
  if (word == "fail")
    report_.find(rule.number, planned.check->id, text);
  else if (word != "pass")
    ++notSupported_[{rule.number, text}];
}

/// Runs checks until one ends the process; gives where to go on.
size_t Checker::runFrom(size_t first) {
  std::string end = inChild(
      [&](const Teller &teller) {
        for (size_t i = first; i < planned_.size(); ++i) {
          teller.tell("begin", std::to_string(i));
          runHere(planned_[i], teller);
        }
      },
      [&](std::string_view word, const std::string &text) { hear(word, text); },
      options_.timeout);
  if (end.empty())
    return planned_.size();
  ++ends_;
  if (std::exchange(underWay_, false))
    report_.find(ruleOf(*planned_[current_].check).number,
                 planned_[current_].check->id, end);
  return current_ + 1;
}

void Checker::sayWhatWasSkipped() {
  for (const auto &[which, number] : notSupported_)
    report_.skip(std::to_string(number) + " checks of " + which.first,
                 which.second);
  if (withoutDevice_)
    report_.skip(std::to_string(withoutDevice_) + " checks of a device",
                 plugin_.manifest
                     ? "the plug-in has no driver with a usable device here"
                     : "a library was named; name its manifest");
  if (withoutModels_)
    report_.skip(std::to_string(withoutModels_) + " checks with compiled "
                                                  "models",
                 "they need --artifacts DIR; bp conformance compiles them");
  if (options_.depth != checks::Depth::Full)
    report_.skip("checks of a greater depth", "see --depth");
}

void Checker::run() {
  plan();
  size_t next = 0;
  while (next < planned_.size() && ends_ < maxEnds)
    next = runFrom(next);
  if (next < planned_.size())
    report_.skip(std::to_string(planned_.size() - next) + " further checks",
                 std::to_string(maxEnds) +
                     " have ended their processes; mend these first");
  sayWhatWasSkipped();
}

} // namespace

Result<checks::PluginUnderTest> underTest(const LintedPlugin &plugin) {
  for (const LintedLibrary &library : plugin.libraries) {
    if (!library.driver)
      continue;
    checks::PluginUnderTest tested;
    tested.uri = plugin.uri.empty() ? plugin.name : plugin.uri;
    tested.name = plugin.name;
    tested.library = library.path;
    Result<DeviceUri> uri = DeviceUri::parse(tested.uri);
    if (!uri)
      return uri.status();
    tested.device = uri->id;
    for (const auto &[key, value] : uri->options)
      tested.options.emplace_back(key, value);
    return tested;
  }
  return notFound("'" +
                  (plugin.name.empty() ? plugin.manifestPath : plugin.name) +
                  "' has no driver, which checks need; name a plug-in with a "
                  "driver by its manifest or a device URI");
}

void lintChecks(const LintedPlugin &plugin, const LintOptions &options,
                Report &report) {
  if (!plugin.notRun.empty() || plugin.libraries.empty())
    return report.skip("the checks of binaries (BPL301 and later)",
                       plugin.notRun.empty() ? "there is no library"
                                             : plugin.notRun);
  Checker(plugin, options, report).run();
}

Result<Report> lint(const LintOptions &options, const LoaderOptions &loader) {
  Report report(options.plugin, options.rules);
  Result<LintedPlugin> plugin = findPlugin(options.plugin, loader, report);
  if (!plugin)
    return plugin.status();
  lintManifest(*plugin, loader, report);
  lintFiles(*plugin, options, loader, report);
  lintLoaded(*plugin, options, report);
  lintHosted(*plugin, options, loader, report);
  lintChecks(*plugin, options, report);
  return report;
}

} // namespace backplane::lint
