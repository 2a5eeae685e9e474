// SPDX-License-Identifier: Apache-2.0
//
// Damaged files, the same ones each time. Every change of a byte must be
// refused; with the hash put right, so that the deeper checks are reached, the
// file must be refused or be read to its end without harm.
#include "Sample.h"
#include "sdk/package/Layout.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

class ArtifactFuzz : public testing::Test {
protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() /
                        ("bp-fuzz-" + std::to_string(getpid()) + ".bpx"))
                           .string();
    fb::ArtifactT artifact;
    WeightPool pool;
    sample::fullArtifact(artifact, pool);
    sample::addRead(artifact);
    ASSERT_TRUE(sample::write(path, artifact, pool).ok());
    std::ifstream in(path, std::ios::binary);
    good_ = Bytes(std::istreambuf_iterator<char>(in), {});
    fs::remove(path);
    std::memcpy(&header_, good_.data(), sizeof(header_));
    memory_ = memfd_create("fuzz", MFD_CLOEXEC);
    path_ = "/proc/self/fd/" + std::to_string(memory_);
  }
  void TearDown() override { close(memory_); }

  Result<std::shared_ptr<ArtifactFile>> open(const Bytes &bytes) {
    EXPECT_EQ(ftruncate(memory_, off_t(bytes.size())), 0);
    EXPECT_EQ(pwrite(memory_, bytes.data(), bytes.size(), 0),
              ssize_t(bytes.size()));
    return ArtifactFile::open(path_);
  }

  void fixHash(Bytes &bytes) const {
    Hash128 hash = hash128(
        std::span(bytes).subspan(sizeof(header_), header_.metadataBytes));
    layout::Header header = header_;
    header.hashLow = hash.low;
    header.hashHigh = hash.high;
    std::memcpy(bytes.data(), &header, sizeof(header));
  }

  int memory_ = -1; ///< a file that is on no disk
  std::string path_;
  Bytes good_;
  layout::Header header_ = {};
};

TEST_F(ArtifactFuzz, EveryFlippedByteIsRefused) {
  ASSERT_TRUE(open(good_).ok());
  for (size_t i = 0; i < good_.size(); ++i) {
    Bytes bytes = good_;
    bytes[i] ^= uint8_t(1u << (i % 8));
    ASSERT_FALSE(open(bytes).ok()) << "byte " << i;
  }
}

TEST_F(ArtifactFuzz, EveryTruncationIsRefused) {
  for (size_t size = 0; size < good_.size(); size += size < 2000 ? 7 : 97)
    ASSERT_FALSE(open(Bytes(good_.begin(), good_.begin() + long(size))).ok());
}

TEST_F(ArtifactFuzz, DeepChecksHoldBehindAGoodHash) {
  std::mt19937 random(7);
  int opened = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = good_;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      size_t at = sizeof(header_) + random() % header_.metadataBytes;
      switch (random() % 3) {
      case 0:
        bytes[at] ^= uint8_t(1u << (random() % 8));
        break;
      case 1:
        bytes[at] = random() % 2 ? 0 : 255;
        break;
      default:
        bytes[at] = bytes[sizeof(header_) + random() % header_.metadataBytes];
      }
    }
    fixHash(bytes);
    auto file = open(bytes);
    if (!file.ok()) {
      ASSERT_TRUE(file.message().starts_with(path_));
      continue;
    }
    ++opened;
    ASSERT_FALSE((*file)->metadata().variants.empty());
  }
  printf("%d of 20000 changes left a valid artifact\n", opened);
}

} // namespace
