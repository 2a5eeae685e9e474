// SPDX-License-Identifier: Apache-2.0
//
// Sessions through the C API on the host driver, without any compiler.
#include "Models.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace backplane;
using namespace backplane::test;

namespace {

class Sessions : public testing::Test {
protected:
  Artifact open(void (*make)(Draft &)) {
    Draft draft;
    make(draft);
    return open(draft);
  }
  Artifact open(Draft &draft) {
    auto artifact = test::open(context_, draft, folder_ / "model.bpx");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    return artifact ? std::move(*artifact) : nullptr;
  }
  Result<Session> session(const Artifact &artifact, uint64_t budget = 0,
                          std::string_view device = "") {
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.memory_budget = budget;
    options.device = toC(device);
    return createSession(artifact, options);
  }
  static Status run(const Session &session, Floats &x, Floats &y) {
    return runSession(session, {x.c()}, {y.c()});
  }

  Folder folder_;
  Context context_ = hostContext();
};

TEST_F(Sessions, RunsAFixedProgram) {
  Artifact artifact = open(&fixed);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(bp_session_dispatch_count(s->get()), 2u);
  Floats x({8}), y({8});
  std::iota(x.values.begin(), x.values.end(), 0.f);
  Status status = run(*s, x, y);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(y.values[size_t(i)], float(i + 5));
}

TEST_F(Sessions, RunsEveryShapeOfADynamicProgram) {
  Artifact artifact = open(&affine);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok()) << s.message();
  // Twice through more shapes than plans are kept.
  for (int64_t i = 0; i < 60; ++i) {
    int64_t n = i * 37 % 30;
    Floats x({n, 4}), y({n, 4}, -1);
    std::iota(x.values.begin(), x.values.end(), 0.f);
    Status status = run(*s, x, y);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t j = 0; j < y.values.size(); ++j)
      ASSERT_EQ(y.values[j], (float(j) + 7) * float(j % 4 + 1)) << n;
  }
}

TEST_F(Sessions, TellsOutputShapes) {
  Artifact artifact = open(&affine);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  int64_t in[2] = {17, 4}, out[2] = {0, 0};
  int64_t *outs[] = {out};
  bp_tensor_t x = {nullptr, in, 0, BP_DTYPE_F32, 2};
  ASSERT_TRUE(checked([&](bp_error_t *error) {
                return bp_session_output_shapes(s->get(), &x, 1, outs, error);
              }).ok());
  EXPECT_EQ(out[0], 17);
  EXPECT_EQ(out[1], 4);
}

TEST_F(Sessions, AcceptsMemoryOfAnyAlignment) {
  Artifact artifact = open(&affine);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  std::vector<float> in(100), out(100);
  int64_t dims[2] = {3, 4};
  for (size_t shift : {0, 1, 2, 3, 5, 16}) {
    std::fill(in.begin() + long(shift), in.end(), 1.f);
    bp_tensor_t x = {in.data() + shift, dims, 48, BP_DTYPE_F32, 2};
    bp_tensor_t y = {out.data() + shift, dims, 48, BP_DTYPE_F32, 2};
    Status status = runSession(*s, {x}, {y});
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < 12; ++i)
      ASSERT_EQ(out[shift + i], 8.f * float(i % 4 + 1));
  }
}

TEST_F(Sessions, KeepsVariablesBetweenCalls) {
  Artifact artifact = open(&counter);
  auto first = session(artifact), second = session(artifact);
  ASSERT_TRUE(first.ok() && second.ok());
  Floats x({1}, 2), y({1});
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(run(*first, x, y).ok());
    EXPECT_EQ(y.values[0], 10.f + 2.f * float(i));
  }
  ASSERT_TRUE(run(*second, x, y).ok());
  EXPECT_EQ(y.values[0], 12.f);
  ASSERT_TRUE(checked([&](bp_error_t *error) {
                return bp_session_reset(first->get(), error);
              }).ok());
  ASSERT_TRUE(run(*first, x, y).ok());
  EXPECT_EQ(y.values[0], 12.f);
}

TEST_F(Sessions, RunsTheInitProgramOnce) {
  Artifact artifact = open(&packed);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok()) << s.message();
  Floats x({4}, 10), y({4});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(run(*s, x, y).ok());
    EXPECT_EQ(y.values, (std::vector<float>{20, 30, 40, 50}));
  }
}

TEST_F(Sessions, RunsManyAtOnce) {
  Artifact artifact = open(&affine);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto s = session(artifact);
      for (int i = 0; s.ok() && i < 200; ++i) {
        Floats x({1 + (i + t) % 5, 4}, float(t)), y({1 + (i + t) % 5, 4});
        if (!run(*s, x, y).ok() || y.values[3] != (float(t) + 7) * 4)
          ++wrong;
      }
      wrong += !s.ok();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Sessions, RunsSubmittedCallsInOrder) {
  Artifact artifact = open(&counter);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  Floats x({1}, 1);
  std::vector<Floats> ys(20, Floats({1}));
  std::vector<bp_call_t *> calls(20);
  bp_tensor_t in = x.c();
  for (size_t i = 0; i < 20; ++i) {
    bp_tensor_t out = ys[i].c();
    Status status = checked([&](bp_error_t *error) {
      return bp_session_submit(s->get(), &in, 1, &out, 1, &calls[i], error);
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  s->reset(); // a call outlives the handle of its session
  for (size_t i = 20; i-- > 0;)
    EXPECT_EQ(bp_call_wait(calls[i], nullptr), BP_STATUS_OK);
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(ys[i].values[0], 11.f + float(i));
}

TEST_F(Sessions, NamesTheOpThatFails) {
  Artifact artifact = open(&counter);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  Floats x({1}, -1), y({1});
  Status status = run(*s, x, y);
  EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "first op or second op (dispatch dispatch): an "
                              "index is out of range");
  x.values[0] = 1;
  EXPECT_TRUE(run(*s, x, y).ok()) << "a session stays usable";
}

TEST_F(Sessions, RefusesWrongInputs) {
  Draft draft;
  affine(draft);
  draft.artifact.symbols[0]->divisor = 2;
  auto check = std::make_unique<fb::CheckT>();
  check->lhs = "n";
  check->rhs = "4*(n floordiv 4)";
  check->message = "Reshape node /r";
  draft.artifact.checks.push_back(std::move(check));
  Artifact artifact = open(draft);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  auto refusal = [&](std::vector<int64_t> dims, bp_dtype_t type) {
    Floats x(dims), y({4, 4});
    bp_tensor_t in = x.c();
    in.dtype = type;
    return runSession(*s, {in}, {y.c()}).message();
  };
  EXPECT_EQ(refusal({4, 4}, BP_DTYPE_F32), "");
  EXPECT_EQ(refusal({4, 4}, BP_DTYPE_I32),
            "input 'x' is f32[n, 4], i32 was given");
  EXPECT_EQ(refusal({4}, BP_DTYPE_F32),
            "input 'x' is f32[n, 4] of rank 2, rank 1 was given");
  EXPECT_EQ(refusal({4, 5}, BP_DTYPE_F32),
            "input 'x' axis 1: expected 4, found 5");
  EXPECT_EQ(refusal({2000, 4}, BP_DTYPE_F32),
            "input 'x' axis 0: expected n from 0 to 1000, a multiple of 2, "
            "found 2000");
  EXPECT_EQ(refusal({3, 4}, BP_DTYPE_F32),
            "input 'x' axis 0: expected n from 0 to 1000, a multiple of 2, "
            "found 3");
  EXPECT_EQ(refusal({2, 4}, BP_DTYPE_F32),
            "Reshape node /r: expected n == 4*(n floordiv 4), found 2 and 0");
  EXPECT_EQ(refusal({8, 4}, BP_DTYPE_F32),
            "output 'y' is f32[8, 4] with 128 bytes for these inputs, the "
            "memory given for it does not fit");
  EXPECT_EQ(runSession(*s, {}, {}).message(),
            "the model has 1 inputs, 0 were given");
}

TEST_F(Sessions, KeepsToTheMemoryBudget) {
  Artifact artifact = open(&affine);
  auto s = session(artifact, 8192);
  ASSERT_TRUE(s.ok()) << s.message();
  Floats small({100, 4}), large({600, 4});
  Floats y({100, 4}), z({600, 4});
  EXPECT_TRUE(run(*s, small, y).ok());
  Status status = run(*s, large, z);
  EXPECT_EQ(status.code(), BP_STATUS_RESOURCE_EXHAUSTED);
  EXPECT_NE(status.message().find("memory budget of 8192 bytes"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(run(*s, small, y).ok()) << "a session stays usable";
  auto tight = session(open(&counter), 1000);
  EXPECT_EQ(tight.message(),
            "memory budget of 1000 bytes: 400384 are needed for variables, 0 "
            "are in use; raise the budget or use smaller shapes");
}

TEST_F(Sessions, TakesTheBestVariantThatFits) {
  Draft draft;
  fixed(draft);
  draft.addVariant("foreign", 9).driver = "cuda";
  fb::VariantT &rare = draft.addVariant("rare", 8);
  rare.required_features = {"no-such-feature"};
  draft.addVariant("odd", 7).format = "elf-vax";
  for (size_t i = 1; i < 4; ++i) {
    fb::VariantT &other = *draft.artifact.variants[i];
    *other.program = *draft.artifact.variants[0]->program;
    for (auto &executable : other.executables)
      executable->format = other.format;
  }
  Artifact artifact = open(draft);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(
      view(bp_session_choice(s->get())),
      std::string(
          "variant toy on host://cpu: rank 1, the highest that fits; "
          "foreign is for driver 'cuda'; rare needs 'no-such-feature'; odd "
          "has format 'elf-vax', the device takes '") +
          hostFormat + "', 'native'");
  draft.artifact.variants.erase(draft.artifact.variants.begin());
  auto none = session(open(draft));
  EXPECT_EQ(none.code(), BP_STATUS_FAILED_PRECONDITION);
  EXPECT_NE(none.message().find("no variant of the artifact runs on"),
            std::string::npos);
  auto missing = session(open(&fixed), 0, "cuda");
  EXPECT_FALSE(missing.ok());
  EXPECT_NE(missing.message().find("cuda"), std::string::npos);
}

TEST_F(Sessions, RefusesADamagedExecutable) {
  Draft draft;
  fixed(draft);
  draft.artifact.variants[0]->executables[1]->blob.resize(100);
  auto s = session(open(draft));
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.message().find("variant toy, executable 1"), std::string::npos)
      << s.message();
}

TEST_F(Sessions, MapsNoCompiler) {
  Artifact artifact = open(&fixed);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  Floats x({8}), y({8});
  ASSERT_TRUE(run(*s, x, y).ok());
  std::ifstream in("/proc/self/maps");
  std::string maps(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(maps.find("libbackplane.so"), std::string::npos);
  EXPECT_NE(maps.find("libbp-host.so"), std::string::npos);
  for (const char *name : {"libLLVM", "libMLIR", "libprotobuf",
                           "libbackplane-compiler", "libbackplane-import"})
    EXPECT_EQ(maps.find(name), std::string::npos) << name;
}

TEST_F(Sessions, ReplaysASeenShapeQuickly) {
  Artifact artifact = open(&fixed);
  auto s = session(artifact);
  ASSERT_TRUE(s.ok());
  alignas(64) float in[8] = {}, out[8] = {};
  int64_t dims[1] = {8};
  bp_tensor_t x = {in, dims, sizeof(in), BP_DTYPE_F32, 1};
  bp_tensor_t y = {out, dims, sizeof(out), BP_DTYPE_F32, 1};
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i)
      bp_session_run(s->get(), &x, 1, &y, 1, nullptr);
    std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / 200);
  }
  printf("a call with two dispatches of 8 elements: %.2f us\n", best);
  // A plan, a recording or an allocation of the arena takes far longer.
  EXPECT_LT(best, 100);
}

TEST_F(Sessions, DescribesItself) {
  Artifact artifact = open(&affine);
  std::string text;
  bp_string_sink_t sink = {[](void *context, bp_string_t part) {
                             *static_cast<std::string *>(context) += view(part);
                             return BP_STATUS_OK;
                           },
                           &text};
  ASSERT_EQ(bp_artifact_describe(artifact.get(), &sink, nullptr), BP_STATUS_OK);
  for (const char *part : {"input x: f32[n, 4]", "symbol n: from 0 to 1000",
                           "variant toy: driver host", "grid (4*n, 1, 1)"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  text.clear();
  ASSERT_EQ(bp_artifact_explain(artifact.get(), &sink, nullptr), BP_STATUS_OK);
  EXPECT_NE(text.find("host://cpu: variant toy"), std::string::npos) << text;
  bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
  ASSERT_EQ(bp_artifact_input(artifact.get(), 0, &info), BP_STATUS_OK);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_EQ(view(info.dim_texts[0]), "n");
  EXPECT_EQ(bp_artifact_input(artifact.get(), 1, &info),
            BP_STATUS_INVALID_ARGUMENT);
}

} // namespace
