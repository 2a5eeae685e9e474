// SPDX-License-Identifier: Apache-2.0
#include "tools/bp/OutputFiles.h"
#include "sdk/support/ReadableText.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace backplane;
namespace fs = std::filesystem;

namespace {

class Outputs : public testing::Test {
protected:
  Outputs() {
    fs::create_directories(folder_ / "sub");
    std::ofstream(folder_ / "input") << "input";
    files_.reads(path("input"));
    files_.reads(path("absent"));
  }
  ~Outputs() override { fs::remove_all(folder_); }
  std::string path(const std::string &name) const { return folder_ / name; }

  fs::path folder_ =
      fs::path(testing::TempDir()) / ("bp-outputs-" + std::to_string(getpid()));
  OutputFiles files_;
};

TEST_F(Outputs, AreNeverInputs) {
  fs::create_hard_link(path("input"), path("hard"));
  for (const char *name : {"input", "./sub/../input", "hard"})
    EXPECT_EQ(files_.writes(path(name)).code(), BP_STATUS_INVALID_ARGUMENT)
        << name;
  EXPECT_TRUE(files_.writes(path("output")).ok());
}

TEST_F(Outputs, ReplaceRegularFilesOnly) {
  fs::create_symlink("input", path("link"));
  fs::create_symlink("nowhere", path("dangling"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string &bad :
       {path("link"), path("dangling"), path("pipe"), path("sub"),
        std::string("/dev/null"), std::string("/dev/stdout")})
    EXPECT_EQ(files_.writes(bad).code(), BP_STATUS_INVALID_ARGUMENT) << bad;
  std::ofstream(path("old")) << "old";
  EXPECT_TRUE(files_.writes(path("old")).ok());
}

TEST_F(Outputs, AreWrittenOnce) {
  EXPECT_TRUE(files_.writes(path("one")).ok());
  EXPECT_TRUE(files_.writes(path("two")).ok());
  for (const char *name : {"one", "./one", "sub/../two"})
    EXPECT_FALSE(files_.writes(path(name)).ok()) << name;
}

TEST(FileNames, AreToldApart) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(fileNames({"y", "a/b:c"}), (Names{"y", "a_b_c"}));
  const Names hard = {"y",   "y",   "Y",     "y-2",  "a/b",
                      "a:b", "a_b", "",      ".",    "..",
                      "\n",  "\t",  "\x1b[", "../y", "y\x7f",
                      "A/B", "y-2", "_",     "/",    std::string("y\0", 2)};
  std::set<std::string> found;
  for (std::string file : fileNames(hard)) {
    EXPECT_EQ(file.find_first_of("/:\n\t\x1b\x7f"), std::string::npos);
    for (char &c : file)
      c = char(tolower(c));
    EXPECT_TRUE(found.insert(file).second) << file;
  }
  EXPECT_EQ(found.size(), hard.size());
}

TEST(FileNames, AreNeverTooLong) {
  const std::string base(5000, 'n');
  auto names = fileNames({base + "a", base + "b", base + "a", "n"});
  std::set<std::string> found(names.begin(), names.end());
  EXPECT_EQ(found.size(), 4u);
  for (const std::string &name : names)
    EXPECT_LE(name.size(), 200u);
  // The same name gives the same file in every run.
  EXPECT_EQ(fileNames({base + "b"})[0], names[1]);
  // No character is cut in two.
  std::string wide;
  for (int i = 0; i < 100; ++i)
    wide += "\xe2\x82\xac";
  std::string cut = fileNames({"x" + wide})[0];
  EXPECT_EQ(cut.substr(0, cut.find('-')).size() % 3, 1u);
}

TEST(ReadableText, HasNoControlCharactersAndAnEnd) {
  EXPECT_EQ(readable("name"), "name");
  EXPECT_EQ(readable("a\nb\tc\x1b[31m\x7f"), "a\\nb\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(readable("\xc3\xa4 \xff \xc3"), "\xc3\xa4 \\xff \\xc3");
  EXPECT_EQ(readable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(readable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(readable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "too long a form";
  EXPECT_EQ(readable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "breaks a line";
  EXPECT_EQ(readable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "turns it round";
  EXPECT_EQ(readable("\xf0\x9f\x98\x80 \xe6\x97\xa5"),
            "\xf0\x9f\x98\x80 \xe6\x97\xa5");
  std::string text = readable(std::string(5000, 'x'));
  EXPECT_LT(text.size(), 200u);
  EXPECT_NE(text.find(" bytes]"), std::string::npos);
  EXPECT_LT(readable(std::string(5000, '\1')).size(), 200u);
  std::string message = readableMessage("no input '" + std::string(5000, 'x') +
                                        "'; there is 'y\n'");
  EXPECT_LT(message.size(), 260u);
  EXPECT_TRUE(message.ends_with("'; there is 'y\\n'")) << message;
  EXPECT_LT(readableMessage(std::string(100000, 'x')).size(), 2100u);
  EXPECT_EQ(readableMessage("it's one"), "it's one");
  EXPECT_EQ(readableLines("a b\n  c \x1b\n\n"), "a b\n  c \\x1b\n\n");
  EXPECT_LT(readableLines("op " + std::string(5000, 'x') + " end\n").size(),
            200u);
}

} // namespace
