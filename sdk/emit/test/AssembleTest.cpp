// SPDX-License-Identifier: Apache-2.0
//
// AssembleTest.cpp: what a program in the place of ptxas may take, and how it
// is found.
#include "sdk/emit/nvptx/Assemble.h"
#include "sdk/emit/EmitterTools.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;

namespace {

/// BACKPLANE_PTXAS is a script as long as this lives.
class Fake {
public:
  explicit Fake(const std::string &body)
      : folder_(testing::TempDir() + "bp-ptxas-XXXXXX") {
    EXPECT_TRUE(mkdtemp(folder_.data()));
    std::ofstream(path())
        << "#!/bin/sh\n"
        << "[ \"$1\" = --version ] && { echo V1.2.3; exit 0; }\n"
        << body << "\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    setenv("BACKPLANE_PTXAS", path().c_str(), 1);
  }
  ~Fake() {
    unsetenv("BACKPLANE_PTXAS");
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/ptxas"; }
  Fake(const Fake &) = delete;
  Fake &operator=(const Fake &) = delete;

private:
  std::string folder_;
};

TEST(Assemble, KeepsWhatIsSaidOfEntries) {
  Fake fake("cat >/dev/null; for last; do :; done; printf abc > \"$last\"\n"
            "echo \"ptxas info : Compiling entry function 'k' for 'sm_80'\"\n"
            "echo ' 8 bytes stack frame, 4 bytes spill stores, 12 bytes spill "
            "loads'\n"
            "echo 'ptxas info : Used 40 registers, 2048 bytes smem' >&2");
  auto cubin = assemble("", "sm_80");
  ASSERT_TRUE(cubin) << cubin.status().message();
  EXPECT_EQ(cubin->bytes, (std::vector<uint8_t>{'a', 'b', 'c'}));
  EXPECT_EQ(cubin->notes, (std::vector<std::string>{
                              "ptxas V1.2.3",
                              "k: 40 registers, 4 bytes of spill stores, 12 "
                              "of spill loads, 2048 bytes of shared memory"}));
}

TEST(Assemble, EndsWhatTakesTooLong) {
  Fake fake("exec sleep 60");
  auto start = std::chrono::steady_clock::now();
  auto cubin = assemble("", "sm_80", {.time = std::chrono::seconds(1)});
  EXPECT_EQ(cubin.status().code(), BP_STATUS_RESOURCE_EXHAUSTED);
  EXPECT_EQ(cubin.status().message(), "ptxas has not ended in time");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Assemble, EndsWhatTakesTooMuch) {
  Fake fake("x=$(head -c 300000000 /dev/zero | tr '\\0' a); "
            "for last; do :; done; printf abc > \"$last\"");
  EXPECT_FALSE(assemble("", "sm_80", {.memoryBytes = 64 << 20}));
}

TEST(EmitterTools, AreKnownByTheEmitterThatStartsThem) {
  Fake fake("");
  const EmitterTool *tool = findEmitterTool("cubin");
  ASSERT_TRUE(tool);
  EXPECT_EQ(tool->name, "ptxas");
  auto file = tool->find(FileTrust());
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(*file, fake.path());
  EXPECT_FALSE(findEmitterTool("ptx"));
}

} // namespace
