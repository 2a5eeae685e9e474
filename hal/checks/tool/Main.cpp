// SPDX-License-Identifier: Apache-2.0
//
// bp-check: runs checks of a plug-in in this process, for whoever looks for the
// cause of a failure with a debugger. The conformance suite runs the same ones
// in workers.
#include "hal/checks/Check.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <fnmatch.h>
#include <fstream>

using namespace backplane;
using namespace backplane::checks;

namespace {

struct Options {
  std::string device = "host";
  std::vector<std::string> filters;
  std::string depth = "standard";
  std::string artifacts;
  bool list = false, markdown = false, verbose = false;
};

bool wanted(const Check &check, const Options &options) {
  Depth depth = options.depth == "smoke"      ? Depth::Smoke
                : options.depth == "standard" ? Depth::Standard
                                              : Depth::Full;
  bool matches = options.filters.empty();
  for (const std::string &glob : options.filters)
    matches |= fnmatch(glob.c_str(), check.id.c_str(), 0) == 0;
  return matches && check.depth <= depth;
}

/// One row per group, for the reference page.
void printTable(const std::vector<const Check *> &chosen) {
  std::printf("| checks | number | rule |\n|---|---|---|\n");
  for (size_t i = 0; i < chosen.size();) {
    size_t first = i;
    while (i < chosen.size() && chosen[i]->group == chosen[first]->group)
      ++i;
    std::printf("| `%s` | %zu | %s |\n", chosen[first]->group.c_str(),
                i - first, chosen[first]->what.c_str());
  }
}

std::vector<uint8_t> artifactOf(const Check &check, const Options &options) {
  std::ifstream in(options.artifacts + "/" + check.graph + ".bpx",
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Whether the check is no failure.
bool run(const Check &check, const Options &options, Subject subject) {
  using Kind = Trial::Outcome::Kind;
  std::vector<uint8_t> artifact;
  if (!check.graph.empty())
    artifact = artifactOf(check, options);
  subject.artifact = artifact;
  auto start = std::chrono::steady_clock::now();
  Trial::Outcome outcome = runCheck(check, subject);
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  constexpr const char *names[] = {"pass", "FAIL", "not supported",
                                   "no resources"};
  if (options.verbose || outcome.kind == Kind::Fail)
    std::printf("%-13s %7.1f ms  %s%s%s\n", names[outcome.kind], took.count(),
                check.id.c_str(), outcome.text.empty() ? "" : ": ",
                outcome.text.c_str());
  std::fflush(stdout);
  return outcome.kind != Kind::Fail;
}

int runAll(const std::vector<const Check *> &chosen, const Options &options) {
  Result<Subject> subject = findSubject(options.device);
  if (!subject) {
    std::fprintf(stderr, "bp-check: %s\n", subject.message().c_str());
    return 1;
  }
  size_t bad = 0;
  for (const Check *check : chosen)
    bad += !run(*check, options, *subject);
  std::printf("%zu checks, %zu failed\n", chosen.size(), bad);
  return bad ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("bp-check: runs the checks of layers 0, 1, 2 and 7 of the "
               "conformance suite on a plug-in, in this process.");
  Options options;
  app.add_option("--device", options.device, "device URI")
      ->capture_default_str();
  app.add_option("--filter", options.filters,
                 "only checks whose id matches this glob; may be repeated");
  app.add_option("--depth", options.depth, "how many checks")
      ->check(CLI::IsMember({"smoke", "standard", "full"}))
      ->capture_default_str();
  app.add_option("--artifacts", options.artifacts,
                 "folder with the compiled models of layer 2, NAME.bpx");
  app.add_flag("--list", options.list, "print the ids of the checks and stop");
  app.add_flag("--markdown", options.markdown, "print a table of the groups");
  app.add_flag("--verbose", options.verbose, "print all checks, not failures");
  CLI11_PARSE(app, argc, argv);
  std::vector<const Check *> chosen;
  for (const Check &check : allChecks())
    if (wanted(check, options))
      chosen.push_back(&check);
  if (options.markdown)
    printTable(chosen);
  for (const Check *check : chosen)
    if (options.list)
      std::puts(check->id.c_str());
  return options.list || options.markdown ? 0 : runAll(chosen, options);
}
