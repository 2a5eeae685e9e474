// SPDX-License-Identifier: Apache-2.0
//
// `bp bench --counters`: what an emulated device executes in one call of a
// model, the program that makes its constants included. The device writes its
// counters, a name and a number a line, to the file that BACKPLANE_COUNTERS
// names when it is closed.
#include "Common.h"
#include "sdk/support/TemporaryFolder.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace backplane {
namespace {

struct Counter {
  std::string name;
  uint64_t value;
};
using Counters = std::vector<Counter>;

/// A share of two counters, in percent of the sum of some.
struct Share {
  const char *key, *text, *part, *whole[2];
};
constexpr Share shares[] = {
    {"matrix_percent",
     "multiply-adds in matrix instructions",
     "matrix_multiply_adds",
     {"matrix_multiply_adds", "scalar_multiply_adds"}},
    {"coalesced_percent",
     "sectors of global memory that accesses need, of those they touch",
     "global_ideal_sectors",
     {"global_sectors", nullptr}},
    {"conflict_percent",
     "passes through the banks of shared memory because of conflicts",
     "shared_conflicts",
     {"shared_accesses", "shared_conflicts"}},
};

uint64_t valueOf(const Counters &counters, const char *name) {
  for (const Counter &counter : counters)
    if (name && counter.name == name)
      return counter.value;
  return 0;
}

/// Below 0: nothing of the kind was counted.
double percentOf(const Counters &counters, const Share &share) {
  uint64_t whole =
      valueOf(counters, share.whole[0]) + valueOf(counters, share.whole[1]);
  return whole ? 100.0 * double(valueOf(counters, share.part)) / double(whole)
               : -1;
}

Counters readCounters(const std::string &path) {
  std::ifstream file(path);
  Counters counters;
  for (Counter counter; file >> counter.name >> counter.value;)
    counters.push_back(counter);
  return counters;
}

/// One call. The device is closed when this returns.
Status callOnce(const BenchOptions &options, std::string &choice) {
  Result<Context> context = openContext(options.model.threads);
  if (!context)
    return context.status();
  Result<Artifact> artifact = openModel(*context, options.model);
  if (!artifact)
    return artifact.status();
  Result<PreparedSession> ready = prepareSession(*artifact, options.model);
  if (!ready)
    return ready.status();
  choice = view(bp_session_choice(ready->session.get()));
  std::vector<bp_tensor_t> in = asC(ready->inputs);
  return runSession(ready->session, in, ready->outputs.forCall());
}

void printJson(const Counters &counters) {
  std::printf("{\"emulated\": true");
  for (const Share &share : shares)
    if (double percent = percentOf(counters, share); percent >= 0)
      std::printf(", \"%s\": %.3f", share.key, percent);
  std::printf(", \"counters\": {");
  const char *comma = "";
  for (const Counter &counter : counters) {
    std::printf("%s\"%s\": %" PRIu64, comma, counter.name.c_str(),
                counter.value);
    comma = ", ";
  }
  std::printf("}}\n");
}

void print(const Counters &counters, const std::string &choice) {
  std::printf("%s\nemulated: counters of one call, no times\n\n",
              choice.c_str());
  for (const Counter &counter : counters)
    std::printf("%-24s %16" PRIu64 "\n", counter.name.c_str(), counter.value);
  std::printf("\n");
  for (const Share &share : shares)
    if (double percent = percentOf(counters, share); percent >= 0)
      std::printf("%6.2f %% %s\n", percent, share.text);
}

} // namespace

int runCounters(const BenchOptions &options) {
  TemporaryFolder folder;
  if (folder.path().empty())
    return fail(Status(BP_STATUS_UNAVAILABLE,
                       "cannot create a temporary folder for the counters; is "
                       "TMPDIR a folder that can be written?"));
  // Where devices write them, when they are closed.
  const std::string path = folder.path() + "/counters";
  setenv("BACKPLANE_COUNTERS", path.c_str(), 1);
  std::string choice;
  if (Status status = callOnce(options, choice); !status.ok())
    return fail(status);
  Counters counters = readCounters(path);
  if (counters.empty())
    return fail(Status(BP_STATUS_UNIMPLEMENTED,
                       "'" + options.model.device +
                           "' has no counters; emulated devices have some, "
                           "such as 'cuda://emu'"));
  if (options.json)
    printJson(counters);
  else
    print(counters, choice);
  return 0;
}

} // namespace backplane
