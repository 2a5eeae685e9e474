// SPDX-License-Identifier: Apache-2.0
//
// The file: written whole or not at all, refused where it is damaged.
#include "Artifacts.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>

using namespace backplane;
using namespace backplane::sample;
namespace fs = std::filesystem;

namespace {

TEST_F(Artifacts, ComesBackAsWritten) {
  auto file = reopened();
  ASSERT_TRUE(file);
  const ArtifactInfo &read = file->metadata();
  EXPECT_EQ(read.model, "sample");
  EXPECT_EQ(read.variants[0].program.commands.size(), 9u);
  ASSERT_EQ(read.weights.size(), 2u);
  EXPECT_EQ(read.weights[1].offset, 64u);
  auto section = file->weights();
  ASSERT_EQ(section.size(), 164u);
  EXPECT_EQ(uintptr_t(section.data()) % 4096, 0u);
  EXPECT_EQ(section[15], 1);
  EXPECT_EQ(section[16], 0);
  EXPECT_EQ(section[64], 2);
}

TEST_F(Artifacts, IsWrittenTheSameTwice) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes first = contents();
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  EXPECT_EQ(first, contents());
}

TEST_F(Artifacts, LeavesNothingBehindOnFailure) {
  rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = {4096, limit.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  Status status = sample::write(path_, artifact_, pool_);
  setrlimit(RLIMIT_FSIZE, &limit);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path_), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Artifacts, KeepsTheOldFileOnFailure) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes before = contents();
  artifact_.weights[0]->id = "missing";
  EXPECT_EQ(sample::write(path_, artifact_, pool_).code(), BP_STATUS_NOT_FOUND);
  EXPECT_EQ(before, contents());
}

TEST_F(Artifacts, RefusesAFolderThatIsNotThere) {
  std::string path = (folder_ / "none" / "model.bpx").string();
  Status status = sample::write(path, artifact_, pool_);
  EXPECT_EQ(status.message(), path + ": cannot create a file in its folder: "
                                     "No such file or directory");
}

TEST_F(Artifacts, RefusesForeignAndDamagedFiles) {
  EXPECT_EQ(refusal(), "cannot open it: No such file or directory");
  overwrite(Bytes(10, 'x'));
  EXPECT_EQ(refusal(), "has 10 bytes, too few for an artifact; it is "
                       "truncated or not a .bpx file");
  overwrite(Bytes(1000, 'x'));
  EXPECT_EQ(refusal(), "is not a .bpx file");
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  Bytes good = contents(), bytes = good;
  bytes.pop_back();
  overwrite(bytes);
  EXPECT_NE(refusal().find("it is truncated or damaged"), std::string::npos);
  bytes = good;
  bytes[4] = 9;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has artifact version 9, this build reads versions 2 "
                       "and 3; "
                       "compile the model again or update Backplane");
  bytes = good;
  bytes[100] ^= 1;
  overwrite(bytes);
  EXPECT_EQ(refusal(), "has damaged metadata; copy or compile it again");
  bytes = good;
  bytes.back() ^= 1;
  overwrite(bytes);
  EXPECT_NE(refusal().find("has a damaged weight"), std::string::npos);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_EQ(refusal(), "is not a regular file");
}

TEST_F(Artifacts, KeepsItsBytesWhateverBecomesOfTheFile) {
  ASSERT_TRUE(sample::write(path_, artifact_, pool_).ok());
  const Bytes whole = contents();
  for (uint64_t size : {uint64_t(0), uint64_t(whole.size() / 2)}) {
    overwrite(whole);
    auto file = ArtifactFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.message();
    overwrite(Bytes(whole.size(), 0xCC));
    fs::resize_file(path_, size);
    EXPECT_TRUE(std::ranges::equal((*file)->bytes(), whole));
    EXPECT_NE(refusal(), "opened");
  }
  overwrite(whole);
  auto copy = ArtifactFile::fromBytes(whole, "bytes");
  auto mapped = ArtifactFile::open(path_, ArtifactFile::Hold::Map);
  ASSERT_TRUE(copy.ok() && mapped.ok());
  EXPECT_TRUE(std::ranges::equal((*copy)->bytes(), whole));
  EXPECT_TRUE(std::ranges::equal((*mapped)->bytes(), whole));
}

TEST_F(Artifacts, ReplaceRegularFilesOnly) {
  const std::string link = (folder_ / "link").string();
  fs::create_symlink("model.bpx", link);
  for (const std::string &path :
       {link, folder_.string(), std::string("/dev/null")})
    EXPECT_EQ(sample::write(path, artifact_, pool_).code(),
              BP_STATUS_INVALID_ARGUMENT)
        << path;
  EXPECT_FALSE(fs::exists(path_));
}

} // namespace
