// SPDX-License-Identifier: Apache-2.0
//
// The oracle's own rule of each composite against the decomposition that
// defines it for backends: two roads to one number.
#include "Samples.h"
#include "sdk/graph/Decompose.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

class Composites : public testing::TestWithParam<Sample> {};

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

INSTANTIATE_TEST_SUITE_P(All, Composites,
                         testing::ValuesIn(compositeSamples()));
INSTANTIATE_TEST_SUITE_P(Layouts, Composites,
                         testing::ValuesIn(layoutSamples()));

} // namespace

} // namespace backplane::conformance
