// SPDX-License-Identifier: Apache-2.0
//
// CompileModel.h: a model file to an opened artifact, through the cache. When
// the cache has it, neither the importer nor the compiler is mapped.
#ifndef BACKPLANE_SERVICE_COMPILEMODEL_H
#define BACKPLANE_SERVICE_COMPILEMODEL_H

#include "DimRanges.h"
#include "hal/core/LoaderOptions.h"
#include "hal/runtime/CompileAtLoad.h"
#include "sdk/compiler/Compile.h"
#include "sdk/support/Cache.h"

#include <chrono>

namespace backplane::rt {

struct CompileJob {
  std::string model; ///< path of an .onnx or .bpg file
  /// What to compile instead of a file; the cache is then not asked.
  std::optional<Graph> graph;
  WeightPool weights;               ///< of `graph`
  std::vector<std::string> targets; ///< empty: the default of `driver`
  std::string driver = "host";      ///< or a policy: DevicePolicy.h
  bool embedGraph = false;          ///< keep the graph in the artifact
  bool fallback = false; ///< the host runs what another driver's target lacks
  std::vector<DimRange> dims; ///< limits of symbolic dims
  std::string kernel;         ///< as bp_compile_options_t has it
  std::string dumpDir;        ///< not empty: compile even if it is in the cache
  std::string outputPath;     ///< empty: in the cache only
  CompileLimits limits;
};

/// Thread-safe; one model is compiled at a time.
class ModelCompiler : public CompileAtLoad {
public:
  /// `options` are those of the registry.
  ModelCompiler(std::shared_ptr<Registry> registry, LoaderOptions options);

  Result<std::shared_ptr<const LoadedArtifact>> run(CompileJob job);
  /// Takes what was compiled before from the cache.
  Result<std::shared_ptr<const LoadedArtifact>>
  compileFor(const LoadedArtifact &artifact, const std::string &device,
             worker::Pool *workers, const CompileLimits &limits) override;
  const Cache &cache() const { return cache_; }

private:
  Result<std::string> targetFor(const std::string &device,
                                worker::Pool *workers) const;
  Result<std::shared_ptr<const LoadedArtifact>>
  compileStored(const LoadedArtifact &artifact, std::string target,
                CompileLimits limits);
  Status chooseTargets(CompileJob &job) const;
  Result<Model> importModel(const std::string &path) const;
  Status addPtxas(CacheKey &key, const CompileJob &job) const;
  Status addTools(CacheKey &key, const std::string &compiler,
                  const CompileJob &job) const;
  Result<std::string> storedKey(const LoadedArtifact &artifact,
                                const CompileJob &job) const;
  std::shared_ptr<const LoadedArtifact>
  openCached(const std::string &key) const;
  void noteCached(const std::string &key, const LoadedArtifact &artifact) const;
  std::vector<std::string> knownBeside(const CompileJob &job) const;
  Result<std::string> modelKey(const CompileJob &job) const;
  std::shared_ptr<const LoadedArtifact> lookUp(const CompileJob &job) const;
  Result<std::shared_ptr<const LoadedArtifact>> compile(const CompileJob &job);
  Result<std::shared_ptr<const LoadedArtifact>>
  compileWithin(const CompileJob &job);
  Result<std::shared_ptr<const LoadedArtifact>>
  compileStoredWithin(const Result<std::string> &path, CompileJob &job,
                      Model model);
  Result<std::shared_ptr<const LoadedArtifact>>
  openWritten(const CompileJob &job, const std::string &path);
  Result<std::shared_ptr<const LoadedArtifact>> compileGraph(CompileJob &job);
  Result<std::shared_ptr<const LoadedArtifact>> runFile(CompileJob &job);
  using Again = std::function<Result<Model>()>;
  Result<std::shared_ptr<const LoadedArtifact>>
  compileAnywhere(const Result<std::string> &path, const CompileJob &job,
                  Model model, const Again &again);
  Result<std::shared_ptr<const LoadedArtifact>>
  compileTo(const std::string &path, const CompileJob &job, Model model);
  void noteDependencies(const CompileJob &job, const Model &model) const;
  CompileServices services() const;
  void warn(const Status &status) const;

  std::shared_ptr<Registry> registry_;
  LoaderOptions options_;
  Cache cache_;
  std::mutex mutex_;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_COMPILEMODEL_H
