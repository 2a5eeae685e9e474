// SPDX-License-Identifier: Apache-2.0
#include "CompileModel.h"
#include "CompileInWorker.h"
#include "Evaluate.h"
#include "RemoteTargets.h"
#include "StoredGraph.h"
#include "Targets.h"
#include "ToolLibraries.h"
#include "sdk/graph/GraphFile.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Joined.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

namespace backplane::rt {
namespace {

namespace fs = std::filesystem;
using LoadedResult = Result<std::shared_ptr<const LoadedArtifact>>;

/// Removes a file when it goes out of scope.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() {
    if (!path.empty())
      unlink(path.c_str());
  }
};

std::string temporaryPath() {
  static std::atomic<unsigned> counter = 0;
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return (folder / ("backplane-" + std::to_string(getpid()) + "-" +
                    std::to_string(counter++) + ".bpx"))
      .string();
}

/// A .bpg file holds a graph; all else is for the importer.
Result<Model> readModel(const std::string &path, const FileTrust &trust) {
  return path.ends_with(".bpg") ? readGraphFile(path)
                                : ToolLibraries(trust).import(path);
}

} // namespace

ModelCompiler::ModelCompiler(std::shared_ptr<Registry> registry,
                             LoaderOptions options)
    : registry_(std::move(registry)), options_(std::move(options)),
      artifacts_(registry_, options_.cacheDir) {}

void ModelCompiler::warn(const Status &status) const {
  if (!status.ok())
    registry_->host().log(BP_LOG_WARNING, status.message());
}

/// Whether the job's output may be written: it is none of what is read.
static Status checkOutputOf(const CompileJob &job,
                            const std::vector<std::string> &beside) {
  if (job.outputPath.empty())
    return {};
  if (Status s = checkOutput(job.outputPath); !s.ok())
    return s;
  std::vector<std::string> read = {job.model};
  for (const std::string &name : beside)
    read.push_back(besideModel(job.model, name));
  for (const std::string &file : read)
    if (isSameFile(file, job.outputPath))
      return invalidArgument("output '" + job.outputPath + "' is the input '" +
                             file + "'; name another file");
  return {};
}

Status ModelCompiler::chooseTargets(CompileJob &job) const {
  if (job.targets.empty()) {
    auto targets = defaultTargets(*registry_, job.driver);
    if (!targets)
      return targets.status();
    job.targets = std::move(*targets);
  }
  std::vector<TargetInfo> known = listTargets(*registry_);
  for (std::string &name : job.targets) {
    if (isTargetList(known, name)) {
      for (const EmitterTool *tool : toolsOf(known, name))
        if (auto file = tool->find(registry_->host().trust()); !file)
          return file.status().within("target " + name);
      if (job.fallback)
        addFallback(*registry_, known, name);
      bool mayCrash = hasPasses(known, name) || isMemoryLimited();
      if (mayCrash && !isCompileWorker())
        job.limits.ownProcess = true;
      continue;
    }
    std::string list = joined(known, ", ", &TargetInfo::name);
    // Not "not found": in a worker short of memory a plug-in that the tool has
    // may be missing, which is no fault of the model.
    return Status(BP_STATUS_FAILED_PRECONDITION,
                  "no compiler plug-in has target '" + name + "'; there is " +
                      (list.empty() ? "none" : list));
  }
  return {};
}

CompileServices ModelCompiler::services() const {
  CompileServices services;
  services.plugins = registry_->compilers();
  services.kernelSets = registry_->kernelSets();
  services.graphTable = graphTable();
  services.threads = registry_->host().pool().workerCount();
  auto evaluator = std::make_shared<ReferenceEvaluator>(registry_);
  services.evaluate = [evaluator](const Graph &graph, auto inputs) {
    return evaluator->run(graph, inputs);
  };
  // Another build of the compiler may make other kernels. A library without a
  // hash cannot have been loaded.
  Result<std::string> hash = cache().fileHash(ToolLibraries::compilerPath());
  std::string compiler = hash ? *hash : std::string();
  auto kernelKey = [compiler](const std::string &key) {
    return CacheKey("kernel").add(compiler).add(key).str();
  };
  services.cacheGet = [this, kernelKey](const std::string &key) {
    return cache().get("kernels", kernelKey(key));
  };
  services.cachePut = [this, kernelKey](const std::string &key, auto blob) {
    warn(cache().put("kernels", kernelKey(key), blob));
  };
  services.progress = [log = options_.log](std::string_view what, uint64_t done,
                                           uint64_t total) {
    if (log.progress)
      log.progress(log.context, toC(what), done, total);
  };
  if (registry_->host().trace())
    services.phase = [registry = registry_](std::string_view what,
                                            uint64_t begin, uint64_t end) {
      if (Trace *trace = registry->host().trace())
        trace->span(trace->thread(), what, "compile", begin, end);
    };
  services.log = [registry = registry_](uint32_t level,
                                        std::string_view message) {
    registry->host().log(level, message);
  };
  return services;
}

LoadedResult ModelCompiler::compileTo(const std::string &path,
                                      const CompileJob &job, Model model) {
  if (Status s = narrowDims(model.graph, job.dims); !s.ok())
    return s.within(job.model);
  CompileRequest request;
  request.model = std::move(model);
  request.targets = job.targets;
  request.embedGraph = job.embedGraph;
  request.kernel = job.kernel;
  request.dumpDir = job.dumpDir;
  request.outputPath = path;
  {
    TraceScope scope(registry_->host().trace(), "compile", "compile");
    if (Status s = ToolLibraries(registry_->host().trust())
                       .compile(request, services());
        !s.ok())
      return s.within(job.model);
  }
  LoadedResult made = LoadedArtifact::open(registry_, path);
  if (!made && made.code() == BP_STATUS_NOT_FOUND) // by another process
    return Status(BP_STATUS_UNAVAILABLE, made.message() + ", it was removed");
  return made;
}

Result<Model> ModelCompiler::importModel(const std::string &path) const {
  TraceScope scope(registry_->host().trace(), "import", "compile");
  return readModel(path, registry_->host().trust());
}

/// Into the cache, at `path`. Where there is none or it fails, to where the job
/// wants it, or to a file that is gone at once; the model, which was used up,
/// is then made again.
LoadedResult ModelCompiler::compileAnywhere(const Result<std::string> &path,
                                            const CompileJob &job, Model model,
                                            const Again &again) {
  Status place = path ? checkOutput(*path) : path.status();
  if (place.ok()) {
    cache().tidy();
    LoadedResult made = compileTo(*path, job, std::move(model));
    if (made)
      artifacts_.note(fs::path(*path).filename().string(), **made);
    if (made || (made.code() != BP_STATUS_RESOURCE_EXHAUSTED &&
                 made.code() != BP_STATUS_UNAVAILABLE))
      return made;
    warn(made.status().within("compiled again without the cache"));
    Result<Model> second = again();
    if (!second)
      return second.status();
    model = std::move(*second);
  } else if (cache().enabled()) {
    warn(place);
  }
  if (!job.outputPath.empty())
    return compileTo(job.outputPath, job, std::move(model));
  TemporaryFile file{temporaryPath()};
  return compileTo(file.path, job, std::move(model));
}

/// What a worker wrote to the output, else to the cache.
LoadedResult ModelCompiler::openWritten(const CompileJob &job,
                                        const std::string &path) {
  if (!path.empty())
    return LoadedArtifact::open(registry_, path);
  if (auto artifact = artifacts_.lookUp(job))
    return artifact;
  return notFound("the cache keeps nothing");
}

/// By a worker, into the output or the cache; where the cache takes nothing, to
/// a file that is gone at once.
LoadedResult ModelCompiler::compileWithin(const CompileJob &job) {
  if (job.graph || !cache().enabled() || !job.outputPath.empty()) {
    TemporaryFile file{job.outputPath.empty() ? temporaryPath() : ""};
    std::string path = job.outputPath.empty() ? file.path : job.outputPath;
    if (Status s = compileInWorker(job, options_, path); !s.ok())
      return s;
    return openWritten(job, path);
  }
  if (Status s = compileInWorker(job, options_, ""); !s.ok())
    return s;
  if (LoadedResult artifact = openWritten(job, ""))
    return artifact;
  TemporaryFile file{temporaryPath()};
  if (Status s = compileInWorker(job, options_, file.path); !s.ok())
    return s;
  return openWritten(job, file.path);
}

LoadedResult ModelCompiler::compile(const CompileJob &job) {
  if (job.limits.any())
    return compileWithin(job);
  Result<Model> model = importModel(job.model);
  if (!model)
    return model.status();
  if (Status s = checkOutputOf(job, model->externalFiles); !s.ok())
    return s;
  Result<std::string> path = notFound("there is no cache");
  if (cache().enabled()) {
    artifacts_.noteDependencies(job, *model);
    Result<std::string> key = artifacts_.keyOf(job);
    // What was missing may just have been which files lie beside the model.
    if (job.dumpDir.empty())
      if (auto artifact = artifacts_.lookUp(job))
        return artifact;
    path = key ? cache().path("artifacts", *key) : Result<std::string>(key);
  }
  return compileAnywhere(path, job, std::move(*model),
                         [&] { return importModel(job.model); });
}

LoadedResult ModelCompiler::compileGraph(CompileJob &job) {
  Model model{std::move(*job.graph), std::move(job.weights), {}};
  job.model = "graph '" + model.graph.name + "'";
  if (job.limits.any()) {
    job.graph = std::move(model.graph);
    job.weights = std::move(model.weights);
    return compileWithin(job);
  }
  if (!job.outputPath.empty())
    return compileTo(job.outputPath, job, std::move(model));
  TemporaryFile file{temporaryPath()};
  return compileTo(file.path, job, std::move(model));
}

LoadedResult ModelCompiler::run(CompileJob job) {
  TraceScope scope(registry_->host().trace(), "compile or look up", "compile");
  std::lock_guard lock(mutex_);
  if (Status s = chooseTargets(job); !s.ok())
    return s;
  // For sessions, which compile it again.
  job.embedGraph |=
      std::ranges::any_of(job.targets, [&](const std::string &target) {
        return compilesSizes(target);
      });
  return job.graph ? compileGraph(job) : runFile(job);
}

/// By a worker, into the cache, at `path`, or to a file that is gone at once.
LoadedResult ModelCompiler::compileStoredWithin(const Result<std::string> &path,
                                                CompileJob &job, Model model) {
  job.graph = std::move(model.graph);
  job.weights = std::move(model.weights);
  bool keeps = path && checkOutput(*path).ok();
  TemporaryFile file{keeps ? "" : temporaryPath()};
  const std::string &to = keeps ? *path : file.path;
  if (Status s = compileInWorker(job, options_, to); !s.ok())
    return s;
  LoadedResult made = LoadedArtifact::open(registry_, to);
  if (made && keeps)
    artifacts_.note(fs::path(to).filename().string(), **made);
  return made;
}

/// The best target of a device, here or behind a worker.
Result<std::string> ModelCompiler::targetFor(const std::string &device,
                                             worker::Pool *workers) const {
  if (!worker::RemoteUri::matches(device))
    return targetOfDevice(*registry_, device);
  auto targets = RemoteTargets::of(*registry_, *workers, device);
  return targets ? targets->best() : targets.status();
}

LoadedResult ModelCompiler::compileFor(const LoadedArtifact &artifact,
                                       const std::string &device,
                                       worker::Pool *workers,
                                       const CompileLimits &limits) {
  Result<std::string> target = targetFor(device, workers);
  if (!target)
    return target.status();
  CompileJob job;
  job.targets = {std::move(*target)};
  job.limits = limits;
  return compileStored(artifact, std::move(job));
}

bool ModelCompiler::compilesSizes(const std::string &target) const {
  return rt::compilesSizes(listTargets(*registry_), target);
}

LoadedResult ModelCompiler::compileSizes(const LoadedArtifact &artifact,
                                         const std::string &target,
                                         const SymbolValues &sizes,
                                         const CompileLimits &limits) {
  CompileJob job;
  job.targets = {target};
  job.limits = limits;
  for (const auto &[symbol, size] : sizes)
    job.dims.push_back({symbol, size, size});
  return compileStored(artifact, std::move(job));
}

LoadedResult ModelCompiler::compileStored(const LoadedArtifact &artifact,
                                          CompileJob job) {
  std::lock_guard lock(mutex_);
  job.model = artifact.file->path();
  if (Status s = chooseTargets(job); !s.ok())
    return s;
  Result<Model> model = storedModel(artifact);
  if (!model)
    return model.status();
  Result<std::string> path = notFound("there is no cache");
  if (cache().enabled()) {
    Result<std::string> key = artifacts_.keyOf(artifact, job);
    if (key)
      if (auto known = artifacts_.open(*key))
        return known;
    path = key ? cache().path("artifacts", *key) : Result<std::string>(key);
  }
  if (job.limits.any())
    return compileStoredWithin(path, job, std::move(*model));
  return compileAnywhere(path, job, std::move(*model),
                         [&] { return storedModel(artifact); });
}

LoadedResult ModelCompiler::runFile(CompileJob &job) {
  std::error_code error;
  std::string absolute = fs::absolute(job.model, error).string();
  if (error || !fs::is_regular_file(absolute, error))
    return notFound(job.model + ": is not a model file that can be read");
  job.model = absolute;
  if (Status s = checkOutputOf(job, {}); !s.ok())
    return s;
  std::shared_ptr<const LoadedArtifact> artifact;
  if (cache().enabled() && job.dumpDir.empty())
    artifact = artifacts_.lookUp(job);
  if (!artifact) {
    LoadedResult compiled = compile(job);
    if (!compiled)
      return compiled;
    artifact = std::move(*compiled);
  }
  if (job.outputPath.empty() || artifact->file->path() == job.outputPath)
    return artifact;
  if (Status s = checkOutputOf(job, artifacts_.knownBeside(job)); !s.ok())
    return s;
  if (Status s = writeFileAtomically(job.outputPath, artifact->file->bytes());
      !s.ok())
    return s;
  return artifact;
}

} // namespace backplane::rt
