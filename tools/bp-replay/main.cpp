// SPDX-License-Identifier: Apache-2.0
//
// bp-replay: calls the compiler of a plug-in with what `bp compile
// --dump-dispatches` wrote; `bp replay` is this.
#include "hal/core/CompilerCalls.h"
#include "hal/core/LoaderOptions.h"
#include "hal/core/Registry.h"
#include "sdk/compiler/DispatchDump.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/support/CommandLine.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace backplane;

namespace {

int fail(const Status &status) {
  std::fprintf(stderr, "bp replay: %s\n", status.message().c_str());
  return 1;
}

/// The plug-in with a target; null: none has it.
const CompilerPlugin *pluginOf(const Registry &registry,
                               const std::string &target) {
  for (const CompilerPlugin &plugin : registry.compilers()) {
    bool found = false;
    Status status = callTargets(plugin, [&](const bp_target_t &one) {
      found |= view(one.name) == target;
      return Status();
    });
    if (status.ok() && found)
      return &plugin;
  }
  return nullptr;
}

int replay(const std::string &folder, const std::string &target) {
  WeightPool pool;
  WeightInputs weights;
  auto call = readDispatch(folder, pool, weights);
  if (!call)
    return fail(call.status());
  if (!target.empty())
    call->target = target;
  bp_context_options_t context = {BP_HEADER(bp_context_options_t)};
  contextOptionsFromEnvironment(&context);
  auto options = loaderOptions(&context);
  if (!options)
    return fail(options.status());
  auto registry = Registry::create(*options, graphTable());
  const CompilerPlugin *plugin = pluginOf(*registry, call->target);
  if (!plugin)
    return fail(notFound("no plug-in has the target '" + call->target +
                         "'; see bp devices --why, and name one by --target"));
  std::printf("%s of %s, target %s\n",
              call->isPartition ? "partition" : "compile", plugin->name.c_str(),
              call->target.c_str());
  std::fputs(replayDispatch(*plugin, graphTable(), *call, weights).c_str(),
             stdout);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  command::holdStandardStreams();
  return command::work("bp replay", [&] {
    CLI::App app("bp replay: calls the compiler of a plug-in again with what "
                 "bp compile --dump-dispatches wrote, and says what comes of "
                 "it.");
    app.name("bp replay");
    std::string folder, target;
    app.add_option("folder", folder, "of one call")->required();
    app.add_option("--target", target,
                   "call for this target (default the one that it was for)");
    if (auto code = command::parse(app, argc, argv, [] {}))
      return *code;
    return replay(folder, target);
  });
}
