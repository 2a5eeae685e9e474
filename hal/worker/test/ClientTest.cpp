// SPDX-License-Identifier: Apache-2.0
//
// Clients of running workers.
#include "NamedWorkers.h"
#include "hal/worker/Pool.h"
#include "hal/worker/test/Messages.h"

#include <csignal>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace {

float firstOf(const Payload &payload) {
  ResultMessage result;
  bool known = decode(payload, result).ok() && !result.outputs.empty();
  return known ? test::firstOf(result.outputs[0]) : 0;
}

TEST(Clients, HaveSeveralRequestsInFlight) {
  auto client = started(named());
  ASSERT_TRUE(client);
  ArtifactMessage message = artifact(fixed);
  ASSERT_EQ(client->give(message.hash, message.bytes).message(), "");
  ASSERT_EQ(client->give(message.hash, message.bytes).message(), "");
  std::vector<uint64_t> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back(
        *client->send(FrameType::Run, encode(runOf(message.hash, float(i)))));
  client->forget(requests[3]);
  for (int i = 19; i >= 0; --i) {
    if (i == 3)
      continue;
    auto answer = client->wait(requests[size_t(i)]);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_EQ(firstOf(answer->payload), float(i + 5));
  }
  EXPECT_FALSE(client->wait(requests[0]).ok()); // answered once
  EXPECT_FALSE(client->lost());
}

TEST(Clients, OpenSessionsOfAnArtifact) {
  auto client = started(named());
  ASSERT_TRUE(client);
  ArtifactMessage message = artifact(fixed);
  ASSERT_TRUE(client->give(message.hash, message.bytes).ok());
  uint64_t numbers[2];
  for (uint64_t &number : numbers) {
    auto opened =
        client->ask(FrameType::Open, encode(OpenMessage{message.hash, 0}),
                    FrameType::Opened);
    ASSERT_TRUE(opened.ok()) << opened.message();
    OpenedMessage told;
    ASSERT_TRUE(decode(*opened, told).ok());
    EXPECT_GT(told.dispatches, 0u);
    EXPECT_NE(told.choice.find("host://cpu"), std::string::npos);
    number = told.session;
  }
  EXPECT_NE(numbers[0], numbers[1]);
  auto ran =
      client->ask(FrameType::Run, encode(runOf(message.hash, 1, numbers[1])),
                  FrameType::Result);
  ASSERT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(firstOf(*ran), 6);
  Payload second = encode(SessionMessage{numbers[1]});
  EXPECT_TRUE(client->ask(FrameType::Reset, second, FrameType::Ready).ok());
  EXPECT_TRUE(client->ask(FrameType::Close, second, FrameType::Ready).ok());
  EXPECT_EQ(client->ask(FrameType::Close, second, FrameType::Ready).code(),
            BP_STATUS_NOT_FOUND);
  EXPECT_EQ(client
                ->ask(FrameType::Run,
                      encode(runOf(message.hash, 1, numbers[1])),
                      FrameType::Result)
                .code(),
            BP_STATUS_NOT_FOUND);
}

TEST(Clients, SayHowTheWorkerEnded) {
  auto client = started(named());
  ASSERT_TRUE(client);
  kill(client->pid(), SIGSTOP);
  auto asked = client->send(FrameType::Run, encode(runOf("x", 1)));
  kill(client->pid(), SIGKILL);
  for (const Status &status :
       {client->wait(*asked).status(),
        client->send(FrameType::Run, encode(runOf("x", 1))).status()}) {
    EXPECT_EQ(status.code(), BP_STATUS_ABORTED);
    EXPECT_NE(status.message().find("worker 'w': the worker ended with signal"),
              std::string::npos)
        << status.message();
  }
  EXPECT_TRUE(client->lost());
}

TEST(Clients, EndAWorkerThatHangs) {
  NamedWorker worker = named();
  worker.timeout = std::chrono::seconds(2);
  auto client = started(worker);
  ASSERT_TRUE(client);
  kill(client->pid(), SIGSTOP);
  auto status =
      client->ask(FrameType::Run, encode(runOf("x", 1)), FrameType::Result);
  EXPECT_EQ(status.code(), BP_STATUS_DEADLINE_EXCEEDED);
  EXPECT_NE(status.message().find("no sign of life for 2 s"), std::string::npos)
      << status.message();
}

TEST(Clients, RefuseWhatIsNoFrame) {
  Folder folder;
  // The greeting of a worker, then damage.
  std::string noisy = written(
      folder / "noisy",
      "#!/bin/sh\n\"$@\" --list </dev/null\nread line\necho damaged frame, "
      "more than thirty-two bytes of it\nsleep 100\n",
      true);
  auto client = started(named({noisy, "env",
                               std::string("BACKPLANE_PLUGIN_"
                                           "FILES=") +
                                   BP_TEST_MANIFESTS}));
  ASSERT_TRUE(client);
  auto status =
      client->ask(FrameType::Run, Payload(1 << 20, '\n'), FrameType::Result);
  EXPECT_EQ(status.code(), BP_STATUS_DATA_LOSS) << status.message();
  auto echo = Client::start(named({"cat"}), {});
  EXPECT_FALSE(echo.ok());
}

TEST(Pools, StartALostWorkerAgain) {
  Folder folder;
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  setenv("BACKPLANE_CACHE_DIR", (folder / "cache").c_str(), 1);
  Pool pool(written(folder / "w.json",
                    R"({"workers": {"here": {"worker": ")" BP_WORKER "\"}}}"));
  auto uri = RemoteUri::parse("worker:here/host");
  auto first = pool.client(*uri), same = pool.client(*uri);
  ASSERT_TRUE(first.ok() && same.ok()) << first.message();
  EXPECT_EQ(first->get(), same->get());
  kill((*first)->pid(), SIGKILL);
  EXPECT_FALSE((*first)->ask(FrameType::Run, {}, FrameType::Result).ok());
  auto next = pool.client(*uri);
  ASSERT_TRUE(next.ok()) << next.message();
  ArtifactMessage message = artifact(fixed);
  EXPECT_TRUE((*next)->give(message.hash, message.bytes).ok());
}

TEST(Pools, ListTheDevicesOfAWorker) {
  Folder folder;
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  Pool pool(written(folder / "w.json",
                    R"({"workers": {"here": {"worker": ")" BP_WORKER "\"}}}"));
  auto device = pool.device(*RemoteUri::parse("worker:here/host"));
  ASSERT_TRUE(device.ok()) << device.message();
  EXPECT_EQ(device->uri, "host://cpu");
  auto info = deviceInfo(*device);
  ASSERT_TRUE(info.ok()) << info.message();
  EXPECT_FALSE((*info)->c().format_count == 0);
  auto absent = pool.device(*RemoteUri::parse("worker:here/npu"));
  EXPECT_EQ(absent.code(), BP_STATUS_NOT_FOUND);
  EXPECT_NE(absent.message().find("it has host://cpu"), std::string::npos)
      << absent.message();
  WireDevice hostile = *device;
  hostile.bindingAlignment = 3;
  EXPECT_FALSE(deviceInfo(hostile).ok());
}

} // namespace
