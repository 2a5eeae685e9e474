// SPDX-License-Identifier: Apache-2.0
//
// ModelBuilder.h: small ONNX models for tests, and short texts of what their
// import gives.
#ifndef BACKPLANE_IMPORT_TEST_MODELBUILDER_H
#define BACKPLANE_IMPORT_TEST_MODELBUILDER_H

#include "sdk/import/Importer.h"

namespace backplane::frontend {

/// A node under construction; each call adds one attribute.
class NodeBuilder {
public:
  explicit NodeBuilder(onnx::NodeProto &node) : node_(node) {}
  NodeBuilder &i(const std::string &name, int64_t value);
  NodeBuilder &f(const std::string &name, float value);
  NodeBuilder &s(const std::string &name, const std::string &value);
  NodeBuilder &is(const std::string &name, std::vector<int64_t> values);
  NodeBuilder &fs(const std::string &name, std::vector<float> values);
  NodeBuilder &t(const std::string &name, onnx::TensorProto value);
  onnx::NodeProto &proto() { return node_; }

private:
  onnx::AttributeProto &add(const std::string &name, int type);
  onnx::NodeProto &node_;
};

using Names = std::vector<std::string>;

class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17);
  /// Dims are numbers, symbols, or "?" for a dim without a name.
  ModelBuilder &input(const std::string &name, const Names &dims,
                      int type = onnx::TensorProto::FLOAT);
  ModelBuilder &floats(const std::string &name, std::vector<int64_t> dims,
                       std::vector<float> values);
  /// An f32 initialiser with elements 0, 1, 2, …
  ModelBuilder &counted(const std::string &name, std::vector<int64_t> dims);
  ModelBuilder &ints(const std::string &name, std::vector<int64_t> dims,
                     std::vector<int64_t> values);
  ModelBuilder &tensor(const std::string &name, onnx::TensorProto value);
  NodeBuilder node(const std::string &op, const Names &inputs,
                   const Names &outputs);
  /// An output of any type.
  ModelBuilder &output(const std::string &name);

  onnx::ModelProto &proto() { return model_; }
  onnx::GraphProto &graph() { return *model_.mutable_graph(); }
  std::string bytes() const { return model_.SerializeAsString(); }
  Result<Model> import() const;

private:
  onnx::ModelProto model_;
};

/// An i64 tensor.
onnx::TensorProto intTensor(std::vector<int64_t> dims,
                            std::vector<int64_t> values);
/// Imports the bytes of a model.
Result<Model> importBytes(const std::string &bytes, ModelFolder folder = {});

/// The ops after the inputs, and the type of the first output:
/// "conv add -> f32[n, 8]". Constants, weights and broadcasts are left out. The
/// message, when the import fails.
std::string summary(const Result<Model> &model);
/// The first op of this name; fails the test when there is none.
const Op &opOf(const Result<Model> &model, std::string_view name);
/// All assertions, "a == b; c == d".
std::string assertions(const Result<Model> &model);
/// The dims attribute as text: "[n, 3]".
std::string text(const Dims &dims);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_TEST_MODELBUILDER_H
