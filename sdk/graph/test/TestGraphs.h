// SPDX-License-Identifier: Apache-2.0
//
// TestGraphs.h: types from text and graphs that several tests use.
#ifndef BACKPLANE_GRAPH_TEST_TESTGRAPHS_H
#define BACKPLANE_GRAPH_TEST_TESTGRAPHS_H

#include "sdk/graph/Model.h"
#include "sdk/graph/OpTable.h"
#include "sdk/support/Element.h"

#include <gtest/gtest.h>

namespace backplane::test {

inline Dim D(std::string_view text) {
  Result<Dim> dim = Dim::parse(text);
  EXPECT_TRUE(dim.ok()) << dim.message();
  return dim.ok() ? *dim : Dim(-1);
}

/// "f32[n, 4]"
inline TensorType T(std::string_view text) {
  size_t open = text.find('[');
  TensorType type;
  type.dtype = parseDType(text.substr(0, open)).value_or(DType::Invalid);
  std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  while (!dims.empty()) {
    size_t end = std::min(dims.find(", "), dims.size());
    type.dims.push_back(D(dims.substr(0, end)));
    dims.remove_prefix(std::min(end + 2, dims.size()));
  }
  return type;
}

inline Attribute I(int64_t value) { return value; }
inline Attribute S(std::string value) { return value; }
inline Attribute L(std::vector<int64_t> values) { return values; }
inline Attribute Ds(std::string_view dims) {
  return T("f32[" + std::string(dims) + "]").dims;
}
inline Attribute DT(DType type) { return static_cast<int64_t>(type); }

/// Builds graphs, failing the test when an op is refused.
struct Builder {
  Graph graph;

  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    auto results = graph.add(op, std::move(operands), std::move(attributes),
                             std::string("node ") + std::to_string(count++));
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() && !results->empty() ? (*results)[0] : 0;
  }
  ValueId weight(std::string_view type) {
    TensorType t = T(type);
    std::string id = std::to_string(100000 + count);
    return add("weight", {},
               {{"id", S(std::string(32 - id.size(), 'a') + id)},
                {"dtype", DT(t.dtype)},
                {"dims", t.dims}});
  }
  ValueId broadcast(ValueId x, const Dims &dims, std::vector<int64_t> axes) {
    return add("broadcast", {x}, {{"dims", dims}, {"axes", L(axes)}});
  }

  int count = 0;
};

/// A small convolutional network with a symbolic batch.
Graph smallGraph();
/// An encoder like BERT-base with `layers` layers, batch n and length s.
Graph bertGraph(int layers);

} // namespace backplane::test

#endif // BACKPLANE_GRAPH_TEST_TESTGRAPHS_H
