// SPDX-License-Identifier: Apache-2.0
//
// Any text as the names that users and files give: devices, policies, workers
// and their launchers, targets, conditions. What is read comes back from its
// own text.
#include "File.h"
#include "hal/core/DeviceUri.h"
#include "hal/runtime/DevicePolicy.h"
#include "hal/worker/Workers.h"
#include "sdk/partition/TargetNames.h"
#include "sdk/support/Condition.h"

#include <cstdlib>

using namespace backplane;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  std::string text(reinterpret_cast<const char *>(data), size);
  if (auto uri = DeviceUri::parse(text)) {
    auto again = DeviceUri::parse(uri->format());
    if (!again || again->format() != uri->format())
      std::abort();
  }
  for (const std::string &one : splitUris(text))
    (void)DeviceUri::parse(one);
  (void)rt::DevicePolicy::parse(text);
  if (auto remote = worker::RemoteUri::parse(text))
    (void)remote->devices();
  if (auto launcher = worker::Launcher::parse(text))
    (void)launcher->command({"bp-worker", text});
  (void)splitTargets(text, [](std::string_view name) {
    return name.size() % 3 == 1 || name == "a+b";
  });
  if (auto condition = Condition::parse(text))
    if (condition->str() != text || !checkRequirement(text).ok())
      std::abort();
  const std::string &path = file.with(data, size);
  for (const char *name : {"board", "arm64", "local"})
    (void)worker::findWorker(name, path);
  (void)worker::commandsFor(text, "bin");
  if (auto workers = worker::readWorkers(path))
    for (const worker::NamedWorker &one : *workers)
      (void)one.command({});
  return 0;
}
