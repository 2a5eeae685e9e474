// SPDX-License-Identifier: Apache-2.0
//
// Devices of this test are the oracle with one fault in it.
#include "conformance/repro/Minimize.h"
#include "conformance/cases/Case.h"
#include "conformance/compare/Compare.h"
#include "conformance/compare/Elements.h"
#include "conformance/graphs/Graphs.h"
#include "conformance/repro/Locate.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace backplane::conformance {
namespace {

using Fault = std::function<void(const Graph &, Op &)>;

/// Takes b - a for a - b from 5 elements on.
void swapLongSubtractions(const Graph &graph, Op &op) {
  const TensorType &type = graph.type(op.results[0]);
  auto size = type.dims.empty() ? Dim(1) : type.dims.back();
  if (op.name == "sub" && size.constant().value_or(5) >= 5)
    std::swap(op.operands[0], op.operands[1]);
}

void noFault(const Graph &, Op &) {}

/// An oracle with a fault, as a device.
Examine deviceWith(Fault fault) {
  return [fault](const Repro &repro) -> Result<Examination> {
    Examination found;
    auto expected = evaluate(repro.graph, repro.inputs, {}, &repro.weights);
    if (!expected) {
      found.status = CaseStatus::OracleError;
      found.reason = expected.message();
      return found;
    }
    Graph broken = repro.graph;
    for (Op &op : broken.ops)
      fault(repro.graph, op);
    auto got = evaluate(broken, repro.inputs, {}, &repro.weights);
    if (!got)
      return got.status();
    for (size_t i = 0; i < expected->size(); ++i) {
      Tensor output{(*got)[i].dtype, (*got)[i].dims, {}};
      output.data.resize(packedBytes(output.dtype, output.elementCount()));
      for (size_t k = 0; k < output.elementCount(); ++k)
        storeBits(output, k, (*got)[i].bits[k]);
      Verdict verdict = compare((*expected)[i], output, {});
      if (!verdict.pass) {
        found.status = CaseStatus::Fail;
        found.reason = verdict.reason;
      }
      found.outputs.push_back(std::move(output));
    }
    found.expected = std::move(*expected);
    return found;
  };
}

size_t realOps(const Graph &graph) {
  size_t count = 0;
  for (const Op &op : graph.ops)
    count += !isSource(op);
  return count;
}

/// Random graphs that a fault shows in, as repros.
std::vector<Repro> failing(const Examine &device, size_t wanted) {
  std::vector<Repro> all;
  makeFuzz({{}, [&](Unit unit) {
              if (all.size() == wanted)
                return;
              Repro repro{unit.graph, unit.weights,
                          inputsOf(unit, unit.cases[0])};
              auto found = device(repro);
              if (found && found->status == CaseStatus::Fail &&
                  realOps(unit.graph) >= 10)
                all.push_back(std::move(repro));
            }});
  return all;
}

TEST(Minimize, LeavesTheFaultAlone) {
  Examine device = deviceWith(swapLongSubtractions);
  Fails fails = [&](const Repro &repro) {
    auto found = device(repro);
    return found && found->status == CaseStatus::Fail;
  };
  std::vector<Repro> repros = failing(device, 4);
  ASSERT_EQ(repros.size(), 4u);
  for (const Repro &repro : repros) {
    Minimized result = minimize(repro, fails, 300);
    EXPECT_TRUE(fails(result.repro));
    EXPECT_EQ(realOps(result.repro.graph), 1u) << result.repro.graph.str();
    EXPECT_EQ(result.repro.graph.outputs.size(), 1u);
    for (const Tensor &input : result.repro.inputs)
      EXPECT_LE(input.elementCount(), 16u) << result.repro.graph.str();
    EXPECT_LE(result.tries, 300u);
  }
}

TEST(Minimize, AsksNoMoreThanItsBudget) {
  Examine device = deviceWith(swapLongSubtractions);
  size_t asked = 0;
  Fails fails = [&](const Repro &) {
    ++asked;
    return false;
  };
  std::vector<Repro> repros = failing(device, 1);
  ASSERT_EQ(repros.size(), 1u);
  minimize(repros[0], fails, 17);
  EXPECT_EQ(asked, 17u);
}

/// Two blocks with a subtraction in the second one.
Repro deepModel() {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(4), Dim(6)}});
  ValueId y = x;
  for (int i = 0; i < 12; ++i)
    y = graph
            .add(i % 2 ? "tanh" : "neg", {y}, {}, "Layer " + std::to_string(i))
            ->front();
  y = graph.add("sub", {y, x}, {}, "Sub /late")->front();
  for (int i = 0; i < 5; ++i)
    y = graph.add("sigmoid", {y})->front();
  graph.addOutput(y, "y");
  Repro model{graph, {}, {}};
  model.inputs = *seededInputs(graph, {}, 5);
  return model;
}

TEST(Locate, FindsTheOpThatDiffers) {
  Examine right = deviceWith(noFault), wrong = deviceWith(swapLongSubtractions);
  size_t windows = 0;
  auto found = locate(deepModel(), right, right, wrong,
                      [&](size_t, size_t all) { windows = all; });
  ASSERT_TRUE(found.ok()) << found.message();
  ASSERT_TRUE(*found);
  EXPECT_FALSE((*found)->isFirst);
  EXPECT_EQ((*found)->origin, "sub of Sub /late");
  EXPECT_EQ(windows, 5u);
}

TEST(Locate, SaysWhenTheFirstDeviceIsTheWrongOne) {
  Examine right = deviceWith(noFault), wrong = deviceWith(swapLongSubtractions);
  auto found = locate(deepModel(), wrong, wrong, right, [](size_t, size_t) {});
  ASSERT_TRUE(found.ok()) << found.message();
  ASSERT_TRUE(*found);
  EXPECT_TRUE((*found)->isFirst);
}

TEST(Locate, FindsNothingBetweenRightDevices) {
  Examine right = deviceWith(noFault);
  auto found = locate(deepModel(), right, right, right, [](size_t, size_t) {});
  ASSERT_TRUE(found.ok()) << found.message();
  EXPECT_FALSE(*found);
}

TEST(Repro, IsSavedAsAGraphWithTensors) {
  Examine wrong = deviceWith(swapLongSubtractions);
  Repro model = deepModel();
  auto found = wrong(model);
  ASSERT_TRUE(found.ok());
  std::string folder = testing::TempDir() + "repro";
  ASSERT_TRUE(saveRepro(folder, model, *found, "ref", "A case").ok());
  std::ifstream file(folder + "/graph.bpg", std::ios::binary);
  Bytes bytes((std::istreambuf_iterator<char>(file)), {});
  auto graph = readGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.message();
  EXPECT_EQ(*graph, model.graph);
  auto input = readNpy(folder + "/input0.npy");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->dims(), model.inputs[0].dims);
  std::ifstream text(folder + "/README.md");
  std::string readme((std::istreambuf_iterator<char>(text)), {});
  EXPECT_NE(readme.find("--input x=input0.npy"), std::string::npos) << readme;
  std::filesystem::remove_all(folder);
}

TEST(Repro, TakesWeightsAlong) {
  Repro model;
  Graph &graph = model.graph;
  auto add = [&](int64_t rows) {
    std::vector<Dim> dims = {Dim(rows), Dim(64)};
    auto id = model.weights.add({DType::F32, dims},
                                Bytes(static_cast<size_t>(rows) * 256, 1));
    return graph
        .add("weight", {},
             {{"id", *id}, {"dtype", int64_t(DType::F32)}, {"dims", dims}})
        ->front();
  };
  graph.addOutput(add(2), "small");
  graph.addOutput(add(100), "large");
  auto plain = withoutWeights(model);
  ASSERT_TRUE(plain.ok()) << plain.message();
  EXPECT_EQ(plain->graph.ops.size(), 1u);
  EXPECT_EQ(plain->graph.ops[0].name, "constant");
  ASSERT_EQ(plain->inputs.size(), 1u);
  EXPECT_EQ(plain->inputs[0].dims[0], 100);
}

} // namespace
} // namespace backplane::conformance
