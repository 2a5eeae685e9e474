// SPDX-License-Identifier: Apache-2.0
//
// Code of plug-ins runs in the default floating-point environment, and leaves
// the process as it was or is named.
#include "OddFloats.h"
#include "PluginFolder.h"
#include "hal/core/ProcessState.h"
#include "hal/core/Registry.h"
#include "hal/core/ThreadPool.h"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

using namespace backplane;
using namespace backplane::test;

namespace {

bool isDefault() { return FloatState::now().controlsAs({}); }

TEST(FloatScope, GivesTheDefaultAndTakesItBack) {
  OddFloats odd;
  FloatState before = FloatState::now();
  ASSERT_FALSE(isDefault());
  {
    FloatScope scope;
    EXPECT_TRUE(isDefault());
    OddFloats::install();
    FloatScope::renew();
    EXPECT_TRUE(isDefault());
  }
  EXPECT_EQ(FloatState::now(), before);
}

TEST(FloatScope, KeepsFlagsAndMasksOfTheApplication) {
  FloatState before = FloatState::now();
  {
    FloatScope scope;
    volatile double zero = 0;
    volatile long double wide = 1;
    volatile double quotient = 1 / zero;
    volatile long double third = wide / 3;
    (void)quotient, (void)third;
    OddFloats::install();
  }
  EXPECT_EQ(FloatState::now(), before);
}

struct Seen {
  std::atomic<int> wrong{0}, bodies{0};
  static void body(void *context, uint64_t, uint32_t) {
    auto &seen = *static_cast<Seen *>(context);
    seen.wrong += !isDefault();
    ++seen.bodies;
    OddFloats::install(); // what a body changes ends with it
  }
};

TEST(FloatScope, HoldsForEachBodyOnEveryThreadOfAPool) {
  OddFloats odd; // before the threads start, which inherit it
  for (uint32_t threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    for (uint64_t count : {1, 2, 100}) {
      Seen seen;
      FloatState before = FloatState::now();
      pool.parallelFor(count, Seen::body, &seen);
      EXPECT_EQ(seen.bodies, int(count));
      EXPECT_EQ(seen.wrong, 0) << threads << " threads, " << count;
      EXPECT_EQ(FloatState::now(), before);
    }
  }
}

TEST(FloatScope, HoldsForALibraryThatChangesItInEveryCall) {
  for (bool changed : {false, true}) {
    std::optional<OddFloats> odd;
    if (changed)
      odd.emplace();
    FloatState before = FloatState::now();
    PluginFolder folder;
    folder.addDriver(std::string(BP_HOSTILE_DIR) + "/libhostile22.so",
                     "hostile");
    {
      auto registry = Registry::create(folder.options(), nullptr);
      EXPECT_TRUE(FloatState::now().controlsAs(before))
          << "loading and initialize";
      EXPECT_EQ(registry->listings().size(), 1u);
      EXPECT_TRUE(FloatState::now().controlsAs(before)) << "enumerate";
      EXPECT_FALSE(registry->device("hostile").ok());
      EXPECT_TRUE(FloatState::now().controlsAs(before)) << "open";
    }
    EXPECT_TRUE(FloatState::now().controlsAs(before)) << "shutdown";
  }
}

std::string changesOf(void (*work)()) {
  std::string text;
  ProcessWatch watch([&](const char *function, const ProcessItem &change) {
    text += std::string(function) + ": " + change.value + "\n";
  });
  {
    PluginCall call("g");
    work();
  }
  return text;
}

TEST(ProcessWatch, NamesTheFunctionAndWhatItChanges) {
  EXPECT_EQ(changesOf([] {}), "");
  mode_t mask = umask(022);
  EXPECT_EQ(changesOf([] { umask(0077); }),
            "g: the creation mask from \"0022\" to \"0077\"\n");
  umask(mask);
  EXPECT_NE(changesOf([] {
              std::signal(SIGUSR1, SIG_IGN);
            }).find("g: the signal handlers"),
            std::string::npos);
  std::signal(SIGUSR1, SIG_DFL);
  EXPECT_NE(
      changesOf([] { setenv("BP_TEST_X", "1", 1); }).find("g: the environment"),
      std::string::npos);
  unsetenv("BP_TEST_X");
  EXPECT_NE(changesOf([] { OddFloats::install(); }).find("g: the rounding"),
            std::string::npos);
  EXPECT_TRUE(isDefault());
}

} // namespace
