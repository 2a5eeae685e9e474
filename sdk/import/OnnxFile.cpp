// SPDX-License-Identifier: Apache-2.0
#include "OnnxFile.h"

#include "WireScan.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace backplane::frontend {

namespace fs = std::filesystem;

// ---- files ----

static Result<std::shared_ptr<const FileCopy>> readFile(const fs::path &path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return notFound("cannot open '" + path.string() +
                    "': " + std::strerror(errno));
  Result<uint64_t> size = regularFileSize(file);
  Result<FileCopy> copy =
      size ? FileCopy::ofFile(file, *size) : Result<FileCopy>(size.status());
  ::close(file);
  if (!copy)
    return Status(copy.code(), "'" + path.string() + "' " + copy.message());
  return std::make_shared<const FileCopy>(std::move(*copy));
}

Result<fs::path> ModelFolder::resolve(const std::string &location) const {
  fs::path relative(location);
  bool climbs = location.find('\0') != std::string::npos;
  for (const fs::path &part : relative)
    climbs |= part == "..";
  if (location.empty() || relative.is_absolute() || climbs || path_.empty())
    return invalidArgument("external data '" + location +
                           "' must be a path inside the model's folder");
  std::error_code error;
  fs::path root = fs::canonical(path_, error);
  fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error)
    return notFound("external data '" + location +
                    "' not found: " + error.message());
  auto [end, unused] =
      std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end())
    return invalidArgument("external data '" + location +
                           "' leads out of the model's folder");
  return file;
}

Result<OwnedBytes> ModelFolder::read(const std::string &location,
                                     uint64_t offset,
                                     std::optional<uint64_t> length) {
  Result<fs::path> path = resolve(location);
  if (!path.ok())
    return path.status();
  std::shared_ptr<const FileCopy> &file = files_[*path];
  if (!file) {
    auto opened = readFile(*path);
    if (!opened.ok())
      return opened.status();
    file = *opened;
  }
  locations_.insert(location);
  uint64_t size = file->bytes().size();
  uint64_t wanted = length.value_or(size - std::min(offset, size));
  if (offset > size || wanted > size - offset)
    return dataLoss("external data '" + location + "' has " +
                    std::to_string(size) + " bytes, but " +
                    std::to_string(wanted) + " bytes at " +
                    std::to_string(offset) + " are needed");
  return OwnedBytes{file->bytes().subspan(offset, wanted), file};
}

// ---- parsing ----

namespace {

// Field numbers of onnx-ml.proto, which never change.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kTensorRawData = 9;

Status malformed(std::string_view what) {
  return dataLoss("the file is not a complete ONNX model: " +
                  std::string(what) + " is malformed, or nested too deep");
}

void append(std::string &text, std::span<const uint8_t> bytes) {
  text.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

bool parseMessage(google::protobuf::MessageLite &message,
                  const std::string &bytes) {
  return bytes.size() <= INT_MAX && message.ParseFromString(bytes);
}

Status parseInitializer(std::span<const uint8_t> bytes, Initializer &result) {
  std::string rest;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number == kTensorRawData && field.isBytes)
      result.raw = field.payload;
    else
      append(rest, field.whole);
  }
  if (reader.failed() || !parseMessage(result.proto, rest))
    return malformed("an initializer");
  return Status();
}

Status parseGraph(std::span<const uint8_t> bytes, OnnxFile &file) {
  std::string rest;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number != kGraphInitializer || !field.isBytes) {
      append(rest, field.whole);
      continue;
    }
    file.initializers.emplace_back();
    Status status = parseInitializer(field.payload, file.initializers.back());
    if (!status.ok())
      return status;
  }
  if (reader.failed() || !parseMessage(*file.model.mutable_graph(), rest))
    return malformed("the graph");
  return Status();
}

} // namespace

Result<std::shared_ptr<OnnxFile>>
OnnxFile::parse(std::span<const uint8_t> bytes,
                std::shared_ptr<const void> owner, ModelFolder folder) {
  auto file = std::make_shared<OnnxFile>();
  file->bytes = std::move(owner);
  file->folder = std::move(folder);
  std::string rest;
  std::optional<std::span<const uint8_t>> graph;
  WireReader reader(bytes);
  for (WireField field; reader.next(field);) {
    if (field.number != kModelGraph || !field.isBytes)
      append(rest, field.whole);
    else if (graph)
      return malformed("the model, which has two graphs,");
    else
      graph = field.payload;
  }
  if (reader.failed() || !parseMessage(file->model, rest))
    return malformed("the model");
  if (!graph)
    return invalidArgument("the file is not an ONNX model: it has no graph");
  Status status = parseGraph(*graph, *file);
  if (!status.ok())
    return status;
  return file;
}

Result<std::shared_ptr<OnnxFile>> OnnxFile::open(const std::string &path) {
  auto copy = readFile(path);
  if (!copy.ok())
    return copy.status();
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  return parse((*copy)->bytes(), *copy, ModelFolder(folder));
}

} // namespace backplane::frontend
