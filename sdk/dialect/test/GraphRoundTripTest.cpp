// SPDX-License-Identifier: Apache-2.0
#include "sdk/dialect/Graph.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

static size_t allocated = 0;

// In front of those of the C++ library, also for MLIR.
void *operator new(size_t size) {
  allocated += size;
  if (void *memory = malloc(size))
    return memory;
  abort();
}
void *operator new(size_t size, std::align_val_t alignment) {
  allocated += size;
  size_t unit = size_t(alignment);
  if (void *memory = aligned_alloc(unit, (size + unit - 1) / unit * unit))
    return memory;
  abort();
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}

using backplane::Bytes;
using backplane::Dim;
using backplane::Dims;
using backplane::DType;
using backplane::Graph;

namespace {

backplane::ValueId add(Graph &graph, std::string_view op,
                       std::vector<backplane::ValueId> operands,
                       backplane::Attributes attributes = {}) {
  auto results = graph.add(op, std::move(operands), std::move(attributes),
                           std::string(op) + " node");
  EXPECT_TRUE(results.ok()) << results.message();
  return results.ok() && !results->empty() ? (*results)[0] : 0;
}

backplane::ValueId constant(Graph &graph, DType type, Dims dims, Bytes value) {
  return add(graph, "constant", {},
             {{"value", std::move(value)},
              {"dtype", int64_t(type)},
              {"dims", std::move(dims)}});
}

void expectRoundTrip(const Graph &graph) {
  ASSERT_TRUE(graph.verify().ok()) << graph.verify().message();
  mlir::MLIRContext context;
  auto module = bp::importGraph(context, graph);
  ASSERT_TRUE(module);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  auto back = bp::exportGraph(main);
  ASSERT_TRUE(back.ok()) << back.message();
  EXPECT_EQ(graph.str(), back->str());
  EXPECT_TRUE(graph == *back);
}

TEST(GraphRoundTrip, KeepsSymbolsAssertionsAndNames) {
  Graph graph;
  graph.name = "model";
  ASSERT_TRUE(graph.addSymbol({"n", 1, 64, 2}).ok());
  ASSERT_TRUE(graph.addSymbol({"m"}).ok());
  Dim n = Dim::symbol("n"), m = Dim::symbol("m");
  graph.assertions.push_back({n, m + Dim(1), "node x needs it"});
  auto x = graph.addInput("x", {DType::F32, {n, 4}});
  auto y = add(graph, "reshape", {x}, {{"dims", Dims{n * Dim(4)}}});
  graph.addOutput(add(graph, "relu", {y}), "y");
  expectRoundTrip(graph);
}

TEST(GraphRoundTrip, KeepsEveryKindOfAttribute) {
  Graph graph;
  auto x = graph.addInput("x", {DType::F32, {1, 3, 8, 8}});
  auto w = add(graph, "weight", {},
               {{"id", std::string("0123456789abcdef0123456789abcdef")},
                {"dtype", int64_t(DType::F32)},
                {"dims", Dims{4, 3, 3, 3}}});
  std::vector<int64_t> ones{1, 1};
  auto y = add(graph, "conv", {x, w},
               {{"strides", ones},
                {"dilations", ones},
                {"low", ones},
                {"high", ones},
                {"groups", int64_t(1)}});
  auto z = add(graph, "leaky_relu", {y}, {{"alpha", 0.25}});
  auto r = add(graph, "reduce", {z},
               {{"kind", std::string("max")},
                {"axes", std::vector<int64_t>{2, 3}},
                {"keep", int64_t(1)}});
  graph.addOutput(add(graph, "cast", {r}, {{"dtype", int64_t(DType::BF16)}}),
                  "y");
  expectRoundTrip(graph);
}

TEST(GraphRoundTrip, KeepsBitsOfConstants) {
  Graph graph;
  // A NaN with a payload, -0, packed nibbles, bytes above 127, bools.
  graph.addOutput(
      constant(graph, DType::F32, {2}, {1, 0, 0xC0, 0x7F, 0, 0, 0, 0x80}),
      "f32");
  graph.addOutput(constant(graph, DType::I4, {3}, {0x8F, 0x07}), "i4");
  graph.addOutput(constant(graph, DType::U4, {2}, {0xF1}), "u4");
  graph.addOutput(constant(graph, DType::U8, {2}, {0xFF, 0x80}), "u8");
  graph.addOutput(constant(graph, DType::Bool, {2}, {1, 0}), "bool");
  graph.addOutput(constant(graph, DType::F8E5M2, {2}, {0x3C, 0xBC}), "f8");
  graph.addOutput(constant(graph, DType::F8E4M3FNUZ, {2}, {0x80, 0x7F}), "fz");
  graph.addOutput(constant(graph, DType::F8E5M2FNUZ, {2}, {0x80, 0xFF}), "ez");
  graph.addOutput(constant(graph, DType::F8E8M0FNU, {2}, {0x00, 0xFF}), "e8");
  graph.addOutput(constant(graph, DType::F4E2M1FN, {3}, {0x8F, 0x07}), "f4");
  graph.addOutput(constant(graph, DType::F16, {}, {0, 0x3C}), "scalar");
  graph.addOutput(constant(graph, DType::I64, {5}, {7, 0, 0, 0, 0, 0, 0, 0x80}),
                  "filled");
  graph.addOutput(constant(graph, DType::F32, {0}, {}), "empty");
  expectRoundTrip(graph);
}

TEST(GraphRoundTrip, KeepsVariables) {
  Graph graph;
  graph.variables.push_back({"state", {DType::F32, {4}}, ""});
  auto old = add(graph, "variable_read", {},
                 {{"variable", std::string("state")},
                  {"dtype", int64_t(DType::F32)},
                  {"dims", Dims{4}}});
  auto next = add(graph, "neg", {old});
  add(graph, "variable_write", {next}, {{"variable", std::string("state")}});
  graph.addOutput(next, "y");
  expectRoundTrip(graph);
}

TEST(GraphRoundTrip, RefusesAGraphThatDoesNotVerify) {
  Graph graph;
  graph.addOutput(7, "nothing");
  mlir::MLIRContext context;
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          message = diagnostic.str();
                                          return mlir::success();
                                        });
  EXPECT_FALSE(bp::importGraph(context, graph));
  EXPECT_FALSE(message.empty());
}

/// Bytes that the import of a graph with so many inputs and outputs takes.
size_t importBytes(unsigned ports) {
  Graph graph;
  for (unsigned i = 0; i < ports; ++i)
    graph.addOutput(
        add(graph, "neg",
            {graph.addInput("x" + std::to_string(i), {DType::F32, {4}})}),
        "y" + std::to_string(i));
  mlir::MLIRContext context;
  size_t before = allocated;
  EXPECT_TRUE(bp::importGraph(context, graph));
  return allocated - before;
}

TEST(GraphImport, TakesMemoryInProportionToInputsAndOutputs) {
  size_t few = importBytes(2000), more = importBytes(8000);
  EXPECT_LT(more, 5 * few);
}

} // namespace
