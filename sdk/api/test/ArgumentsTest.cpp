// SPDX-License-Identifier: Apache-2.0
//
// Every function of backplane.h with arguments that are wrong: a status and a
// message, never a crash.
#include "Arguments.h"

#include <fstream>
#include <regex>
#include <sstream>

using namespace backplane;
using namespace backplane::test;

namespace {

/// What may be wrong about one tensor.
const std::pair<const char *, void (*)(bp_tensor_t &)> wrongTensors[] = {
    {"no data", [](bp_tensor_t &t) { t.data = nullptr; }},
    {"no dims", [](bp_tensor_t &t) { t.dims = nullptr; }},
    {"size 0", [](bp_tensor_t &t) { t.size = 0; }},
    {"an endless size", [](bp_tensor_t &t) { t.size = UINT64_MAX; }},
    {"dtype 0", [](bp_tensor_t &t) { t.dtype = BP_DTYPE_INVALID; }},
    {"an unknown dtype", [](bp_tensor_t &t) { t.dtype = bp_dtype_t(12345); }},
    {"rank 0", [](bp_tensor_t &t) { t.rank = 0; }},
    {"an endless rank", [](bp_tensor_t &t) { t.rank = many; }},
    {"a negative size of an axis",
     [](bp_tensor_t &t) {
       static const int64_t dims[] = {-8};
       t.dims = dims;
     }},
    {"an overflowing shape",
     [](bp_tensor_t &t) {
       static const int64_t dims[] = {INT64_MAX};
       t.dims = dims;
     }},
};

TEST_F(Arguments, ThatAreWrongAreRefused) {
  refused(wrongOptions);
  refused(wrongContexts);
  refused(wrongArtifacts);
  refused(wrongSessions);
  refused(wrongValues);
  EXPECT_EQ(tried_.size(), 33u);
  // Everything still works.
  EXPECT_EQ(
      bp_session_run(good_.session.get(), &good_.x, 1, &good_.y, 1, nullptr),
      BP_STATUS_OK);
  EXPECT_EQ(good_.ys.values[0], 5);
}

TEST_F(Arguments, TensorsThatAreWrongAreRefused) {
  bp_session_t *s = good_.session.get();
  for (const auto &[what, change] : wrongTensors) {
    bp_tensor_t x = good_.x, y = good_.y;
    change(x);
    refused(std::string("bp_session_run input with ") + what,
            [&](bp_error_t *e) {
              return bp_session_run(s, &x, 1, &good_.y, 1, e);
            });
    refused(std::string("bp_session_submit input with ") + what,
            [&](bp_error_t *e) {
              return bp_session_submit(s, &x, 1, &good_.y, 1, &good_.outCall,
                                       e);
            });
    refused(std::string("bp_artifact_compile_graph weight with ") + what,
            [&](bp_error_t *e) {
              return bp_artifact_compile_graph(good_.context.get(), {"x", 1},
                                               &x, 1, nullptr,
                                               &good_.outArtifact, e);
            });
    change(y);
    refused(std::string("bp_session_run output with ") + what,
            [&](bp_error_t *e) {
              return bp_session_run(s, &good_.x, 1, &y, 1, e);
            });
  }
}

TEST_F(Arguments, ContextsOfAnotherKindAreRefused) {
  Good &g = good_;
  for (bp_context_t *c : notThese<bp_context_t>(g)) {
    for (const auto &[name, call] : std::initializer_list<
             std::pair<const char *, std::function<bp_status_t(bp_error_t *)>>>{
             {"devices",
              [&](auto *e) { return bp_context_devices(c, &g.devices, e); }},
             {"device",
              [&](auto *e) {
                return bp_context_device(c, toC("host"), &g.devices, e);
              }},
             {"workers",
              [&](auto *e) { return bp_context_workers(c, &g.sink, e); }},
             {"worker_devices",
              [&](auto *e) {
                return bp_context_worker_devices(c, toC("local"), &g.devices,
                                                 e);
              }},
             {"targets",
              [&](auto *e) {
                return bp_context_targets(c, toC("host"), &g.targets, e);
              }},
             {"kernels",
              [&](auto *e) { return bp_context_kernels(c, &g.kernels, e); }},
             {"trace_begin",
              [&](auto *e) { return bp_context_trace_begin(c, toC("t"), e); }},
             {"trace_end", [&](auto *e) { return bp_context_trace_end(c, e); }},
             {"compile",
              [&](auto *e) {
                return bp_artifact_compile(c, toC("m"), nullptr, &g.outArtifact,
                                           e);
              }},
             {"compile_graph",
              [&](auto *e) {
                return bp_artifact_compile_graph(c, {"x", 1}, nullptr, 0,
                                                 nullptr, &g.outArtifact, e);
              }},
             {"open",
              [&](auto *e) {
                return bp_artifact_open(c, toC("m"), &g.outArtifact, e);
              }},
             {"open_bytes", [&](auto *e) {
                return bp_artifact_open_bytes(c, {"x", 1}, &g.outArtifact, e);
              }}})
      refused(name, call);
    bp_context_destroy(c);
  }
}

TEST_F(Arguments, ArtifactsAndSessionsOfAnotherKindAreRefused) {
  Good &g = good_;
  for (bp_artifact_t *a : notThese<bp_artifact_t>(g)) {
    refused("describe",
            [&](auto *e) { return bp_artifact_describe(a, &g.sink, e); });
    refused("explain",
            [&](auto *e) { return bp_artifact_explain(a, &g.sink, e); });
    refused("select", [&](auto *e) {
      return bp_artifact_select(a, nullptr, &g.sink, e);
    });
    refused("create", [&](auto *e) {
      return bp_session_create(a, nullptr, &g.outSession, e);
    });
    EXPECT_NE(bp_artifact_input(a, 0, &g.info), BP_STATUS_OK);
    EXPECT_NE(bp_artifact_output(a, 0, &g.info), BP_STATUS_OK);
    EXPECT_EQ(bp_artifact_input_count(a), 0u);
    EXPECT_EQ(bp_artifact_output_count(a), 0u);
    EXPECT_EQ(bp_artifact_bytes(a).size, 0u);
    bp_artifact_destroy(a);
  }
  for (bp_session_t *s : notThese<bp_session_t>(g)) {
    refused("reset", [&](auto *e) { return bp_session_reset(s, e); });
    refused("explain",
            [&](auto *e) { return bp_session_explain(s, &g.sink, e); });
    refused("output_shapes", [&](auto *e) {
      return bp_session_output_shapes(s, &g.x, 1, g.rooms, e);
    });
    refused("output_bounds", [&](auto *e) {
      return bp_session_output_bounds(s, &g.x, 1, g.rooms, e);
    });
    refused("run",
            [&](auto *e) { return bp_session_run(s, &g.x, 1, &g.y, 1, e); });
    refused("submit", [&](auto *e) {
      return bp_session_submit(s, &g.x, 1, &g.y, 1, &g.outCall, e);
    });
    EXPECT_EQ(bp_session_choice(s).size, 0u);
    EXPECT_EQ(bp_session_remote_ms(s), 0);
    EXPECT_EQ(bp_session_dispatch_count(s), 0u);
    bp_session_destroy(s);
  }
  for (bp_device_buffer_t *b : notThese<bp_device_buffer_t>(g)) {
    refused("write", [&](auto *e) {
      return bp_device_buffer_write(b, 0, g.dims, 8, e);
    });
    refused("read",
            [&](auto *e) { return bp_device_buffer_read(b, 0, g.dims, 8, e); });
    EXPECT_EQ(bp_device_buffer_size(b), 0u);
    EXPECT_EQ(bp_device_buffer_map(b), nullptr);
    EXPECT_EQ(bp_device_buffer_device(b).size, 0u);
    bp_device_buffer_destroy(b);
  }
  for (bp_timeline_t *t : notThese<bp_timeline_t>(g)) {
    refused("signal", [&](auto *e) { return bp_timeline_signal(t, 1, e); });
    refused("wait", [&](auto *e) { return bp_timeline_wait(t, 0, 1, e); });
    EXPECT_EQ(bp_timeline_value(t), 0u);
    bp_timeline_destroy(t);
  }
  for (bp_call_t *call : notThese<bp_call_t>(g)) {
    refused("wait", [&](auto *e) { return bp_call_wait(call, e); });
    EXPECT_EQ(bp_call_done(call), 1);
  }
  bp_error_destroy(nullptr);
  EXPECT_EQ(bp_error_message(nullptr).size, 0u);
  bp_context_options_from_env(nullptr);
  bp_context_options_from_env(
      reinterpret_cast<bp_context_options_t *>(&g.compile));
}

TEST_F(Arguments, InfosThatAreWrongAreRefused) {
  bp_artifact_t *a = good_.artifact.get();
  for (auto *get : {bp_artifact_input, bp_artifact_output}) {
    EXPECT_NE(get(a, 0, nullptr), BP_STATUS_OK);
    EXPECT_NE(get(a, many, &good_.info), BP_STATUS_OK);
    bp_tensor_info_t info = good_.info;
    info.header.size = 3;
    EXPECT_NE(get(a, 0, &info), BP_STATUS_OK);
    info.header = {7, sizeof(info), nullptr};
    EXPECT_NE(get(a, 0, &info), BP_STATUS_OK);
    // A struct of an older header gets what it has room for.
    info = good_.info;
    info.header.size = sizeof(bp_header_t) + sizeof(bp_string_t);
    EXPECT_EQ(get(a, 0, &info), BP_STATUS_OK);
    EXPECT_EQ(info.dims, nullptr);
  }
}

/// Every function of the header stands in one of these files.
TEST(ArgumentsTest, NamesEveryFunction) {
  auto textOf = [](const char *paths) {
    std::string text;
    std::istringstream files(paths);
    for (std::string file; files >> file;) {
      std::ifstream in(file);
      text.append(std::istreambuf_iterator<char>(in), {});
    }
    return text;
  };
  const std::string header = textOf(BP_HEADER_FILES), own = textOf(BP_SOURCES);
  std::regex declared("BP_API [^;(]*?(bp_[a-z_]+)\\(");
  size_t count = 0;
  for (std::sregex_iterator it(header.begin(), header.end(), declared), end;
       it != end; ++it, ++count)
    if ((*it)[1] != "bp_version" && (*it)[1] != "bp_error_create")
      EXPECT_NE(own.find((*it)[1].str()), std::string::npos) << (*it)[1];
  EXPECT_GT(count, 30u);
}

} // namespace
