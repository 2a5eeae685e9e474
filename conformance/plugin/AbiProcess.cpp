// SPDX-License-Identifier: Apache-2.0
//
// AbiProcess.cpp: what a plug-in must leave alone in the process of its host.
#include "Changes.h"
#include "Groups.h"
#include "Work.h"
#include "sdk/support/ProcessUse.h"

#include <thread>
#include <unistd.h>

namespace backplane::checks {
namespace {

/// Everything that a plug-in does in its life.
void live(Trial &trial) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 100000), b(fixture, 100000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 0, b, 0, 100000).barrier().fill(a, 0, 64, 7, 4));
  a.expect("a fill");
  b.expect("a copy");
}

/// No function changes this item of the process.
void keeps(Trial &trial, const char *item) {
  Changes changes;
  live(trial);
  changes.expectNone(trial, item);
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

/// Items of ProcessState and the names of their checks.
constexpr std::pair<const char *, const char *> items[] = {
    {"locale", "locale"},
    {"thread-locale", "thread's locale"},
    {"rounding-mode", "rounding mode"},
    {"float-mode", "floating-point mode"},
    {"x87-stack", "x87 stack"},
    {"environment", "environment"},
    {"working-folder", "working folder"},
    {"creation-mask", "creation mask"},
    {"signal-handlers", "signal handlers"},
    {"signal-mask", "signal mask"}};

/// Enough work for all threads of the host's pool, by each way in turn.
void worksOnThePool(Trial &trial, How how) {
  constexpr uint64_t size = 4 << 20;
  Changes changes;
  {
    Fixture fixture(trial);
    Queue queue(fixture);
    Buffer a(fixture, size), b(fixture, size);
    a.fill(1);
    for (int i = 0; i < 5; ++i)
      queue.run(Commands()
                    .copy(a, 0, b, 0, size)
                    .barrier()
                    .fill(a, 64, size / 2 - 64, uint32_t(i), 4)
                    .copy(b, size / 2, a, size / 2, size / 2),
                how);
    a.expect("a fill");
    b.expect("a copy");
  }
  changes.expectNone(trial);
}

} // namespace

void addProcess(Checks &all) {
  rememberProcess(); // the table is made before any plug-in is loaded
  Group group(all, "L0/process",
              "A plug-in leaves the state of its host's process as it was: "
              "locale, floating-point environment, signals, environment, "
              "folder, threads, files, standard output. The function that does "
              "not is named.",
              {"process"});
  for (const auto &[name, item] : items)
    group.add(name, keeps, item);
  group.add("threads-end", Depth::Smoke, threadsEnd);
  group.add("files-closed", filesClosed);
  group.add("prints-nothing", printsNothing);
}

void addProcessAtWork(Checks &all) {
  Group group(all, "L1/process",
              "Work, also on the threads of the host's pool, leaves the state "
              "of the process and of each thread as it was.",
              {"process"});
  for (How how : allWays)
    group.add(name(how), worksOnThePool, how);
}

} // namespace backplane::checks
