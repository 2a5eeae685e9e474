// SPDX-License-Identifier: Apache-2.0
#include "Samples.h"
#include "SmallOps.h"

#include "gtest/gtest.h"

#include <cmath>
#include <ostream>

namespace backplane::conformance {

namespace {

using Ints = std::vector<int64_t>;

const Ints one = {1, 1}, none = {0, 0}, window = {3, 2};
const Attributes convolution = {{"strides", Ints{2, 1}},
                                {"dilations", Ints{1, 2}},
                                {"low", Ints{1, 2}},
                                {"high", Ints{0, 1}},
                                {"groups", int64_t(2)}};

/// Every number goes through f32, so that each dtype gets the same.
Tensor random(DType dtype, const Ints &dims, uint64_t seed, bool isPositive) {
  Tensor tensor{dtype, dims, {}};
  tensor.data.resize((tensor.elementCount() * bitWidth(dtype) + 7) / 8);
  for (size_t i = 0; i < tensor.elementCount(); ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    auto number = static_cast<double>(seed >> 40) * 0x1p-22 - 2;
    number = static_cast<float>(isPositive ? std::fabs(number) : number);
    storeBits(tensor, i, isFloat(dtype) ? encode(dtype, number) : seed >> 56);
  }
  return tensor;
}

std::vector<Sample> activationSamples() {
  return {
      Sample{"sigmoid", "sigmoid", {{97}}, {}},
      Sample{"silu", "silu", {{97}}, {}},
      Sample{"softplus", "softplus", {{97}}, {}},
      Sample{"softsign", "softsign", {{97}}, {}},
      Sample{"mish", "mish", {{97}}, {}},
      Sample{"hard_swish", "hard_swish", {{97}}, {}},
      Sample{"hard_sigmoid",
             "hard_sigmoid",
             {{97}},
             {{"alpha", 0.3}, {"beta", 0.4}}},
      Sample{"leaky_relu", "leaky_relu", {{97}}, {{"alpha", 0.1}}},
      Sample{"elu", "elu", {{97}}, {{"alpha", 1.3}}},
      Sample{"celu", "celu", {{97}}, {{"alpha", 1.7}}},
      Sample{"selu", "selu", {{97}}, {}},
      Sample{"relu", "relu", {{97}}, {}},
      Sample{"clamp", "clamp", {{97}}, {{"low", -1.0}, {"high", 0.5}}},
      Sample{"prelu", "prelu", {{97}, {97}}, {}},
      Sample{"prelu-2", "prelu", {{97}, {97}}, {}, DType::I8},
      Sample{"gelu", "gelu", {{97}}, {}},
      Sample{"gelu-2", "gelu", {{97}}, {{"approximate", std::string("tanh")}}}};
}

std::vector<Sample> lineSamples() {
  return {
      Sample{"softmax", "softmax", {{5, 7, 3}}, {{"axis", int64_t(1)}}},
      Sample{"log_softmax", "log_softmax", {{5, 7}}, {{"axis", int64_t(1)}}},
      Sample{"log_sum_exp", "log_sum_exp", {{5, 7, 3}}, {{"axes", Ints{0, 2}}}},
      Sample{"log_sum_exp-2",
             "log_sum_exp",
             {{5, 7}},
             {{"axes", Ints{1}}, {"keep", int64_t(1)}}},
      Sample{"layer_norm",
             "layer_norm",
             {{3, 5, 7}, {5, 7}, {5, 7}},
             {{"axis", int64_t(1)}}},
      Sample{"rms_norm", "rms_norm", {{3, 5, 7}, {7}}, {{"axis", int64_t(2)}}},
      Sample{"group_norm",
             "group_norm",
             {{2, 6, 5}, {6}, {6}},
             {{"groups", int64_t(3)}}},
      Sample{"group_norm-2",
             "group_norm",
             {{2, 4, 3, 5}, {4}, {4}},
             {{"groups", int64_t(4)}}},
      Sample{"batch_norm", "batch_norm", {{2, 3, 5}, {3}, {3}, {3}, {3}}, {}},
      Sample{"avg_pool",
             "avg_pool",
             {{2, 3, 9, 8}},
             {{"window", window},
              {"strides", one},
              {"dilations", one},
              {"low", one},
              {"high", none}}},
      Sample{"attention",
             "attention",
             {{2, 4, 3, 8}, {2, 2, 5, 8}, {2, 2, 5, 6}, {1, 4, 3, 5}},
             {{"scale", 0.35}, {"soft_cap", 3.0}, {"causal", Dims{Dim(1)}}}},
      Sample{"attention-2",
             "attention",
             {{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
             {{"scale", 0.25}, {"causal", Dims{Dim(-1)}}}},
      Sample{"rotary", "rotary", {{2, 3, 5, 8}, {2, 5, 4}, {2, 5, 4}}, {}},
      Sample{"rotary-2",
             "rotary",
             {{2, 3, 5, 8}, {2, 5, 4}, {2, 5, 4}},
             {{"interleaved", int64_t(1)}}},
      Sample{"matmul_integer",
             "matmul_integer",
             {{2, 3, 5}, {2, 5, 4}, {3}, {4}},
             {},
             DType::I8},
      Sample{"matmul_integer-2",
             "matmul_integer",
             {{5, 3}, {4, 5}, {}, {}},
             {{"transpose_a", int64_t(1)}, {"transpose_b", int64_t(1)}},
             DType::U8},
      Sample{"conv_integer",
             "conv_integer",
             {{2, 4, 7, 6}, {6, 2, 3, 2}, {}, {6}},
             convolution,
             DType::U8}};
}

} // namespace

void PrintTo(const Sample &sample, std::ostream *out) { *out << sample.name; }

std::vector<Tensor> inputsOf(const Sample &sample) {
  std::vector<Tensor> inputs;
  for (const Ints &dims : sample.operands) {
    size_t number = inputs.size() + 1;
    bool isPositive = (sample.op == "batch_norm" && number == 5) ||
                      (sample.op == "pow" && number == 1);
    inputs.push_back(random(sample.dtype, dims, number, isPositive));
    if (sample.op == "log1p") // its domain
      for (size_t i = 0; i < inputs[0].elementCount(); ++i)
        storeBits(inputs[0], i,
                  encode(sample.dtype,
                         decode(sample.dtype, loadBits(inputs[0], i)) / 4));
  }
  return inputs;
}

Graph graphOf(const Sample &sample, const std::vector<Tensor> &inputs) {
  Graph graph;
  auto results = addTo(graph, sample.op, inputs, sample.attributes);
  EXPECT_TRUE(results.ok()) << sample.name << ": " << results.message();
  if (results.ok())
    graph.addOutput((*results)[0], "y");
  return graph;
}

std::vector<Sample> primitiveSamples() {
  return {Sample{"add", "add", {{97}, {97}}, {}},
          Sample{"div", "div", {{97}, {97}}, {}},
          Sample{"pow", "pow", {{97}, {97}}, {}},
          Sample{"exp", "exp", {{97}}, {}},
          Sample{"log1p", "log1p", {{97}}, {}},
          Sample{"expm1", "expm1", {{97}}, {}},
          Sample{"erf", "erf", {{97}}, {}},
          Sample{"tanh", "tanh", {{97}}, {}},
          Sample{"sin", "sin", {{97}}, {}},
          Sample{"atan", "atan", {{97}}, {}},
          Sample{"matmul", "matmul", {{2, 3, 5}, {2, 5, 4}}, {}},
          Sample{"matmul-2",
                 "matmul",
                 {{2, 5, 3}, {4, 5}},
                 {{"transpose_a", int64_t(1)}, {"transpose_b", int64_t(1)}}},
          Sample{"conv", "conv", {{2, 4, 7, 6}, {6, 2, 3, 2}}, convolution},
          Sample{"conv_transpose",
                 "conv_transpose",
                 {{2, 4, 5, 3}, {4, 3, 3, 2}},
                 {{"strides", Ints{2, 3}},
                  {"dilations", Ints{1, 2}},
                  {"low", Ints{1, 0}},
                  {"high", Ints{1, 0}},
                  {"output_padding", Ints{0, 0}},
                  {"groups", int64_t(2)}}},
          Sample{"pool",
                 "pool",
                 {{2, 3, 9, 8}},
                 {{"kind", std::string("max")},
                  {"window", window},
                  {"strides", Ints{2, 2}},
                  {"dilations", Ints{1, 2}},
                  {"low", one},
                  {"high", one}}},
          Sample{"reduce-sum",
                 "reduce",
                 {{4, 9, 5}},
                 {{"kind", std::string("sum")}, {"axes", Ints{0, 2}}}},
          Sample{"reduce-prod",
                 "reduce",
                 {{4, 9}},
                 {{"kind", std::string("prod")}, {"axes", Ints{1}}}},
          Sample{"reduce-max",
                 "reduce",
                 {{4, 9}},
                 {{"kind", std::string("max")}, {"axes", Ints{0}}}},
          Sample{"cumulative",
                 "cumulative",
                 {{4, 9, 2}},
                 {{"kind", std::string("sum")}, {"axis", int64_t(1)}}}};
}

std::vector<Sample> layoutSamples() {
  return {Sample{"pack",
                 "pack",
                 {{5, 3, 7}, {}},
                 {{"axes", Ints{2, 0}},
                  {"tiles", Ints{4, 2}},
                  {"order", Ints{1, 2, 0}}}},
          Sample{"pack-2",
                 "pack",
                 {{3, 17, 2}},
                 {{"axes", Ints{1}}, {"tiles", Ints{8}}},
                 DType::I8},
          Sample{"unpack",
                 "unpack",
                 {{3, 2, 3, 4, 2}},
                 {{"axes", Ints{2, 0}},
                  {"tiles", Ints{4, 2}},
                  {"order", Ints{1, 2, 0}},
                  {"sizes", Dims{5, 3, 7}}}}};
}

std::vector<Sample> compositeSamples() {
  std::vector<Sample> samples = activationSamples();
  for (Sample &sample : lineSamples())
    samples.push_back(std::move(sample));
  return samples;
}

} // namespace backplane::conformance
