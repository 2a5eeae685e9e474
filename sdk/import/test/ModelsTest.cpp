// SPDX-License-Identifier: Apache-2.0
//
// Real models, and the table of ops.
#include "ModelBuilder.h"
#include "sdk/import/Import.h"
#include "sdk/import/OnnxOps.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::frontend;

namespace {

std::string modelPath(const std::string &name) {
  const char *folder = std::getenv("BP_SHARED_DATA");
  return std::string(folder ? folder : BP_SHARED_DATA) + "/models/" + name;
}

struct Sample {
  const char *path;
  const char *output; ///< start of the type of the first output
};

class OnnxModels : public testing::TestWithParam<Sample> {};

} // namespace

TEST_P(OnnxModels, Import) {
  std::string path = modelPath(GetParam().path);
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << path << " is not here";
  auto result = importOnnx(path);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(result->graph.verify().ok());
  const Graph &graph = result->graph;
  std::string type = graph.type(graph.outputs[0].value).str();
  EXPECT_TRUE(type.starts_with(GetParam().output)) << type;
  RecordProperty("ops", static_cast<int>(graph.ops.size()));
  std::printf("%s: %zu ops, %zu weights, %zu assertions\n", GetParam().path,
              graph.ops.size(), result->weights.all().size(),
              graph.assertions.size());
}

INSTANTIATE_TEST_SUITE_P(
    Samples, OnnxModels,
    testing::Values(Sample{"magika/model.onnx", "f32[unk__214, 214]"},
                    Sample{"centerface/centerface.onnx", "f32[10, 1, 8, 8]"},
                    Sample{"centerface/centerface_dyn.onnx",
                           "f32[B, 1, 8*((Hinput_1 + 31) floordiv 32), "
                           "8*((Winput_1 + 31) floordiv 32)]"},
                    Sample{"centerface/centerface_int8_qdq.onnx",
                           "f32[B, 1, 8*((Hinput_1 + 31) floordiv 32), "
                           "8*((Winput_1 + 31) floordiv 32)]"},
                    Sample{"swift_f0/model.onnx", "f64[1, "},
                    Sample{"exported/mobilenetv2.onnx", "f32[2, 1000]"},
                    Sample{"exported/bert_dynamic.onnx", "f32[s72, s53, 128]"},
                    Sample{"exported/gpt2.onnx", "f32[2, 16, 1000]"},
                    Sample{"exported/llama_dynamic.onnx",
                           "f32[s72, s53, 1000]"},
                    Sample{"exported/decode.onnx", "f32[B, 1, 64]"},
                    Sample{"silero_vad/silero_vad.onnx", "f32[input_d0, 1]"},
                    Sample{"silero_vad/silero_vad_16k_sequence.onnx",
                           "f32[sequence_length]"}));

TEST(OnnxTable, SortedAndComplete) {
  std::span<const OnnxOp> ops = onnxOps();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (i)
      EXPECT_LT(ops[i - 1].name, ops[i].name);
    EXPECT_EQ(findOnnxOp(ops[i].name), &ops[i]);
    EXPECT_GE(ops[i].since, kOldestOpset);
    EXPECT_LE(ops[i].until, kNewestOpset);
  }
  EXPECT_EQ(findOnnxOp("Optional"), nullptr);
}

TEST(OnnxTable, AttributeRanges) {
  const OnnxOp &clip = *findOnnxOp("Clip");
  EXPECT_TRUE(allowsAttribute(clip, "min", 10));
  EXPECT_FALSE(allowsAttribute(clip, "min", 11));
  const OnnxOp &reshape = *findOnnxOp("Reshape");
  EXPECT_FALSE(allowsAttribute(reshape, "allowzero", 13));
  EXPECT_TRUE(allowsAttribute(reshape, "allowzero", 14));
}
