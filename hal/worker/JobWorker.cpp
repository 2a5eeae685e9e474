// SPDX-License-Identifier: Apache-2.0
//
// JobWorker.cpp: compiles models for a process that limits what that may take.
#include "Loop.h"
#include "sdk/support/TextViews.h"

namespace backplane::worker {
namespace {

Result<Context> openContext(const JobMessage &job) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  auto files = asC(job.pluginFiles), more = asC(job.addPluginFiles),
       select = asC(job.select), disable = asC(job.disable),
       trusted = asC(job.trustedDirs);
  options.plugin_files = files.data();
  options.plugin_file_count = files.size();
  options.add_plugin_files = more.data();
  options.add_plugin_file_count = more.size();
  options.select = select.data();
  options.select_count = select.size();
  options.disable = disable.data();
  options.disable_count = disable.size();
  options.trusted_dirs = trusted.data();
  options.trusted_dir_count = trusted.size();
  options.cache_dir = toC(job.cacheDir);
  options.threads = job.threads;
  return createContext(options);
}

Status compileGraph(const Context &context, CompileMessage &graph,
                    const bp_compile_options_t &options) {
  std::vector<bp_tensor_t> weights;
  for (WireTensor &weight : graph.weights)
    weights.push_back({weight.data.data(), weight.dims.data(),
                       weight.data.size(), weight.dtype,
                       uint32_t(weight.dims.size())});
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_compile_graph(
        context.get(), {graph.graph.data(), graph.graph.size()}, weights.data(),
        uint32_t(weights.size()), &options, &out, error);
  });
  Artifact artifact(out);
  return status;
}

Status compile(JobMessage &job) {
  Result<Context> context = openContext(job);
  if (!context)
    return context.status();
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  std::vector<bp_string_t> targets = asC(job.targets);
  options.targets = targets.data();
  options.target_count = targets.size();
  options.dump_dir = toC(job.dumpDir);
  options.output_path = toC(job.output);
  std::vector<bp_dim_range_t> dims;
  for (size_t i = 0; i < job.symbols.size(); ++i)
    dims.push_back({toC(job.symbols[i]), job.minimums[i], job.maximums[i]});
  options.dims = dims.data();
  options.dim_count = dims.size();
  options.flags = job.flags;
  options.kernel = toC(job.kernel);
  if (!job.graph.graph.empty())
    return compileGraph(*context, job.graph, options);
  return compileModel(*context, job.model, options).status();
}

Status answerJob(const Frame &request, Frame &answer) {
  JobMessage job;
  if (request.type != FrameType::Job)
    return unimplemented("this worker takes jobs; it got frame type " +
                         std::to_string(unsigned(request.type)));
  if (Status s = decode(request.payload, job); !s.ok())
    return s;
  answer.type = FrameType::Ready;
  return compile(job);
}

} // namespace

int serveJobs(const WorkerOptions &options) {
  return serve(options, [](Hello &greeting) -> Result<Handler> {
    greeting.version = view(bp_version());
    return Handler(answerJob);
  });
}

} // namespace backplane::worker
