// SPDX-License-Identifier: Apache-2.0
#include "ArtifactCache.h"
#include "Targets.h"
#include "ToolLibraries.h"
#include "sdk/support/Version.h"

#include <algorithm>
#include <filesystem>

namespace backplane::rt {

namespace fs = std::filesystem;

namespace {

/// Strings as the bytes of a cache entry and back; none holds a zero.
Bytes join(const std::vector<std::string> &parts) {
  Bytes bytes;
  for (const std::string &part : parts) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    bytes.push_back(0);
  }
  return bytes;
}

std::vector<std::string> split(const Bytes &bytes) {
  std::vector<std::string> parts(1);
  for (uint8_t byte : bytes)
    if (byte)
      parts.back() += char(byte);
    else
      parts.emplace_back();
  parts.pop_back();
  return parts;
}

/// What tells an artifact from all others: its header has the hash of all that
/// it says, the hashes of its weights among that.
std::span<const uint8_t> identityOf(const LoadedArtifact &artifact) {
  constexpr size_t headerBytes = 64;
  return artifact.file->bytes().first(headerBytes);
}

} // namespace

std::string besideModel(const std::string &model, const std::string &file) {
  return (fs::path(model).parent_path() / file).string();
}

ArtifactCache::ArtifactCache(std::shared_ptr<Registry> registry,
                             std::string folder)
    : registry_(std::move(registry)),
      files_(std::move(folder), registry_->host().trust(),
             [this](const Status &status) { warn(status); }) {}

void ArtifactCache::warn(const Status &status) const {
  if (!status.ok())
    registry_->host().log(BP_LOG_WARNING, status.message());
}

/// Adds the programs that the compiler starts for the job's targets.
Status ArtifactCache::addEmitterTools(CacheKey &key,
                                      const CompileJob &job) const {
  std::vector<TargetInfo> known = listTargets(*registry_);
  for (const std::string &names : job.targets)
    for (const EmitterTool *tool : toolsOf(known, names)) {
      Result<std::string> file = tool->find(registry_->host().trust());
      Result<std::string> hash = file ? files_.fileHash(*file) : file;
      if (!hash)
        return hash.status();
      key.add(tool->name).add(*hash);
    }
  return {};
}

/// Adds what compiles, `compiler` being the hash of its library, and for what.
Status ArtifactCache::addTools(CacheKey &key, const std::string &compiler,
                               const CompileJob &job) const {
  std::optional<Bytes> toolchain = files_.get("toolchain", compiler);
  if (!toolchain)
    return notFound("not compiled yet");
  std::vector<std::string> tools = split(*toolchain);
  for (size_t i = 0; i < tools.size(); ++i) {
    // The first one is the version of LLVM, the rest are files.
    Result<std::string> hash =
        i == 0 ? Result<std::string>(tools[0]) : files_.fileHash(tools[i]);
    if (!hash)
      return hash.status();
    key.add(*hash);
  }
  for (const CompilerPlugin &plugin : registry_->compilers())
    key.add(plugin.name).add(plugin.version).add(plugin.hash);
  for (const KernelSet &set : registry_->kernelSets())
    key.add("kernels").add(set.plugin).add(set.version).add(set.hash);
  if (Status s = addEmitterTools(key, job); !s.ok())
    return s;
  for (const std::string &target : job.targets)
    key.add(target);
  if (job.embedGraph)
    key.add("with the graph");
  if (!job.kernel.empty())
    key.add("kernel " + job.kernel);
  for (const DimRange &dim : job.dims)
    key.add(dim.symbol)
        .add(std::to_string(dim.minimum))
        .add(std::to_string(dim.maximum));
  return {};
}

Result<std::string> ArtifactCache::keyOf(const CompileJob &job) const {
  CacheKey key("artifact");
  key.add(productVersion).add(std::to_string(artifactVersion));
  std::vector<std::string> files = {job.model, ToolLibraries::importPath(),
                                    ToolLibraries::compilerPath()};
  std::vector<std::string> hashes;
  for (const std::string &file : files) {
    Result<std::string> hash = files_.fileHash(file);
    if (!hash)
      return hash;
    key.add(*hash);
    hashes.push_back(*hash);
  }
  std::optional<Bytes> beside = files_.get("beside", hashes[0]);
  if (!beside)
    return notFound("not compiled yet");
  for (const std::string &name : split(*beside)) {
    Result<std::string> hash = files_.fileHash(besideModel(job.model, name));
    if (!hash)
      return hash;
    key.add(name).add(*hash);
  }
  if (Status s = addTools(key, hashes[2], job); !s.ok())
    return s;
  return key.str() + ".bpx";
}

void ArtifactCache::noteDependencies(const CompileJob &job,
                                     const Model &model) const {
  Result<std::string> modelHash = files_.fileHash(job.model);
  Result<std::string> compiler = files_.fileHash(ToolLibraries::compilerPath());
  Result<std::vector<std::string>> tools =
      ToolLibraries(registry_->host().trust()).toolchain();
  if (!modelHash || !compiler || !tools)
    return;
  warn(files_.put("beside", *modelHash, join(model.externalFiles)));
  warn(files_.put("toolchain", *compiler, join(*tools)));
}

std::shared_ptr<const LoadedArtifact>
ArtifactCache::lookUp(const CompileJob &job) const {
  Result<std::string> key = keyOf(job);
  return key ? open(*key) : nullptr;
}

std::vector<std::string>
ArtifactCache::knownBeside(const CompileJob &job) const {
  Result<std::string> hash = files_.fileHash(job.model);
  std::optional<Bytes> beside;
  if (hash)
    beside = files_.get("beside", *hash);
  return beside ? split(*beside) : std::vector<std::string>();
}

std::shared_ptr<const LoadedArtifact>
ArtifactCache::open(const std::string &key) const {
  Result<TrustedFile> file = files_.open("artifacts", key);
  if (!file && file.code() == BP_STATUS_NOT_FOUND)
    return nullptr;
  Result<std::shared_ptr<const LoadedArtifact>> artifact =
      file ? LoadedArtifact::open(registry_, *file) : file.status();
  std::optional<Bytes> note = files_.get("keys", key);
  // Without a note another process has just written the artifact and is about
  // to open it, so it stays; or it was never finished, and is written again.
  if (artifact && !note)
    return nullptr;
  if (artifact && std::ranges::equal(*note, identityOf(**artifact)))
    return *artifact;
  Status reason = artifact ? dataLoss("cache entry '" + file->path() +
                                      "' was not made for its key")
                           : artifact.status();
  warn(reason.within("a damaged entry of the cache is made again"));
  if (Result<std::string> path = files_.path("artifacts", key))
    files_.drop(*path);
  return nullptr;
}

void ArtifactCache::note(const std::string &key,
                         const LoadedArtifact &artifact) const {
  warn(files_.put("keys", key, identityOf(artifact)));
}

Result<std::string> ArtifactCache::keyOf(const LoadedArtifact &artifact,
                                         const CompileJob &job) const {
  Result<std::string> library = files_.fileHash(ToolLibraries::compilerPath());
  if (!library)
    return library;
  if (!files_.get("toolchain", *library)) {
    Result<std::vector<std::string>> tools =
        ToolLibraries(registry_->host().trust()).toolchain();
    if (!tools)
      return tools.status();
    warn(files_.put("toolchain", *library, join(*tools)));
  }
  std::span<const uint8_t> header = identityOf(artifact);
  CacheKey key("stored");
  key.add(productVersion).add(std::to_string(artifactVersion)).add(*library);
  key.add({reinterpret_cast<const char *>(header.data()), header.size()});
  if (Status s = addTools(key, *library, job); !s.ok())
    return s;
  return key.str() + ".bpx";
}

} // namespace backplane::rt
