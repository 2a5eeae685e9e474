// SPDX-License-Identifier: Apache-2.0
//
// Files: weights in the mapped model, external data, old-style initialisers,
// element types.
#include "ModelBuilder.h"
#include "sdk/import/Import.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace backplane;
using namespace backplane::frontend;
using T = onnx::TensorProto;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test.
class OnnxFiles : public testing::Test {
protected:
  void SetUp() override {
    const auto *info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() /
            ("bp-import-" + std::to_string(::getpid()) + info->name());
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "sub");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  /// A model whose weight of 32 f32 lies in an external file.
  Result<Model> external(const std::map<std::string, std::string> &entries) {
    ModelBuilder model;
    T tensor;
    tensor.set_data_type(T::FLOAT);
    tensor.add_dims(32);
    tensor.set_data_location(T::EXTERNAL);
    for (const auto &[key, value] : entries) {
      auto &entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    model.tensor("w", tensor).input("x", {"32"}).output("y");
    model.node("Add", {"x", "w"}, {"y"});
    write(folder_ / "m.onnx", model.bytes());
    return importOnnx((folder_ / "m.onnx").string());
  }
  std::string refusal(const std::map<std::string, std::string> &entries) {
    auto result = external(entries);
    EXPECT_FALSE(result.ok());
    size_t start = result.message().find("initializer");
    return start == std::string::npos ? result.message()
                                      : result.message().substr(start);
  }

  fs::path root_, folder_;
};

const Weight &onlyWeight(const Result<Model> &model) {
  static const Weight none;
  if (!model.ok() || model->weights.all().size() != 1) {
    ADD_FAILURE() << "not one weight: " << summary(model);
    return none;
  }
  return model->weights.all().begin()->second;
}

} // namespace

TEST_F(OnnxFiles, WeightsAreThoseOfTheFile) {
  ModelBuilder model;
  model.counted("w", {32}).input("x", {"32"}).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  write(folder_ / "m.onnx", model.bytes());
  auto result = importOnnx((folder_ / "m.onnx").string());
  const Weight &weight = onlyWeight(result);
  ASSERT_EQ(weight.data.size(), 128u);
  float last = 0;
  std::memcpy(&last, weight.data.data() + 124, 4);
  EXPECT_EQ(last, 31.0f);
}

TEST_F(OnnxFiles, MissingFile) {
  auto result = importOnnx((folder_ / "none.onnx").string());
  EXPECT_EQ(result.code(), BP_STATUS_NOT_FOUND);
  EXPECT_NE(importOnnx(folder_.string()).message().find("not a regular file"),
            std::string::npos);
}

TEST_F(OnnxFiles, ExternalDataAtAnOffset) {
  write(folder_ / "sub" / "w.bin",
        std::string(16, 'a') + std::string(128, 'b'));
  auto result = external(
      {{"location", "sub/w.bin"}, {"offset", "16"}, {"length", "128"}});
  EXPECT_EQ(onlyWeight(result).data[0], 'b');
  EXPECT_EQ(onlyWeight(result).data.size(), 128u);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->externalFiles, std::vector<std::string>{"sub/w.bin"});
}

TEST_F(OnnxFiles, ExternalDataOutsideOfTheFolder) {
  write(root_ / "secret", std::string(128, 's'));
  fs::create_symlink(root_ / "secret", folder_ / "link");
  fs::create_directory_symlink(root_, folder_ / "up");
  std::string inside = "must be a path inside the model's folder";
  EXPECT_NE(refusal({{"location", "../secret"}}).find(inside),
            std::string::npos);
  EXPECT_NE(refusal({{"location", "sub/../../secret"}}).find(inside),
            std::string::npos);
  EXPECT_NE(refusal({{"location", (root_ / "secret").string()}}).find(inside),
            std::string::npos);
  EXPECT_NE(refusal({{"location", ""}}).find(inside), std::string::npos);
  EXPECT_NE(refusal({{"location", std::string("link\0x", 6)}}).find(inside),
            std::string::npos);
  std::string out = "leads out of the model's folder";
  EXPECT_NE(refusal({{"location", "link"}}).find(out), std::string::npos);
  EXPECT_NE(refusal({{"location", "up/secret"}}).find(out), std::string::npos);
}

TEST_F(OnnxFiles, ExternalDataThatDoesNotFit) {
  write(folder_ / "w.bin", std::string(100, 'a'));
  EXPECT_EQ(refusal({{"location", "w.bin"}}),
            "initializer 'w': f32[32] needs 128 bytes, but there are 100");
  EXPECT_EQ(refusal({{"location", "w.bin"}, {"length", "128"}}),
            "initializer 'w': external data 'w.bin' has 100 bytes, but 128 "
            "bytes at 0 are needed");
  EXPECT_EQ(refusal({{"location", "w.bin"},
                     {"offset", "18446744073709551615"},
                     {"length", "128"}}),
            "initializer 'w': external data 'w.bin' has 100 bytes, but 128 "
            "bytes at 18446744073709551615 are needed");
  EXPECT_EQ(refusal({{"location", "w.bin"}, {"offset", "-1"}}),
            "initializer 'w': external data has the offset '-1', which is not "
            "a number");
  EXPECT_EQ(refusal({{"location", "w.bin"}, {"basepath", "/"}}),
            "initializer 'w': external data has the unknown key 'basepath'");
  EXPECT_NE(refusal({{"location", "sub"}}).find("not a regular file"),
            std::string::npos);
  EXPECT_NE(refusal({{"location", "none"}}).find("not found"),
            std::string::npos);
}

TEST(OnnxTensors, InitializersThatAreInputsToo) {
  ModelBuilder model;
  model.input("x", {"3"}).input("w", {"3"}).counted("w", {3}).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result), "add -> f32[3]");
  EXPECT_EQ(result->graph.inputs.size(), 1u);
}

TEST(OnnxTensors, EveryTypedField) {
  auto bytes = [](int type, auto fill) {
    ModelBuilder model;
    T tensor;
    tensor.set_data_type(type);
    tensor.add_dims(2);
    fill(tensor);
    model.tensor("w", tensor).output("y").node("Identity", {"w"}, {"y"});
    auto result = model.import();
    const Bytes *value = opOf(result, "constant").bytes("value");
    return value ? *value : Bytes();
  };
  auto int32s = [](T &t) {
    t.add_int32_data(1);
    t.add_int32_data(-2);
  };
  EXPECT_EQ(bytes(T::INT8, int32s), (Bytes{1, 0xfe}));
  EXPECT_EQ(bytes(T::INT16, int32s), (Bytes{1, 0, 0xfe, 0xff}));
  EXPECT_EQ(bytes(T::INT32, int32s), (Bytes{1, 0, 0, 0, 0xfe, 255, 255, 255}));
  auto half = [](T &t) {
    t.add_int32_data(0x3c00);
    t.add_int32_data(0xbc00);
  };
  EXPECT_EQ(bytes(T::FLOAT16, half), (Bytes{0, 0x3c, 0, 0xbc}));
  EXPECT_EQ(bytes(T::INT4, [](T &t) { t.add_int32_data(0x21); }), Bytes{0x21});
  EXPECT_EQ(bytes(T::UINT32,
                  [](T &t) {
                    t.add_uint64_data(0xffffffff);
                    t.add_uint64_data(2);
                  }),
            (Bytes{255, 255, 255, 255, 2, 0, 0, 0}));
  EXPECT_EQ(bytes(T::BOOL,
                  [](T &t) {
                    t.add_int32_data(1);
                    t.add_int32_data(0);
                  }),
            (Bytes{1, 0}));
}

TEST(OnnxTensors, NumbersRoundTripThroughHalves) {
  for (double value : {0.0, 1.0, -1.5, 65504.0, 6.103515625e-05,
                       5.9604644775390625e-08, 0.333251953125}) {
    auto bytes = std::make_shared<Bytes>(encodeFloat(DType::F16, value));
    HostTensor tensor{DType::F16, {}, {*bytes, bytes}};
    EXPECT_NEAR(*numberAt(tensor, 0), value, 1e-12) << value;
  }
  EXPECT_EQ(encodeFloat(DType::F16, 65520.0), (Bytes{0, 0x7c}));
  EXPECT_EQ(encodeFloat(DType::F16, 65519.0), (Bytes{0xff, 0x7b}));
  EXPECT_EQ(encodeFloat(DType::BF16, 1.00390625), (Bytes{0x80, 0x3f}));
  EXPECT_EQ(encodeFloat(DType::BF16, -HUGE_VAL), (Bytes{0x80, 0xff}));
}

TEST(OnnxTensors, ConstantsOfAllKinds) {
  auto constant = [](auto change) {
    ModelBuilder model;
    model.output("y");
    change(model.node("Constant", {}, {"y"}));
    return summary(model.import());
  };
  EXPECT_EQ(constant([](NodeBuilder n) { n.f("value_float", 1); }), "-> f32[]");
  EXPECT_EQ(constant([](NodeBuilder n) { n.fs("value_floats", {1, 2}); }),
            "-> f32[2]");
  EXPECT_EQ(constant([](NodeBuilder n) { n.i("value_int", 1); }), "-> i64[]");
  EXPECT_EQ(constant([](NodeBuilder n) { n.is("value_ints", {1, 2, 3}); }),
            "-> i64[3]");
  EXPECT_EQ(
      constant([](NodeBuilder n) { n.t("value", intTensor({1, 2}, {3, 4})); }),
      "-> i64[1, 2]");
  EXPECT_EQ(constant([](NodeBuilder n) { n.s("value_string", "a"); }),
            "Constant node 'Constant1': attribute 'value_string' is not "
            "supported in opset 17");
  EXPECT_EQ(
      constant([](NodeBuilder n) { n.i("value_int", 1).f("value_float", 1); }),
      "Constant node 'Constant1': it needs one value, found 2");
}

TEST(OnnxSymbols, NamesBecomeIdentifiers) {
  ModelBuilder model;
  model.input("in.1", {"batch size", "?", "?", "n/2", "mod"}).output("y");
  model.input("b", {"batch_size"}).node("Relu", {"in.1"}, {"y"});
  auto result = model.import();
  EXPECT_EQ(summary(result),
            "relu -> f32[batch_size, in_1_d1, in_1_d2, n_2, d_mod]");
  EXPECT_EQ(result->graph.type(result->graph.inputs[1]).str(),
            "f32[batch_size_1]");
}
