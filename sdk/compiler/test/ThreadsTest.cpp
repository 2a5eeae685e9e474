// SPDX-License-Identifier: Apache-2.0
//
// ThreadsTest.cpp: kernels that are generated on several threads, by the
// compiler library as the host uses it.
#include "sdk/compiler/test/Library.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/support/TemporaryFolder.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <set>
#include <thread>

using namespace backplane;

namespace {

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("toy");
  target.driver = toC("toy");
  target.format = toC("elf-x86_64");
  target.storage_dtypes = 1u << BP_DTYPE_F32;
  target.compute_dtypes = 1u << BP_DTYPE_F32;
  target.emitter = toC("llvm-elf");
  target.triple = toC("x86_64-unknown-linux-gnu");
  target.cpu = toC("x86-64-v3");
  target.vector_bits = 256;
  return sink->put(sink->context, &target);
}

bp_status_t claim(void *, bp_string_t, const bp_graph_t *,
                  const bp_graph_table_t *, bp_claim_t *, bp_error_t *) {
  return BP_STATUS_UNIMPLEMENTED;
}

constexpr const char *toEntry =
    "bp-vectorize{vector-bits=256},bp-expand-math,bp-to-cpu-entry,bp-to-llvm";
const char *device = toEntry; ///< pipeline of that stage

bp_status_t stages(void *, bp_string_t, const bp_stage_sink_t *sink,
                   bp_error_t *) {
  const std::pair<const char *, const char *> all[] = {
      {"tile", "bp-bind-buffers,bp-distribute"},
      {"bufferize", "bp-bufferize"},
      {"device", device}};
  for (auto [stage, text] : all)
    if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
      return s;
  return BP_STATUS_OK;
}

bp_status_t listPasses(void *, bp_string_t, const bp_graph_pass_sink_t *,
                       bp_error_t *) {
  return BP_STATUS_OK;
}

const bp_compiler_table_t toyTable = {BP_HEADER(bp_compiler_table_t),
                                      targets,
                                      claim,
                                      stages,
                                      nullptr,
                                      nullptr,
                                      listPasses,
                                      nullptr};

class ThreadsTest : public testing::Test {
protected:
  void SetUp() override {
    entry_ = compilerEntry();
    ASSERT_TRUE(entry_);
    services.plugins.push_back({"toy", "1.0.0", "hash", &toyTable, nullptr});
    services.graphTable = graphTable();
  }
  void TearDown() override { device = toEntry; }

  /// A kernel for each op, of sizes of its own.
  static Graph manyKernels() {
    Graph graph;
    EXPECT_TRUE(graph.addSymbol({"n", 1, 1024, 1}).ok());
    int64_t width = 3;
    for (const char *op : {"neg", "exp", "abs", "sqrt", "floor", "tanh"})
      for (int repeat = 0; repeat < 2; ++repeat, ++width) {
        ValueId x = graph.addInput("x" + std::to_string(width),
                                   {DType::F32, {Dim::symbol("n"), width}});
        graph.addOutput((*graph.add(op, {x}))[0], "y" + std::to_string(width));
      }
    return graph;
  }

  Status run(uint32_t threads) {
    services.threads = threads;
    CompileRequest request;
    request.model.graph = manyKernels();
    request.targets = {"toy"};
    request.outputPath = file_;
    std::string message;
    bp_status_t code = entry_(&request, &services, &message);
    return code ? Status(code, message) : Status();
  }
  std::string bytes() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  CompileServices services;

private:
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() + "/model.bpx";
};

TEST_F(ThreadsTest, GiveTheBytesOfOne) {
  ASSERT_TRUE(run(1).ok());
  const std::string expected = bytes();
  ASSERT_FALSE(expected.empty());
  for (uint32_t threads : {2u, 3u, 64u}) {
    Status status = run(threads);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(bytes() == expected) << threads << " threads";
  }
}

/// Each kernel waits for another thread to have one.
TEST_F(ThreadsTest, WorkAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> seen;
  services.cachePut = [&](const std::string &, auto) {
    std::unique_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(60),
                     [&] { return seen.size() > 1; });
  };
  ASSERT_TRUE(run(2).ok());
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(ThreadsTest, TellHowFarTheyAre) {
  std::vector<uint64_t> told;
  services.progress = [&](std::string_view what, uint64_t done,
                          uint64_t total) {
    EXPECT_LE(done, total);
    if (what == "code for toy")
      told.push_back(done);
  };
  ASSERT_TRUE(run(4).ok());
  std::vector<uint64_t> expected(12);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = i + 1;
  EXPECT_EQ(told, expected);
}

TEST_F(ThreadsTest, FailAsTheFirstKernelDoes) {
  device = "bp-expand-math"; // without an entry
  Status expected = run(1);
  EXPECT_EQ(expected.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(expected.message().find("neg_0: cannot be emitted: the stages did "
                                    "not end in an entry"),
            std::string::npos)
      << expected.message();
  for (int repeat = 0; repeat < 8; ++repeat)
    EXPECT_EQ(run(4).message(), expected.message());
}

TEST_F(ThreadsTest, ReportWhatLlvmDoesNotGoOnAfter) {
  services.cachePut = [](const std::string &, auto) { throw std::bad_alloc(); };
  for (uint32_t threads : {1u, 4u}) {
    Status status = run(threads);
    EXPECT_EQ(status.code(), BP_STATUS_RESOURCE_EXHAUSTED);
    EXPECT_NE(status.message().find("the compiler is out of memory"),
              std::string::npos)
        << status.message();
  }
  services.cachePut = nullptr;
  EXPECT_TRUE(run(4).ok());
}

} // namespace
