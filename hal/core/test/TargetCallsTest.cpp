// SPDX-License-Identifier: Apache-2.0
//
// Targets and graph passes of a compiler: cut, damaged, and of a later version.
#include "FakeCompiler.h"
#include "hal/core/GraphPassCalls.h"
#include "hal/core/Tables.h"

using namespace backplane;

namespace {

bp_target_t fullTarget() {
  static const bp_string_t features[] = {toC("a"), toC("b")};
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("t");
  target.required_features = features;
  target.required_feature_count = 2;
  target.rank = 9;
  target.max_constants = 5;
  target.fusion = BP_FUSE_ELEMENTWISE;
  static const bp_property_t tiles = {
      .key = toC("acme.tiles"), .kind = BP_PROPERTY_I64, .i64 = 4};
  target.properties = &tiles;
  target.property_count = 1;
  target.toolchain = toC("acme-cc 3.2");
  static const bp_op_version_t known = {toC("matmul"), 2, 0};
  target.op_versions = &known;
  target.op_version_count = 1;
  return target;
}

TEST(GuardPage, ATarget) {
  const bp_target_t whole = fullTarget();
  FakeCompiler compiler;
  atEachSize<bp_target_t>(whole, [&](auto *target, uint32_t size) {
    compiler.target = target;
    bp_target_t got = {};
    Status status = callTargets(compiler.plugin(), [&](const bp_target_t &t) {
      got = t;
      if (t.property_count)
        EXPECT_EQ(t.properties[0].i64, 4);
      return Status();
    });
    ASSERT_TRUE(status.ok()) << status.message();
    bp_target_t expected = zeroFilled(whole, size);
    got.numerics = expected.numerics; // the host's own empty lists
    got.properties = expected.properties;
    EXPECT_EQ(std::memcmp(&got, &expected, sizeof(got)), 0);
  });
}

TEST(GuardPage, NoMemberIsCut) {
  bp_target_t target = fullTarget();
  target.header.size = sizeof(target) - 4;
  bp_target_t out;
  EXPECT_NE(copyStruct(&target, bp_target_t_TYPE, "target", out)
                .message()
                .find("has a size of 292 bytes"),
            std::string::npos);
}

TEST(GuardPage, NumericsOfATarget) {
  bp_numerics_t whole = {BP_HEADER(bp_numerics_t)};
  whole.op_class = toC("DOT");
  whole.accumulator_bits = 24;
  whole.flags = BP_NUMERICS_CONTRACT;
  FakeCompiler compiler;
  atEachSize<bp_numerics_t>(whole, [&](const bp_numerics_t *numerics,
                                       uint32_t size) {
    bp_target_t target = fullTarget();
    target.numerics = &numerics;
    target.numerics_count = 1;
    compiler.target = &target;
    Status status = callTargets(compiler.plugin(), [&](const bp_target_t &t) {
      bp_numerics_t expected = zeroFilled(whole, size);
      EXPECT_EQ(std::memcmp(t.numerics[0], &expected, sizeof(expected)), 0);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  });
}

TEST(OpVersions, ThatAreDamagedAreRefused) {
  FakeCompiler compiler;
  auto accept = [](const bp_target_t &) { return Status(); };
  for (bp_op_version_t wrong :
       {bp_op_version_t{{nullptr, 4}, 1, 0}, bp_op_version_t{toC(""), 1, 0},
        bp_op_version_t{toC("neg"), 0, 0}, bp_op_version_t{toC("neg"), 1, 7}}) {
    bp_target_t target = fullTarget();
    target.op_versions = &wrong;
    compiler.target = &target;
    EXPECT_EQ(callTargets(compiler.plugin(), accept).code(),
              BP_STATUS_INVALID_ARGUMENT);
  }
  for (uint64_t count : {uint64_t(1), UINT64_MAX}) {
    bp_target_t target = fullTarget();
    target.op_versions = nullptr;
    target.op_version_count = count;
    compiler.target = &target;
    EXPECT_EQ(callTargets(compiler.plugin(), accept).code(),
              BP_STATUS_INVALID_ARGUMENT);
  }
}

TEST(Properties, OfATargetAreRefusedByKey) {
  const bp_property_t tiles = {
      .key = toC("shared_bytes"), .kind = BP_PROPERTY_F64, .f64 = 4};
  bp_target_t target = fullTarget();
  target.properties = &tiles;
  FakeCompiler compiler;
  compiler.target = &target;
  auto accept = [](const bp_target_t &) { return Status(); };
  EXPECT_EQ(callTargets(compiler.plugin(), accept).message(),
            "target 't': property 'shared_bytes': it has the kind f64, not "
            "i64");
  target.property_count = 0;
  EXPECT_TRUE(callTargets(compiler.plugin(), accept).ok());
  const bp_string_t condition = toC("sm>=");
  target.required_features = &condition;
  target.required_feature_count = 1;
  EXPECT_EQ(callTargets(compiler.plugin(), accept).message(),
            "target 't': the condition 'sm>=' does not end in a 64-bit "
            "integer");
}

TEST(Flags, OfATargetOfALaterVersionAreCleared) {
  bp_numerics_t numerics = {BP_HEADER(bp_numerics_t)};
  numerics.flags = ~0u;
  const bp_numerics_t *list = &numerics;
  bp_target_t target = fullTarget();
  target.fusion = ~0u;
  target.numerics = &list;
  target.numerics_count = 1;
  FakeCompiler compiler;
  compiler.target = &target;
  Status status = callTargets(compiler.plugin(), [](const bp_target_t &t) {
    EXPECT_EQ(t.fusion, BP_FUSE_BYTE_PAIRS * 2 - 1);
    EXPECT_EQ(t.numerics[0]->flags, BP_NUMERICS_DETERMINISTIC * 2 - 1);
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(GuardPage, AGraphPass) {
  bp_graph_pass_t whole = {BP_HEADER(bp_graph_pass_t)};
  whole.name = toC("acme-squares");
  whole.description = toC("squares");
  whole.stage = toC("partition");
  static const bp_graph_pass_t *listed;
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
  table.graph_passes = [](void *, bp_string_t, const bp_graph_pass_sink_t *sink,
                          bp_error_t *) {
    return sink->put(sink->context, listed);
  };
  const CompilerPlugin plugin = {"fake", "1.0.0", "", &table, nullptr};
  atEachSize<bp_graph_pass_t>(
      whole, [&](const bp_graph_pass_t *pass, uint32_t size) {
        listed = pass;
        auto passes = callGraphPasses(plugin, "t");
        bp_graph_pass_t expected = zeroFilled(whole, size);
        ASSERT_EQ(passes.ok(), expected.name.size != 0);
        if (!passes)
          return;
        EXPECT_EQ(passes->at(0).name, view(expected.name));
        EXPECT_EQ(passes->at(0).stage, view(expected.stage));
      });
}

TEST(GraphPass, WhatAPassGivesTwiceOrEmptyIsRefused) {
  static int count;
  static uint64_t size;
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
  table.run_graph_pass = [](void *, const bp_graph_pass_request_t *request,
                            const bp_bytes_sink_t *sink, bp_error_t *) {
    bp_status_t status = BP_STATUS_OK;
    for (int i = 0; i < count && !status; ++i)
      status = sink->put(sink->context, {request->graph.data, size});
    return status;
  };
  const CompilerPlugin plugin = {"fake", "1.0.0", "", &table, nullptr};
  auto run = [&](int times, uint64_t bytes) {
    count = times;
    size = bytes;
    return callGraphPass(plugin, "t", "p", Bytes{1, 2}, nullptr);
  };
  EXPECT_FALSE(run(0, 2)->has_value());
  EXPECT_EQ(**run(1, 2), (Bytes{1, 2}));
  EXPECT_EQ(run(2, 2).message(), "gave two graphs");
  EXPECT_EQ(run(1, 0).message(), "gave no bytes for a graph");
}

} // namespace
