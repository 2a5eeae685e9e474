// SPDX-License-Identifier: Apache-2.0
//
// Decomposed.h: decompositions down to primitives, checked.
#ifndef BACKPLANE_GRAPH_TEST_DECOMPOSED_H
#define BACKPLANE_GRAPH_TEST_DECOMPOSED_H

#include "OpCases.h"
#include "sdk/graph/Decompose.h"

namespace backplane::test {

inline bool keepNone(const Op &) { return false; }

/// A graph of one op, with an input per operand.
inline Graph single(const OpCase &c) {
  Builder b;
  for (const char *name : {"n", "s", "h", "m"})
    EXPECT_TRUE(b.graph.addSymbol({name, 1}).ok());
  std::vector<ValueId> operands;
  for (const std::string &type : c.operands)
    operands.push_back(b.graph.addInput("x", T(type)));
  b.graph.addOutput(b.add(c.op, operands, c.attributes), "y");
  return std::move(b.graph);
}

/// The decomposition, checked: verifies, same type, primitives only.
inline Graph decomposed(const Graph &graph) {
  Result<Graph> result = decompose(graph, keepNone);
  EXPECT_TRUE(result.ok()) << result.message();
  if (!result)
    return {};
  Status status = result->verify();
  EXPECT_TRUE(status.ok()) << status.message() << result->str();
  EXPECT_EQ(result->inputs.size(), graph.inputs.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    EXPECT_EQ(result->type(result->outputs[i].value),
              graph.type(graph.outputs[i].value));
  for (const Op &op : result->ops)
    EXPECT_FALSE(findOp(op.name)->composite) << op.name;
  return std::move(*result);
}

} // namespace backplane::test

#endif // BACKPLANE_GRAPH_TEST_DECOMPOSED_H
