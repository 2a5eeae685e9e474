// SPDX-License-Identifier: Apache-2.0
//
// TrialWorker.cpp: the process on trial of hal/core/Trial.h.
#include "Serve.h"
#include "hal/core/PluginCall.h"
#include "hal/core/Registry.h"
#include "hal/core/Trial.h"
#include "sdk/graph/GraphTable.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace backplane::worker {
namespace {

int told = -1; ///< where the names of functions go

void tell(const char *name) {
  // One call, so that lines of several threads do not mix.
  char line[128];
  size_t size = strnlen(name, sizeof(line) - 1);
  std::memcpy(line, name, size);
  line[size] = '\n';
  (void)!write(told, line, size + 1);
}

std::unique_ptr<CallLook> tellFunction(const char *function) {
  tell(function);
  return nullptr;
}

} // namespace

int serveTrial(int argc, char **argv) {
  if (argc < 2)
    return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  told = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  (void)takeEnvironment();
  LoaderOptions options;
  options.pluginFiles = {argv[1]};
  options.threads = 2;
  options.trust = FileTrust(std::vector<std::string>(argv + 2, argv + argc));
  callLooker = tellFunction;
  (void)Registry::create(options, graphTable())->listings();
  tell(trialDone);
  _exit(0);
}

} // namespace backplane::worker
