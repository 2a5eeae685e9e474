// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "Commit.h"
#include "backplane/backplane.h"
#include "hal/core/CpuInfo.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace backplane::conformance {
namespace {

/// The text behind the first "KEY   : " of a file of /proc.
std::string procValue(const char *path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos)
      continue;
    size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start, 200);
  }
  return {};
}

} // namespace

TextPairs cleanEnvironment(const std::vector<std::string> &named) {
  // Those of the second list are said in run.json.
  constexpr std::string_view usual[] = {"PATH",
                                        "HOME",
                                        "USER",
                                        "LOGNAME",
                                        "SHELL",
                                        "TERM",
                                        "LANG",
                                        "PWD",
                                        "TZ",
                                        "TMPDIR",
                                        "SSH_",
                                        "LC_",
                                        "XDG_",
                                        "BACKPLANE_MODELS",
                                        "BACKPLANE_CACHE_DIR"};
  constexpr std::string_view said[] = {
      "BACKPLANE_", "LD_LIBRARY_PATH", "VK_",    "MESA_", "QEMU_",
      "ASAN_",      "LSAN_",           "UBSAN_", "TSAN_", "LLVM_PROFILE"};
  auto starts = [](std::string_view name,
                   std::span<const std::string_view> in) {
    return std::ranges::any_of(in, [&](std::string_view prefix) {
      return prefix.ends_with('_') || prefix == "LLVM_PROFILE"
                 ? name.starts_with(prefix)
                 : name == prefix;
    });
  };
  TextPairs told;
  std::vector<std::string> gone;
  for (char **at = environ; *at; ++at) {
    std::string name(*at, std::strcspn(*at, "="));
    if (starts(name, usual))
      continue;
    const char *value = std::getenv(name.c_str());
    if (starts(name, said) || std::ranges::count(named, name))
      told.emplace_back(name, value ? value : "");
    else
      gone.push_back(name);
  }
  for (const std::string &name : gone)
    unsetenv(name.c_str());
  std::ranges::sort(told);
  return told;
}

std::string productVersion() { return std::string(view(bp_version())); }
std::string suiteCommit() { return BP_SUITE_COMMIT; }

std::string now() {
  std::time_t time = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

TextPairs environmentOf(const RunOptions &options) {
  TextPairs pairs;
  utsname names = {};
  if (uname(&names) == 0)
    pairs.emplace_back("operating system", std::string(names.sysname) + " " +
                                               names.release + " " +
                                               names.machine);
  pairs.emplace_back("processor",
                     std::string(view(CpuInfo::detect().c().model)) + ", " +
                         std::to_string(std::thread::hardware_concurrency()) +
                         " threads");
  pairs.emplace_back("memory", procValue("/proc/meminfo", "MemTotal"));
  pairs.emplace_back("jobs", std::to_string(options.suite.jobs));
  if (options.suite.job.disguise)
    pairs.emplace_back("disguise", "all graphs ran in applications");
  if (!options.launcher.empty())
    pairs.emplace_back("launcher", options.launcher);
  return pairs;
}

} // namespace backplane::conformance
