// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/FileTrust.h"
#include "hal/core/DriverCache.h"
#include "hal/core/Manifest.h"
#include "hal/core/Registry.h"
#include "hal/core/test/PluginFolder.h"
#include "sdk/support/Hash.h"

#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 65533;

class Trust : public testing::Test {
protected:
  Trust() {
    fs::create_directory(folder_.path("a"));
    fs::create_directory(folder_.path("a/b"));
    file_ = folder_.addFile("a/b/file", "text");
    chmod(folder_.path("a").c_str(), 0755);
    chmod(folder_.path("a/b").c_str(), 0755);
    chmod(file_.c_str(), 0644);
  }
  bp_status_t code(const std::string &path,
                   FileTrust::Links links = FileTrust::Links::Follow) const {
    return FileTrust().open(path, "test file", links).code();
  }
  static bool isRoot() { return geteuid() == 0; }

  PluginFolder folder_;
  std::string file_;
};

TEST_F(Trust, TakesWhatIsTheUsers) {
  auto file = FileTrust().open(file_, "test file");
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(file->path(), file_);
  EXPECT_EQ(file->size(), 4u);
  EXPECT_EQ(*file->read(4), (std::vector<uint8_t>{'t', 'e', 'x', 't'}));
  EXPECT_FALSE(file->read(3).ok());
  EXPECT_EQ(code(folder_.path("a/./b/../b//file")), BP_STATUS_OK);
  EXPECT_EQ(code("/bin/sh"), BP_STATUS_OK);
  EXPECT_TRUE(FileTrust().checkFolder(folder_.path("a/b/"), "folder").ok());
}

TEST_F(Trust, RefusesWhatOthersMayWrite) {
  for (const char *place : {"a/b/file", "a/b", "a", ""})
    for (mode_t mode : {0020, 0002, 0022}) {
      std::string path = folder_.path(place);
      struct stat before = {};
      stat(path.c_str(), &before);
      chmod(path.c_str(), before.st_mode | mode);
      auto file = FileTrust().open(file_, "test file");
      EXPECT_EQ(file.code(), BP_STATUS_PERMISSION_DENIED) << path;
      // What was asked, what was found, what to do.
      for (const char *part : {"test file '", "belongs to uid ", "has mode 0",
                               "chmod go-w ", "BACKPLANE_TRUSTED_DIRS"})
        EXPECT_NE(file.message().find(part), std::string::npos)
            << file.message();
      EXPECT_EQ(file.message().find('\n'), std::string::npos);
      chmod(path.c_str(), before.st_mode);
      EXPECT_EQ(code(file_), BP_STATUS_OK);
    }
}

TEST_F(Trust, TakesStickyFolders) {
  chmod(folder_.path("a").c_str(), 01777);
  EXPECT_EQ(code(file_), BP_STATUS_OK);
  if (!isRoot())
    GTEST_SKIP() << "owners are changed by root only";
  ASSERT_EQ(chown(folder_.path("a/b").c_str(), stranger, -1), 0);
  EXPECT_EQ(code(file_), BP_STATUS_PERMISSION_DENIED);
}

TEST_F(Trust, RefusesWhatBelongsToOthers) {
  if (!isRoot())
    GTEST_SKIP() << "owners are changed by root only";
  for (const char *place : {"a/b/file", "a/b", "a"}) {
    ASSERT_EQ(chown(folder_.path(place).c_str(), stranger, -1), 0);
    auto file = FileTrust().open(file_, "test file");
    EXPECT_EQ(file.code(), BP_STATUS_PERMISSION_DENIED) << place;
    EXPECT_NE(file.message().find("belongs to uid 65533"), std::string::npos)
        << file.message();
    EXPECT_NE(file.message().find("run 'chown "), std::string::npos);
    ASSERT_EQ(chown(folder_.path(place).c_str(), 0, -1), 0);
  }
  EXPECT_EQ(code(file_), BP_STATUS_OK);
}

TEST_F(Trust, FollowsLinksOnlyWhereAsked) {
  std::string link = folder_.path("link"), there = folder_.path("there");
  fs::create_symlink("a/b/file", link);
  fs::create_symlink(folder_.path("a"), there);
  EXPECT_EQ(code(link), BP_STATUS_OK);
  EXPECT_EQ(code(there + "/b/file"), BP_STATUS_OK);
  EXPECT_EQ(FileTrust().open(link, "test file")->path(), file_);
  EXPECT_EQ(code(link, FileTrust::Links::Refuse), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(code(there + "/b/file", FileTrust::Links::Refuse), BP_STATUS_OK);
  // What a link leads to is looked at like the link.
  chmod(folder_.path("a").c_str(), 0777);
  EXPECT_EQ(code(link), BP_STATUS_PERMISSION_DENIED);
  EXPECT_EQ(code(there + "/b/file"), BP_STATUS_PERMISSION_DENIED);
  for (const char *target : {"absent", "loop", "/proc/self/mem/x"}) {
    fs::remove(folder_.path("loop"));
    fs::create_symlink(target, folder_.path("loop"));
    EXPECT_NE(code(folder_.path("loop")), BP_STATUS_OK) << target;
  }
  if (!isRoot())
    return;
  chmod(folder_.path("a").c_str(), 0755);
  EXPECT_EQ(code(link), BP_STATUS_OK);
  ASSERT_EQ(lchown(link.c_str(), stranger, -1), 0);
  EXPECT_EQ(code(link), BP_STATUS_PERMISSION_DENIED);
}

TEST_F(Trust, RefusesWhatIsNoRegularFile) {
  std::string pipe = folder_.path("a/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path :
       {pipe, folder_.path("a"), std::string("/dev/zero"), std::string("/"),
        std::string(".."), std::string("/dev/tty"), std::string()})
    EXPECT_EQ(code(path), BP_STATUS_INVALID_ARGUMENT) << path;
  for (const std::string &path : {file_ + "/x", folder_.path("absent"),
                                  folder_.path(std::string(5000, 'n'))})
    EXPECT_NE(code(path), BP_STATUS_OK) << path;
  EXPECT_EQ(code(std::string("a\0b", 3)), BP_STATUS_INVALID_ARGUMENT);
}

TEST_F(Trust, TakesAnythingBelowAFolderThatIsVouchedFor) {
  chmod(folder_.path("a").c_str(), 0777);
  chmod(file_.c_str(), 0666);
  EXPECT_EQ(code(file_), BP_STATUS_PERMISSION_DENIED);
  auto open = [&](const std::string &vouched) {
    return FileTrust({vouched}).open(file_, "test file").code();
  };
  EXPECT_EQ(open(folder_.path("a")), BP_STATUS_OK);
  EXPECT_EQ(open(folder_.path("a/b")), BP_STATUS_OK);
  EXPECT_EQ(open(folder_.path("a/")), BP_STATUS_OK);
  EXPECT_EQ(open("/"), BP_STATUS_OK);
  for (const std::string &other :
       {folder_.path("a/b/fil"), folder_.path("absent"), std::string("a"),
        std::string(), std::string("/etc")})
    EXPECT_EQ(open(other), BP_STATUS_PERMISSION_DENIED) << other;
  // A link out of the folder is not below it.
  fs::create_directory(folder_.path("c"));
  fs::create_symlink(file_, folder_.path("c/link"));
  EXPECT_EQ(FileTrust({folder_.path("c")})
                .open(folder_.path("c/link"), "test file")
                .code(),
            BP_STATUS_PERMISSION_DENIED);
}

TEST_F(Trust, MakesFoldersForTheUserOnly) {
  std::string path = folder_.path("x/y/z");
  mode_t before = umask(0);
  EXPECT_TRUE(makePrivateFolders(path).ok());
  umask(before);
  for (const char *place : {"x", "x/y", "x/y/z"}) {
    struct stat info = {};
    stat(folder_.path(place).c_str(), &info);
    EXPECT_EQ(info.st_mode & 07777, 0700u) << place;
  }
  EXPECT_TRUE(makePrivateFolders(path + "/").ok());
  EXPECT_FALSE(makePrivateFolders(file_ + "/x").ok());
}

/// Each user of the rule refuses what lies in a folder that all may write.
TEST_F(Trust, HoldsForLibrariesManifestsAndCaches) {
  PluginFolder open;
  open.addDriver(BP_MINI_PLUGIN, "mini");
  ASSERT_TRUE(Registry::create(open.options(), nullptr)->device("mini").ok());
  DriverCache cache(open.path("cache"));
  ASSERT_TRUE(cache.store("key", std::vector<uint8_t>{1}).ok());
  EXPECT_TRUE(cache.load("key").ok());
  chmod(open.path().c_str(), 0777);
  auto listings = Registry::create(open.options(), nullptr)->listings();
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_NE(listings[0].refusal.find("BACKPLANE_TRUSTED_DIRS"),
            std::string::npos);
  EXPECT_EQ(cache.load("key").code(), BP_STATUS_PERMISSION_DENIED);
  EXPECT_EQ(cache.store("key", {}).code(), BP_STATUS_PERMISSION_DENIED);
  LoaderOptions vouched = open.options();
  vouched.trust = FileTrust({open.path()});
  EXPECT_TRUE(Registry::create(vouched, nullptr)->device("mini").ok());
  EXPECT_TRUE(DriverCache(open.path("cache"), vouched.trust).load("key").ok());
}

/// A library that only the manifest's folder is safe for.
TEST_F(Trust, RefusesALibraryThatOthersMayWrite) {
  PluginFolder open;
  open.addDriver(BP_MINI_PLUGIN, "mini");
  chmod(open.path("libmini-1.0.0.so").c_str(), 0775);
  auto listings = Registry::create(open.options(), nullptr)->listings();
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_NE(listings[0].refusal.find("plug-in library '"), std::string::npos)
      << listings[0].refusal;
}

TEST_F(Trust, ADriversCacheGivesNoPlantedEntry) {
  std::string folder = folder_.path("cache");
  DriverCache cache(folder);
  const std::vector<uint8_t> bytes(100, 3);
  ASSERT_TRUE(cache.store("good", bytes).ok());
  const std::string good = folder + "/good", bad = folder + "/bad";
  const std::function<void()> plants[] = {
      [&] { fs::create_symlink(good, bad); },
      [&] { fs::create_hard_link(good, bad); },
      [&] { fs::copy_file(good, bad); },
      [&] { mkfifo(bad.c_str(), 0600); },
      [&] { fs::create_directory(bad); },
      [&] {
        fs::copy_file(good, bad);
        fs::resize_file(bad, uint64_t(1) << 40);
      },
  };
  for (const auto &plant : plants) {
    plant();
    EXPECT_FALSE(cache.load("bad").ok());
    fs::remove_all(bad);
    ASSERT_TRUE(cache.store("good", bytes).ok());
  }
  fs::create_symlink("/etc/hostname", bad);
  ASSERT_TRUE(cache.store("bad", bytes).ok()); // in place of the link
  EXPECT_EQ(*cache.load("bad"), bytes);
  EXPECT_FALSE(fs::is_symlink(bad));
}

} // namespace
