// SPDX-License-Identifier: Apache-2.0
#include "conformance/oracle/Oracle.h"
#include "conformance/oracle/Format.h"
#include "conformance/oracle/MidRad.h"

#include "gtest/gtest.h"

#include <cmath>

namespace backplane::conformance {

namespace {

Tensor floats(DType dtype, std::vector<int64_t> dims,
              const std::vector<double> &values) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize(values.size() * bitWidth(dtype) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(tensor, i, encode(dtype, values[i]));
  return tensor;
}

Tensor integers(DType dtype, std::vector<int64_t> dims,
                const std::vector<int64_t> &values) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize((values.size() * bitWidth(dtype) + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i)
    storeBits(tensor, i, static_cast<uint64_t>(values[i]));
  return tensor;
}

/// The outputs of one op on these inputs.
Result<std::vector<Expected>> run(std::string_view op,
                                  const std::vector<Tensor> &inputs,
                                  const Attributes &attributes = {},
                                  const Declaration &declaration = {}) {
  Graph graph;
  std::vector<ValueId> operands;
  for (const Tensor &input : inputs)
    operands.push_back(graph.addInput(
        "x" + std::to_string(operands.size()),
        {input.dtype, Dims(input.dims.begin(), input.dims.end())}));
  auto results = graph.add(op, operands, attributes);
  if (!results)
    return results.status();
  for (ValueId result : *results)
    graph.addOutput(result, "y" + std::to_string(result));
  return evaluate(graph, inputs, declaration);
}

Expected only(Result<std::vector<Expected>> results) {
  EXPECT_TRUE(results.ok()) << results.message();
  return results.ok() && results->size() == 1 ? (*results)[0] : Expected{};
}

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

TEST(Oracle, RoundsSumsOfDoublesOnce) {
  Expected y =
      only(run("add", {floats(DType::F64, {2}, {1, 1}),
                       floats(DType::F64, {2}, {0x1p-53, 0x1.8p-53})}));
  EXPECT_EQ(y.match, Match::Value);
  EXPECT_EQ(decode(DType::F64, y.bits[0]), 1);
  EXPECT_EQ(decode(DType::F64, y.bits[1]), 1 + 0x1p-52L);
}

/// Factors with more bits than the target keeps may be off by half a unit of
/// the last that stays; others are what they are.
TEST(Oracle, BoundsDemotedFactors) {
  Declaration declaration;
  declaration.set("DOT", DType::F32, {.operandBits = 11});
  auto product = [&](double x, double y) {
    return only(
        run("matmul",
            {floats(DType::F32, {1, 1}, {x}), floats(DType::F32, {1, 1}, {y})},
            {}, declaration));
  };
  const double fine = 1 + 0x1p-12, coarse = 1 + 0x1p-10;
  EXPECT_EQ(product(coarse, 3).error[0], 0);
  EXPECT_GE(product(fine, 3).error[0], 3 * 0x1p-12L);
  EXPECT_LE(product(fine, 3).error[0], 3 * 0x1.01p-11L);
  EXPECT_GE(product(fine, fine).error[0], 2 * 0x1p-12L);
  EXPECT_LT(product(0x1p-136, 1).error[0], 0x1p-140L);
  EXPECT_GE(product(0x1.8p-136, 1).error[0], 0x1p-137L);
  const double largest = 3.4028234e38; // rounded it is infinite
  EXPECT_TRUE(std::isinf(product(largest, 1).error[0]));
  Expected both = only(run("matmul",
                           {floats(DType::F32, {1, 2}, {largest, -largest}),
                            floats(DType::F32, {2, 1}, {1, 1})},
                           {}, declaration));
  EXPECT_TRUE(std::isnan(both.error[0]));
  // What is certain without rounding stays so.
  EXPECT_EQ(product(NAN, fine).error[0], 0);
  EXPECT_EQ(product(INFINITY, fine).error[0], 0);
  EXPECT_TRUE(std::isinf(product(INFINITY, fine).value[0]));
  EXPECT_TRUE(std::isnan(product(INFINITY, 0x1p-149).error[0]));
}

TEST(Oracle, LetsProductsContract) {
  Graph graph;
  TensorType type{DType::F32, {Dim(1)}};
  ValueId a = graph.addInput("a", type), b = graph.addInput("b", type);
  ValueId c = graph.addInput("c", type);
  ValueId product = (*graph.add("mul", {a, b}))[0];
  graph.addOutput((*graph.add("add", {product, c}))[0], "y");
  double x = 1 + 0x1p-12;
  std::vector<Tensor> inputs = {floats(DType::F32, {1}, {x}),
                                floats(DType::F32, {1}, {x}),
                                floats(DType::F32, {1}, {-1})};
  Expected y = only(evaluate(graph, inputs, {}));
  ASSERT_EQ(y.match, Match::Limit);
  double fused = std::fma(x, x, -1.0);
  double apart = static_cast<float>(static_cast<float>(x * x) - 1.0F);
  EXPECT_NE(fused, apart);
  EXPECT_LE(std::fabs(fused - y.value[0]), y.error[0]);
  EXPECT_LE(std::fabs(apart - y.value[0]), y.error[0]);
  EXPECT_LT(y.error[0], 0x1p-23L);
  Declaration plain;
  plain.set("EXACT", DType::F32, {.contracts = false});
  Expected strict = only(evaluate(graph, inputs, plain));
  EXPECT_EQ(strict.match, Match::Value);
  EXPECT_EQ(decode(DType::F32, strict.bits[0]), apart);
}

TEST(Oracle, BoundsSoftmaxByTheFormula) {
  Expected y = only(run("softmax", {floats(DType::F32, {2}, {0, 1})},
                        {{"axis", int64_t(0)}}));
  Real p = 1 / (1 + std::exp(Real(-1))), u = 0x1p-24L;
  ASSERT_EQ(y.match, Match::Limit);
  EXPECT_NEAR(static_cast<double>(y.value[1]), static_cast<double>(p), 1e-17);
  EXPECT_GT(y.error[1], p * u);
  // Two functions of 3 ulp, a quotient of 2.5, a sum, the output.
  EXPECT_LT(y.error[1], p * u * (4 * 3 + 5 + 2 + 2 + 3));
}

TEST(Oracle, BoundsDotProducts) {
  // K 2048, B 512, y 0 or 512: accumulation 0.0625, output 2^-11 |y|.
  std::vector<double> a, b;
  for (int i = 0; i < 2048; ++i) {
    a.push_back(1 + (i % 7) * 0x1p-10);
    b.push_back(0.25);
  }
  Expected y = only(run("matmul", {floats(DType::F16, {1, 2048}, a),
                                   floats(DType::F16, {2048, 1}, b)}));
  // Multiples of 2^-12 below 2^12: no partial sum rounds in f32.
  EXPECT_LE(y.error[0], ulp(formatOf(DType::F16), y.value[0]) / 2);
  a[0] = 0x1p-20;
  y = only(run("matmul", {floats(DType::F16, {1, 2048}, a),
                          floats(DType::F16, {2048, 1}, b)}));
  Real magnitude = y.value[0], out = ulp(formatOf(DType::F16), magnitude) / 2;
  Real expected = 2048 * 0x1p-24L * magnitude;
  EXPECT_NEAR(static_cast<double>(y.error[0] / (expected + out)), 1, 0.01);
  EXPECT_GT(y.sigma[0], 0);
}

TEST(Oracle, TakesIntegerDotsAsExact) {
  Expected y = only(run("matmul", {floats(DType::F32, {1, 3}, {1, -2, 3}),
                                   floats(DType::F32, {3, 1}, {4, 5, 6})}));
  EXPECT_EQ(y.value[0], 12);
  EXPECT_EQ(y.error[0], 0);
  y = only(run("matmul", {integers(DType::I8, {1, 2}, {127, 127}),
                          integers(DType::I8, {2, 1}, {127, 1})}));
  EXPECT_EQ(y.bits[0], uint64_t((127 * 127 + 127) & 255));
}

TEST(Oracle, FlushesOnlyWhereDeclared) {
  Tensor x = floats(DType::F32, {1}, {0x1p-130});
  Tensor two = floats(DType::F32, {1}, {2});
  EXPECT_EQ(only(run("mul", {x, two})).match, Match::Value);
  Declaration flush;
  flush.set("EXACT", DType::F32, {.flushesInput = true, .flushesOutput = true});
  Expected y = only(run("mul", {x, two}, {}, flush));
  ASSERT_EQ(y.match, Match::Limit);
  EXPECT_GE(y.error[0], y.value[0]); // zero is right
}

TEST(Oracle, FlushesFactorsOnlyWhereDeclared) {
  Declaration flush;
  flush.set("DOT", DType::BF16, {.accumulatorBits = 24, .flushesInput = true});
  auto dot = [&](double factor, const Declaration &declaration) {
    return only(run("matmul",
                    {floats(DType::BF16, {1, 2}, {0x1p-130, 1}),
                     floats(DType::BF16, {2, 1}, {factor, 3})},
                    {}, declaration));
  };
  EXPECT_LT(dot(0x1p127, {}).error[0], 0x1p-6);
  EXPECT_GE(dot(0x1p127, flush).error[0], 0x1p-3); // 3 is right
  EXPECT_LT(dot(0x1p127, flush).error[0], 0x1p-2);
  EXPECT_EQ(dot(INFINITY, {}).error[0], 0);
  EXPECT_TRUE(std::isnan(dot(INFINITY, flush).error[0]));
}

TEST(Oracle, KeepsOverflowBesideTheLimit) {
  Expected y = only(run("exp", {floats(DType::F32, {2}, {88.7228, 89})}));
  EXPECT_LT(y.value[0] - y.error[0], formatOf(DType::F32).max);
  EXPECT_GT(y.value[1] - y.error[1], formatOf(DType::F32).max);
  EXPECT_EQ(y.bits[1], 0x7f800000U);
}

TEST(Oracle, AdmitsNaNWhereBothSignsOverflow) {
  Attributes all = {{"kind", std::string("sum")},
                    {"axes", std::vector<int64_t>{0}}};
  auto sum = [&](const std::vector<double> &x) {
    auto size = static_cast<int64_t>(x.size());
    return only(run("reduce", {floats(DType::F32, {size}, x)}, all));
  };
  double most = 3e38;
  EXPECT_TRUE(std::isnan(sum({most, most, -most, -most, 1}).error[0]));
  EXPECT_TRUE(std::isinf(sum({most, most, -1}).error[0]));
  EXPECT_TRUE(std::isnan(sum({INFINITY, -most, -most}).error[0]));
  EXPECT_EQ(sum({INFINITY, most, most}).error[0], 0);
}

TEST(Oracle, SumsInCompositesAsSumsDeclare) {
  Declaration declaration;
  declaration.set("RUNNING", DType::BF16, {.accumulatorBits = 8});
  std::vector<double> zeros(257);
  auto softmax = [&] {
    return only(run("softmax", {floats(DType::BF16, {257}, zeros)},
                    {{"axis", int64_t(0)}}, declaration));
  };
  declaration.set("REDUCE", DType::BF16, {.accumulatorBits = 8});
  declaration.set("DOT", DType::BF16, {.accumulatorBits = 8});
  Expected narrow = softmax();
  EXPECT_LE(narrow.error[0], 1.1); // a share, whatever the errors are
  EXPECT_GT(narrow.error[0], 0.9);
  declaration.set("REDUCE", DType::BF16, {.accumulatorBits = 24});
  declaration.set("DOT", DType::BF16, {.accumulatorBits = 24});
  EXPECT_LT(softmax().error[0], 0.1 * softmax().value[0]);
}

TEST(Oracle, GivesNarrowStepsTheRangeOfSingle) {
  Declaration declaration;
  declaration.set("RUNNING", DType::F16, {.accumulatorBits = 11});
  Tensor x = floats(DType::F16, {1, 2}, {400, -300}),
         one = floats(DType::F16, {2}, {1, 1});
  Expected y =
      only(run("rms_norm", {x, one}, {{"axis", int64_t(1)}}, declaration));
  EXPECT_NEAR(static_cast<double>(y.value[0]), 1.1314, 1e-4);
  EXPECT_LT(y.error[0], 0.01);
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

TEST(Oracle, AllowsProductsThatLeaveTheRangeOnTheWay) {
  std::vector<double> factors = {1e30, 1e30, 1e-30};
  Attributes combine = {{"combine", std::string("mul")}};
  Attributes running = {{"kind", std::string("prod")}, {"axis", int64_t(0)}};
  for (DType dtype : {DType::F32, DType::BF16}) {
    // In f32 the second product is infinite, in f64 it is not.
    Expected y =
        only(run("scatter",
                 {floats(dtype, {1}, {1}), integers(DType::I64, {3}, {0, 0, 0}),
                  floats(dtype, {3}, factors)},
                 combine));
    EXPECT_EQ(y.error[0], infinity);
    EXPECT_NEAR(double(y.value[0] / 1e30L), 1, 0.02);
    y = only(run("cumulative", {floats(dtype, {3}, factors)}, running));
    EXPECT_EQ(y.error[0], 0) << "one factor is not rounded";
    EXPECT_EQ(y.error[2], infinity);
    y = only(
        run("cumulative", {floats(dtype, {3}, {1e-30, 1e-30, 1e30})}, running));
    EXPECT_GE(y.error[2], y.value[2]) << "the second one may be zero";
  }
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
