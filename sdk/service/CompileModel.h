// SPDX-License-Identifier: Apache-2.0
//
// CompileModel.h: a model file to an opened artifact, through the cache. When
// the cache has it, neither the importer nor the compiler is mapped.
#ifndef BACKPLANE_SERVICE_COMPILEMODEL_H
#define BACKPLANE_SERVICE_COMPILEMODEL_H

#include "ArtifactCache.h"
#include "hal/core/LoaderOptions.h"

#include <chrono>

namespace backplane::rt {

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
  bool compilesSizes(const std::string &target) const override;
  Result<std::shared_ptr<const LoadedArtifact>>
  compileSizes(const LoadedArtifact &artifact, const std::string &target,
               const SymbolValues &sizes, const CompileLimits &limits) override;
  const Cache &cache() const { return artifacts_.files(); }

private:
  Result<std::string> targetFor(const std::string &device,
                                worker::Pool *workers) const;
  Result<std::shared_ptr<const LoadedArtifact>>
  compileStored(const LoadedArtifact &artifact, CompileJob job);
  Status chooseTargets(CompileJob &job) const;
  Result<Model> importModel(const std::string &path) const;
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
  CompileServices services() const;
  void warn(const Status &status) const;

  std::shared_ptr<Registry> registry_;
  LoaderOptions options_;
  ArtifactCache artifacts_;
  std::mutex mutex_;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_COMPILEMODEL_H
