// SPDX-License-Identifier: Apache-2.0
//
// Models that are broken on purpose: each is refused with one clear line.
#include "ModelBuilder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;

namespace {

/// x: f32[n, 3] to y by one Relu.
ModelBuilder plain() {
  ModelBuilder model;
  model.input("x", {"n", "3"}).output("y").node("Relu", {"x"}, {"y"});
  return model;
}

std::string message(const ModelBuilder &model) {
  auto result = model.import();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.message().find('\n'), std::string::npos);
  return result.message();
}

std::string ofBytes(const std::string &bytes) {
  auto result = importBytes(bytes);
  EXPECT_FALSE(result.ok());
  return result.message();
}

/// A model whose only initialiser is this one.
std::string withTensor(T tensor) {
  ModelBuilder model;
  model.tensor("w", std::move(tensor))
      .output("y")
      .node("Identity", {"w"}, {"y"});
  return message(model);
}

T floatTensor(std::vector<int64_t> dims, size_t bytes) {
  T tensor;
  tensor.set_data_type(T::FLOAT);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_raw_data(std::string(bytes, '\0'));
  return tensor;
}

} // namespace

TEST(OnnxHostile, NoModel) {
  EXPECT_EQ(ofBytes(""), "the file is not an ONNX model: it has no graph");
  EXPECT_NE(ofBytes("hello world").find("malformed"), std::string::npos);
  EXPECT_NE(ofBytes(std::string(100, '\xff')).find("malformed"),
            std::string::npos);
}

TEST(OnnxHostile, EveryCutIsRefused) {
  std::string bytes = plain().bytes();
  ASSERT_TRUE(importBytes(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(importBytes(bytes.substr(0, size)).ok()) << size;
}

TEST(OnnxHostile, TwoGraphs) {
  EXPECT_EQ(ofBytes(plain().bytes() + plain().bytes()),
            "the file is not a complete ONNX model: the model, which has two "
            "graphs, is malformed, or nested too deep");
}

TEST(OnnxHostile, LengthBeyondTheFile) {
  // Field 7, the graph, claims 2 GB and 2^63 bytes.
  EXPECT_NE(ofBytes("\x3a\x80\x80\x80\x80\x08").find("malformed"),
            std::string::npos);
  EXPECT_NE(
      ofBytes("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f").find("malformed"),
      std::string::npos);
}

TEST(OnnxHostile, DeepNesting) {
  ModelBuilder model = plain();
  onnx::TypeProto *type = model.graph().mutable_input(0)->mutable_type();
  for (int i = 0; i < 2000; ++i)
    type = type->mutable_sequence_type()->mutable_elem_type();
  EXPECT_EQ(message(model),
            "the file is not a complete ONNX model: the graph is malformed, "
            "or nested too deep");
}

/// Both branches of each `If` hold the next: a file of a few hundred kilobytes,
/// whose graphs nothing behind the importer could hold.
TEST(OnnxHostile, ManyNestedGraphs) {
  onnx::GraphProto branch;
  onnx::NodeProto &copy = *branch.add_node();
  copy.set_op_type("Identity");
  copy.add_input("x");
  copy.add_output("o");
  branch.add_output()->set_name("o");
  for (int depth = 0; depth < 13; ++depth) {
    onnx::GraphProto around;
    onnx::NodeProto &node = *around.add_node();
    node.set_op_type("If");
    node.add_input("k");
    node.add_output("o");
    for (const char *name : {"then_branch", "else_branch"}) {
      onnx::AttributeProto &attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto::GRAPH);
      *attribute.mutable_g() = branch;
    }
    around.add_output()->set_name("o");
    branch = std::move(around);
  }
  ModelBuilder model;
  model.input("k", {}, T::BOOL).input("x", {"3"}).output("o");
  *model.graph().add_node() = branch.node(0);
  EXPECT_NE(message(model).find("more than 8192 graphs in graphs"),
            std::string::npos);
}

TEST(OnnxHostile, Versions) {
  auto opset = [](int64_t version) {
    ModelBuilder model = plain();
    model.proto().mutable_opset_import(0)->set_version(version);
    return message(model);
  };
  EXPECT_EQ(opset(6), "opset 6 is not supported, only 7 to 28");
  EXPECT_EQ(opset(29), "opset 29 is not supported, only 7 to 28");
  EXPECT_EQ(opset(-1), "opset -1 is not supported, only 7 to 28");
  ModelBuilder none = plain();
  none.proto().clear_opset_import();
  EXPECT_EQ(message(none), "the model does not import an opset of ai.onnx");
  ModelBuilder two = plain();
  two.proto().add_opset_import()->set_version(16);
  EXPECT_EQ(message(two), "the model imports two opsets of ai.onnx");
  ModelBuilder newer = plain();
  newer.proto().set_ir_version(1000);
  EXPECT_TRUE(message(newer).starts_with("IR version 1000 is newer than"));
}

TEST(OnnxHostile, UnsupportedOpsAreListedOnce) {
  ModelBuilder model;
  model.input("x", {"n"}).output("y");
  model.node("Foo", {"x"}, {"a"}).proto().set_name("/enc/foo");
  model.node("Foo", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"c"}).proto().set_domain("com.example");
  model.node("Optional", {"c"}, {"y"});
  EXPECT_EQ(
      message(model),
      "op 'Foo' of domain 'ai.onnx' opset 17 (node '/enc/foo') is not "
      "supported; op 'Relu' of domain 'com.example' opset (not imported) "
      "(node 'Relu3') is not supported; op 'Optional' of domain 'ai.onnx' "
      "opset 17 (node 'Optional4') is not supported");
  ModelBuilder early(11);
  early.input("x", {"n"}).output("y").node("HardSwish", {"x"}, {"y"});
  EXPECT_EQ(message(early), "op 'HardSwish' of domain 'ai.onnx' opset 11 "
                            "(node 'HardSwish1') is not supported");
}

TEST(OnnxHostile, FunctionsOfTheModel) {
  ModelBuilder model = plain();
  model.proto().add_functions()->set_name("Relu");
  EXPECT_EQ(message(model), "op 'Relu' of domain 'ai.onnx' opset 17 (node "
                            "'Relu1') is not supported as a function of "
                            "the model, inline it before");
}

TEST(OnnxHostile, SizesOfInitializers) {
  EXPECT_EQ(withTensor(floatTensor({2, 3}, 20)),
            "initializer 'w': f32[2, 3] needs 24 bytes, but there are 20");
  EXPECT_EQ(withTensor(floatTensor({int64_t(1) << 33}, 4)),
            "initializer 'w': f32[8589934592] needs 34359738368 bytes, but "
            "there are 4");
  EXPECT_EQ(withTensor(floatTensor({int64_t(1) << 40, int64_t(1) << 40}, 4)),
            "initializer 'w': a tensor has more than 2^46 elements");
  EXPECT_EQ(withTensor(floatTensor({0, INT64_MAX, INT64_MAX}, 0)),
            "initializer 'w': a tensor has more than 2^46 elements");
  EXPECT_EQ(withTensor(floatTensor({-1}, 4)),
            "initializer 'w': the size -1 is negative");
}

TEST(OnnxHostile, DataOfInitializers) {
  T both = floatTensor({1}, 4);
  both.add_float_data(1);
  EXPECT_EQ(withTensor(both),
            "initializer 'w': a tensor has its data in more than one place");
  T foreign;
  foreign.set_data_type(T::FLOAT);
  foreign.add_int64_data(1);
  EXPECT_EQ(withTensor(foreign), "initializer 'w': the data field does not "
                                 "fit the element type f32");
  T text;
  text.set_data_type(T::STRING);
  text.add_string_data("a");
  EXPECT_EQ(withTensor(text),
            "initializer 'w': element type STRING is not supported");
  T untyped;
  EXPECT_EQ(withTensor(untyped),
            "initializer 'w': element type UNDEFINED is not supported");
  T flag;
  flag.set_data_type(T::BOOL);
  flag.set_raw_data("\x02");
  EXPECT_EQ(withTensor(flag),
            "initializer 'w': a bool is stored as 2, but must be 0 or 1");
  T parts = floatTensor({1}, 4);
  parts.mutable_segment()->set_begin(0);
  EXPECT_EQ(withTensor(parts),
            "initializer 'w': a tensor in segments is not supported");
}

TEST(OnnxHostile, OrderAndNames) {
  ModelBuilder cycle;
  cycle.input("x", {"n"}).output("a");
  cycle.node("Add", {"x", "b"}, {"a"});
  cycle.node("Relu", {"a"}, {"b"});
  EXPECT_EQ(message(cycle), "Add node 'Add1': it reads 'b', which nothing "
                            "before it defines");
  ModelBuilder twice = plain();
  twice.node("Neg", {"x"}, {"y"});
  EXPECT_EQ(message(twice), "Neg node 'Neg2': 'y' is defined twice");
  ModelBuilder shadow = plain();
  shadow.node("Neg", {"x"}, {"x"});
  EXPECT_EQ(message(shadow), "Neg node 'Neg2': 'x' is defined twice");
  ModelBuilder inputs = plain();
  inputs.input("x", {"3"});
  EXPECT_EQ(message(inputs), "input 'x' is listed twice");
  ModelBuilder weights = plain();
  weights.counted("w", {1}).counted("w", {1});
  EXPECT_EQ(message(weights), "initializer 'w': 'w' is defined twice");
  ModelBuilder lines = plain();
  lines.node("Neg", {"a\nb"}, {"z"});
  EXPECT_EQ(message(lines), "Neg node 'Neg2': it reads 'a?b', which nothing "
                            "before it defines");
}

TEST(OnnxHostile, InputsOfNodes) {
  ModelBuilder few;
  few.input("x", {"n"}).output("y").node("Add", {"x"}, {"y"});
  EXPECT_EQ(message(few), "Add node 'Add1': it has 1 inputs");
  ModelBuilder many;
  many.input("x", {"n"}).output("y").node("Relu", {"x", "x"}, {"y"});
  EXPECT_EQ(message(many), "Relu node 'Relu1': it has 2 inputs");
  ModelBuilder empty;
  empty.input("x", {"n"}).output("y").node("Add", {"x", ""}, {"y"});
  EXPECT_EQ(message(empty), "Add node 'Add1': input 1 is missing");
  ModelBuilder types;
  types.input("a", {"n"}).input("b", {"n"}, T::INT32).output("y");
  types.node("Add", {"a", "b"}, {"y"});
  EXPECT_TRUE(message(types).starts_with("Add node 'Add1': add: "))
      << message(types);
}

TEST(OnnxHostile, InputsOfTheGraph) {
  auto declared = [](auto change) {
    ModelBuilder model = plain();
    change(*model.graph().mutable_input(0));
    return message(model);
  };
  using Info = onnx::ValueInfoProto;
  auto shape = [](Info &info) {
    return info.mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  EXPECT_EQ(declared([](Info &i) { i.clear_type(); }),
            "input 'x': only tensors are supported");
  EXPECT_EQ(declared([](Info &i) {
              i.mutable_type()->mutable_tensor_type()->clear_shape();
            }),
            "input 'x': the rank is unknown; declare the shape");
  EXPECT_EQ(
      declared([&](Info &i) { shape(i)->mutable_dim(0)->set_dim_value(-5); }),
      "input 'x': the size -5 is negative");
  EXPECT_EQ(declared([&](Info &i) {
              shape(i)->mutable_dim(0)->set_dim_value(INT64_MAX);
            }),
            "input 'x': a tensor has more than 2^46 elements");
  EXPECT_EQ(declared([&](Info &i) {
              for (int d = 0; d < 100; ++d)
                shape(i)->add_dim()->set_dim_value(1);
            }),
            "input 'x': rank 102 is above 16");
  EXPECT_EQ(declared([](Info &i) { i.clear_name(); }),
            "input '': an input has no name");
}

TEST(OnnxHostile, Outputs) {
  ModelBuilder none = plain();
  none.graph().clear_output();
  EXPECT_EQ(message(none), "the graph has no output");
  ModelBuilder unknown = plain();
  unknown.output("z");
  EXPECT_EQ(message(unknown), "output 'z': nothing defines it");
  ModelBuilder twice = plain();
  twice.output("y");
  EXPECT_EQ(message(twice), "output 'y': it is listed twice");
  ModelBuilder type = plain();
  auto &tensor =
      *type.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(T::INT32);
  EXPECT_EQ(message(type), "output 'y': declared as i32, but it is f32[n, 3]");
  tensor.set_elem_type(T::FLOAT);
  tensor.mutable_shape()->add_dim()->set_dim_value(7);
  tensor.mutable_shape()->add_dim()->set_dim_value(4);
  EXPECT_EQ(message(type), "output 'y': declared with the dims [7, 4], but it "
                           "is f32[n, 3]");
  tensor.mutable_shape()->mutable_dim(1)->set_dim_value(3);
  EXPECT_TRUE(type.import().ok());
}

TEST(OnnxHostile, SizesThatOverflow) {
  int64_t large = int64_t(1) << 45;
  ModelBuilder tile;
  tile.input("x", {"1024"}).ints("r", {1}, {large}).output("y");
  tile.node("Tile", {"x", "r"}, {"y"});
  EXPECT_EQ(message(tile),
            "Tile node 'Tile1': a tensor has more than 2^46 elements");
  ModelBuilder symbolic;
  symbolic.input("x", {"n"}).ints("r", {1}, {INT64_MAX}).output("y");
  symbolic.node("Tile", {"x", "r"}, {"a"});
  symbolic.node("Tile", {"a", "r"}, {"y"});
  EXPECT_FALSE(symbolic.import().ok());
  ModelBuilder pads;
  pads.input("x", {"1", "1", "4"}).counted("w", {1, 1, 1}).output("y");
  pads.node("Conv", {"x", "w"}, {"y"}).is("pads", {INT64_MAX, INT64_MAX});
  EXPECT_NE(message(pads).find("not in [0, 2^30]"), std::string::npos);
}

TEST(OnnxHostile, Attributes) {
  auto softmax = [](auto change) {
    ModelBuilder model;
    model.input("x", {"n", "3"}).output("y");
    change(model.node("Softmax", {"x"}, {"y"}));
    return message(model);
  };
  EXPECT_EQ(softmax([](NodeBuilder n) { n.i("axis", 0).i("axis", 1); }),
            "Softmax node 'Softmax1': attribute 'axis' is given twice");
  EXPECT_EQ(softmax([](NodeBuilder n) { n.i("axis", 2); }),
            "Softmax node 'Softmax1': axis 2 is out of range for rank 2");
  EXPECT_EQ(softmax([](NodeBuilder n) { n.i("axis", INT64_MIN); }),
            "Softmax node 'Softmax1': axis -9223372036854775808 is out of "
            "range for rank 2");
  EXPECT_EQ(softmax([](NodeBuilder n) { n.f("axis", 1); }),
            "Softmax node 'Softmax1': attribute 'axis' has the wrong type");
  EXPECT_EQ(softmax([](NodeBuilder n) {
              n.i("axis", 1).proto().mutable_attribute(0)->set_ref_attr_name(
                  "a");
            }),
            "Softmax node 'Softmax1': attribute 'axis' refers to a function's "
            "attribute");
}

TEST(OnnxHostile, SparseAndSequences) {
  ModelBuilder sparse = plain();
  sparse.graph().add_sparse_initializer();
  EXPECT_EQ(message(sparse), "sparse initializers are not supported");
  ModelBuilder sequence = plain();
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_EQ(message(sequence), "input 'x': only tensors are supported");
}
