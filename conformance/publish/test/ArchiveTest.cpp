// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Archive.h"
#include "sdk/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace backplane;
using namespace backplane::conformance;
namespace fs = std::filesystem;

namespace {

class ArchiveTest : public testing::Test {
protected:
  ArchiveTest() {
    fs::create_directories(root_ / "in" / "part");
    fs::create_directories(root_ / "out");
    write("in/a.txt", std::string(1000, 'a'));
    write("in/part/empty", "");
    write("in/part/big", std::string(300'000, 'b') + "end");
  }
  void write(const std::string &name, const std::string &text) {
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string &name) {
    std::ifstream file(root_ / name, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  std::string path(const std::string &name) { return (root_ / name).string(); }
  Status unpack(const std::string &name) {
    fs::remove_all(root_ / "out");
    fs::create_directories(root_ / "out");
    return unpackArchive(path(name), path("out"));
  }

  TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
};

TEST_F(ArchiveTest, UnpacksWhatItPacks) {
  for (const char *name : {"x.tar", "x.tar.zst"}) {
    ASSERT_TRUE(packArchive(path("in"), path(name)).ok());
    Status status = unpack(name);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const char *file : {"a.txt", "part/empty", "part/big"})
      EXPECT_EQ(read("out/" + std::string(file)),
                read("in/" + std::string(file)));
  }
  EXPECT_LT(fs::file_size(root_ / "x.tar.zst"), 2000u);
}

TEST_F(ArchiveTest, GivesTheSameBytesForTheSameFiles) {
  ASSERT_TRUE(packArchive(path("in"), path("1.tar.zst")).ok());
  write("in/a.txt", std::string(1000, 'a'));
  ASSERT_TRUE(packArchive(path("in"), path("2.tar.zst")).ok());
  EXPECT_EQ(read("1.tar.zst"), read("2.tar.zst"));
}

TEST_F(ArchiveTest, RefusesEveryCut) {
  ASSERT_TRUE(packArchive(path("in"), path("x.tar")).ok());
  std::string whole = read("x.tar");
  for (size_t cut = 0; cut + 1024 < whole.size(); cut += 30'011) {
    write("cut.tar", whole.substr(0, cut));
    EXPECT_FALSE(unpack("cut.tar").ok()) << cut;
  }
}

/// A header whose checksum is put right again after a change.
std::string changed(std::string tar, size_t at, const std::string &text) {
  tar.replace(at, text.size(), text);
  tar.replace(148, 8, "        ");
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i)
    sum += static_cast<unsigned char>(tar[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  return tar.replace(148, 7, std::string(digits, 7));
}

TEST_F(ArchiveTest, RefusesWhatLeavesItsFolder) {
  ASSERT_TRUE(packArchive(path("in"), path("x.tar")).ok());
  std::string tar = read("x.tar");
  for (const char *name : {"../a.txt", "/tmp/a.t", "b/../../"}) {
    write("bad.tar", changed(tar, 0, name));
    EXPECT_NE(unpack("bad.tar").message().find("outside"), std::string::npos);
  }
  for (const char *type : {"2", "3", "4", "6"}) {
    write("bad.tar", changed(tar, 156, type));
    EXPECT_NE(unpack("bad.tar").message().find("neither a file"),
              std::string::npos);
  }
  for (const char *type : {"1", "x", "g", "L", "K", "V", "M"}) {
    write("bad.tar", changed(tar, 156, type));
    EXPECT_FALSE(unpack("bad.tar").ok()) << "type " << type;
  }
  write("bad.tar", changed(tar, 124, "77777777777"));
  EXPECT_NE(unpack("bad.tar").message().find("larger"), std::string::npos);
  for (const char *name : {"a//t", "./../a", "a\x1b[2J", "a\\b", "a b"}) {
    std::string padded(100, '\0');
    padded.replace(0, strlen(name), name);
    write("bad.tar", changed(tar, 0, padded));
    EXPECT_FALSE(unpack("bad.tar").ok()) << name;
  }
  write("bad.tar", tar + "more");
  EXPECT_NE(unpack("bad.tar").message().find("after its end"),
            std::string::npos);
  write("bad.tar", tar + std::string(512, '\0') + tar);
  EXPECT_NE(unpack("bad.tar").message().find("after its end"),
            std::string::npos);
  write("bad.tar", tar.substr(0, tar.size() - 412));
  EXPECT_NE(unpack("bad.tar").message().find("after its end"),
            std::string::npos)
      << "a part of a block";
  write("bad.tar", tar + std::string(9 * 512, '\0'));
  EXPECT_TRUE(unpack("bad.tar").ok()) << "as tar pads";
  tar[0] = 'b';
  write("bad.tar", tar);
  EXPECT_NE(unpack("bad.tar").message().find("damaged"), std::string::npos);
}

TEST_F(ArchiveTest, ReadsAndPacksRegularFilesOnly) {
  ASSERT_EQ(mkfifo(path("pipe.tar").c_str(), 0600), 0);
  for (const char *name : {"pipe.tar", "in"})
    EXPECT_NE(unpack(name).message().find("not a regular file"),
              std::string::npos)
        << unpack(name).message();
  fs::create_symlink("/etc/passwd", root_ / "in" / "link");
  EXPECT_FALSE(packArchive(path("in"), path("x.tar")).ok()) << "a link";
  fs::remove(root_ / "in" / "link");
  ASSERT_EQ(mkfifo(path("in/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(packArchive(path("in"), path("x.tar")).ok()) << "a pipe";
  EXPECT_FALSE(fs::exists(root_ / "x.tar"));
}

TEST_F(ArchiveTest, UnpacksWholeFilesIntoAnEmptyFolder) {
  ASSERT_TRUE(packArchive(path("in"), path("x.tar")).ok());
  fs::resize_file(root_ / "x.tar", 100'000);
  EXPECT_FALSE(unpack("x.tar").ok());
  EXPECT_TRUE(fs::exists(root_ / "out/a.txt"));
  EXPECT_TRUE(fs::is_empty(root_ / "out/part")) << "cut inside of part/big";
  Status status = unpackArchive(path("x.tar"), path("out"));
  EXPECT_NE(status.message().find("no empty folder"), std::string::npos);
}

TEST_F(ArchiveTest, SaysThatAFileCannotBeWritten) {
  ASSERT_TRUE(packArchive(path("in"), path("x.tar")).ok());
  rlimit old = {}, small = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = {1 << 12, old.rlim_max};
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = unpack("x.tar");
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  EXPECT_NE(status.message().find("cannot write: File too large"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(fs::is_empty(root_ / "out/part"));
}

} // namespace
