// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/GraphTable.h"

#include "TestGraphs.h"
#include "graph_c99.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Error.h"

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(GraphTable, ServesC) {
  EXPECT_STREQ(use_graph_table(graphTable()), nullptr);
}

TEST(GraphTable, LeavesNoSlotEmpty) {
  const bp_graph_table_t *table = graphTable();
  EXPECT_EQ(table->header.size, sizeof(bp_graph_table_t));
  const auto *slots = reinterpret_cast<void *const *>(&table->graph_open);
  size_t count =
      (sizeof(bp_graph_table_t) - sizeof(bp_header_t)) / sizeof(void *);
  for (size_t i = 0; i < count; ++i)
    EXPECT_NE(slots[i], nullptr) << i;
}

TEST(GraphTable, WrapsWithoutBytes) {
  bp_graph_t *handle = wrapGraph(smallGraph());
  EXPECT_EQ(graphOf(handle), smallGraph());
  graphTable()->graph_close(handle);
  graphTable()->graph_close(nullptr);
}

TEST(GraphTable, TellsWhyBytesAreRefused) {
  bp_error_t error;
  bp_graph_t *graph = nullptr;
  Graph broken = smallGraph();
  broken.ops[1].name = "konv";
  Bytes wire = writeGraph(broken);
  EXPECT_EQ(
      graphTable()->graph_open({wire.data(), wire.size()}, &graph, &error),
      BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(error.code, BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(error.message,
            "wire graph: op 1 (node 1): no op has the name konv");
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(graphTable()->graph_open({nullptr, 4}, &graph, &error),
            BP_STATUS_INVALID_ARGUMENT);
}

/// All attributes of an op, by their numbers.
std::map<std::string, uint32_t> kindsOf(const bp_graph_t *graph, uint32_t op) {
  std::map<std::string, uint32_t> kinds;
  for (uint32_t i = 0; i < graphTable()->attribute_count(graph, op); ++i) {
    bp_attribute_t attribute;
    graphTable()->attribute_at(graph, op, i, &attribute);
    kinds[std::string(view(attribute.name))] = attribute.kind;
  }
  return kinds;
}

TEST(GraphTable, ListsAllAttributes) {
  bp_graph_t *handle = wrapGraph(smallGraph());
  const Graph &graph = graphOf(handle);
  for (uint32_t op = 0; op < graph.ops.size(); ++op) {
    auto kinds = kindsOf(handle, op);
    const Op &entry = graph.ops[op];
    EXPECT_FALSE(kinds.empty() && !entry.attributes.empty());
    for (const auto &[name, value] : entry.attributes) {
      bool isListed = isInVersion(entry.name, entry.version, name);
      EXPECT_EQ(kinds.contains(name), isListed) << entry.name << " " << name;
      if (!isListed)
        continue;
      bp_attribute_t byName;
      graphTable()->attribute(handle, op, toC(name), &byName);
      EXPECT_EQ(kinds[name], byName.kind) << graph.ops[op].name << " " << name;
    }
  }
  bp_attribute_t none;
  graphTable()->attribute_at(handle, 0, 1000, &none);
  EXPECT_EQ(none.kind, BP_ATTRIBUTE_NONE);
  EXPECT_EQ(graphTable()->attribute_count(handle, 1000), 0u);
  graphTable()->graph_close(handle);
}

/// A builder with one input x: f32[4].
struct CBuilder {
  const bp_graph_table_t *table = graphTable();
  bp_graph_builder_t *builder = nullptr;
  uint32_t x = BP_NONE;
  bp_error_t error;

  CBuilder() {
    bp_string_t four = toC("4");
    EXPECT_EQ(table->builder_create(toC("g"), &builder), BP_STATUS_OK);
    EXPECT_EQ(table->builder_input(builder, toC("x"), BP_DTYPE_F32, &four, 1,
                                   &x, &error),
              BP_STATUS_OK);
  }
  ~CBuilder() { table->builder_destroy(builder); }

  bp_status_t op(std::string_view name, const bp_attribute_t &attribute) {
    uint32_t result = BP_NONE;
    return table->builder_op(builder, toC(name), &x, 1, &attribute, 1, {},
                             &result, 1, &error);
  }
};

TEST(GraphTable, RefusesBadAttributes) {
  CBuilder b;
  bp_attribute_t attribute = {};
  attribute.name = toC("axis");
  attribute.kind = 42;
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(b.error.message, "axis: attribute kind 42 is unknown");
  attribute.kind = BP_ATTRIBUTE_I64S;
  attribute.count = 3;
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_INVALID_ARGUMENT);
  attribute.kind = BP_ATTRIBUTE_DIMS;
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_INVALID_ARGUMENT);
  bp_string_t bad = toC("n +");
  attribute.dims = &bad;
  attribute.count = 1;
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_INVALID_ARGUMENT);
  attribute.kind = BP_ATTRIBUTE_BYTES;
  attribute.bytes = {nullptr, 4};
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_INVALID_ARGUMENT);
  attribute.kind = BP_ATTRIBUTE_I64;
  EXPECT_EQ(b.op("softmax", attribute), BP_STATUS_OK);
}

TEST(GraphTable, BuildsOpsAtAVersion) {
  CBuilder b;
  uint32_t y = BP_NONE;
  auto build = [&](std::string_view name, uint32_t version) {
    return b.table->builder_op_version(b.builder, toC(name), version, &b.x, 1,
                                       nullptr, 0, {}, &y, 1, &b.error);
  };
  uint32_t newest = b.table->op_version(toC("relu"));
  EXPECT_GE(newest, 1u);
  EXPECT_EQ(b.table->op_version(toC("konv")), 0u);
  EXPECT_EQ(build("relu", newest), BP_STATUS_OK);
  EXPECT_EQ(build("relu", newest + 1), BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(b.error.message, "relu has versions 1 to " +
                                 std::to_string(newest) + ", asked for " +
                                 std::to_string(newest + 1));
  EXPECT_EQ(build("relu", 0), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(build("konv", 1), BP_STATUS_OK);
}

/// A matmul of f16, built with `wide` at a version; 0: at the least one.
bp_status_t buildMatmul(CBuilder &b, uint32_t x, int64_t wide,
                        uint32_t version) {
  bp_attribute_t attribute = {};
  attribute.name = toC("wide");
  attribute.kind = BP_ATTRIBUTE_I64;
  attribute.i64 = wide;
  uint32_t operands[] = {x, x}, y = BP_NONE;
  if (version)
    return b.table->builder_op_version(b.builder, toC("matmul"), version,
                                       operands, 2, &attribute, 1, {}, &y, 1,
                                       &b.error);
  return b.table->builder_op(b.builder, toC("matmul"), operands, 2, &attribute,
                             1, {}, &y, 1, &b.error);
}

TEST(GraphTable, WritesAnOpAtTheLeastVersionThatSaysIt) {
  CBuilder b;
  bp_string_t dims[] = {toC("4"), toC("4")};
  uint32_t x = BP_NONE;
  EXPECT_EQ(b.table->builder_input(b.builder, toC("a"), BP_DTYPE_F16, dims, 2,
                                   &x, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(buildMatmul(b, x, 1, 1), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(b.error.message, "matmul was asked for at version 1, its "
                             "attributes need version 2");
  EXPECT_EQ(buildMatmul(b, x, 0, 0), BP_STATUS_OK);
  EXPECT_EQ(buildMatmul(b, x, 1, 0), BP_STATUS_OK);
  bp_graph_t *graph = nullptr;
  EXPECT_EQ(b.table->builder_finish(b.builder, &graph, nullptr), BP_STATUS_OK);
  EXPECT_EQ(graphOf(graph).ops[0].version, 1u);
  EXPECT_EQ(graphOf(graph).ops[1].version, 2u);
  // What reads version 1 sees no attribute that it does not know.
  EXPECT_EQ(b.table->attribute_count(graph, 0), 2u);
  EXPECT_EQ(b.table->attribute_count(graph, 1), 3u);
  auto copy = readGraph(writeGraph(graphOf(graph)));
  ASSERT_TRUE(copy.ok()) << copy.message();
  EXPECT_EQ(copy->ops[0].i64("wide"), 0);
  EXPECT_EQ(copy->ops[1].i64("wide"), 1);
  copy->ops[1].version = 1;
  EXPECT_EQ(copy->verify().message(),
            "op 1: matmul has version 1, its attributes need 2");
  b.table->graph_close(graph);
}

TEST(GraphTable, FinishEmptiesTheBuilder) {
  CBuilder b;
  bp_graph_t *graph = nullptr;
  EXPECT_EQ(b.table->builder_finish(b.builder, &graph, nullptr), BP_STATUS_OK);
  EXPECT_EQ(graphOf(graph).values.size(), 1u);
  b.table->graph_close(graph);
  EXPECT_EQ(b.table->builder_finish(b.builder, &graph, nullptr), BP_STATUS_OK);
  EXPECT_EQ(graphOf(graph).values.size(), 0u);
  b.table->graph_close(graph);
}

TEST(GraphTable, FinishVerifies) {
  CBuilder b;
  bp_string_t dims[] = {toC("k")};
  uint32_t y = BP_NONE;
  EXPECT_EQ(b.table->builder_input(b.builder, toC("y"), BP_DTYPE_F32, dims, 1,
                                   &y, nullptr),
            BP_STATUS_OK);
  bp_graph_t *graph = nullptr;
  EXPECT_EQ(b.table->builder_finish(b.builder, &graph, &b.error),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(b.error.message.find("symbol k"), std::string::npos);
  EXPECT_EQ(graph, nullptr);
}

} // namespace
