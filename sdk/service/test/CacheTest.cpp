// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Cache.h"
#include "hal/runtime/test/Models.h"
#include "sdk/graph/Model.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Hash.h"
#include "sdk/support/TextViews.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace backplane;
using backplane::test::Folder;

static int syncs = 0;

/// Stands in front of the C library's.
extern "C" int fsync(int fd) {
  ++syncs;
  return int(syscall(SYS_fsync, fd));
}

namespace {

void writeFile(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Makes a file look as if it had been written long ago.
void settle(const std::string &path, time_t time) {
  timespec times[2] = {{time, 0}, {time, 0}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

TEST(CacheKey, TellsItsPartsApart) {
  EXPECT_EQ(CacheKey("k").add("ab").str(), CacheKey("k").add("ab").str());
  EXPECT_NE(CacheKey("k").add("ab").add("c").str(),
            CacheKey("k").add("a").add("bc").str());
  EXPECT_NE(CacheKey("k").add("").str(), CacheKey("k").str());
  EXPECT_EQ(CacheKey("k").str().size(), 32u);
}

TEST(Cache, GivesBackWhatWasPut) {
  Folder folder;
  Cache cache(folder / "cache");
  EXPECT_FALSE(cache.get("kind", "key"));
  ASSERT_TRUE(cache.put("kind", "key", Bytes{1, 2, 3}).ok());
  EXPECT_EQ(cache.get("kind", "key"), (Bytes{1, 2, 3}));
  EXPECT_FALSE(cache.get("other", "key"));
  ASSERT_TRUE(cache.put("kind", "key", Bytes()).ok());
  EXPECT_EQ(cache.get("kind", "key"), Bytes());
  Cache none("");
  EXPECT_TRUE(none.put("kind", "key", Bytes{1}).ok());
  EXPECT_FALSE(none.get("kind", "key"));
}

TEST(Cache, DoesNotWaitForTheDisk) {
  Folder folder;
  Cache cache(folder / "cache");
  syncs = 0;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(cache.put("kernels", std::to_string(i), Bytes(100, 7)).ok());
  EXPECT_EQ(syncs, 0);
  ASSERT_TRUE(writeFileAtomically(folder / "file", Bytes(100, 7)).ok());
  EXPECT_EQ(syncs, 2); // of the file and of its folder
}

TEST(Cache, DropsADamagedEntry) {
  Folder folder;
  Cache cache(folder / "cache");
  ASSERT_TRUE(cache.put("kind", "key", Bytes(100, 7)).ok());
  std::string path = *cache.path("kind", "key");
  std::ifstream in(path, std::ios::binary);
  std::string good(std::istreambuf_iterator<char>(in), {});
  for (size_t i = 0; i <= good.size(); ++i) {
    std::string bad = good.substr(0, i);
    if (i == good.size())
      bad[i - 1] ^= 1;
    writeFile(path, bad);
    ASSERT_FALSE(cache.get("kind", "key")) << i;
    ASSERT_NE(access(path.c_str(), F_OK), 0) << i;
  }
  // An entry under another key's name is no answer for that key.
  ASSERT_TRUE(cache.put("kind", "key", Bytes(100, 7)).ok());
  ASSERT_EQ(rename(path.c_str(), cache.path("kind", "two")->c_str()), 0);
  EXPECT_FALSE(cache.get("kind", "two"));
}

TEST(Cache, NoticesThatAFileHasChanged) {
  Folder folder;
  Cache cache(folder / "cache");
  std::string path = folder / "model";
  EXPECT_EQ(cache.fileHash(path).code(), BP_STATUS_NOT_FOUND);
  auto hash = [&](const std::string &text) { return hashBytes(asBytes(text)); };
  for (const char *text : {"one", "two", "six", "seven"}) {
    writeFile(path, text);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(*cache.fileHash(path), hash(text));
    settle(path, 1'000'000'000); // the time alone tells nothing
    EXPECT_EQ(*cache.fileHash(path), hash(text));
  }
}

TEST(Cache, RemovesWhatTheDeadHaveLeft) {
  Folder folder;
  Cache cache(folder / "cache");
  ASSERT_TRUE(cache.put("kind", "key", Bytes{1}).ok());
  std::string path = *cache.path("kind", "key");
  const std::string left = path + ".tmp-12-0", young = path + ".tmp-12-1",
                    busy = path + ".tmp-12-2";
  std::vector<std::string> kept = {path, young, busy};
  for (const char *other : {".tmp-", ".tmp-1", ".tmp-1-", ".tmp--1", ".tmp-1-a",
                            ".tmp-1-2.bpx", "tmp-1-2"})
    kept.push_back(path + other);
  for (const std::string &file : {left, young, busy})
    writeFile(file, "half");
  for (size_t i = 3; i < kept.size(); ++i)
    writeFile(kept[i], "whole");
  for (const std::string &file : kept)
    if (file != young)
      settle(file, 1'000'000'000);
  settle(left, 1'000'000'000);
  int lock = open(busy.c_str(), O_RDONLY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  cache.tidy();
  EXPECT_NE(access(left.c_str(), F_OK), 0);
  for (const std::string &file : kept)
    EXPECT_EQ(access(file.c_str(), F_OK), 0) << file;
  close(lock);
  cache.tidy();
  EXPECT_NE(access(busy.c_str(), F_OK), 0);
  Cache("").tidy();
}

TEST(Cache, LocksWhatItWrites) {
  Folder folder;
  auto file = AtomicFile::createNamed(folder / "file");
  ASSERT_TRUE(file.ok());
  std::string path;
  for (const auto &entry : std::filesystem::directory_iterator(folder / ""))
    path = entry.path();
  int other = open(path.c_str(), O_RDONLY);
  EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0);
  settle(path, 1'000'000'000);
  removeStaleFiles(folder / "");
  EXPECT_TRUE(file->commit().ok());
  close(other);
}

TEST(Cache, GivesNoPlantedEntry) {
  Folder folder;
  std::vector<std::string> warnings;
  Cache cache(folder / "cache", {},
              [&](const Status &s) { warnings.push_back(s.message()); });
  const Bytes good(100, 7);
  ASSERT_TRUE(cache.put("kind", "key", good).ok());
  std::string path = *cache.path("kind", "key");
  std::filesystem::copy_file(path, folder / "copy");
  const std::function<void()> plants[] = {
      [&] { std::filesystem::create_symlink(folder / "copy", path); },
      [&] { std::filesystem::create_hard_link(folder / "copy", path); },
      [&] { mkfifo(path.c_str(), 0600); },
      [&] { std::filesystem::create_directories(path + "/full"); },
      [&] {
        std::filesystem::copy_file(folder / "copy", path);
        chmod(path.c_str(), 0666);
      },
      [&] {
        std::filesystem::copy_file(folder / "copy", path);
        if (chown(path.c_str(), geteuid() ? geteuid() : 65533, -1) != 0)
          std::filesystem::remove(path);
        if (geteuid())
          chmod(path.c_str(), 0622);
      },
      [&] {
        std::filesystem::copy_file(folder / "copy", path);
        std::filesystem::resize_file(path, uint64_t(1) << 40);
      },
  };
  for (const auto &plant : plants) {
    std::filesystem::remove_all(path);
    plant();
    size_t before = warnings.size();
    EXPECT_FALSE(cache.get("kind", "key"));
    EXPECT_EQ(warnings.size(), before + 1);
    ASSERT_TRUE(cache.put("kind", "key", good).ok());
    EXPECT_EQ(cache.get("kind", "key"), good);
  }
}

TEST(Cache, IsNotUsedInAFolderOfOthers) {
  Folder folder;
  ASSERT_TRUE(Cache(folder / "cache").put("kind", "key", Bytes{1}).ok());
  for (const char *place : {"cache", "cache/kind"}) {
    std::vector<std::string> warnings;
    chmod((folder / place).c_str(), 0777);
    Cache cache(folder / "cache", {},
                [&](const Status &s) { warnings.push_back(s.message()); });
    EXPECT_FALSE(cache.get("kind", "key")) << place;
    (void)cache.put("kind", "other", Bytes{1});
    EXPECT_FALSE(cache.get("kind", "other")) << place;
    ASSERT_FALSE(warnings.empty());
    EXPECT_NE(warnings[0].find("BACKPLANE_TRUSTED_DIRS"), std::string::npos)
        << warnings[0];
    Cache vouched(folder / "cache", FileTrust({folder / "cache"}));
    EXPECT_EQ(std::string(place) == "cache",
              vouched.get("kind", "key").has_value());
    chmod((folder / place).c_str(), 0700);
  }
  struct stat info = {};
  Cache made(folder / "a/b");
  ASSERT_TRUE(made.put("kind", "key", Bytes{1}).ok());
  stat((folder / "a").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

/// Writes and reads the same few keys for a while; the number of wrong answers.
int hammer(const std::string &folder, unsigned seed) {
  Cache cache(folder);
  int wrong = 0;
  for (unsigned i = 0; i < 300; ++i) {
    unsigned number = (i * 7 + seed) % 5;
    std::string key = "key" + std::to_string(number);
    if (auto bytes = cache.get("kind", key))
      wrong += *bytes != Bytes(5000 + number, uint8_t(number));
    wrong +=
        !cache.put("kind", key, Bytes(5000 + number, uint8_t(number))).ok();
  }
  return wrong;
}

TEST(Cache, IsSafeUnderTwoProcesses) {
  Folder folder;
  std::string path = folder / "cache";
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 2; ++i)
    if (pid_t child = fork(); child == 0)
      _exit(hammer(path, i) == 0 ? 0 : 1);
    else
      children.push_back(child);
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const auto &entry : std::filesystem::directory_iterator(path + "/kind"))
    EXPECT_EQ(entry.path().filename().string().substr(0, 3), "key");
  EXPECT_EQ(hammer(path, 0), 0);
}

} // namespace
