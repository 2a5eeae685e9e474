// SPDX-License-Identifier: Apache-2.0
//
// Traces through the C API on the host driver and on one that has the required
// functions only: the file is JSON, spans nest, every dispatch is there once a
// call with what is known of it.
#include "Models.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::sample;
using nlohmann::json;

namespace {

struct Span {
  std::string name, category;
  double begin, end;
  int64_t process, thread;
  json arguments;
};

class Traces : public testing::Test {
protected:
  void begin() {
    Status status = checked([&](bp_error_t *error) {
      return bp_context_trace_begin(context_.get(), toC(file_), error);
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void end() {
    Status status = checked([&](bp_error_t *error) {
      return bp_context_trace_end(context_.get(), error);
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// The spans of the file, after checks of its form.
  std::vector<Span> read() {
    std::ifstream in(file_);
    json root = json::parse(in, nullptr, false);
    EXPECT_TRUE(root.is_object());
    std::vector<Span> spans;
    for (const json &event : root.value("traceEvents", json::array())) {
      if (event["ph"] == "M") {
        names_[event["pid"]] += std::string(event["args"]["name"]) + ";";
        continue;
      }
      EXPECT_EQ(event["ph"], "X");
      double begin = event["ts"], duration = event["dur"];
      EXPECT_GE(begin, 0);
      spans.push_back({event["name"], event["cat"], begin, begin + duration,
                       event["pid"], event["tid"], event["args"]});
    }
    return spans;
  }

  static void expectNested(const std::vector<Span> &spans) {
    constexpr double rounding = 0.0005;
    for (const Span &a : spans)
      for (const Span &b : spans) {
        if (a.process != b.process || a.thread != b.thread)
          continue;
        bool apart = a.end <= b.begin + rounding || b.end <= a.begin + rounding;
        bool inside =
            (a.begin <= b.begin + rounding && b.end <= a.end + rounding) ||
            (b.begin <= a.begin + rounding && a.end <= b.end + rounding);
        EXPECT_TRUE(apart || inside) << a.name << " and " << b.name;
      }
  }

  static size_t count(const std::vector<Span> &spans, std::string_view name) {
    return size_t(std::ranges::count(spans, name, &Span::name));
  }

  void runFixed(int calls, bool callerWaits) {
    Draft draft;
    fixed(draft);
    fb::ProgramT &p = *draft.artifact.variants[0]->program;
    p.commands[0]->body.AsDispatch()->name = "first";
    p.commands[0]->body.AsDispatch()->ops = {"Add \"node\"\n/a", "Mul /b",
                                             "Mul /b"};
    p.commands[2]->body.AsDispatch()->name = "second";
    p.commands[2]->body.AsDispatch()->flops = "3*5";
    auto artifact = open(context_, draft, folder_ / "model.bpx");
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    auto session = createSession(*artifact, {BP_HEADER(bp_session_options_t)});
    ASSERT_TRUE(session.ok()) << session.message();
    Floats x({8}, 1), y({8});
    for (int i = 0; i < calls; ++i) {
      if (callerWaits) {
        Status status = runSession(*session, {x.c()}, {y.c()});
        ASSERT_TRUE(status.ok()) << status.message();
      } else {
        bp_call_t *call = nullptr;
        bp_tensor_t in = x.c(), out = y.c();
        ASSERT_EQ(
            bp_session_submit(session->get(), &in, 1, &out, 1, &call, nullptr),
            BP_STATUS_OK);
        ASSERT_EQ(bp_call_wait(call, nullptr), BP_STATUS_OK);
      }
      EXPECT_EQ(y.values[7], 6.f);
    }
  }

  Folder folder_;
  std::string file_ = folder_ / "trace.json";
  Context context_ = hostContext();
  std::map<int64_t, std::string> names_;
};

TEST_F(Traces, HasEveryDispatchOncePerCall) {
  for (bool callerWaits : {true, false}) {
    begin();
    runFixed(3, callerWaits);
    end();
    std::vector<Span> spans = read();
    expectNested(spans);
    EXPECT_EQ(count(spans, "first"), 3u);
    EXPECT_EQ(count(spans, "second"), 3u);
    EXPECT_EQ(count(spans, "call"), callerWaits ? 3u : 0u);
    for (const char *phase : {"open artifact", "create session",
                              "select device", "load variant", "plan"})
      EXPECT_EQ(count(spans, phase), 1u) << phase;
    for (const Span &span : spans) {
      if (span.category != "dispatch")
        continue;
      EXPECT_EQ(span.arguments["bytes"], 64) << "32 read and 32 written";
      EXPECT_EQ(span.arguments["grid"], "8 x 1 x 1");
      EXPECT_EQ(span.arguments["clock"], "device");
      EXPECT_EQ(span.arguments["kernel"], "add");
      EXPECT_EQ(span.arguments.contains("flops"), span.name == "second");
      if (span.name == "second")
        EXPECT_EQ(span.arguments["flops"], 15);
      else
        EXPECT_EQ(span.arguments["ops"], "Add \"node\"\n/a, Mul /b");
      EXPECT_TRUE(names_[span.process].starts_with("host://cpu;queue "))
          << names_[span.process];
    }
  }
}

TEST_F(Traces, HasTheInitProgramAndTransfers) {
  begin();
  Draft draft;
  packed(draft);
  auto artifact = open(context_, draft, folder_ / "model.bpx");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto session = createSession(*artifact, {BP_HEADER(bp_session_options_t)});
  ASSERT_TRUE(session.ok()) << session.message();
  end();
  std::vector<Span> spans = read();
  expectNested(spans);
  EXPECT_EQ(count(spans, "init program"), 1u);
  auto copied = std::ranges::find(spans, "copy", &Span::name);
  ASSERT_NE(copied, spans.end());
  EXPECT_EQ(copied->arguments["bytes"], 16);
}

TEST_F(Traces, CanBeginAndEndAtAnyTime) {
  Status none = checked([&](bp_error_t *error) {
    return bp_context_trace_end(context_.get(), error);
  });
  EXPECT_EQ(none.message(), "no trace is on");
  Status nowhere = checked([&](bp_error_t *error) {
    return bp_context_trace_begin(context_.get(), toC("/no/such/x.json"),
                                  error);
  });
  EXPECT_NE(nowhere.message().find("/no/such"), std::string::npos);
  begin();
  Status twice = checked([&](bp_error_t *error) {
    return bp_context_trace_begin(context_.get(), toC(file_), error);
  });
  EXPECT_NE(twice.message().find("a trace is on already"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file_)) << "written at the end only";
  runFixed(1, true);
  end();
  size_t spans = read().size();
  runFixed(1, true);
  EXPECT_EQ(read().size(), spans) << "nothing is written after the end";
  std::filesystem::remove(file_);
  begin();
  context_.reset();
  EXPECT_TRUE(read().empty()) << "the end of the context ends the trace";
  EXPECT_TRUE(std::filesystem::exists(file_));
}

} // namespace
