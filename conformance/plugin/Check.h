// SPDX-License-Identifier: Apache-2.0
//
// Check.h: what a plug-in binary must do beyond computing right numbers, as a
// table of named checks: its exported symbol and tables (layer 0), its memory,
// queues and timelines (layer 1), its executables (layer 2), and what it does
// under stress (layer 7). Each check opens the library afresh, looks at it
// through the C ABI alone, and closes it again.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_CHECK_H
#define BACKPLANE_CONFORMANCE_PLUGIN_CHECK_H

#include "PluginUnderTest.h"

#include <concepts>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace backplane::checks {

/// The least depth of a run that has the check.
enum class Depth { Smoke, Standard, Full };

/// One check while it runs. The first complaint counts; what comes after it is
/// skipped by everything that looks at ok(). Thread-safe.
class Trial {
public:
  struct Outcome {
    enum Kind : uint32_t { Pass, Fail, NotSupported, ResourceError };
    Kind kind = Pass;
    std::string text;
  };
  /// Reports the outcome of a check that cannot return.
  using Leave = std::function<void(const Outcome &outcome)>;

  explicit Trial(const PluginUnderTest &tested, Leave leave = {})
      : tested_(tested), leave_(std::move(leave)) {}

  const PluginUnderTest &tested() const { return tested_; }
  /// Whether nothing was complained about yet.
  bool ok() const;
  /// The plug-in breaks a rule; `text` says which and what was seen.
  void fail(std::string text);
  /// fail(text) unless `holds`; returns `holds`.
  bool expect(bool holds, const std::string &text);
  /// fail unless `status` is a success; returns whether it is.
  bool expectOk(const Status &status, const std::string &what);
  /// The plug-in does not have what the check is about.
  void skip(std::string why);
  /// The machine lacks what the check needs; says nothing about the plug-in.
  void giveUp(std::string why);

  /// Work hangs and may still touch all that it was given: nothing can be taken
  /// down any more. Fails, reports, and ends this process at once.
  [[noreturn]] void abandon(const std::string &why);
  Outcome outcome() const;

private:
  void end(Outcome::Kind kind, std::string text);

  const PluginUnderTest &tested_;
  Leave leave_;
  std::mutex leaving_; ///< held by the one thread that ends the process
  mutable std::mutex mutex_;
  Outcome outcome_;
};

struct Check {
  std::string id;    ///< "L1/copy/execute/from-1-to-64": unique, stable
  std::string group; ///< "L1/copy": what the ids of its group start with
  int layer = 0;
  Depth depth = Depth::Standard;
  /// Kinds of fault that it finds: names of conformance/cases/Tags.h.
  std::vector<std::string> tags;
  std::string what;  ///< the rule that its group states, one sentence
  std::string graph; ///< name of the model that it needs; empty: none
  std::function<void(Trial &)> run;
};

/// All checks in a fixed order, ids unique.
const std::vector<Check> &allChecks();
/// Null when there is none with this id.
const Check *findCheck(std::string_view id);
/// Runs one check. A crash of the plug-in ends this process; so does work that
/// hangs, of which `leave` is told, or else standard error.
Trial::Outcome runCheck(const Check &check, const PluginUnderTest &tested,
                        Trial::Leave leave = {});

/// Collects the checks of one group: same rule, same tags.
class Group {
public:
  Group(std::vector<Check> &all, std::string prefix, std::string what,
        std::vector<std::string> tags = {})
      : all_(all), prefix_(std::move(prefix)), what_(std::move(what)),
        tags_(std::move(tags)) {}

  /// Needs the artifact of this model.
  Group &of(std::string graph) {
    graph_ = std::move(graph);
    return *this;
  }
  void add(const std::string &name, Depth depth,
           std::function<void(Trial &)> run);
  /// A check that calls run(trial, arguments...).
  template <typename Run, typename... Arguments>
    requires std::invocable<Run, Trial &, Arguments...>
  void add(const std::string &name, Depth depth, Run run,
           Arguments... arguments) {
    add(name, depth, std::function<void(Trial &)>([=](Trial &trial) {
          std::invoke(run, trial, arguments...);
        }));
  }
  template <typename Run, typename... Arguments>
    requires std::invocable<Run, Trial &, Arguments...>
  void add(const std::string &name, Run run, Arguments... arguments) {
    add(name, Depth::Standard, run, arguments...);
  }

private:
  std::vector<Check> &all_;
  std::string prefix_, what_;
  std::vector<std::string> tags_;
  std::string graph_;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_CHECK_H
