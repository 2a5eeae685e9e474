// SPDX-License-Identifier: Apache-2.0
//
// The worker programs, as a tool uses them.
#include "hal/worker/Process.h"
#include "hal/worker/test/Messages.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Hash.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace {

constexpr Process::Milliseconds timeout(60000);

std::unique_ptr<Process> start(std::vector<std::string> command) {
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  auto process = Process::start(command, timeout);
  EXPECT_TRUE(process.ok()) << process.message();
  return process ? std::move(*process) : nullptr;
}

Frame ask(Process &process, FrameType type, Payload payload) {
  EXPECT_EQ(process.send(type, std::move(payload), timeout).message(), "");
  Result<Frame> answer = process.receive(timeout);
  EXPECT_TRUE(answer.ok()) << answer.message();
  return answer ? std::move(*answer) : Frame();
}

/// As when another thread starts a child while the program is written.
TEST(Worker, StartsAProgramThatIsBusyForAMoment) {
  const std::string program = testing::TempDir() + "busy-worker";
  std::filesystem::copy_file(BP_WORKER, program,
                             std::filesystem::copy_options::overwrite_existing);
  int writer = open(program.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  std::thread closes([writer] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    close(writer);
  });
  EXPECT_TRUE(start({program, "--device", "host"}));
  closes.join();
  std::filesystem::remove(program);
}

TEST(Worker, RunsWhatItWasSent) {
  auto worker = start({BP_WORKER, "--device", "host"});
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->hello().plugin, "host");
  ArtifactMessage message = artifact(fixed);
  EXPECT_EQ(ask(*worker, FrameType::Artifact, encode(message)).type,
            FrameType::Ready);
  for (float x : {1.0f, 2.0f}) {
    RunMessage run = runOf(message.hash, x);
    Frame answer = ask(*worker, FrameType::Run, encode(run));
    ASSERT_EQ(answer.type, FrameType::Result) << errorOf(answer).message();
    ResultMessage result;
    ASSERT_TRUE(decode(answer.payload, result).ok());
    EXPECT_EQ(result.damage, "");
    ASSERT_EQ(result.outputs.size(), 1u);
    EXPECT_EQ(firstOf(result.outputs[0]), x + 5);
  }
}

TEST(Worker, AnswersSeveralRequestsInOrder) {
  auto worker = start({BP_WORKER});
  ASSERT_TRUE(worker);
  ArtifactMessage message = artifact(fixed);
  ASSERT_TRUE(worker->send(FrameType::Artifact, encode(message), timeout).ok());
  for (int i = 0; i < 3; ++i) {
    RunMessage run = runOf(message.hash, float(i));
    ASSERT_TRUE(worker->send(FrameType::Run, encode(run), timeout).ok());
  }
  ASSERT_EQ(worker->receive(timeout)->type, FrameType::Ready);
  for (int i = 0; i < 3; ++i) {
    ResultMessage result;
    ASSERT_TRUE(decode(worker->receive(timeout)->payload, result).ok());
    EXPECT_EQ(firstOf(result.outputs[0]), float(i + 5));
  }
}

TEST(Worker, SaysWhatIsWrongAndGoesOn) {
  auto worker = start({BP_WORKER});
  ASSERT_TRUE(worker);
  ArtifactMessage message = artifact(fixed);
  RunMessage run = runOf(message.hash, 1);
  auto code = [&](FrameType type, Payload payload) {
    Frame answer = ask(*worker, type, std::move(payload));
    EXPECT_EQ(answer.type, FrameType::Error);
    return errorOf(answer).code();
  };
  EXPECT_EQ(code(FrameType::Run, encode(run)), BP_STATUS_NOT_FOUND);
  EXPECT_EQ(code(FrameType::Run, {1, 2, 3}), BP_STATUS_DATA_LOSS);
  EXPECT_EQ(code(FrameType::Compile, {}), BP_STATUS_UNIMPLEMENTED);
  message.bytes[message.bytes.size() / 2] ^= 1;
  EXPECT_EQ(code(FrameType::Artifact, encode(message)), BP_STATUS_DATA_LOSS);
  message.hash = hashBytes(message.bytes);
  EXPECT_NE(code(FrameType::Artifact, encode(message)), BP_STATUS_OK);
  EXPECT_EQ(ask(*worker, FrameType::Artifact, encode(artifact(fixed))).type,
            FrameType::Ready);
  run.inputs[0] = floats({7}, std::vector<float>(7, 1));
  EXPECT_NE(code(FrameType::Run, encode(run)), BP_STATUS_OK);
}

TEST(Worker, IsMissedWhenItEnds) {
  auto worker = start({BP_WORKER});
  ASSERT_TRUE(worker);
  kill(worker->pid(), SIGKILL);
  (void)worker->send(FrameType::Run, {}, timeout);
  Result<Frame> answer = worker->receive(timeout);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.code(), BP_STATUS_ABORTED);
  EXPECT_NE(answer.message().find("signal 9"), std::string::npos)
      << answer.message();
}

TEST(Worker, SaysHowItEndedEachTimeThatItIsAsked) {
  auto worker = start({BP_WORKER});
  ASSERT_TRUE(worker);
  kill(worker->pid(), SIGKILL);
  std::vector<Status> answers;
  while (answers.size() < 2)
    if (Status s = worker->send(FrameType::Run, {}, timeout); !s.ok())
      answers.push_back(s);
  answers.push_back(worker->receive(timeout).status());
  for (const Status &answer : answers) {
    EXPECT_EQ(answer.code(), BP_STATUS_ABORTED);
    EXPECT_NE(answer.message().find("signal 9"), std::string::npos)
        << answer.message();
  }
}

TEST(Worker, IsNotWaitedForBeyondATime) {
  auto worker = start({BP_WORKER});
  ASSERT_TRUE(worker);
  kill(worker->pid(), SIGSTOP);
  ASSERT_TRUE(worker->send(FrameType::Run, {}, timeout).ok());
  Result<Frame> answer = worker->receive(Process::Milliseconds(50));
  EXPECT_EQ(answer.code(), BP_STATUS_DEADLINE_EXCEEDED);
}

TEST(Worker, FailsToStartWithAReason) {
  auto absent = Process::start({"/absent/worker"}, timeout);
  EXPECT_EQ(absent.code(), BP_STATUS_NOT_FOUND);
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  auto device = Process::start({BP_WORKER, "--device", "hots"}, timeout);
  ASSERT_FALSE(device.ok());
  EXPECT_NE(device.message().find("\"host\""), std::string::npos)
      << device.message();
}

#if !BP_SANITIZED
TEST(Worker, KeepsItsMemoryLimit) {
  auto worker = start({BP_WORKER, "--memory-limit", "200000000"});
  ASSERT_TRUE(worker);
  ArtifactMessage message = artifact(fixed);
  message.bytes.resize(250'000'000);
  // The worker may stop reading before all is written.
  (void)worker->send(FrameType::Artifact, encode(message), timeout);
  Result<Frame> result = worker->receive(timeout);
  Status status = result ? errorOf(*result) : result.status();
  EXPECT_EQ(status.code(), BP_STATUS_RESOURCE_EXHAUSTED) << status.message();
}
#endif

#ifdef BP_COMPILE_WORKER
TEST(CompileWorker, GivesAnArtifactThatAWorkerRuns) {
  auto compiler = start({BP_COMPILE_WORKER, "--device", "host"});
  auto worker = start({BP_WORKER, "--device", "host"});
  ASSERT_TRUE(compiler && worker);
  EXPECT_NE(compiler->hello().target, "");
  EXPECT_TRUE(compiler->hello().computeDTypes >> BP_DTYPE_F32 & 1);
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(4)}});
  graph.addOutput(graph.add("add", {x, x})->at(0), "y");
  Frame answer = ask(*compiler, FrameType::Compile,
                     encode(CompileMessage{writeGraph(graph), {}}));
  ASSERT_EQ(answer.type, FrameType::Compiled) << errorOf(answer).message();
  CompiledMessage compiled;
  ASSERT_TRUE(decode(answer.payload, compiled).ok());
  ArtifactMessage message{hashBytes(compiled.artifact), compiled.artifact};
  EXPECT_EQ(ask(*worker, FrameType::Artifact, encode(message)).type,
            FrameType::Ready);
  RunMessage run{message.hash, {floats({4}, {1, 2, 3, 4})}};
  ResultMessage result;
  ASSERT_TRUE(
      decode(ask(*worker, FrameType::Run, encode(run)).payload, result).ok());
  EXPECT_EQ(firstOf(result.outputs.at(0)), 2);
  answer = ask(*compiler, FrameType::Compile, encode(CompileMessage{{1}, {}}));
  EXPECT_EQ(answer.type, FrameType::Error);
}
#endif

} // namespace
