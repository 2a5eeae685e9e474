// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "Commit.h"
#include "backplane/backplane.h"
#include "hal/core/CpuInfo.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

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
  if (!options.launcher.empty())
    pairs.emplace_back("launcher", options.launcher);
  for (const char *name : {"BACKPLANE_PLUGINS_SELECT",
                           "BACKPLANE_PLUGINS_DISABLE", "BACKPLANE_THREADS"})
    if (const char *value = std::getenv(name))
      pairs.emplace_back(name, value);
  return pairs;
}

} // namespace backplane::conformance
