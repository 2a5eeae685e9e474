// SPDX-License-Identifier: Apache-2.0
#include "Seeds.h"
#include "sdk/graph/Wire.h"

namespace backplane::fuzz {

Status writeGraphs(const fs::path &folder) {
  Graph graph;
  if (Status s = graph.addSymbol({"n", 1, 64, 1}); !s.ok())
    return s;
  ValueId x = graph.addInput("x", {DType::F32, {Dim::symbol("n"), 8}});
  ValueId y = graph.addInput("y", {DType::F32, {8, 8}});
  auto product = graph.add("matmul", {x, y});
  if (!product)
    return product.status();
  auto sum = graph.add(
      "reduce", *product,
      {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{1}}});
  if (!sum)
    return sum.status();
  graph.addOutput((*sum)[0], "z");
  write(folder / "matmul", writeGraph(graph));
  return {};
}

Status writeReads(const fs::path &folder) {
  for (const char *name : {"", "other", "n"}) {
    Graph graph;
    if (Status s = graph.addSymbol({"n", 0, 64, 1}); !s.ok())
      return s;
    ValueId x = graph.addInput("x", {DType::I64, {}});
    auto size = graph.add("read", {x},
                          {{"symbol", std::string("n")}, {"bound", Dims{64}}});
    if (!size)
      return size.status();
    if (std::string(name) == "n")
      graph.ops.push_back(graph.ops[0]);
    else if (*name)
      graph.ops[0].attributes["symbol"] = std::string(name);
    graph.addOutput((*size)[0], "y");
    write(folder / (std::string("read") + name), writeGraph(graph));
  }
  return {};
}

Status writeControl(const fs::path &folder) {
  TensorType type{DType::F32, {4}};
  Graph branch;
  ValueId taken = branch.addInput("x", type);
  branch.addOutput(taken, "y");
  Graph body;
  body.symbols = {{"i"}};
  ValueId carried = body.addInput("x", type);
  auto chosen = body.addControl(
      {.name = "if",
       .operands = {carried},
       .attributes = {{"condition", Dims{mod(Dim::symbol("i"), Dim(2))}}},
       .regions = {branch, branch}});
  if (!chosen)
    return chosen.status();
  body.addOutput((*chosen)[0], "y");
  Graph graph;
  ValueId x = graph.addInput("x", type);
  auto results =
      graph.addControl({.name = "while",
                        .operands = {x},
                        .attributes = {{"carried", int64_t(1)},
                                       {"conditional", int64_t(0)},
                                       {"iteration", std::string("i")},
                                       {"limit", Dims{5}}},
                        .regions = {body}});
  if (!results)
    return results.status();
  graph.addOutput((*results)[0], "z");
  write(folder / "control", writeGraph(graph));
  return {};
}

} // namespace backplane::fuzz
