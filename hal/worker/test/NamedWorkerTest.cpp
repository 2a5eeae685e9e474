// SPDX-License-Identifier: Apache-2.0
//
// Names of workers, their file and their launchers.
#include "NamedWorkers.h"

using namespace backplane;
using namespace backplane::test;
using namespace backplane::worker;

namespace fs = std::filesystem;

namespace {

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

} // namespace
