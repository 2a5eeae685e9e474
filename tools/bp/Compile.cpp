// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "sdk/support/ReadableText.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>

namespace backplane {

int runCompile(const CompileCommandOptions &options) {
  OutputFiles files;
  files.reads(options.model);
  if (Status s = files.writes(options.output); !s.ok())
    return fail(s);
  // The compiler reads the one; nothing may come from the cache.
  if (!options.dispatchDir.empty()) {
    setenv("BACKPLANE_DUMP_DISPATCHES", options.dispatchDir.c_str(), 1);
    setenv("BACKPLANE_CACHE_DIR", "-", 1);
  }
  Result<Context> context = openContext(0);
  if (!context)
    return fail(context.status());
  std::vector<bp_string_t> targets = asC(options.targets);
  bp_compile_options_t compile = {BP_HEADER(bp_compile_options_t)};
  compile.targets = targets.data();
  compile.target_count = targets.size();
  compile.driver = toC(options.driver);
  compile.dump_dir = toC(options.dumpDir);
  compile.output_path = toC(options.output);
  compile.kernel = toC(options.kernel);
  std::vector<bp_dim_range_t> dims;
  for (const auto &[name, range] : options.dims)
    dims.push_back({toC(name), range.first, range.second});
  compile.dims = dims.data();
  compile.dim_count = dims.size();
  compile.flags = (options.fallback ? BP_COMPILE_FALLBACK : 0) |
                  (options.embedGraph ? BP_COMPILE_EMBED_GRAPH : 0);
  setLimits(options.limits, compile);
  auto start = std::chrono::steady_clock::now();
  Result<Artifact> artifact = compileModel(*context, options.model, compile);
  if (!artifact)
    return fail(artifact.status());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::error_code error;
  auto bytes = std::filesystem::file_size(options.output, error);
  std::printf("%s: %.1f MB in %.2f s\n", readable(options.output).c_str(),
              error ? 0.0 : bytes / 1e6, took.count());
  return 0;
}

namespace {

/// Opens a model and prints what `call` tells of it.
int describe(
    const ModelOptions &options,
    const std::function<bp_status_t(bp_artifact_t *, const bp_string_sink_t *,
                                    bp_error_t *)> &call) {
  Result<Context> context = openContext(options.threads);
  if (!context)
    return fail(context.status());
  Result<Artifact> artifact = openModel(*context, options);
  if (!artifact)
    return fail(artifact.status());
  bp_string_sink_t sink = stdoutSink();
  Status status = checked(
      [&](bp_error_t *error) { return call(artifact->get(), &sink, error); });
  return status.ok() ? 0 : fail(status);
}

/// What a session would take and why.
int inspectChoice(const ModelOptions &options) {
  bp_session_options_t session = sessionOptions(options);
  return describe(options,
                  [&](bp_artifact_t *artifact, const bp_string_sink_t *sink,
                      bp_error_t *error) {
                    return bp_artifact_select(artifact, &session, sink, error);
                  });
}

} // namespace

int runInspect(const ModelOptions &options) {
  if (options.why)
    return inspectChoice(options);
  return describe(options, bp_artifact_describe);
}

int runExplain(const ModelOptions &options) {
  return describe(options, bp_artifact_explain);
}

} // namespace backplane
