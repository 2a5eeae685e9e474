// SPDX-License-Identifier: Apache-2.0
//
// Random bits whose counter is a variable: calls differ, however they overlap;
// sessions and what comes after a reset repeat.
#include "Compiling.h"

#include <deque>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

ValueId add(Graph &graph, std::string_view op, std::vector<ValueId> operands,
            Attributes attributes) {
  auto results = graph.add(op, std::move(operands), std::move(attributes));
  EXPECT_TRUE(results.ok()) << results.message();
  return results.ok() && !results->empty() ? results->at(0) : 0;
}

ValueId number(Graph &graph, uint8_t value) {
  return add(graph, "constant", {},
             {{"value", Bytes{value, 0, 0, 0, 0, 0, 0, 0}},
              {"dtype", int64_t(DType::U64)},
              {"dims", Dims()}});
}

/// y: u32[n] of x: f32[n], with the key 0; the counter grows by 1 each call.
Graph drawing() {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol({"n", 1, 64, 1}).ok());
  Dims dims{Dim::symbol("n")};
  graph.addInput("x", {DType::F32, dims});
  graph.variables.push_back({"calls", {DType::U64, {}}, ""});
  ValueId calls = add(graph, "variable_read", {},
                      {{"variable", std::string("calls")},
                       {"dtype", int64_t(DType::U64)},
                       {"dims", Dims()}});
  ValueId next = add(graph, "add", {calls, number(graph, 1)}, {});
  add(graph, "variable_write", {next}, {{"variable", std::string("calls")}});
  graph.addOutput(
      add(graph, "random_bits", {number(graph, 0), calls}, {{"dims", dims}}),
      "y");
  return graph;
}

using Bits = std::vector<uint32_t>;

bp_tensor_t asC(Bits &bits, int64_t &size) {
  size = int64_t(bits.size());
  return {bits.data(), &size, bits.size() * 4, BP_DTYPE_U32, 1};
}

class Random : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto context = compilerContext();
    ASSERT_TRUE(context.ok()) << context.message();
    context_ = std::move(*context);
    auto artifact = compileGraph(context_, writeGraph(drawing()), GetParam());
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
  }
  Session open() {
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC(GetParam());
    auto session = createSession(artifact_, options);
    EXPECT_TRUE(session.ok()) << session.message();
    return session.ok() ? std::move(*session) : Session();
  }
  /// Starts a call whose result is put into `bits`.
  bp_call_t *submit(const Session &session, Bits &bits) {
    int64_t size = 0;
    inputs_.emplace_back(std::vector{int64_t(bits.size())});
    bp_tensor_t in = inputs_.back().c(), out = asC(bits, size);
    bp_call_t *call = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_session_submit(session.get(), &in, 1, &out, 1, &call, error);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return call;
  }
  Bits draw(const Session &session, size_t count) {
    Bits bits(count);
    EXPECT_EQ(bp_call_wait(submit(session, bits), nullptr), BP_STATUS_OK);
    return bits;
  }

  std::deque<Floats> inputs_;
  Context context_;
  Artifact artifact_;
};

/// The first block was published with the generator.
TEST_P(Random, BitsArePhilox) {
  EXPECT_EQ(draw(open(), 4),
            (Bits{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST_P(Random, CallsDifferAndSessionsRepeat) {
  Session first = open(), second = open();
  Bits a = draw(first, 61), b = draw(first, 61), c = draw(first, 61);
  EXPECT_NE(a, b);
  EXPECT_NE(b, c);
  EXPECT_NE(a, c);
  EXPECT_EQ(draw(second, 61), a);
  EXPECT_EQ(draw(second, 61), b);
  ASSERT_EQ(bp_session_reset(first.get(), nullptr), BP_STATUS_OK);
  EXPECT_EQ(draw(first, 61), a);
  // Another shape is a call as any other, and begins with the same elements.
  b.resize(33);
  EXPECT_EQ(draw(first, 33), b);
  EXPECT_EQ(draw(first, 61), c);
}

TEST_P(Random, CallsInFlightDrawInTheirOrder) {
  Session session = open(), other = open();
  constexpr size_t count = 8;
  std::vector<Bits> drawn(count, Bits(61));
  std::vector<bp_call_t *> calls;
  for (Bits &bits : drawn)
    calls.push_back(submit(session, bits));
  for (bp_call_t *call : calls)
    EXPECT_EQ(bp_call_wait(call, nullptr), BP_STATUS_OK);
  for (const Bits &bits : drawn)
    EXPECT_EQ(draw(other, 61), bits);
}

INSTANTIATE_TEST_SUITE_P(Devices, Random, testing::Values("host", "ref"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
