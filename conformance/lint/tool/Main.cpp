// SPDX-License-Identifier: Apache-2.0
//
// bp-lint: what `bp lint` starts.
#include "RunChecks.h"
#include "conformance/lint/Lint.h"
#include "sdk/support/CommandLine.h"

#include <cstdio>

using namespace backplane;
using namespace backplane::lint;

namespace {

constexpr const char *about =
    "bp lint: look at a plug-in's manifest and libraries, and name the rule of "
    "each thing that is wrong.\n\n"
    "  bp lint build/acme.bp.json      the whole plug-in\n"
    "  bp lint build/libacme.so        one library, without its devices\n"
    "  bp lint acme                    the one that bp devices lists\n"
    "  bp lint acme --rule BPL305      one rule\n"
    "  bp lint acme --check 'L1/map/*' these checks in this process, for a "
    "debugger\n\n"
    "Each finding has a number, BPL103, that docs/reference/lint-rules.md\n"
    "explains. What is not looked at is said, with the reason. Code of the\n"
    "plug-in runs in processes of its own with a time limit. The exit code is\n"
    "1 when there are errors.";

struct Options {
  std::string plugin;
  std::vector<std::string> checks, rules;
  std::string depth, artifacts;
  LintOptions lint;
  unsigned timeoutMs = 15000;
  bool json = false, strict = false, verbose = false;
  bool listRules = false, listChecks = false;
  bool rulesPage = false, checksPage = false;

  checks::Depth depthOr(checks::Depth other) const {
    return depth == "smoke"      ? checks::Depth::Smoke
           : depth == "standard" ? checks::Depth::Standard
           : depth == "full"     ? checks::Depth::Full
                                 : other;
  }
};

void addOptions(CLI::App &app, Options &options) {
  app.add_option("plugin", options.plugin,
                 "a manifest, a library, or a device URI");
  app.add_flag("--json", options.json, "machine-readable");
  app.add_flag("--strict", options.strict, "warnings are errors");
  app.add_option("--rule", options.rules,
                 "findings of this rule only; may be repeated")
      ->check([](const std::string &number) {
        return findRule(number)
                   ? std::string()
                   : "there is no rule '" + number + "'; see --list-rules";
      });
  app.add_option("--depth", options.depth,
                 "how many checks of binaries (default smoke; with --check "
                 "standard)")
      ->check(CLI::IsMember({"smoke", "standard", "full"}));
  app.add_option("--artifacts", options.artifacts,
                 "folder with the compiled models of layer 2, NAME.bpx");
  app.add_option("--glibc", options.lint.glibc,
                 "version of the C library of the oldest system that you serve")
      ->capture_default_str();
  app.add_option("--glibcxx", options.lint.glibcxx,
                 "the same of its C++ library")
      ->capture_default_str();
  app.add_option("--timeout", options.timeoutMs,
                 "milliseconds that a call or a check may take")
      ->check(command::whole(1, 86'400'000))
      ->capture_default_str();
  app.add_flag("--list-rules", options.listRules, "print all rules and stop");
  app.add_option("--check", options.checks,
                 "only the checks whose id matches this glob, in this process; "
                 "may be repeated");
  app.add_flag("--verbose", options.verbose,
               "with --check, print all of them, not failures alone");
  app.add_flag("--list-checks", options.listChecks,
               "print the ids of the checks and stop");
  app.add_flag("--rules-page", options.rulesPage)->group("");
  app.add_flag("--checks-page", options.checksPage)->group("");
}

int fail(const Status &status) {
  std::fprintf(stderr, "bp lint: %s\n",
               readableMessage(status.message()).c_str());
  return 1;
}

void listRules() {
  for (const Rule &rule : allRules())
    std::printf("%s %-7s %s\n", rule.number.c_str(), nameOf(rule.severity),
                rule.asks.c_str());
}

/// Whether the options ask for a list or a page, which is then printed.
bool listed(const Options &options, const ChecksOptions &chosen) {
  if (options.listRules)
    listRules();
  else if (options.rulesPage)
    std::fputs(rulesPage().c_str(), stdout);
  else if (options.checksPage)
    printChecksPage();
  else if (options.listChecks)
    printChecks(chosen);
  else
    return false;
  return true;
}

int runChecks(const Options &options, const ChecksOptions &chosen,
              const LoaderOptions &loader) {
  Report ignored(options.plugin);
  Result<LintedPlugin> plugin = findPlugin(options.plugin, loader, ignored);
  if (!plugin)
    return fail(plugin.status());
  for (const Finding &finding : ignored.findings())
    return fail(invalidArgument(finding.where + ": " + finding.found));
  Result<checks::PluginUnderTest> tested = underTest(*plugin);
  return tested ? runChecksHere(*tested, chosen) : fail(tested.status());
}

int runLint(const Options &options, const LoaderOptions &loader) {
  Result<Report> report = lint::lint(options.lint, loader);
  if (!report)
    return fail(report.status());
  std::fputs((options.json ? report->json() : report->text()).c_str(), stdout);
  bool bad = report->count(Severity::Error) ||
             (options.strict && report->count(Severity::Warning));
  return bad ? 1 : 0;
}

int run(Options &options, const bp_context_options_t &environment) {
  ChecksOptions chosen = {
      .filters = options.checks,
      .depth = options.depthOr(checks::Depth::Standard),
      .artifacts = options.artifacts,
      .timeoutMs = options.timeoutMs,
      .verbose = options.verbose,
  };
  if (listed(options, chosen))
    return 0;
  if (options.plugin.empty())
    return fail(invalidArgument("no plug-in is named: give a manifest, a "
                                "library or a device URI; see bp lint --help"));
  Result<LoaderOptions> loader = loaderOptions(&environment);
  if (!loader)
    return fail(loader.status());
  if (!options.checks.empty())
    return runChecks(options, chosen, *loader);
  options.lint.plugin = options.plugin;
  options.lint.rules = {options.rules.begin(), options.rules.end()};
  options.lint.depth = options.depthOr(checks::Depth::Smoke);
  options.lint.artifacts = options.artifacts;
  options.lint.timeout = std::chrono::milliseconds(options.timeoutMs);
  return runLint(options, *loader);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(about);
  app.name("bp lint");
  Options options;
  addOptions(app, options);
  command::holdStandardStreams();
  if (auto code = command::parse(app, argc, argv))
    return *code;
  // The checks remember the process as it is when they are first listed.
  const bp_context_options_t environment = takeEnvironment();
  (void)checks::allChecks();
  return command::work("bp lint", [&] { return run(options, environment); });
}
