// SPDX-License-Identifier: Apache-2.0
//
// NamedWorkers.h: workers of this build behind launchers, which are scripts
// that treat their arguments as the real ones do.
#ifndef BACKPLANE_WORKER_TEST_NAMEDWORKERS_H
#define BACKPLANE_WORKER_TEST_NAMEDWORKERS_H

#include "hal/runtime/test/Models.h"
#include "hal/worker/Client.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace backplane::test {

inline std::string written(const std::string &path, const std::string &text,
                           bool program = false) {
  std::ofstream(path) << text;
  if (program)
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

/// A worker of this build; `launcher` stands in front of its command.
inline worker::NamedWorker named(std::vector<std::string> launcher = {}) {
  setenv("BACKPLANE_PLUGIN_FILES", BP_TEST_MANIFESTS, 1);
  worker::NamedWorker entry;
  entry.name = "w";
  entry.program = BP_WORKER;
  entry.launcher.words = std::move(launcher);
  entry.timeout = std::chrono::seconds(60);
  return entry;
}

inline std::shared_ptr<worker::Client>
started(const worker::NamedWorker &entry,
        std::vector<std::string> arguments = {}) {
  auto client = worker::Client::start(entry, arguments);
  EXPECT_TRUE(client.ok()) << client.message();
  return client ? *client : nullptr;
}

} // namespace backplane::test

#endif // BACKPLANE_WORKER_TEST_NAMEDWORKERS_H
