// SPDX-License-Identifier: Apache-2.0
//
// Graphs with sizes that data decide, compiled for both devices and run.
#include "Compiling.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace backplane;
using namespace backplane::test;

namespace {

constexpr int64_t f32 = int64_t(DType::F32), i64 = int64_t(DType::I64);

/// Builds a graph, failing the test when an op is refused.
struct Builder {
  Graph graph;

  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    auto results = graph.add(op, std::move(operands), std::move(attributes),
                             std::string(op) + " node");
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() ? results->at(0) : 0;
  }
  ValueId fill(int64_t dtype, size_t bytes, Dims dims) {
    return add("constant", {},
               {{"value", Bytes(bytes)}, {"dtype", dtype}, {"dims", dims}});
  }
  ValueId read(ValueId value, const std::string &symbol, const Dim &bound) {
    EXPECT_TRUE(graph.addSymbol({symbol}).ok());
    return add("read", {value}, {{"symbol", symbol}, {"bound", Dims{bound}}});
  }
};

/// The elements of x f32[n] above 0, and their sum and number.
Graph positives() {
  Builder m;
  Dim n = Dim::symbol("n"), k = Dim::symbol("k");
  EXPECT_TRUE(m.graph.addSymbol({"n", 0, 64}).ok());
  ValueId x = m.graph.addInput("x", {DType::F32, {n}});
  ValueId mask = m.add("compare", {x, m.fill(f32, 4, {n})},
                       {{"direction", std::string("gt")}});
  ValueId ones = m.add("cast", {mask}, {{"dtype", i64}});
  ValueId count = m.read(m.add("reduce", {ones},
                               {{"kind", std::string("sum")},
                                {"axes", std::vector<int64_t>{0}},
                                {"keep", int64_t(0)}}),
                         "k", n);
  ValueId before = m.add("cumulative", {ones},
                         {{"kind", std::string("sum")},
                          {"axis", int64_t(0)},
                          {"exclusive", int64_t(1)},
                          {"reverse", int64_t(0)}});
  ValueId last = m.add("broadcast", {count},
                       {{"dims", Dims{n}}, {"axes", std::vector<int64_t>()}});
  ValueId all = m.add("scatter", {m.fill(f32, 4, {k + 1}),
                                  m.add("select", {mask, before, last}), x});
  ValueId y = m.add("slice", {all},
                    {{"starts", Dims{0}},
                     {"sizes", Dims{k}},
                     {"strides", std::vector<int64_t>{1}}});
  m.graph.addOutput(y, "y");
  m.graph.addOutput(m.add("reduce", {y},
                          {{"kind", std::string("sum")},
                           {"axes", std::vector<int64_t>{0}},
                           {"keep", int64_t(0)}}),
                    "sum");
  m.graph.addOutput(count, "count");
  return m.graph;
}

/// 0, 1, … up to a number that is given, at most 4, in rows of two.
Graph counted() {
  Builder m;
  ValueId x = m.graph.addInput("x", {DType::I64, {}});
  m.read(x, "k", 4);
  Dim k = Dim::symbol("k");
  m.graph.addOutput(
      m.add("reshape", {m.add("iota", {}, {{"dtype", i64}, {"dims", Dims{k}}})},
            {{"dims", Dims{floorDiv(k, 2), 2}}}),
      "y");
  return m.graph;
}

/// Each element of x that is above 0 as 1, plus the number of those. What makes
/// the number must not be one dispatch with what uses it.
Graph numbered() {
  Builder m;
  Dim k = Dim::symbol("k");
  ValueId x = m.graph.addInput("x", {DType::F32, {6}});
  ValueId ones = m.add("cast",
                       {m.add("compare", {x, m.fill(f32, 4, {6})},
                              {{"direction", std::string("gt")}})},
                       {{"dtype", i64}});
  m.read(m.add("reduce", {ones},
               {{"kind", std::string("sum")},
                {"axes", std::vector<int64_t>{0}},
                {"keep", int64_t(0)}}),
         "k", 6);
  ValueId count = m.add("broadcast", {m.add("dim", {}, {{"value", Dims{k}}})},
                        {{"dims", Dims{6}}, {"axes", std::vector<int64_t>{0}}});
  m.graph.addOutput(m.add("add", {ones, count}), "y");
  return m.graph;
}

struct Tensor {
  DType type;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;

  bp_tensor_t c() {
    return {bytes.data(), dims.data(), bytes.size(), uint32_t(type),
            uint32_t(dims.size())};
  }
  template <typename T> std::vector<T> values() const {
    size_t count = 1;
    for (int64_t dim : dims)
      count *= size_t(dim);
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes.data(), count * sizeof(T));
    return values;
  }
};

class Reads : public testing::TestWithParam<const char *> {
protected:
  void open(const Graph &graph) {
    ASSERT_TRUE(graph.verify().ok()) << graph.verify().message();
    auto context = compilerContext();
    ASSERT_TRUE(context.ok()) << context.message();
    context_ = std::move(*context);
    auto artifact = compileGraph(context_, writeGraph(graph), GetParam());
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
    bp_session_options_t session = {BP_HEADER(bp_session_options_t)};
    session.device = toC(GetParam());
    auto made = createSession(artifact_, session);
    ASSERT_TRUE(made.ok()) << made.message();
    session_ = std::move(*made);
  }

  Context context_;
  Artifact artifact_;
  Session session_;
};

TEST_P(Reads, GivesShapesThatDataDecide) {
  open(positives());
  for (auto [n, every] :
       {std::pair(6, 2), {6, 1}, {6, 7}, {0, 1}, {9, 3}, {6, 2}, {64, 1}}) {
    std::vector<float> x, expected;
    for (int i = 0; i < n; ++i)
      x.push_back(i % every == every - 1 ? float(i + 1) : -1);
    std::copy_if(x.begin(), x.end(), std::back_inserter(expected),
                 [](float value) { return value > 0; });
    Floats in({n});
    in.values = x;
    Tensor y{DType::F32, {-1}, std::vector<uint8_t>(size_t(n) * 4)};
    Tensor sum{DType::F32, {}, std::vector<uint8_t>(4)};
    Tensor count{DType::I64, {}, std::vector<uint8_t>(8)};
    Status status = runSession(session_, {in.c()}, {y.c(), sum.c(), count.c()});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y.dims[0], int64_t(expected.size()));
    EXPECT_EQ(y.values<float>(), expected);
    EXPECT_EQ(sum.values<float>()[0],
              std::accumulate(expected.begin(), expected.end(), 0.f));
    EXPECT_EQ(count.values<int64_t>()[0], int64_t(expected.size()));
  }
}

TEST_P(Reads, NoDispatchMakesTheSizeThatItUses) {
  open(numbered());
  Floats x({6}, 1);
  x.values[4] = -1;
  Tensor y{DType::I64, {6}, std::vector<uint8_t>(48)};
  Status status = runSession(session_, {x.c()}, {y.c()});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y.values<int64_t>(), (std::vector<int64_t>{6, 6, 6, 6, 5, 6}));
}

TEST_P(Reads, TellsBoundsBeforeACall) {
  open(positives());
  Floats x({6});
  bp_tensor_t in = x.c();
  int64_t y = 0;
  int64_t *rooms[] = {&y, nullptr, nullptr};
  ASSERT_EQ(bp_session_output_shapes(session_.get(), &in, 1, rooms, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(y, BP_DIM_SYMBOLIC);
  ASSERT_EQ(bp_session_output_bounds(session_.get(), &in, 1, rooms, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(y, 6);
}

TEST_P(Reads, MakesValuesOfTheirRealShape) {
  open(positives());
  float data[6] = {1, -1, 2, -1, -1, 3};
  int64_t dims[1] = {6};
  bp_value_t x = {BP_HEADER(bp_value_t)};
  x.kind = BP_VALUE_TENSOR;
  x.dtype = BP_DTYPE_F32;
  x.rank = 1;
  x.dims = dims;
  x.data = data;
  bp_value_t outputs[3];
  const bp_value_t *in[] = {&x};
  bp_value_t *out[3];
  for (int i = 0; i < 3; ++i) {
    outputs[i] = {BP_HEADER(bp_value_t)};
    outputs[i].kind = BP_VALUE_TENSOR;
    outputs[i].flags = BP_VALUE_ON_HOST;
    out[i] = &outputs[i];
  }
  Status status = checked([&](bp_error_t *error) {
    return bp_session_run_values(session_.get(), in, 1, out, 3, error);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(outputs[0].rank, 1u);
  EXPECT_EQ(outputs[0].dims[0], 3);
  const auto *y = static_cast<const float *>(outputs[0].data);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{1, 2, 3}));
  for (bp_value_t &value : outputs)
    value.release(value.context);
  outputs[0] = x;
  status = checked([&](bp_error_t *error) {
    return bp_session_run_values(session_.get(), in, 1, out, 3, error);
  });
  EXPECT_EQ(status.message(), "output 'y': data decide its shape: ask for it "
                              "with BP_VALUE_ON_HOST or BP_VALUE_ON_DEVICE");
}

TEST_P(Reads, WantsRoomForTheBound) {
  open(positives());
  Floats x({6}, 1);
  Tensor sum{DType::F32, {}, std::vector<uint8_t>(4)};
  Tensor count{DType::I64, {}, std::vector<uint8_t>(8)};
  for (Tensor y : {Tensor{DType::F32, {-1}, std::vector<uint8_t>(20)},
                   Tensor{DType::F32, {6}, std::vector<uint8_t>(24)}}) {
    Status status = runSession(session_, {x.c()}, {y.c(), sum.c(), count.c()});
    EXPECT_EQ(status.code(), BP_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("output 'y' is f32[-1] with 24 bytes"),
              std::string::npos)
        << status.message();
  }
}

TEST_P(Reads, RefusesWhatIsOutOfBoundsOrBreaksACheck) {
  open(counted());
  auto run = [&](int64_t number, Tensor &y) {
    Tensor x{DType::I64, {}, std::vector<uint8_t>(8)};
    std::memcpy(x.bytes.data(), &number, 8);
    y = {DType::I64, {-1, 2}, std::vector<uint8_t>(32)};
    return runSession(session_, {x.c()}, {y.c()});
  };
  Tensor y;
  for (int64_t number : {5ll, -1ll, 3ll, 1ll << 62}) {
    Status status = run(number, y);
    EXPECT_FALSE(status.ok()) << number;
    std::string expected =
        number == 3 ? "reshape node: reshape: element counts are equal"
                    : "read node: k is " + std::to_string(number) +
                          ", expected from 0 to 4";
    EXPECT_NE(status.message().find(expected), std::string::npos)
        << status.message();
  }
  for (int64_t number : {4, 0, 2}) {
    Status status = run(number, y);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y.dims, (std::vector<int64_t>{number / 2, 2}));
    std::vector<int64_t> expected(static_cast<size_t>(number));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(y.values<int64_t>(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Reads, testing::Values("host", "ref"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
