// SPDX-License-Identifier: Apache-2.0
//
// What single ops give.
#include "SmallOps.h"

namespace backplane::conformance {

namespace {

TEST(Format, KnowsItsEdges) {
  EXPECT_EQ(encode(DType::F8E4M3FN, 464), 0x7eU); // a tie, 448 is even
  EXPECT_EQ(encode(DType::F8E4M3FN, 465), 0x7fU);
  EXPECT_EQ(encode(DType::F8E5M2, 1e6), 0x7cU);
  EXPECT_EQ(encode(DType::F8E4M3FNUZ, 248), 0x80U);
  EXPECT_EQ(encode(DType::F8E4M3FNUZ, -0.0L), 0U);
  EXPECT_EQ(encode(DType::F8E5M2FNUZ, -61439), 0xffU);
  EXPECT_EQ(encode(DType::F4E2M1FN, -HUGE_VALL), 0xfU);
  EXPECT_EQ(encode(DType::F4E2M1FN, std::nanl("")), 0U);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 1.5L), 128U);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 0x1.8p127L), 255U);
  EXPECT_EQ(encode(DType::F8E8M0FNU, HUGE_VALL), 255U);
  EXPECT_EQ(encode(DType::F8E8M0FNU, -1), 0U);
  EXPECT_EQ(encode(DType::F16, 65519), 0x7bffU);
  EXPECT_EQ(encode(DType::F16, 65520), 0x7c00U);
  EXPECT_EQ(encode(DType::F16, 0x1p-25L), 0U);
  EXPECT_EQ(encode(DType::F16, 0x1.8p-25L), 1U);
  EXPECT_EQ(encode(DType::BF16, -0.0L), 0x8000U);
  EXPECT_EQ(ulp(formatOf(DType::F32), 1), 0x1p-23L);
}

TEST(Format, RoundTripsEveryNarrowValue) {
  for (DType dtype : {DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E5M2,
                      DType::F8E4M3FNUZ, DType::F8E5M2FNUZ, DType::F8E8M0FNU,
                      DType::F4E2M1FN}) {
    uint64_t count = uint64_t(1) << bitWidth(dtype);
    for (uint64_t bits = 0; bits < count; ++bits) {
      Real value = decode(dtype, bits);
      if (!std::isnan(value)) {
        ASSERT_EQ(encode(dtype, value), bits);
      }
    }
  }
}

TEST(Oracle, MovesBitsWithPayloads) {
  Tensor x{DType::F32, {2, 1}, {}};
  x.data.resize(8);
  storeBits(x, 0, 0x7f812345); // a signalling NaN
  storeBits(x, 1, 0x80000000);
  Expected y = only(
      run("transpose", {x}, {{"permutation", std::vector<int64_t>{1, 0}}}));
  EXPECT_EQ(y.match, Match::Bits);
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{0x7f812345, 0x80000000}));
}

TEST(Oracle, OrdersZerosAndNaN) {
  Tensor a = floats(DType::F32, {2}, {-0.0, NAN});
  Tensor b = floats(DType::F32, {2}, {0.0, 1});
  Expected low = only(run("min", {a, b})), high = only(run("max", {a, b}));
  EXPECT_EQ(low.bits[0], 0x80000000U);
  EXPECT_EQ(high.bits[0], 0U);
  EXPECT_TRUE(std::isnan(decode(DType::F32, low.bits[1])));
  EXPECT_EQ(only(run("relu", {a})).bits[0], 0U);
}

TEST(Oracle, ReportsErrorWords) {
  auto zero = run(
      "div", {integers(DType::I32, {1}, {1}), integers(DType::I32, {1}, {0})});
  EXPECT_EQ(zero.code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(zero.message().substr(0, 3), "div");
  auto index = run("gather", {floats(DType::F32, {2}, {1, 2}),
                              integers(DType::I64, {1}, {-1})});
  EXPECT_EQ(index.code(), BP_STATUS_OUT_OF_RANGE);
}

TEST(Oracle, DecidesTies) {
  Tensor x = floats(DType::F32, {4}, {1, 3, 3, NAN});
  Attributes attributes = {{"kind", std::string("max")}, {"axis", int64_t(0)}};
  EXPECT_EQ(only(run("arg_reduce", {x}, attributes)).bits[0], 3U);
  x = floats(DType::F32, {3}, {1, 3, 3});
  EXPECT_EQ(only(run("arg_reduce", {x}, attributes)).bits[0], 1U);
  attributes["last"] = int64_t(1);
  EXPECT_EQ(only(run("arg_reduce", {x}, attributes)).bits[0], 2U);
}

TEST(Oracle, CastsAsTheTableSays) {
  Tensor x = floats(DType::F32, {5}, {300, -1.9, NAN, INFINITY, 2.5});
  auto cast = [&](DType to) {
    return only(run("cast", {x}, {{"dtype", int64_t(to)}})).bits;
  };
  EXPECT_EQ(cast(DType::I8), (std::vector<uint64_t>{127, 255, 0, 127, 2}));
  EXPECT_EQ(cast(DType::U4), (std::vector<uint64_t>{15, 0, 0, 15, 2}));
  EXPECT_EQ(cast(DType::Bool), (std::vector<uint64_t>{1, 1, 1, 1, 1}));
}

TEST(Oracle, TakesEmptyTensors) {
  Expected y = only(run("reduce", {floats(DType::F32, {2, 0}, {})},
                        {{"kind", std::string("max")},
                         {"axes", std::vector<int64_t>{1}},
                         {"keep", int64_t(0)}}));
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{0xff800000, 0xff800000}));
  EXPECT_TRUE(only(run("exp", {floats(DType::F32, {0}, {})})).value.empty());
}

TEST(Oracle, RanksWithTiesAndNaN) {
  auto results = run("top_k", {floats(DType::F32, {5}, {2, NAN, -0.0, 2, 0})},
                     {{"k", Dims{Dim(5)}}, {"axis", int64_t(0)}});
  ASSERT_TRUE(results.ok()) << results.message();
  EXPECT_EQ((*results)[1].bits, (std::vector<uint64_t>{1, 0, 3, 2, 4}));
  EXPECT_EQ((*results)[0].bits[3], 0x80000000U);
}

TEST(Oracle, ScattersTheLastUpdate) {
  Tensor x = floats(DType::F32, {3}, {1, 2, 3});
  Tensor to = integers(DType::I64, {2}, {1, 1});
  Tensor updates = floats(DType::F32, {2}, {10, 20});
  Expected y = only(run("scatter", {x, to, updates}));
  EXPECT_EQ(decode(DType::F32, y.bits[1]), 20);
  y = only(run("scatter", {x, to, updates}, {{"combine", std::string("add")}}));
  EXPECT_EQ(decode(DType::F32, y.bits[1]), 32);
  EXPECT_EQ(decode(DType::F32, y.bits[0]), 1);
}

/// exp(0), which a device may give as a little less than 1.
struct Nearly {
  Graph graph;
  ValueId one;

  Nearly() {
    ValueId x = graph.addInput("x", {DType::F32, Dims{1}});
    one = add("exp", {x});
  }
  ValueId add(std::string_view op, const std::vector<ValueId> &operands,
              const Attributes &attributes = {}) {
    auto results = graph.add(op, operands, attributes);
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() ? (*results)[0] : 0;
  }
  Expected evaluated(ValueId output, std::vector<Tensor> inputs) {
    graph.addOutput(output, "y");
    inputs.insert(inputs.begin(), floats(DType::F32, {1}, {0}));
    return only(evaluate(graph, inputs, {}));
  }
};

TEST(Oracle, GathersAtEveryIndexThatMayBe) {
  Nearly nearly;
  ValueId table = nearly.graph.addInput("table", {DType::F32, Dims{4}});
  ValueId by = nearly.graph.addInput("by", {DType::I64, Dims{1}});
  ValueId index = nearly.add("cast", {nearly.add("floor", {nearly.one})},
                             {{"dtype", int64_t(DType::I64)}});
  index = nearly.add("add", {index, by});
  ValueId y = nearly.add("gather", {table, index}, {{"axis", int64_t(0)}});
  Expected expected =
      nearly.evaluated(y, {floats(DType::F32, {4}, {1000, 10, 30, 35}),
                           integers(DType::I64, {1}, {1})});
  ASSERT_EQ(expected.match, Match::Limit);
  EXPECT_EQ(expected.value[0], 30);
  EXPECT_EQ(expected.error[0], 20); // 10 or 30, and 35 by the interval
}

TEST(Oracle, KnowsWhatOneOperandDecides) {
  for (bool other : {false, true}) {
    Nearly nearly;
    ValueId limit = nearly.graph.addInput("limit", {DType::F32, Dims{1}});
    ValueId flag = nearly.graph.addInput("flag", {DType::Bool, Dims{1}});
    ValueId open = nearly.add("compare", {nearly.one, limit},
                              {{"direction", std::string("ge")}});
    ValueId y = nearly.add("and", {open, flag});
    Expected expected = nearly.evaluated(
        y, {floats(DType::F32, {1}, {1}), integers(DType::Bool, {1}, {other})});
    if (other) {
      EXPECT_NE(expected.match, Match::Value);
    } else {
      ASSERT_EQ(expected.match, Match::Value);
      EXPECT_EQ(expected.bits[0], 0U);
    }
  }
}

TEST(Oracle, ShiftsBeyondTheWidth) {
  Tensor a = integers(DType::I8, {3}, {-128, 1, -1});
  Tensor b = integers(DType::I8, {3}, {9, 7, -1});
  EXPECT_EQ(only(run("shr", {a, b})).bits,
            (std::vector<uint64_t>{255, 0, 255}));
  EXPECT_EQ(only(run("shl", {a, b})).bits, (std::vector<uint64_t>{0, 128, 0}));
}

TEST(Oracle, CumulatesExclusivelyFromTheEnd) {
  Expected y = only(run("cumulative", {integers(DType::I32, {3}, {1, 2, 3})},
                        {{"kind", std::string("sum")},
                         {"axis", int64_t(0)},
                         {"exclusive", int64_t(1)},
                         {"reverse", int64_t(1)}}));
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{5, 3, 0}));
  y = only(run("cumulative", {floats(DType::F32, {3}, {1, 2, 3})},
               {{"kind", std::string("sum")}, {"axis", int64_t(0)}}));
  EXPECT_EQ(y.value, (std::vector<Real>{1, 3, 6}));
  EXPECT_EQ(y.error, (std::vector<Real>{0, 0, 0}));
}

TEST(Oracle, TakesCompositesByTheirDecomposition) {
  Expected y = only(
      run("rms_norm",
          {floats(DType::F32, {2}, {3, 4}), floats(DType::F32, {2}, {1, 1})},
          {{"axis", int64_t(0)}, {"epsilon", 0.0}}));
  ASSERT_EQ(y.match, Match::Limit);
  Real want = 3 / std::sqrt(Real(12.5));
  EXPECT_LE(std::fabs(y.value[0] - want), y.error[0]);
  EXPECT_LT(y.error[0], 0x1p-19L);
  Tensor a = integers(DType::U8, {1, 2}, {200, 3});
  Tensor b = integers(DType::I8, {2, 1}, {-1, 2});
  Tensor zeroA = integers(DType::U8, {}, {100});
  Tensor zeroB = integers(DType::I8, {}, {1});
  y = only(run("matmul_integer", {a, b, zeroA, zeroB}));
  EXPECT_EQ(static_cast<int32_t>(y.bits[0]), 100 * -2 + -97 * 1);
}

TEST(Oracle, PacksIntoBlocks) {
  using Ints = std::vector<int64_t>;
  Attributes blocks{{"axes", Ints{1}}, {"tiles", Ints{2}}};
  Tensor x = integers(DType::U8, {2, 3}, {1, 2, 3, 4, 5, 6});
  Expected y = only(run("pack", {x}, blocks));
  EXPECT_EQ(y.dims, (Ints{2, 2, 2}));
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{1, 2, 3, 0, 4, 5, 6, 0}));
  blocks["order"] = Ints{1, 0};
  y = only(run("pack", {x, integers(DType::U8, {}, {9})}, blocks));
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{1, 2, 4, 5, 3, 9, 6, 9}));
  Tensor packed = integers(DType::U8, {2, 2, 2}, {1, 2, 4, 5, 3, 9, 6, 9});
  blocks["sizes"] = Dims{2, 3};
  y = only(run("unpack", {packed}, blocks));
  EXPECT_EQ(y.bits, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
}

} // namespace

} // namespace backplane::conformance
