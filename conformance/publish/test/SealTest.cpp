// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Seal.h"
#include "sdk/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

class SealTest : public testing::Test {
protected:
  SealTest() {
    fs::create_directories(folder_ + "/part");
    write("records.jsonl", "{}\n");
    write("part/junit.xml", "<testsuites/>\n");
    EXPECT_TRUE(createKey(key_).ok());
    EXPECT_TRUE(sealFolder(folder_, key_).ok());
  }
  void write(const std::string &name, const std::string &text) {
    std::ofstream(fs::path(folder_) / name, std::ios::binary) << text;
  }
  std::string failure(const std::string &publicKey = "") {
    auto seal = checkSeal(folder_, publicKey);
    return seal ? "" : seal.message();
  }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
  std::string folder_ = root_ / "run", key_ = root_ / "key";
};

TEST_F(SealTest, HoldsForWhatWasSealed) {
  auto seal = checkSeal(folder_, key_ + ".pub");
  ASSERT_TRUE(seal.ok()) << seal.message();
  EXPECT_EQ(seal->files, 2u);
  EXPECT_EQ(seal->root.size(), 64u);
}

TEST_F(SealTest, SecretKeyIsPrivateAndNeverOverwritten) {
  struct stat info;
  ASSERT_EQ(stat(key_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_FALSE(createKey(key_).ok());
}

TEST_F(SealTest, SeesChangedAddedAndRemovedFiles) {
  write("records.jsonl", "{ }\n");
  EXPECT_NE(failure().find("'records.jsonl' was changed"), std::string::npos);
  write("records.jsonl", "{}\n");
  EXPECT_EQ(failure(), "");
  write("extra", "");
  EXPECT_NE(failure().find("'extra' is not listed"), std::string::npos);
  fs::remove(folder_ + "/extra");
  fs::remove(folder_ + "/part/junit.xml");
  EXPECT_NE(failure().find("missing"), std::string::npos);
}

TEST_F(SealTest, SeesAnotherManifestOrKey) {
  std::string other = (root_ / "other").string();
  ASSERT_TRUE(createKey(other).ok());
  EXPECT_NE(failure(other + ".pub").find("not with that of"),
            std::string::npos);
  std::ofstream(folder_ + "/manifest.json", std::ios::app) << " ";
  EXPECT_NE(failure().find("signature does not belong"), std::string::npos);
}

TEST_F(SealTest, GivesKeysAFingerprint) {
  auto seal = checkSeal(folder_, "");
  ASSERT_TRUE(seal.ok());
  EXPECT_EQ(fingerprint(seal->publicKey).size(), 39u);
  EXPECT_NE(fingerprint(seal->publicKey), fingerprint(std::string(64, '0')));
}

TEST_F(SealTest, SealsOnlyNamesThatItCanCheck) {
  for (const char *name : {"\xff", "a\xed\xa0\x80", "\xe0\x80\x80", "a\nb"}) {
    write(name, "");
    EXPECT_FALSE(sealFolder(folder_, key_).ok()) << name;
    EXPECT_NE(failure(), "") << name;
    fs::remove(folder_ + "/" + name);
    EXPECT_EQ(failure(), "");
  }
  write("\xc3\xa9", "");
  EXPECT_TRUE(sealFolder(folder_, key_).ok());
  EXPECT_EQ(failure(), "");
}

TEST_F(SealTest, RefusesDamagedFiles) {
  for (const char *bad : {"", "zz\n", "00\n00\n"}) {
    write("manifest.sig", bad);
    EXPECT_NE(failure(), "");
  }
  fs::remove(folder_ + "/manifest.json");
  EXPECT_NE(failure().find("is not sealed"), std::string::npos);
  EXPECT_FALSE(sealFolder(folder_, folder_ + "/none").ok());
}

} // namespace
