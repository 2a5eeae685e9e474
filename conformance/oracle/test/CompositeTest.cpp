// SPDX-License-Identifier: Apache-2.0
//
// The oracle's own rule of each composite against the decomposition that
// defines it for backends: two roads to one number.
#include "conformance/oracle/Format.h"
#include "conformance/oracle/Oracle.h"
#include "sdk/graph/Decompose.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

struct Composite {
  const char *op;
  std::vector<std::vector<int64_t>> operands;
  Attributes attributes;
  DType dtype = DType::F32;
};

using Ints = std::vector<int64_t>;

void PrintTo(const Composite &composite, std::ostream *out) {
  *out << composite.op;
}

/// Numbers in [-2, 2) or small integers, the same on every machine.
Tensor random(DType dtype, const Ints &dims, uint64_t seed) {
  Tensor tensor{dtype, dims, {}};
  tensor.data.resize((tensor.elementCount() * bitWidth(dtype) + 7) / 8);
  for (size_t i = 0; i < tensor.elementCount(); ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    auto bits = static_cast<double>(seed >> 40) * 0x1p-22 - 2;
    storeBits(tensor, i, isFloat(dtype) ? encode(dtype, bits) : seed >> 56);
  }
  return tensor;
}

std::vector<Tensor> inputsOf(const Composite &composite) {
  std::vector<Tensor> inputs;
  for (const Ints &dims : composite.operands) {
    inputs.push_back(random(composite.dtype, dims, inputs.size() + 1));
    // Variances are not negative.
    if (composite.op == std::string("batch_norm") && inputs.size() == 5)
      for (size_t i = 0; i < inputs.back().elementCount(); ++i)
        storeBits(inputs.back(), i, loadBits(inputs.back(), i) & 0x7fffffff);
  }
  return inputs;
}

Graph graphOf(const Composite &composite, const std::vector<Tensor> &inputs) {
  Graph graph;
  std::vector<ValueId> operands;
  for (const Tensor &input : inputs)
    operands.push_back(graph.addInput(
        "x" + std::to_string(operands.size()),
        {input.dtype, Dims(input.dims.begin(), input.dims.end())}));
  auto results = graph.add(composite.op, operands, composite.attributes);
  EXPECT_TRUE(results.ok()) << results.message();
  if (results.ok())
    graph.addOutput((*results)[0], "y");
  return graph;
}

class Composites : public testing::TestWithParam<Composite> {};

TEST_P(Composites, AgreeWithTheirDecomposition) {
  std::vector<Tensor> inputs = inputsOf(GetParam());
  Graph graph = graphOf(GetParam(), inputs);
  auto parts = decompose(graph, [](const Op &) { return false; });
  ASSERT_TRUE(parts.ok()) << parts.message();
  for (const Op &op : parts->ops)
    ASSERT_NE(op.name, GetParam().op);
  auto own = evaluate(graph, inputs, {});
  auto other = evaluate(*parts, inputs, {});
  ASSERT_TRUE(own.ok()) << own.message();
  ASSERT_TRUE(other.ok()) << other.message();
  const Expected &x = own->front(), &y = other->front();
  ASSERT_EQ(x.dims, y.dims);
  ASSERT_EQ(x.dtype, y.dtype);
  ASSERT_FALSE(x.bits.empty());
  if (x.match != Match::Limit) {
    EXPECT_EQ(x.bits, y.bits);
    return;
  }
  Real most = 0;
  for (Real value : x.value)
    most = std::max(most, std::fabs(value));
  for (size_t i = 0; i < x.value.size(); ++i) {
    bool isExact = y.match != Match::Limit;
    Real other = isExact ? decode(y.dtype, y.bits[i]) : y.value[i];
    Real otherError = isExact ? 0 : y.error[i];
    // The bound covers what the other road finds, and is no excuse.
    ASSERT_LE(std::fabs(x.value[i] - other), x.error[i]) << i;
    ASSERT_LE(x.error[i], 2 * otherError + 1e-6L * most) << i;
  }
}

const Ints one = {1, 1}, none = {0, 0}, window = {3, 2};
const Attributes convolution = {{"strides", Ints{2, 1}},
                                {"dilations", Ints{1, 2}},
                                {"low", Ints{1, 2}},
                                {"high", Ints{0, 1}},
                                {"groups", int64_t(2)}};

INSTANTIATE_TEST_SUITE_P(
    All, Composites,
    testing::Values(
        Composite{"sigmoid", {{97}}, {}}, Composite{"silu", {{97}}, {}},
        Composite{"softplus", {{97}}, {}}, Composite{"softsign", {{97}}, {}},
        Composite{"mish", {{97}}, {}}, Composite{"hard_swish", {{97}}, {}},
        Composite{"hard_sigmoid", {{97}}, {{"alpha", 0.3}, {"beta", 0.4}}},
        Composite{"leaky_relu", {{97}}, {{"alpha", 0.1}}},
        Composite{"elu", {{97}}, {{"alpha", 1.3}}},
        Composite{"celu", {{97}}, {{"alpha", 1.7}}},
        Composite{"selu", {{97}}, {}}, Composite{"relu", {{97}}, {}},
        Composite{"clamp", {{97}}, {{"low", -1.0}, {"high", 0.5}}},
        Composite{"prelu", {{97}, {97}}, {}},
        Composite{"prelu", {{97}, {97}}, {}, DType::I8},
        Composite{"gelu", {{97}}, {}},
        Composite{"gelu", {{97}}, {{"approximate", std::string("tanh")}}},
        Composite{"softmax", {{5, 7, 3}}, {{"axis", int64_t(1)}}},
        Composite{"log_softmax", {{5, 7}}, {{"axis", int64_t(1)}}},
        Composite{"log_sum_exp", {{5, 7, 3}}, {{"axes", Ints{0, 2}}}},
        Composite{
            "log_sum_exp", {{5, 7}}, {{"axes", Ints{1}}, {"keep", int64_t(1)}}},
        Composite{
            "layer_norm", {{3, 5, 7}, {5, 7}, {5, 7}}, {{"axis", int64_t(1)}}},
        Composite{"rms_norm", {{3, 5, 7}, {7}}, {{"axis", int64_t(2)}}},
        Composite{
            "group_norm", {{2, 6, 5}, {6}, {6}}, {{"groups", int64_t(3)}}},
        Composite{
            "group_norm", {{2, 4, 3, 5}, {4}, {4}}, {{"groups", int64_t(4)}}},
        Composite{"batch_norm", {{2, 3, 5}, {3}, {3}, {3}, {3}}, {}},
        Composite{"avg_pool",
                  {{2, 3, 9, 8}},
                  {{"window", window},
                   {"strides", one},
                   {"dilations", one},
                   {"low", one},
                   {"high", none}}},
        Composite{
            "attention",
            {{2, 4, 3, 8}, {2, 2, 5, 8}, {2, 2, 5, 6}, {1, 4, 3, 5}},
            {{"scale", 0.35}, {"soft_cap", 3.0}, {"causal", Dims{Dim(1)}}}},
        Composite{"attention",
                  {{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
                  {{"scale", 0.25}, {"causal", Dims{Dim(-1)}}}},
        Composite{"rotary", {{2, 3, 5, 8}, {2, 5, 4}, {2, 5, 4}}, {}},
        Composite{"rotary",
                  {{2, 3, 5, 8}, {2, 5, 4}, {2, 5, 4}},
                  {{"interleaved", int64_t(1)}}},
        Composite{
            "matmul_integer", {{2, 3, 5}, {2, 5, 4}, {3}, {4}}, {}, DType::I8},
        Composite{"matmul_integer",
                  {{5, 3}, {4, 5}, {}, {}},
                  {{"transpose_a", int64_t(1)}, {"transpose_b", int64_t(1)}},
                  DType::U8},
        Composite{"conv_integer",
                  {{2, 4, 7, 6}, {6, 2, 3, 2}, {}, {6}},
                  convolution,
                  DType::U8}));

} // namespace

} // namespace backplane::conformance
