// SPDX-License-Identifier: Apache-2.0
//
// bp-paths: compiles the graphs of the suite for a target and says which code
// paths (sdk/emit/common/CodePaths.h) each of them takes, one JSON object a
// line. Nothing runs. run_paths.py makes the page of it.
#include "conformance/runner/ApplicationJob.h"
#include "conformance/runner/Suite.h"
#include "hal/worker/Loop.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/CommandLine.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

using namespace backplane;
using namespace backplane::conformance;

namespace {

struct Options {
  std::string target;
  std::vector<std::string> filters;
  unsigned part = 1, parts = 1;
};

/// The names behind "code paths " in the report of a compiled graph.
Result<std::set<std::string>> pathsOf(std::span<const uint8_t> artifact) {
  constexpr std::string_view mark = ": code paths ";
  auto file = ArtifactFile::fromBytes(artifact, "the compiled graph");
  if (!file)
    return file.status();
  std::set<std::string> paths;
  for (const VariantInfo &variant : (*file)->metadata().variants)
    for (const std::string &line : variant.report) {
      size_t at = line.find(mark);
      if (at == std::string::npos)
        continue;
      std::string names = line.substr(at + mark.size()) + ", ";
      for (size_t end; (end = names.find(", ")) != std::string::npos;
           names.erase(0, end + 2))
        paths.insert(names.substr(0, end));
    }
  return paths;
}

Result<std::set<std::string>> compile(const worker::Handler &compiler,
                                      const Unit &unit) {
  worker::Frame request, answer;
  request.type = worker::FrameType::Compile;
  request.payload = worker::encode(compileMessage(unit));
  worker::CompiledMessage compiled;
  if (Status s = compiler(request, answer); !s.ok())
    return s;
  if (Status s = worker::decode(answer.payload, compiled); !s.ok())
    return s;
  return pathsOf(compiled.artifact);
}

int fail(const std::string &why) {
  std::fprintf(stderr, "bp-paths: %s\n", why.c_str());
  return 2;
}

int run(const Options &options) {
  setenv("BACKPLANE_CACHE_DIR", "-", 1);
  auto context = worker::openWorkerContext({});
  if (!context)
    return fail(context.message());
  worker::Handler compiler = worker::compileHandler(
      std::make_shared<const Context>(std::move(*context)), options.target);
  SuiteOptions choice;
  choice.generators = {generateUnits};
  choice.filters = options.filters;
  choice.shard = options.part;
  choice.shards = options.parts;
  auto plan = planSuite(choice);
  if (!plan)
    return fail(plan.message());
  for (const Unit &unit : plan->units) {
    if (unit.graph.outputs.empty())
      continue;
    auto paths = compile(compiler, unit);
    nlohmann::ordered_json line = {{"unit", unit.id}};
    if (paths)
      line["paths"] = *paths;
    else
      line["refused"] = paths.message();
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"Which code paths the graphs of the suite take on a target, one "
               "JSON object a line: unit, and paths or refused."};
  app.add_option("--target", options.target, "target to compile for")
      ->required();
  app.add_option("--filter", options.filters,
                 "only units with a case whose id matches this glob; may be "
                 "repeated");
  app.add_option("--part", options.part, "which of so many equal parts");
  app.add_option("--parts", options.parts, "how many parts there are")
      ->check(CLI::Range(1u, 1000u));
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
