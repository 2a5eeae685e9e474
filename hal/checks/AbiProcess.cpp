// SPDX-License-Identifier: Apache-2.0
//
// AbiProcess.cpp: what a plug-in must leave alone in the process of its host.
#include "Groups.h"
#include "Process.h"
#include "Work.h"

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace backplane::checks {
namespace {

/// Everything that a plug-in does in its life.
void live(Trial &trial) {
  Rig rig(trial);
  Queue queue(rig);
  Buffer a(rig, 100000), b(rig, 100000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 0, b, 0, 100000).barrier().fill(a, 0, 64, 7, 4));
  a.expect("a fill");
  b.expect("a copy");
}

std::string locale() { return setlocale(LC_ALL, nullptr); }
int rounding() { return fegetround(); }
std::string environment() {
  std::string all;
  for (char **entry = environ; *entry; ++entry)
    all += std::string(*entry) + "\n";
  return all;
}
std::string folder() {
  char path[4096];
  return getcwd(path, sizeof(path)) ? path : "";
}
mode_t creationMask() {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}

/// Addresses of the handlers of all signals.
std::vector<void *> handlers() {
  std::vector<void *> all;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) == 0)
      all.push_back(reinterpret_cast<void *>(action.sa_handler));
  }
  return all;
}

std::string blockedSignals() {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_SETMASK, nullptr, &set);
  std::string text;
  for (int signal = 1; signal < 32; ++signal)
    text += sigismember(&set, signal) ? '1' : '0';
  return text;
}

/// Flags of the floating-point unit: flush to zero, denormals are zero, masks.
uint32_t floatMode() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & ~0x3Fu;
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return uint32_t(control);
#else
#error "the floating-point mode of this architecture is not known"
#endif
}

/// What a plug-in has no business to change.
struct State {
  std::string localeName = locale();
  int roundingMode = rounding();
  std::string environmentText = environment();
  std::string workingFolder = folder();
  mode_t mask = creationMask();
  std::vector<void *> signalHandlers = handlers();
  std::string signalMask = blockedSignals();
  uint32_t floatFlags = floatMode();
};

/// As it is when this is called for the first time.
const State &initialState() {
  static const State state;
  return state;
}

/// A member is as it was before any plug-in was loaded.
template <typename T>
void keeps(Trial &trial, const std::string &what, T State::*member) {
  live(trial);
  trial.expect(State().*member == initialState().*member,
               "the plug-in changes " + what);
}

/// Waits a moment for threads that have ended to be gone.
void threadsEnd(Trial &trial) {
  live(trial);
  unsigned before = threadCount();
  for (int i = 0; i < 5 && trial.ok(); ++i)
    live(trial);
  for (int i = 0; i < 200 && threadCount() > before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  trial.expect(threadCount() <= before,
               "threads of the plug-in still run after shutdown");
}

void filesClosed(Trial &trial) {
  live(trial);
  unsigned before = openFileCount();
  for (int i = 0; i < 5 && trial.ok(); ++i)
    live(trial);
  trial.expect(openFileCount() <= before,
               "the plug-in leaves files open after shutdown");
}

/// Sends standard output to a pipe, where the plug-in must write nothing.
void printsNothing(Trial &trial) {
  int ends[2];
  if (pipe(ends) != 0)
    return trial.giveUp("no pipe can be made");
  std::fflush(stdout);
  int kept = dup(1);
  dup2(ends[1], 1);
  close(ends[1]);
  live(trial);
  std::fflush(stdout);
  dup2(kept, 1);
  close(kept);
  char byte;
  ssize_t printed = read(ends[0], &byte, 1);
  close(ends[0]);
  trial.expect(printed <= 0, "the plug-in prints to standard output; "
                             "bp_host_t.log is for messages");
}

} // namespace

void addProcess(Checks &all) {
  initialState(); // the table is made before any plug-in is loaded
  Group group(all, "L0/process",
              "A plug-in leaves the state of its host's process as it was: "
              "locale, floating-point mode, signals, environment, threads, "
              "files, standard output.");
  group.add("locale",
            [](Trial &t) { keeps(t, "the locale", &State::localeName); });
  group.add("rounding-mode", [](Trial &t) {
    keeps(t, "the rounding mode", &State::roundingMode);
  });
  group.add("float-mode", [](Trial &t) {
    keeps(t, "the mode of the floating-point unit", &State::floatFlags);
  });
  group.add("environment", [](Trial &t) {
    keeps(t, "the environment", &State::environmentText);
  });
  group.add("working-folder", [](Trial &t) {
    keeps(t, "the working folder", &State::workingFolder);
  });
  group.add("creation-mask",
            [](Trial &t) { keeps(t, "the file creation mask", &State::mask); });
  group.add("signal-handlers", [](Trial &t) {
    keeps(t, "signal handlers", &State::signalHandlers);
  });
  group.add("signal-mask",
            [](Trial &t) { keeps(t, "the signal mask", &State::signalMask); });
  group.add("threads-end", Depth::Smoke, threadsEnd);
  group.add("files-closed", filesClosed);
  group.add("prints-nothing", printsNothing);
}

} // namespace backplane::checks
