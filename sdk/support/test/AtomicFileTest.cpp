// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string>;

Names namesIn(const std::string &folder) {
  Names names;
  for (const auto &entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the file system has files without names.
bool hasUnnamed(const std::string &folder) {
  int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0)
    close(fd);
  return fd >= 0;
}

/// Both ways to create a file.
Result<AtomicFile> created(const std::string &path, bool named) {
  return named ? AtomicFile::createNamed(path) : AtomicFile::create(path);
}

TEST(AtomicFile, HasNoNameUntilItIsWhole) {
  TemporaryFolder folder;
  if (!hasUnnamed(folder.path()))
    GTEST_SKIP() << "the file system has no files without names";
  auto file = AtomicFile::create(folder.path() + "/file");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("half", 4).ok());
  EXPECT_EQ(namesIn(folder.path()), Names());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(namesIn(folder.path()), Names{"file"});
}

TEST(AtomicFile, ReplacesAFileAtOnce) {
  for (bool named : {false, true}) {
    TemporaryFolder folder;
    const std::string path = folder.path() + "/file";
    std::ofstream(path) << "old";
    auto file = created(path, named);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new", 3).ok());
    EXPECT_EQ(textOf(path), "old");
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(textOf(path), "new");
    EXPECT_EQ(namesIn(folder.path()), Names{"file"});
  }
}

/// A new file has no other name first, which a kill could leave.
TEST(AtomicFile, NamesANewFileOnce) {
  TemporaryFolder folder;
  if (!hasUnnamed(folder.path()))
    GTEST_SKIP() << "the file system has no files without names";
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, folder.path().c_str(),
                              IN_CREATE | IN_MOVED_FROM | IN_DELETE),
            0);
  auto file = AtomicFile::create(folder.path() + "/file");
  ASSERT_TRUE(file.ok() && file->write("new", 3).ok() && file->commit().ok());
  alignas(inotify_event) char seen[4096];
  ssize_t size = read(watch, seen, sizeof(seen));
  close(watch);
  const auto *event = reinterpret_cast<const inotify_event *>(seen);
  ASSERT_EQ(size, ssize_t(sizeof(*event) + event->len));
  EXPECT_EQ(event->mask, uint32_t(IN_CREATE));
  EXPECT_STREQ(event->name, "file");
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  for (bool named : {false, true}) {
    TemporaryFolder folder;
    {
      auto file = created(folder.path() + "/file", named);
      ASSERT_TRUE(file.ok());
      AtomicFile moved = std::move(*file);
      EXPECT_TRUE(moved.write("half", 4).ok());
    }
    EXPECT_EQ(namesIn(folder.path()), Names());
  }
}

/// The permissions are those that any new file gets.
TEST(AtomicFile, HasThePermissionsOfTheUser) {
  for (bool named : {false, true}) {
    TemporaryFolder folder;
    mode_t before = umask(027);
    auto file = created(folder.path() + "/file", named);
    umask(before);
    ASSERT_TRUE(file.ok() && file->commitUnsynced().ok());
    struct stat facts = {};
    ASSERT_EQ(stat((folder.path() + "/file").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0640u);
    EXPECT_EQ(facts.st_nlink, 1u);
  }
}

TEST(AtomicFile, ReplacesNothingButAFile) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/link";
  std::ofstream(folder.path() + "/file") << "kept";
  fs::create_symlink("file", path);
  EXPECT_EQ(AtomicFile::create(path).code(), BP_STATUS_INVALID_ARGUMENT);
  auto file = AtomicFile::create(path, AtomicFile::Over::Anything);
  ASSERT_TRUE(file.ok() && file->commit().ok());
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(textOf(folder.path() + "/file"), "kept");
}

TEST(AtomicFile, SaysWhatItCannotCreate) {
  auto file = AtomicFile::create("/no/such/folder/file");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(),
            "/no/such/folder/file: cannot create a file in its folder: No such "
            "file or directory");
}

} // namespace
