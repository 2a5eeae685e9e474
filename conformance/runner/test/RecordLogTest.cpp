// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/RecordLog.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record record(int number) {
  Record result;
  result.id = "L3/add/f32/case" + std::to_string(number);
  result.unit = "L3/add/f32";
  result.status = CaseStatus::Pass;
  return result;
}

std::string read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

class Log : public testing::Test {
protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::unique_ptr<RecordLog> open(bool resume) {
    auto log = RecordLog::open(path_, resume);
    EXPECT_TRUE(log.ok()) << log.message();
    return log ? std::move(*log) : nullptr;
  }
  std::string path_ =
      testing::TempDir() + "records-" + std::to_string(getpid()) + ".jsonl";
};

TEST_F(Log, GoesOnAfterACutAnywhere) {
  std::vector<std::string> order;
  for (int i = 0; i < 4; ++i)
    order.push_back(record(i).id);
  auto whole = open(false);
  ASSERT_TRUE(whole->append({record(2), record(0), record(3), record(1)}).ok());
  std::string unordered = read(path_);
  ASSERT_TRUE(whole->finish(order).ok());
  const std::string expected = read(path_);
  EXPECT_NE(unordered, expected);
  for (size_t cut = 0; cut <= unordered.size(); cut += 13) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        << unordered.substr(0, cut);
    auto log = open(true);
    ASSERT_TRUE(log);
    std::vector<Record> rest;
    for (int i = 0; i < 4; ++i)
      if (!log->has(order[size_t(i)]))
        rest.push_back(record(i));
    ASSERT_TRUE(log->append(rest).ok());
    ASSERT_TRUE(log->finish(order).ok());
    EXPECT_EQ(read(path_), expected) << "cut at " << cut;
  }
}

TEST_F(Log, StartsEmptyUnlessItResumes) {
  ASSERT_TRUE(open(false)->append({record(1)}).ok());
  EXPECT_TRUE(open(true)->has(record(1).id));
  EXPECT_FALSE(open(false)->has(record(1).id));
}

TEST_F(Log, RefusesDamageAndMissingRecords) {
  std::ofstream(path_) << "{\"id\": 1}\n";
  auto log = RecordLog::open(path_, true);
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.message().find(".jsonl:1"), std::string::npos);
  auto empty = open(false);
  EXPECT_EQ(empty->finish({"L3/absent"}).code(), BP_STATUS_NOT_FOUND);
}

TEST_F(Log, WritesThroughNoLink) {
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(path_ + ".there", path_);
  for (bool resume : {false, true})
    EXPECT_EQ(RecordLog::open(path_, resume).code(),
              BP_STATUS_INVALID_ARGUMENT);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".there"));
}

} // namespace
