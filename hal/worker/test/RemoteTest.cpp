// SPDX-License-Identifier: Apache-2.0
//
// Devices behind workers as applications meet them: through the C API.
#include "backplane/cpp/Backplane.h"
#include "hal/runtime/test/Models.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

class Remote : public testing::Test {
protected:
  void SetUp() override {
    setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
    std::ofstream(folder_ / "worker", std::ios::trunc)
        << "#!/bin/sh\necho $$ >> " << folder_ / "pids"
        << "\nexec " BP_WORKER " \"$@\"\n";
    std::filesystem::permissions(folder_ / "worker",
                                 std::filesystem::perms::owner_all);
    std::ofstream(folder_ / "workers.json")
        << R"({"workers": {"here": {"worker": ")" << folder_ / "worker"
        << R"(", "timeout": 60}, "dead": {"launcher": ["false"]}}})";
    std::string file = folder_ / "workers.json";
    bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
    options.workers_file = toC(file);
    options.cache_dir = toC("-");
    auto context = createContext(options);
    ASSERT_TRUE(context.ok()) << context.message();
    context_ = std::move(*context);
    Draft draft;
    fixed(draft);
    auto artifact = test::open(context_, draft, folder_ / "a.bpx");
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
  }

  Result<Session> open(const char *device) {
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC(device);
    return createSession(artifact_, options);
  }

  static std::string why(const Session &session) {
    std::string text;
    bp_string_sink_t sink = {[](void *context, bp_string_t piece) {
                               *static_cast<std::string *>(context) +=
                                   view(piece);
                               return bp_status_t(BP_STATUS_OK);
                             },
                             &text};
    EXPECT_EQ(bp_session_explain(session.get(), &sink, nullptr), BP_STATUS_OK);
    return text;
  }

  /// Process ids of the workers that were started, oldest first.
  std::vector<pid_t> pids() const {
    std::ifstream in(folder_ / "pids");
    return {std::istream_iterator<pid_t>(in), {}};
  }

  Folder folder_;
  Context context_;
  Artifact artifact_;
};

/// Eight floats, and eight more for the result of adding 5.
struct Data {
  explicit Data(float x) { std::fill(in, in + 8, x); }
  float in[8], out[8] = {};
  int64_t dims[1] = {8};
  bp_tensor_t input() { return {in, dims, sizeof in, BP_DTYPE_F32, 1}; }
  bp_tensor_t output() { return {out, dims, sizeof out, BP_DTYPE_F32, 1}; }
};

TEST_F(Remote, SessionsRunCallsInFlight) {
  auto session = open("worker:here/host");
  ASSERT_TRUE(session.ok()) << session.message();
  auto second = open("worker:here/host");
  ASSERT_TRUE(second.ok()) << second.message();
  EXPECT_EQ(pids().size(), 1u); // shared
  EXPECT_NE(view(bp_session_choice(session->get())).find("worker 'here'"),
            std::string::npos);
  EXPECT_GT(bp_session_dispatch_count(session->get()), 0u);
  std::vector<Data> data;
  for (int i = 0; i < 6; ++i)
    data.emplace_back(float(i));
  std::vector<bp_call_t *> calls(6);
  for (size_t i = 0; i < 6; ++i) {
    bp_tensor_t in = data[i].input(), out = data[i].output();
    ASSERT_EQ(
        bp_session_submit(session->get(), &in, 1, &out, 1, &calls[i], nullptr),
        BP_STATUS_OK);
  }
  for (size_t i = 6; i-- > 0;) {
    ASSERT_EQ(bp_call_wait(calls[i], nullptr), BP_STATUS_OK);
    EXPECT_EQ(data[i].out[7], float(i) + 5);
  }
  EXPECT_GT(bp_session_remote_ms(session->get()), 0);
  EXPECT_EQ(bp_session_reset(session->get(), nullptr), BP_STATUS_OK);
}

TEST_F(Remote, SessionsRefuseWhatLocalOnesRefuse) {
  auto remote = open("worker:here/host"), local = open("host");
  ASSERT_TRUE(remote.ok() && local.ok()) << remote.message();
  Data data(1);
  bp_tensor_t in = data.input(), out = data.output();
  int64_t seven[] = {7};
  bp_tensor_t shortIn = in, shortOut = out;
  shortIn.dims = shortOut.dims = seven;
  shortIn.size = shortOut.size = 28;
  for (auto [input, output] : {std::pair(shortIn, out), {in, shortOut}})
    for (const Session *session : {&*remote, &*local})
      EXPECT_EQ(runSession(*session, {input}, {output}).code(),
                BP_STATUS_INVALID_ARGUMENT);
  EXPECT_TRUE(runSession(*remote, {in}, {out}).ok());
}

TEST_F(Remote, AWorkerThatEndsIsReportedAndStartedAgain) {
  auto session = open("worker:here/host");
  ASSERT_TRUE(session.ok()) << session.message();
  Data data(1);
  ASSERT_TRUE(runSession(*session, {data.input()}, {data.output()}).ok());
  ASSERT_EQ(pids().size(), 1u);
  kill(pids()[0], SIGKILL);
  for (int i = 0; i < 2; ++i) {
    Status status = runSession(*session, {data.input()}, {data.output()});
    EXPECT_EQ(status.code(), BP_STATUS_ABORTED);
    EXPECT_NE(status.message().find("signal 9"), std::string::npos)
        << status.message();
  }
  auto next = open("worker:here/host");
  ASSERT_TRUE(next.ok()) << next.message();
  EXPECT_TRUE(runSession(*next, {data.input()}, {data.output()}).ok());
  EXPECT_EQ(pids().size(), 2u);
}

TEST_F(Remote, AListTakesTheNextWhenAWorkerCannotStart) {
  for (const char *list :
       {"worker:dead/host,worker:here/host", "worker:dead/host,host",
        "worker:nobody/host,worker:dead/host,auto:latency",
        "worker:here/npu,host", "worker:here/host,auto:power"}) {
    auto session = open(list);
    ASSERT_TRUE(session.ok()) << list << ": " << session.message();
    Data data(1);
    EXPECT_TRUE(runSession(*session, {data.input()}, {data.output()}).ok());
    EXPECT_EQ(data.out[7], 6);
    std::string text = why(*session), asked = list;
    bool there = asked.find("worker:here/host") != std::string::npos;
    EXPECT_NE(text.find(there ? " on worker:here/host://cpu: rank "
                              : " on host://cpu: rank "),
              std::string::npos)
        << text;
    for (auto [item, reason] :
         {std::pair("worker:dead/host", "exit code 1"),
          {"worker:nobody/host", "there is no worker 'nobody'"},
          {"worker:here/npu", "has no device 'npu'"}})
      if (asked.find(item) != std::string::npos) {
        size_t line = text.find("passed over: " + std::string(item) + ": ");
        ASSERT_NE(line, std::string::npos) << text;
        EXPECT_NE(text.find(reason, line), std::string::npos) << text;
      }
    EXPECT_EQ(text.find("remark: worker 'here' (") != std::string::npos, there)
        << text;
  }
  auto none = open("worker:dead/host,worker:nobody/host");
  ASSERT_FALSE(none.ok());
  for (const char *part : {"exit code 1", "there is no worker 'nobody'"})
    EXPECT_NE(none.message().find(part), std::string::npos) << none.message();
}

TEST_F(Remote, AChooserSeesWorkersThatAreNamed) {
  bp_chooser_t last = {
      [](void *, const bp_candidate_t *const *all, uint32_t count,
         uint32_t *order, uint32_t *given, const bp_string_sink_t *) {
        for (uint32_t i = 0; i < count; ++i)
          if (!all[i]->misfit.size && view(all[i]->uri).starts_with("worker:"))
            order[(*given)++] = i;
        return bp_status_t(BP_STATUS_OK);
      },
      nullptr};
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("host,worker:here/host");
  options.chooser = &last;
  auto session = createSession(artifact_, options);
  ASSERT_TRUE(session.ok()) << session.message();
  EXPECT_NE(why(*session).find(" on worker:here/host://cpu: rank "),
            std::string::npos)
      << why(*session);
  Data data(2);
  EXPECT_TRUE(runSession(*session, {data.input()}, {data.output()}).ok());
  EXPECT_EQ(data.out[0], 7);
}

TEST_F(Remote, AChooserTakesTheVariantOfAWorker) {
  Draft draft;
  fixed(draft);
  fb::VariantT &low = draft.addVariant("low", 1);
  low.program =
      std::make_unique<fb::ProgramT>(*draft.artifact.variants.front()->program);
  auto artifact = test::open(context_, draft, folder_ / "two.bpx");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  artifact_ = std::move(*artifact);
  bp_chooser_t last = {
      [](void *wanted, const bp_candidate_t *const *all, uint32_t count,
         uint32_t *order, uint32_t *given, const bp_string_sink_t *) {
        for (uint32_t i = 0; i < count; ++i)
          if (view(all[i]->target) == static_cast<const char *>(wanted))
            order[(*given)++] = i;
        return bp_status_t(BP_STATUS_OK);
      },
      nullptr};
  const std::string high = draft.artifact.variants.front()->target;
  for (std::string target : {std::string("low"), high}) {
    last.context = target.data();
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC("worker:here/host");
    options.chooser = &last;
    auto session = createSession(artifact_, options);
    ASSERT_TRUE(session.ok()) << session.message();
    std::string text = why(*session);
    EXPECT_NE(text.find("chosen: variant " + target + " on worker:here/host"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("): variant " + target + " on host://cpu: "),
              std::string::npos)
        << text;
    Data data(2);
    EXPECT_TRUE(runSession(*session, {data.input()}, {data.output()}).ok());
    EXPECT_EQ(data.out[0], 7);
  }
}

TEST_F(Remote, NamesThatAreWrongAreExplained) {
  for (auto [device, part] :
       {std::pair("worker:her/host", "did you mean 'here'"),
        {"worker:here/host+host", "each written as worker:here/DEVICE"},
        {"worker:here/host+worker:there/host", "of one machine"},
        {"host+worker:here/host", "here or behind one worker"},
        {"worker:here/hots", "did you mean"},
        {"worker:here", "worker:NAME/DEVICE"},
        {"worker:arm64/host", "arm64"}}) {
    auto session = open(device);
    if (session.ok())
      continue; // the AArch64 build is there
    EXPECT_NE(session.message().find(part), std::string::npos)
        << session.message();
  }
}

bp_status_t count(void *context, const bp_device_listing_t *listing) {
  if (view(listing->uri) == "worker:here/host://cpu" && listing->info)
    ++*static_cast<int *>(context);
  return BP_STATUS_OK;
}

TEST_F(Remote, DevicesOfAWorkerAreListed) {
  int found = 0;
  bp_device_listing_sink_t sink = {count, &found};
  ASSERT_EQ(
      bp_context_worker_devices(context_.get(), toC("here"), &sink, nullptr),
      BP_STATUS_OK);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(bp_context_worker_devices(context_.get(), toC("x"), &sink, nullptr),
            BP_STATUS_NOT_FOUND);
}

} // namespace
