// SPDX-License-Identifier: Apache-2.0
//
// Named workers: their file, their commands, and clients of running ones. The
// launchers are scripts that treat their arguments as the real ones do.
#include "hal/worker/ArtifactStore.h"
#include "hal/worker/Pool.h"
#include "hal/worker/test/Messages.h"
#include "sdk/support/Hash.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace fs = std::filesystem;

namespace {

std::string written(const std::string &path, const std::string &text,
                    bool program = false) {
  std::ofstream(path) << text;
  if (program)
    fs::permissions(path, fs::perms::owner_all);
  return path;
}

/// A worker of this build; `launcher` stands in front of its command.
NamedWorker named(std::vector<std::string> launcher = {}) {
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  NamedWorker worker;
  worker.name = "w";
  worker.program = BP_WORKER;
  worker.launcher.words = std::move(launcher);
  worker.timeout = std::chrono::seconds(60);
  return worker;
}

std::shared_ptr<Client> started(const NamedWorker &worker,
                                std::vector<std::string> arguments = {}) {
  auto client = Client::start(worker, arguments);
  EXPECT_TRUE(client.ok()) << client.message();
  return client ? *client : nullptr;
}

float firstOf(const Payload &payload) {
  ResultMessage result;
  bool known = decode(payload, result).ok() && !result.outputs.empty();
  return known ? test::firstOf(result.outputs[0]) : 0;
}

TEST(WorkerUris, NameAWorkerAndADevice) {
  auto uri = RemoteUri::parse("worker:arm64/host://cpu?threads=2");
  ASSERT_TRUE(uri.ok()) << uri.message();
  EXPECT_EQ(uri->worker, "arm64");
  EXPECT_EQ(uri->device, "host://cpu?threads=2");
  EXPECT_EQ(uri->driver(), "host");
  for (const char *bad :
       {"worker:", "worker:x", "worker:x/", "worker:/host", "worker:X/host",
        "worker:x/worker:y/host", "host", "worker:a b/host", "worker:x/HOST"})
    EXPECT_FALSE(RemoteUri::parse(bad).ok()) << bad;
}

/// A launcher that runs this as a shell does.
NamedWorker printing(const std::string &script) {
  NamedWorker worker = named({"sh", "-c", script, "sh"});
  worker.timeout = std::chrono::seconds(20);
  return worker;
}

TEST(Workers, SayWhatALauncherPrinted) {
  const std::pair<const char *, const char *> scripts[] = {
      {"echo Welcome to box; exec \"$@\"", "'Welcome to box\\n'"},
      {"printf 'Password: '; exec sleep 1000", "'Password: '"},
      {"printf '\\033[31mred\\377\\n'; exec \"$@\"", "'\\x1b[31mred\\xff\\n'"},
      {"echo no such container; exit 3", "'no such container\\n'"},
      {"yes banner", " bytes]"},
      {"head -c 100000 /dev/zero; exec \"$@\"", "'\\x00\\x00"},
      {"printf B; exit 0", "'B'"},
  };
  for (const auto &[script, shown] : scripts) {
    auto begin = std::chrono::steady_clock::now();
    auto client = Client::start(printing(script), {"--device", "host"});
    ASSERT_FALSE(client.ok()) << script;
    for (const char *part : {"worker 'w'", "printed '", "print nothing"})
      EXPECT_NE(client.message().find(part), std::string::npos)
          << client.message();
    if (std::string(script).find("printf B") == std::string::npos)
      EXPECT_NE(client.message().find(shown), std::string::npos)
          << client.message();
    EXPECT_LT(client.message().size(), 900u);
    EXPECT_EQ(client.message().find('\n'), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - begin,
              std::chrono::seconds(10));
  }
  EXPECT_TRUE(
      Client::start(printing("echo x >&2; exec \"$@\""), {"--device", "host"})
          .ok());
}

TEST(Workers, AreReadFromATrustedFileOnly) {
  Folder folder;
  std::string file =
      written(folder / "w.json", R"({"workers": {"a": {"worker": "/x"}}})");
  fs::permissions(file, fs::perms(0644));
  EXPECT_TRUE(findWorker("a", file).ok());
  fs::permissions(file, fs::perms(0666));
  EXPECT_EQ(findWorker("a", file).code(), BP_STATUS_PERMISSION_DENIED);
  EXPECT_TRUE(findWorker("a", file, FileTrust({folder / "."})).ok());
}

TEST(ArtifactStores, GiveNoPlantedFile) {
  Folder folder;
  ArtifactStore store(folder / "store");
  std::vector<uint8_t> bytes(ArtifactStore::minBytes, 3);
  std::string hash = hashBytes(bytes);
  std::string path = *store.put(hash, bytes);
  EXPECT_EQ(store.find(hash), path);
  std::string other = folder / "store/0123456789abcdef0123456789abcdef.bpx";
  fs::copy_file(path, other);
  EXPECT_EQ(store.find("0123456789abcdef0123456789abcdef"), "");
  fs::permissions(path, fs::perms(0666));
  EXPECT_EQ(store.find(hash), "");
  ASSERT_TRUE(store.put(hash, bytes).ok());
  fs::rename(path, folder / "there");
  fs::create_symlink(folder / "there", path);
  EXPECT_EQ(store.find(hash), "");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(store.find(hash), "");
  ASSERT_TRUE(store.put(hash, bytes).ok());
  EXPECT_EQ(store.find(hash), path);
  fs::permissions(folder / "store", fs::perms(0777));
  EXPECT_EQ(store.find(hash), "");
  EXPECT_FALSE(store.put(hash, bytes).ok());
}

TEST(WorkerUris, JoinDevicesOfOneWorker) {
  auto uri = RemoteUri::parse("worker:box/vulkan://0+worker:box/host");
  ASSERT_TRUE(uri.ok()) << uri.message();
  EXPECT_EQ(uri->worker, "box");
  EXPECT_EQ(uri->driver(), "vulkan");
  EXPECT_EQ(uri->further, std::vector<std::string>{"host"});
  EXPECT_EQ(uri->devices(), "vulkan://0+host");
  for (const char *bad :
       {"worker:x/a+", "worker:x/a+b", "worker:x/a+worker:y/b", "+worker:x/a"})
    EXPECT_FALSE(RemoteUri::parse(bad).ok()) << bad;
}

TEST(Workers, AreReadFromAFile) {
  Folder folder;
  std::string file = written(folder / "workers.json", R"({"workers": {
    "board": {"launcher": ["ssh", "-T", "board"], "worker": "/opt/b w/bin/w",
              "arguments": "--threads 2", "timeout": 7},
    "box": {"launcher": "docker run -i 'my image'"},
    "local": {"worker": "/elsewhere"}}})");
  auto board = findWorker("board", file);
  ASSERT_TRUE(board.ok()) << board.message();
  EXPECT_EQ(board->timeout.count(), 7);
  auto command = board->command({"--device", "cuda://emu?sm=90&x=1"});
  std::vector<std::string> tail(command.end() - 8, command.end());
  EXPECT_EQ(tail, (std::vector<std::string>{
                      "ssh", "-T", "board", "'/opt/b w/bin/w'", "--threads",
                      "2", "--device", "'cuda://emu?sm=90&x=1'"}));
  command = findWorker("box", file)->command({"--device", "a?b&c"});
  tail.assign(command.end() - 7, command.end());
  EXPECT_EQ(tail, (std::vector<std::string>{"docker", "run", "-i", "my image",
                                            "bp-worker", "--device", "a?b&c"}));
  EXPECT_EQ(findWorker("local", file)->command({}),
            std::vector<std::string>{"/elsewhere"});
  auto absent = findWorker("bord", file);
  EXPECT_NE(absent.message().find("did you mean 'board'"), std::string::npos)
      << absent.message();
  EXPECT_TRUE(findWorker("local", folder / "absent").ok());
}

TEST(Workers, OfABadFileAreRefused) {
  Folder folder;
  for (const char *text :
       {"", "{", "[]", "{}", R"({"workers": []})", R"({"workers": {"A": {}}})",
        R"({"workers": {"a": 1}})", R"({"workers": {"a": {"launch": "x"}}})",
        R"({"workers": {"a": {"launcher": [1]}}})",
        R"({"workers": {"a": {"launcher": "'x"}}})",
        R"({"workers": {"a": {"worker": ""}}})",
        R"({"workers": {"a": {"timeout": 0}}})",
        R"({"workers": {"a": {"shell": 1}}})", R"({"workers": {}, "x": 1})"}) {
    auto workers = readWorkers(written(folder / "w.json", text));
    EXPECT_EQ(workers.code(), BP_STATUS_INVALID_ARGUMENT) << text;
    EXPECT_NE(workers.message().find("w.json"), std::string::npos);
  }
}

TEST(Launchers, QuoteWhatAShellWouldChange) {
  EXPECT_EQ(quoteForShell("a-b/c:d"), "a-b/c:d");
  EXPECT_EQ(quoteForShell(""), "''");
  EXPECT_EQ(quoteForShell("it's $x"), "'it'\\''s $x'");
  EXPECT_EQ(Launcher::parse("ssh 'my box'")->words,
            (std::vector<std::string>{"ssh", "my box"}));
  EXPECT_TRUE(Launcher::parse("/usr/bin/ssh b")->throughShell);
  EXPECT_FALSE(Launcher::parse("docker run ssh")->throughShell);
}

/// Launchers as the programs that they are named after treat arguments.
TEST(Launchers, StartAWorkerWhateverIsInItsPath) {
  Folder folder;
  std::string odd = folder / "odd $(x) 'n \"ame";
  fs::create_directory(odd);
  // What stands on the other side: its plug-ins are told to it there.
  std::string worker = written(
      odd + "/bp-worker",
      "#!/bin/sh\ntest -z \"$BACKPLANE_PLUGIN_FILES\" || exit 9\n"
      "BACKPLANE_PLUGIN_FILES=" +
          quoteForShell(BP_TEST_MANIFESTS) + " exec " BP_WORKER " \"$@\"\n",
      true);
  std::string ssh =
      written(folder / "ssh", "#!/bin/sh\nshift\nexec sh -c \"$*\"\n", true);
  std::string docker =
      written(folder / "docker", "#!/bin/sh\nshift 3\nexec \"$@\"\n", true);
  std::string mpirun =
      written(folder / "mpirun", "#!/bin/sh\nshift 2\n\"$@\"\n", true);
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{ssh, "box"},
        {docker, "run", "-i", "image"},
        {mpirun, "-n", "1"},
        {mpirun, "--ntasks", "1"}}) {
    NamedWorker entry = named(words);
    entry.program = worker;
    entry.launcher.throughShell = words[0] == ssh;
    auto client = started(entry, {"--device", "host://cpu"});
    ASSERT_TRUE(client) << words[0];
    EXPECT_EQ(client->hello().plugin, "host");
    ASSERT_FALSE(client->hello().devices.empty());
    EXPECT_EQ(client->hello().devices[0].id, "cpu");
  }
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

TEST(ArtifactStores, KeepWhatIsWhole) {
  Folder folder;
  ArtifactStore store(folder / "kept");
  Payload bytes(ArtifactStore::minBytes, 7);
  std::string hash = hashBytes(bytes);
  EXPECT_EQ(store.find(hash), "");
  auto path = store.put(hash, bytes);
  ASSERT_TRUE(path.ok()) << path.message();
  EXPECT_EQ(store.find(hash), *path);
  std::fstream(*path, std::ios::in | std::ios::out).put('x');
  EXPECT_EQ(store.find(hash), "");
  EXPECT_FALSE(fs::exists(*path));
  for (const std::string name : {"../x", "", "x"}) {
    EXPECT_EQ(store.find(name), "");
    EXPECT_EQ(*store.put(name, bytes), "");
  }
  bytes.pop_back();
  EXPECT_EQ(*store.put(hashBytes(bytes), bytes), "");
}

/// A full disk, as far as one process can have one of its own.
TEST(ArtifactStores, LeaveNothingBehindOnAFullDisk) {
  Folder folder;
  ArtifactStore store(folder / "kept");
  Payload bytes(2 * ArtifactStore::minBytes, 7);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {ArtifactStore::minBytes, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto path = store.put(hashBytes(bytes), bytes);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(path.ok());
  EXPECT_TRUE(fs::is_empty(folder / "kept"));
}

} // namespace
