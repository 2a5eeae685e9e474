// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/FatalErrors.h"
#include "sdk/compiler/OnThreads.h"
#include "sdk/emit/llvm/Lld.h"

#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <gtest/gtest.h>
#include <string>

using namespace backplane;

namespace {

TEST(FatalErrors, OfLlvmAreAStatus) {
  for (int i = 0; i < 2; ++i) {
    Status status = catchFatalErrors([]() -> Status {
      llvm::report_fatal_error("cannot select: a mystery");
    });
    EXPECT_EQ(status.code(), BP_STATUS_INTERNAL);
    EXPECT_NE(status.message().find("cannot select: a mystery"),
              std::string::npos);
  }
}

TEST(FatalErrors, MemoryThatIsShortIsAStatus) {
  Status of_llvm = catchFatalErrors([]() -> Status {
    llvm::report_bad_alloc_error("no pages");
    return {};
  });
  EXPECT_EQ(of_llvm.code(), BP_STATUS_RESOURCE_EXHAUSTED);
  Status of_the_library =
      catchFatalErrors([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(of_the_library.code(), BP_STATUS_RESOURCE_EXHAUSTED);
}

TEST(FatalErrors, NestAndLetStatusesThrough) {
  Status status = catchFatalErrors([]() -> Status {
    EXPECT_FALSE(catchFatalErrors([]() -> Status {
                   llvm::report_fatal_error("inner");
                 }).ok());
    llvm::report_fatal_error("outer");
  });
  EXPECT_NE(status.message().find("outer"), std::string::npos);
  EXPECT_EQ(catchFatalErrors([] { return notFound("x"); }).message(), "x");
}

TEST(FatalErrors, FaultsOfEveryThreadAreAStatus) {
  std::atomic<unsigned> entered = 0, caught = 0;
  runOnThreads(2, [&] {
    // Both threads are there, so that one of them is not the first.
    for (++entered; entered < 2;)
      ;
    Status status = catchSignals([] {
      int *volatile nowhere = nullptr;
      *nowhere = 1;
    });
    caught += status.message().find("signal 11") != std::string::npos;
  });
  EXPECT_EQ(caught, 2U);
}

TEST(Linker, SaysWhatIsWrongWithAnObject) {
  std::vector<uint8_t> junk = {'n', 'o', 't', ' ', 'E', 'L', 'F'};
  std::vector<std::span<const uint8_t>> objects = {junk};
  for (int i = 0; i < 2; ++i) {
    auto image = runLld({"-shared", "-m", "elf_x86_64"}, objects);
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.message().find("linking failed"), std::string::npos);
  }
}

} // namespace
