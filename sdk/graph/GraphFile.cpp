// SPDX-License-Identifier: Apache-2.0
#include "GraphFile.h"
#include "Wire.h"
#include "sdk/support/Npy.h"

#include <filesystem>
#include <fstream>

namespace backplane {

namespace fs = std::filesystem;

namespace {

/// Adds the weight of a file, whose id says what is in it.
Status addWeight(const std::string &path, const WeightId &id,
                 const TensorType &type, WeightPool &pool) {
  auto file = readNpy(path);
  if (!file)
    return file.status();
  auto owner = std::make_shared<const Tensor>(std::move(*file));
  if (!holdsDType(owner->dtype(), bp_dtype_t(type.dtype)))
    return invalidArgument(path + ": does not hold a " + type.str());
  auto added = pool.add(type, {owner->data(), owner->size()}, owner);
  if (added && *added != id)
    return Status(BP_STATUS_DATA_LOSS,
                  path + ": is not the weight of its name");
  return added ? Status() : added.status().within(path);
}

} // namespace

Result<Model> readGraphFile(const std::string &path) {
  constexpr uintmax_t maxBytes = uintmax_t(1) << 30;
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    return notFound("'" + path + "' is no regular file");
  if (fs::file_size(path, error) > maxBytes || error)
    return invalidArgument(path + ": is not a graph file of at most 1 GB");
  std::ifstream in(path, std::ios::binary);
  Bytes bytes((std::istreambuf_iterator<char>(in)), {});
  if (!in)
    return notFound("cannot read '" + path + "'");
  Result<Graph> graph = readGraph(bytes);
  if (!graph)
    return graph.status().within(path);
  Model model{std::move(*graph), {}, {}};
  for (const auto &[id, type] : weightsOf(model.graph)) {
    const std::string name = "weight-" + id + ".npy";
    fs::path beside = fs::path(path).parent_path() / name;
    if (!fs::exists(beside, error))
      continue;
    if (Status s = addWeight(beside, id, type, model.weights); !s.ok())
      return s;
    model.externalFiles.push_back(name);
  }
  return model;
}

} // namespace backplane
