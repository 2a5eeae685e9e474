// SPDX-License-Identifier: Apache-2.0
//
// OnnxFile.h: an ONNX file, read and parsed, with its external data.
//
// The raw bytes of initialisers are left where they are in the copy of the
// file; protobuf parses only what remains. Everything that points into the file
// keeps the OnnxFile alive.
#ifndef BACKPLANE_IMPORT_ONNXFILE_H
#define BACKPLANE_IMPORT_ONNXFILE_H

#include "backplane/cpp/Result.h"
#include "sdk/support/FileCopy.h"

#include "onnx-ml.pb.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace backplane::frontend {

/// Bytes and what keeps them valid.
struct OwnedBytes {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

/// The folder of a model, the only place where its external data may lie.
class ModelFolder {
public:
  /// No folder: any external data is refused.
  ModelFolder() = default;
  explicit ModelFolder(std::filesystem::path path) : path_(std::move(path)) {}
  /// Part of a file of the folder. Refused: absolute paths, `..`, links that
  /// lead out of the folder, ranges outside of the file.
  Result<OwnedBytes> read(const std::string &location, uint64_t offset,
                          std::optional<uint64_t> length);
  /// The files that were read, as the model names them.
  const std::set<std::string> &locations() const { return locations_; }

private:
  Result<std::filesystem::path> resolve(const std::string &location) const;

  std::filesystem::path path_;
  std::map<std::filesystem::path, std::shared_ptr<const FileCopy>> files_;
  std::set<std::string> locations_;
};

/// An initialiser; its raw data lie outside of the message.
struct Initializer {
  onnx::TensorProto proto;
  std::optional<std::span<const uint8_t>> raw;
};

struct OnnxFile {
  onnx::ModelProto model; ///< the graph has no initialisers
  std::vector<Initializer> initializers;
  ModelFolder folder;
  std::shared_ptr<const void> bytes; ///< keeps the raw data valid

  static Result<std::shared_ptr<OnnxFile>> open(const std::string &path);
  /// Parses bytes that `owner` keeps valid.
  static Result<std::shared_ptr<OnnxFile>>
  parse(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner,
        ModelFolder folder);
};

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXFILE_H
