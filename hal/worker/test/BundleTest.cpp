// SPDX-License-Identifier: Apache-2.0
//
// Bundles: what is packed runs in `bp-worker run`, and what is damaged, in
// whatever way, is refused.
#include "hal/worker/Bundle.h"
#include "hal/worker/test/Messages.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace fs = std::filesystem;

namespace {

void store(const std::string &path, const Payload &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

class Bundles : public testing::Test {
protected:
  void SetUp() override {
    setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
    artifact_ = artifact(fixed);
    auto writer = BundleWriter::create(bundle(), head_);
    ASSERT_TRUE(writer.ok()) << writer.message();
    EXPECT_TRUE(writer->artifact(artifact_).ok());
    for (float x : {1.0f, 2.0f})
      EXPECT_TRUE(writer->run(runOf(artifact_.hash, x)).ok());
    EXPECT_TRUE(writer->run(runOf("no such artifact", 3)).ok());
    EXPECT_FALSE(fs::exists(bundle())); // not before it is whole
    EXPECT_TRUE(writer->finish().ok());
  }

  std::string bundle() const { return folder_ / "b.bpb"; }
  std::string results() const { return folder_ / "b.bpr"; }
  int run(const std::string &before = "") const {
    std::string command = before + BP_WORKER " run '" + bundle() + "' -o '" +
                          results() + "' > '" + (folder_ / "log") + "' 2>&1";
    return std::system(command.c_str());
  }
  std::string log() const {
    Payload text = contents(folder_ / "log");
    return {text.begin(), text.end()};
  }

  Folder folder_;
  BundleMessage head_{"cases", "0", "t", "host", {"a", "b"}, ""};
  ArtifactMessage artifact_;
};

TEST_F(Bundles, AreRunWithNoOtherFile) {
  ASSERT_EQ(run(), 0) << log();
  EXPECT_NE(log().find("3 runs, 1 of them failed"), std::string::npos) << log();
  auto facts = readBundle(bundle());
  ASSERT_TRUE(facts.ok()) << facts.message();
  EXPECT_EQ(facts->head.facts, head_.facts);
  auto told = readResults(results(), *facts);
  ASSERT_TRUE(told.ok()) << told.message();
  EXPECT_EQ(told->hello.plugin, "host");
  ASSERT_EQ(told->answers.size(), 3u);
  const AnswerMessage &second = told->answers.at(facts->runs[1]);
  ResultMessage result;
  ASSERT_TRUE(decode(second.payload, result).ok());
  EXPECT_EQ(firstOf(result.outputs.at(0)), 7);
  EXPECT_EQ(told->answers.at(facts->runs[2]).type, uint32_t(FrameType::Error));
}

TEST_F(Bundles, ThatAreDamagedAreRefused) {
  const Payload good = contents(bundle());
  for (size_t at = 0; at < good.size(); at += at < 200 ? 1 : 97) {
    Payload bad = good;
    bad[at] ^= 0x41;
    store(bundle(), bad);
    EXPECT_FALSE(readBundle(bundle()).ok()) << at;
  }
  for (size_t size :
       {size_t(0), size_t(20), good.size() / 2, good.size() - 1}) {
    store(bundle(), {good.begin(), good.begin() + long(size)});
    auto facts = readBundle(bundle());
    EXPECT_EQ(facts.code(), BP_STATUS_DATA_LOSS) << size;
    EXPECT_NE(facts.message().find("b.bpb"), std::string::npos);
  }
  Payload longer = good;
  longer.insert(longer.end(), good.begin(), good.end());
  store(bundle(), longer);
  EXPECT_FALSE(readBundle(bundle()).ok());
  EXPECT_NE(run(), 0);
  EXPECT_FALSE(fs::exists(results()));
}

TEST_F(Bundles, BelongToTheirResults) {
  ASSERT_EQ(run(), 0) << log();
  auto facts = readBundle(bundle());
  ASSERT_TRUE(facts.ok());
  auto told = readResults(results(), *facts);
  ASSERT_TRUE(told.ok());
  auto rewritten = [&](std::vector<size_t> which, const std::string &hash) {
    BundleMessage head = head_;
    head.bundle = hash;
    auto writer = BundleWriter::create(results(), head);
    EXPECT_TRUE(writer->put(FrameType::Hello, encode(told->hello)).ok());
    for (size_t i : which)
      EXPECT_TRUE(writer->answer(told->answers.at(facts->runs[i])).ok());
    EXPECT_TRUE(writer->finish().ok());
    return readResults(results(), *facts).ok();
  };
  EXPECT_TRUE(rewritten({0, 1, 2}, facts->hash));
  EXPECT_FALSE(rewritten({0, 1}, facts->hash));
  EXPECT_FALSE(rewritten({}, facts->hash));
  EXPECT_FALSE(rewritten({0, 1, 1}, facts->hash));
  EXPECT_FALSE(rewritten({0, 2, 1}, facts->hash));
  EXPECT_FALSE(rewritten({0, 1, 2, 2}, facts->hash));
  EXPECT_FALSE(rewritten({0, 1, 2}, std::string(64, '0')));
}

/// A limit on the size of files is a disk of one's own that fills up.
TEST_F(Bundles, LeaveNoResultsOnAFullDisk) {
  EXPECT_NE(run("ulimit -f 0; trap '' XFSZ; "), 0);
  EXPECT_FALSE(fs::exists(results()));
  for (const fs::directory_entry &file : fs::directory_iterator(folder_ / ""))
    EXPECT_EQ(file.path().string().find("b.bpr"), std::string::npos)
        << file.path();
}

} // namespace
