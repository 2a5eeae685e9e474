// SPDX-License-Identifier: Apache-2.0
#include "ModelBuilder.h"
#include "sdk/support/TextViews.h"

#include <gtest/gtest.h>
#include <numeric>

namespace backplane::frontend {

using A = onnx::AttributeProto;

onnx::AttributeProto &NodeBuilder::add(const std::string &name, int type) {
  A &attribute = *node_.add_attribute();
  attribute.set_name(name);
  attribute.set_type(static_cast<A::AttributeType>(type));
  return attribute;
}

NodeBuilder &NodeBuilder::i(const std::string &name, int64_t value) {
  add(name, A::INT).set_i(value);
  return *this;
}

NodeBuilder &NodeBuilder::f(const std::string &name, float value) {
  add(name, A::FLOAT).set_f(value);
  return *this;
}

NodeBuilder &NodeBuilder::s(const std::string &name, const std::string &value) {
  add(name, A::STRING).set_s(value);
  return *this;
}

NodeBuilder &NodeBuilder::is(const std::string &name,
                             std::vector<int64_t> values) {
  A &attribute = add(name, A::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
  return *this;
}

NodeBuilder &NodeBuilder::fs(const std::string &name,
                             std::vector<float> values) {
  A &attribute = add(name, A::FLOATS);
  for (float value : values)
    attribute.add_floats(value);
  return *this;
}

NodeBuilder &NodeBuilder::t(const std::string &name, onnx::TensorProto value) {
  *add(name, A::TENSOR).mutable_t() = std::move(value);
  return *this;
}

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

ModelBuilder &ModelBuilder::input(const std::string &name, const Names &dims,
                                  int type) {
  onnx::ValueInfoProto &info = *graph().add_input();
  info.set_name(name);
  auto &tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string &dim : dims) {
    auto &added = *tensor.mutable_shape()->add_dim();
    if (std::isdigit(dim[0]) || dim[0] == '-')
      added.set_dim_value(std::stoll(dim));
    else if (dim != "?")
      added.set_dim_param(dim);
  }
  return *this;
}

ModelBuilder &ModelBuilder::tensor(const std::string &name,
                                   onnx::TensorProto value) {
  value.set_name(name);
  *graph().add_initializer() = std::move(value);
  return *this;
}

ModelBuilder &ModelBuilder::floats(const std::string &name,
                                   std::vector<int64_t> dims,
                                   std::vector<float> values) {
  onnx::TensorProto value;
  value.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : dims)
    value.add_dims(dim);
  value.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor(name, value);
}

ModelBuilder &ModelBuilder::counted(const std::string &name,
                                    std::vector<int64_t> dims) {
  std::vector<float> values(static_cast<size_t>(std::accumulate(
      dims.begin(), dims.end(), int64_t(1), std::multiplies<int64_t>())));
  std::iota(values.begin(), values.end(), 0.0f);
  return floats(name, dims, values);
}

ModelBuilder &ModelBuilder::ints(const std::string &name,
                                 std::vector<int64_t> dims,
                                 std::vector<int64_t> values) {
  return tensor(name, intTensor(std::move(dims), std::move(values)));
}

NodeBuilder ModelBuilder::node(const std::string &op, const Names &inputs,
                               const Names &outputs) {
  onnx::NodeProto &node = *graph().add_node();
  node.set_op_type(op);
  node.set_name(op + std::to_string(graph().node_size()));
  for (const std::string &name : inputs)
    node.add_input(name);
  for (const std::string &name : outputs)
    node.add_output(name);
  return NodeBuilder(node);
}

ModelBuilder &ModelBuilder::output(const std::string &name) {
  graph().add_output()->set_name(name);
  return *this;
}

Result<Model> ModelBuilder::import() const { return importBytes(bytes()); }

onnx::TensorProto intTensor(std::vector<int64_t> dims,
                            std::vector<int64_t> values) {
  onnx::TensorProto value;
  value.set_data_type(onnx::TensorProto::INT64);
  for (int64_t dim : dims)
    value.add_dims(dim);
  for (int64_t each : values)
    value.add_int64_data(each);
  return value;
}

Result<Model> importBytes(const std::string &bytes, ModelFolder folder) {
  auto owner = std::make_shared<std::string>(bytes);
  auto file = OnnxFile::parse(asBytes(*owner), owner, std::move(folder));
  if (!file.ok())
    return file.status();
  return Importer(*file).run();
}

std::string summary(const Result<Model> &model) {
  if (!model.ok())
    return model.message();
  std::string line;
  for (const Op &op : model->graph.ops)
    if (op.name != "constant" && op.name != "weight" && op.name != "broadcast")
      line += op.name + " ";
  return line + "-> " + model->graph.type(model->graph.outputs[0].value).str();
}

const Op &opOf(const Result<Model> &model, std::string_view name) {
  static const Op none;
  if (model.ok())
    for (const Op &op : model->graph.ops)
      if (op.name == name)
        return op;
  ADD_FAILURE() << "no op " << name << " in " << summary(model);
  return none;
}

std::string assertions(const Result<Model> &model) {
  if (!model.ok())
    return model.message();
  std::string line;
  for (const DimAssertion &each : model->graph.assertions)
    line +=
        (line.empty() ? "" : "; ") + each.lhs.str() + " == " + each.rhs.str();
  return line;
}

std::string text(const Dims &dims) {
  std::string line;
  for (const Dim &dim : dims)
    line += (line.empty() ? "" : ", ") + dim.str();
  return "[" + line + "]";
}

} // namespace backplane::frontend
