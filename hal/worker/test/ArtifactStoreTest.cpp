// SPDX-License-Identifier: Apache-2.0
//
// Files that are kept as they were given, or not at all.
#include "hal/worker/ArtifactStore.h"
#include "hal/worker/test/Messages.h"

#include <csignal>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace fs = std::filesystem;

namespace {

TEST(ArtifactStores, GiveNoPlantedFile) {
  Folder folder;
  ArtifactStore store(folder / "store");
  std::vector<uint8_t> bytes(ArtifactStore::minBytes, 3);
  std::string hash = hashBytes(bytes);
  std::string path = *store.put(hash, bytes);
  EXPECT_EQ(store.find(hash), path);
  std::string other = folder / "store/0123456789abcdef0123456789abcdef.bpx";
  fs::copy_file(path, other);
  EXPECT_EQ(store.find("0123456789abcdef0123456789abcdef"), "");
  fs::permissions(path, fs::perms(0666));
  EXPECT_EQ(store.find(hash), "");
  ASSERT_TRUE(store.put(hash, bytes).ok());
  fs::rename(path, folder / "there");
  fs::create_symlink(folder / "there", path);
  EXPECT_EQ(store.find(hash), "");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(store.find(hash), "");
  ASSERT_TRUE(store.put(hash, bytes).ok());
  EXPECT_EQ(store.find(hash), path);
  fs::permissions(folder / "store", fs::perms(0777));
  EXPECT_EQ(store.find(hash), "");
  EXPECT_FALSE(store.put(hash, bytes).ok());
}

TEST(ArtifactStores, KeepWhatIsWhole) {
  Folder folder;
  ArtifactStore store(folder / "kept");
  Payload bytes(ArtifactStore::minBytes, 7);
  std::string hash = hashBytes(bytes);
  EXPECT_EQ(store.find(hash), "");
  auto path = store.put(hash, bytes);
  ASSERT_TRUE(path.ok()) << path.message();
  EXPECT_EQ(store.find(hash), *path);
  std::fstream(*path, std::ios::in | std::ios::out).put('x');
  EXPECT_EQ(store.find(hash), "");
  EXPECT_FALSE(fs::exists(*path));
  for (const std::string name : {"../x", "", "x"}) {
    EXPECT_EQ(store.find(name), "");
    EXPECT_EQ(*store.put(name, bytes), "");
  }
  bytes.pop_back();
  EXPECT_EQ(*store.put(hashBytes(bytes), bytes), "");
}

/// A full disk, as far as one process can have one of its own.
TEST(ArtifactStores, LeaveNothingBehindOnAFullDisk) {
  Folder folder;
  ArtifactStore store(folder / "kept");
  Payload bytes(2 * ArtifactStore::minBytes, 7);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {ArtifactStore::minBytes, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto path = store.put(hashBytes(bytes), bytes);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(path.ok());
  EXPECT_TRUE(fs::is_empty(folder / "kept"));
}

} // namespace
