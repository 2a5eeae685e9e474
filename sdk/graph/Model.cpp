// SPDX-License-Identifier: Apache-2.0
#include "Model.h"

#include "sdk/support/Hash.h"

namespace backplane {

namespace {

/// dtype, rank, dims and contents, hashed as one little-endian record.
WeightId identify(const TensorType &type, std::span<const uint8_t> data) {
  std::vector<int64_t> record = {static_cast<int64_t>(type.dtype),
                                 static_cast<int64_t>(type.rank())};
  for (const Dim &dim : type.dims)
    record.push_back(*dim.constant());
  return hash128({reinterpret_cast<const uint8_t *>(record.data()),
                  record.size() * sizeof(int64_t)},
                 data)
      .hex();
}

Status checkSize(const TensorType &type, size_t size) {
  if (!type.isStatic() || bitWidth(type.dtype) == 0)
    return invalidArgument("a weight has a dtype and plain sizes, found " +
                           type.str());
  for (const Dim &dim : type.dims)
    if (dim.constant() < 0)
      return invalidArgument("weight has a negative size: " + type.str());
  Dim wanted = type.bytes();
  if (wanted != Dim(static_cast<int64_t>(size)))
    return invalidArgument("weight " + type.str() + " has " +
                           std::to_string(size) + " bytes, needs " +
                           wanted.str());
  return {};
}

} // namespace

Result<WeightId> WeightPool::add(const TensorType &type,
                                 std::span<const uint8_t> data,
                                 std::shared_ptr<const void> owner) {
  if (Status status = checkSize(type, data.size()); !status.ok())
    return status;
  WeightId id = identify(type, data);
  weights_.try_emplace(id, Weight{type, data, std::move(owner)});
  return id;
}

Result<WeightId> WeightPool::add(const TensorType &type, Bytes data) {
  auto owner = std::make_shared<const Bytes>(std::move(data));
  std::span<const uint8_t> view(*owner);
  return add(type, view, std::move(owner));
}

const Weight *WeightPool::find(std::string_view id) const {
  auto it = weights_.find(id);
  return it == weights_.end() ? nullptr : &it->second;
}

static void collectWeights(const Graph &graph,
                           std::map<WeightId, TensorType> &out) {
  for (const Variable &variable : graph.variables)
    if (!variable.initial.empty())
      out.emplace(variable.initial, variable.type);
  for (const Op &op : graph.ops) {
    if (op.name == "weight" && !op.results.empty())
      out.emplace(op.string("id"), graph.type(op.results[0]));
    for (const Graph &region : op.regions)
      collectWeights(region, out);
  }
}

std::map<WeightId, TensorType> weightsOf(const Graph &graph) {
  std::map<WeightId, TensorType> weights;
  collectWeights(graph, weights);
  return weights;
}

} // namespace backplane
