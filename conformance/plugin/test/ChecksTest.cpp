// SPDX-License-Identifier: Apache-2.0
//
// A driver that keeps all rules passes, and one that breaks a rule is caught by
// the check of that rule.
#include "conformance/plugin/Check.h"
#include "sdk/support/ProcessUse.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace backplane;
using namespace backplane::checks;

namespace {

PluginUnderTest pluginUnderTestOf(int fault) {
  PluginUnderTest tested;
  tested.uri = tested.name = "faulty";
  tested.library = BP_FAULTY_DIR "/libfaulty" + std::to_string(fault) + ".so";
  return tested;
}

Trial::Outcome outcomeOf(int fault, const std::string &id) {
  const Check *check = findCheck(id);
  if (!check)
    return {Trial::Outcome::Pass, "there is no check " + id};
  PluginUnderTest tested = pluginUnderTestOf(fault);
  return runCheck(*check, tested);
}

struct Catch {
  int fault; ///< of Faulty.cpp
  const char *check;
  const char *says = ""; ///< part of the complaint
};

constexpr Catch catches[] = {
    {1, "L1/copy/execute/bytes-4079-from-17-to-904"},
    {1, "L1/copy/record/bytes-63-from-64-to-1"},
    {2, "L1/fill/execute/width-1-bytes-701-at-3"},
    {3, "L1/memory/range/read-1000-bytes-at-17"},
    {4, "L1/fence/1-mib"},
    {5, "L1/queue/20-calls-in-order"},
    {10, "L0/lifecycle/second-outlives-first"},
    {11, "L0/get-table/shortened"},
    {11, "L0/get-table/lengthened"},
    {12, "L0/lifecycle/unknown-option"},
    {12, "L0/open/unknown-option"},
    {13, "L0/devices/sink-cancels"},
    {14, "L1/unknown/command-type-36"},
    {14, "L1/unknown/queue-class"},
    {14, "L1/unknown/memory-space"},
    {15, "L1/memory/too-large/9223372036854775808"},
    {18, "L0/process/prints-nothing"},
    {19, "L0/process/threads-end"},
    {20, "L0/lifecycle/once"},
    {21, "L1/memory/align/device-2097152"},
    {34, "L0/graph-passes/damaged-4"},
    {35, "L0/graph-passes/unknown"},
    {36, "L0/graph-passes/stages"},
    {37, "L0/partition/graph-chain", "names op 2, the graph has 2"},
    {38, "L0/partition/disjoint", "is in partition 0 and in 1"},
    {39, "L0/partition/cycles", "comes back through op 2, reverse"},
    {40, "L0/partition/repeats", "asked again, it gives other partitions"},
    {42, "L0/partition/weights", "asks for weight"},
    {44, "L0/partition/compiles-the-same", "it is something else"},
    {45, "L0/partition/graph-empty", "failed with INTERNAL"},
};

constexpr Catch leaks[] = {
    {7, "L7/leak/failed/open-unknown-device"},
    {7, "L7/leak/contexts/failed/buffer-too-large"},
};

/// What ends the process: the worker that runs the check is replaced.
constexpr Catch crashes[] = {
    {6, "L1/record/replay-1"},
    {8, "L7/out-of-memory/buffers/one-fails"},
    {8, "L7/out-of-memory/start/one-fails"},
    {9, "L0/query/size/64"},
    {22, "L0/open/unknown-id-no-error"},
    {41, "L0/partition/graph-scalar"},
    {43, "L0/partition/weights"},
};

/// Their damage stays with the process, so that each is looked at alone.
constexpr Catch changes[] = {
    {16, "L0/process/rounding-mode", "initialize changes the rounding mode"},
    {17, "L0/process/signal-handlers", "initialize changes"},
    {23, "L0/process/float-mode", "initialize changes"},
    {25, "L0/process/working-folder", "open changes"},
    {26, "L0/process/creation-mask", "buffer_allocate changes"},
    {27, "L0/process/locale", "queue_create changes"},
    {28, "L0/process/signal-mask", "queue_execute changes"},
    {28, "L1/process/execute", "queue_execute changes the signal mask"},
    {28, "L1/process/record", "command_buffer_execute changes"},
    {29, "L0/process/float-mode", "loading the library changes"},
    {30, "L0/process/float-mode", "a body of parallel_for changes"},
    {30, "L1/process/execute", "a body of parallel_for changes"},
    {31, "L0/process/float-mode", "buffer_read changes"},
#if defined(__x86_64__)
    {32, "L0/process/x87-stack", "buffer_write changes"},
#endif
    {33, "L0/process/thread-locale", "queue_create changes"},
};

void expectCaught(const Catch &one) {
  Trial::Outcome outcome = outcomeOf(one.fault, one.check);
  EXPECT_EQ(outcome.kind, Trial::Outcome::Fail)
      << "fault " << one.fault << ", " << one.check << ": " << outcome.text;
  EXPECT_NE(outcome.text, "") << one.check;
  EXPECT_NE(outcome.text.find(one.says), std::string::npos)
      << one.check << ": " << outcome.text;
}

TEST(Checks, CatchFaults) {
  for (const Catch &one : catches)
    expectCaught(one);
}

TEST(Process, CountsThePagesThatAreInUse) {
  constexpr size_t size = size_t(24) << 20, touched = size_t(20) << 20,
                   slack = size_t(1) << 20;
  uint64_t before = residentBytes();
  ASSERT_GT(before, 0u);
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(madvise(memory, size, MADV_NOHUGEPAGE), 0);
  EXPECT_LT(residentBytes(), before + slack);
  std::memset(memory, 1, touched);
  EXPECT_GE(residentBytes() + slack, before + touched);
  EXPECT_LT(residentBytes(), before + touched + slack);
  munmap(memory, size);
  EXPECT_LT(residentBytes(), before + slack);
}

TEST(Checks, CatchLeaks) {
  uint64_t before = heapBytes();
  void *volatile block = std::malloc(100'000);
  uint64_t after = heapBytes();
  std::free(block);
  if (after < before + 100'000)
    GTEST_SKIP() << "the allocator of this process does not count";
  for (const Catch &one : leaks)
    expectCaught(one);
}

TEST(Checks, PassADriverThatKeepsTheRules) {
  std::set<std::string> ids;
  for (const Catch &one : catches)
    ids.insert(one.check);
  for (const Catch &one : crashes)
    ids.insert(one.check);
  for (const Catch &one : changes)
    ids.insert(one.check);
  for (const Check &check : allChecks())
    if (check.depth == Depth::Smoke)
      ids.insert(check.id);
  for (const std::string &id : ids) {
    Trial::Outcome outcome = outcomeOf(0, id);
    EXPECT_NE(outcome.kind, Trial::Outcome::Fail) << id << ": " << outcome.text;
  }
}

TEST(ChecksDeathTest, CrashOnFaults) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const Catch &one : crashes)
    EXPECT_DEATH(
        {
          Trial::Outcome outcome = outcomeOf(one.fault, one.check);
          // Not all damage ends a process; a complaint is as good.
          if (outcome.kind == Trial::Outcome::Fail)
            std::abort();
        },
        "")
        << "fault " << one.fault << ", " << one.check;
}

TEST(ChecksDeathTest, FindAChangedProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const Catch &one : changes)
    EXPECT_EXIT(
        {
          Trial::Outcome outcome = outcomeOf(one.fault, one.check);
          bool named = outcome.text.find(one.says) != std::string::npos;
          std::fputs(outcome.text.c_str(), stderr);
          std::exit(outcome.kind == Trial::Outcome::Fail && named ? 7 : 0);
        },
        testing::ExitedWithCode(7), "")
        << one.fault << " " << one.check;
}

/// Runs a check whose first call fails while others are under way, in a process
/// that lives on until those are done. The exit code: 1 the check returned, 2
/// it was left, in either case with the failure of the first call.
int endWithWorkUnderWay(std::chrono::milliseconds timeout) {
  pid_t child = fork();
  if (child == 0) {
    auto end = [](const Trial::Outcome &outcome, int code) {
      usleep(700000);
      _exit(outcome.text.find("completion") == 0 ? code : 3);
    };
    PluginUnderTest tested = pluginUnderTestOf(24);
    tested.timeout = timeout;
    auto outcome = runCheck(*findCheck("L1/queue/20-calls-in-order"), tested,
                            [&](const Trial::Outcome &left) { end(left, 2); });
    end(outcome, 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Checks, TakeNothingDownUnderWork) {
  EXPECT_EQ(endWithWorkUnderWay(std::chrono::seconds(15)), 1);
  EXPECT_EQ(endWithWorkUnderWay(std::chrono::milliseconds(20)), 2);
}

TEST(Checks, HaveUniqueIdsOfTheirLayer) {
  std::set<std::string> ids;
  for (const Check &check : allChecks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_EQ(check.id.substr(0, 3), "L" + std::to_string(check.layer) + "/");
    EXPECT_EQ(check.id.rfind(check.group + "/", 0), 0u) << check.id;
    EXPECT_EQ(findCheck(check.id), &check);
  }
  EXPECT_EQ(findCheck("L1/no/such/check"), nullptr);
}

TEST(Checks, SayThatALibraryCannotBeLoaded) {
  PluginUnderTest tested;
  tested.library = "/absent/library.so";
  Trial::Outcome outcome = runCheck(*findCheck("L0/lifecycle/once"), tested);
  EXPECT_EQ(outcome.kind, Trial::Outcome::Fail);
  EXPECT_NE(outcome.text.find("/absent/library.so"), std::string::npos);
}

} // namespace
