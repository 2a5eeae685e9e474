// SPDX-License-Identifier: Apache-2.0
//
// DispatchBench.cpp: what one dispatch costs beside the work itself, for an
// empty kernel at one and two threads: recorded commands with a barrier after
// each dispatch, divided by their number.
#include "hal/core/Registry.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace backplane;

[[noreturn]] static void fail(const Status &status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

/// The best of several rounds, in nanoseconds per dispatch.
static double measure(Device &device, uint32_t groups, uint32_t count) {
  std::ifstream file(BP_KERNELS, std::ios::binary);
  std::vector<uint8_t> image{std::istreambuf_iterator<char>(file), {}};
  std::string_view format = view(device.info().c().formats[0]);
  auto executable = device.load(format, image, {{.name = "empty"}});
  if (!executable)
    fail(executable.status());
  std::vector<Command> commands;
  for (uint32_t i = 0; i < count; ++i) {
    commands.push_back(
        Dispatch{.executable = *executable, .grid = {groups, 1, 1}});
    commands.push_back(Barrier{});
  }
  auto recorded = *device.record(commands);
  auto queue = *device.createQueue();
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    auto begin = std::chrono::steady_clock::now();
    if (Status status = queue->run(*recorded); !status.ok())
      fail(status);
    std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count() / count);
  }
  return best;
}

int main() {
  for (uint32_t threads : {1u, 2u}) {
    LoaderOptions options;
    options.pluginFiles = {BP_HOST_MANIFEST};
    options.threads = threads;
    auto registry = Registry::create(options, nullptr);
    auto device = registry->device("host");
    if (!device)
      fail(device.status());
    for (uint32_t groups : {1u, 2u, 16u, 256u})
      std::printf("threads %u, groups %3u: %8.0f ns per dispatch, "
                  "%8.0f ns for a run of one\n",
                  threads, groups, measure(**device, groups, 100),
                  measure(**device, groups, 1));
  }
  return 0;
}
