// SPDX-License-Identifier: Apache-2.0
#include "Runner.h"
#include "hal/core/DeviceUri.h"

#include <algorithm>

namespace backplane::worker {

/// The plug-ins that drive these devices, the first of which is described, and
/// the sets of kernels for it.
static Result<std::vector<std::string>>
pluginsOf(const Hello &hello, const std::vector<std::string> &uris) {
  std::vector<std::string> plugins = {hello.plugin};
  for (size_t i = 1; i < uris.size(); ++i) {
    std::string driver = uris[i].substr(0, uris[i].find(':'));
    auto found = std::ranges::find_if(hello.devices, [&](const auto &device) {
      return device.uri.starts_with(driver + ":") && device.refusal.empty();
    });
    if (found == hello.devices.end())
      return notFound("the machine of the worker has no device of driver '" +
                      driver + "'");
    if (std::ranges::find(plugins, found->plugin) == plugins.end())
      plugins.push_back(found->plugin);
  }
  for (const std::string &set : setsOf(hello))
    if (std::ranges::find(plugins, set) == plugins.end())
      plugins.push_back(set);
  return plugins;
}

int serveList(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    Result<Hello> hello = describeMachine(*context);
    if (!hello)
      return hello.status();
    greeting = std::move(*hello);
    return Handler([](const Frame &, Frame &) {
      return unimplemented("this worker only lists devices");
    });
  });
}

int serveRuns(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    std::vector<std::string> uris = splitUris(options.device);
    Result<Hello> hello = describeDevice(*context, uris.front());
    if (!hello)
      return hello.status();
    auto plugins = pluginsOf(*hello, uris);
    if (!plugins)
      return plugins.status();
    greeting = std::move(*hello);
    // With no other plug-in in the process, nothing else can do the work.
    context = Context(nullptr);
    context = openWorkerContext(options, *plugins);
    if (!context)
      return context.status();
    auto runner = std::make_shared<Runner>(
        std::make_shared<const Context>(std::move(*context)), options);
    return Handler([runner](const Frame &request, Frame &answer) {
      return runner->handle(request, answer);
    });
  });
}

} // namespace backplane::worker
