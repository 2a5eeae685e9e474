// SPDX-License-Identifier: Apache-2.0
//
// ArtifactCache.h: compiled artifacts by all that they depend on, to be found
// without the importer or the compiler.
#ifndef BACKPLANE_SERVICE_ARTIFACTCACHE_H
#define BACKPLANE_SERVICE_ARTIFACTCACHE_H

#include "CompileJob.h"
#include "sdk/support/Cache.h"

namespace backplane::rt {

/// A file that a model names, which lies beside it.
std::string besideModel(const std::string &model, const std::string &file);

/// Thread-safe.
class ArtifactCache {
public:
  ArtifactCache(std::shared_ptr<Registry> registry, std::string folder);

  /// The files that it keeps, and what others keep there.
  const Cache &files() const { return files_; }

  /// The key of everything that the artifact of a model depends on. Fails while
  /// something of that is not known yet: which files lie beside the model is
  /// known after its first import, what the compiler maps after its first use.
  Result<std::string> keyOf(const CompileJob &job) const;
  /// The key of what a stored graph is compiled to. The compiler is mapped to
  /// learn what it depends on when that is not known yet.
  Result<std::string> keyOf(const LoadedArtifact &artifact,
                            const CompileJob &job) const;
  /// Keeps what keyOf needs to know of a model and of the compiler.
  void noteDependencies(const CompileJob &job, const Model &model) const;
  /// Files beside the model, when they are known without importing it.
  std::vector<std::string> knownBeside(const CompileJob &job) const;

  /// The artifact of a job, or of a key; null: there is none.
  std::shared_ptr<const LoadedArtifact> lookUp(const CompileJob &job) const;
  std::shared_ptr<const LoadedArtifact> open(const std::string &key) const;
  /// Writes down which artifact belongs to a key, so that it is not taken for
  /// another one under another name.
  void note(const std::string &key, const LoadedArtifact &artifact) const;

private:
  Status addEmitterTools(CacheKey &key, const CompileJob &job) const;
  Status addTools(CacheKey &key, const std::string &compiler,
                  const CompileJob &job) const;
  void warn(const Status &status) const;

  std::shared_ptr<Registry> registry_;
  Cache files_;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_ARTIFACTCACHE_H
