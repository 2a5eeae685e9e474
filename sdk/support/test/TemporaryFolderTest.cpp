// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

using namespace backplane;

namespace {

TEST(TemporaryFolder, GoesWithAllThatIsInIt) {
  std::optional<TemporaryFolder> folder;
  const std::string path = folder.emplace().path();
  std::ofstream(path + "/file") << "text";
  EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolder, HasNoPathWhereNoneCanBeMade) {
  const char *before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(TemporaryFolder().path(), "");
  before ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

} // namespace
