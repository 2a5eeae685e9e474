// SPDX-License-Identifier: Apache-2.0
//
// Ops, dtypes and numerics that a target has or lacks.
#include "sdk/compiler/test/Toy.h"
#include "sdk/graph/OpTable.h"

using namespace backplane;
using namespace backplane::toys;

namespace {

TEST_F(CompileTest, OpsThatAPluginDoesNotListAreRefusedBeforeItSeesThem) {
  toy.opVersions = {{toC("exp"), 1, 0}};
  Status status = run(chain(2));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find("'toy' does not list the op neg"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(toy.compiledCount, 0);
  toy.opVersions = {{toC("exp"), 1, 0}, {toC("neg"), 3, 0}};
  status = run(chain(2));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(CompileTest, NewerVersionsAreRefusedAndOlderOnesUsedWhereTheyDo) {
  auto product = [](int64_t wide) {
    Graph graph;
    ValueId a = graph.addInput("a", {DType::F16, {4, 4}});
    auto y = graph.add("matmul", {a, a}, {{"wide", wide}});
    EXPECT_TRUE(y.ok()) << y.message();
    graph.addOutput((*y)[0], "y");
    return graph;
  };
  toy.storedOnly = uint64_t(1) << BP_DTYPE_F16;
  toy.computed = toy.storedOnly;
  toy.opVersions = {{toC("matmul"), 1, 0}};
  EXPECT_TRUE(run(product(0)).ok()) << "version 1 says it";
  Status status = run(product(1));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find(
                "matmul needs version 2, 'toy' knows up to version 1"),
            std::string::npos)
      << status.message();
}

/// A composite that is not listed is decomposed into what is.
TEST_F(CompileTest, CompositesThatAPluginDoesNotListAreDecomposed) {
  Attributes blocks{{"axes", std::vector<int64_t>{0}},
                    {"tiles", std::vector<int64_t>{4}}};
  for (const auto &[op, attributes] :
       {std::pair("softsign", Attributes()), {"pack", blocks}}) {
    Graph graph;
    ValueId x = graph.addInput("x", {DType::F32, {7}});
    graph.addOutput((*graph.add(op, {x}, attributes))[0], "y");
    for (const OpSpec &spec : opTable())
      if (!spec.composite)
        toy.opVersions.push_back({toC(spec.name), 1, 0});
    toy.opVersions.push_back({toC(op), 1, 0});
    auto hasOp = [&] {
      Status status = run(graph);
      EXPECT_TRUE(status.ok()) << status.message();
      auto file = ArtifactFile::open(path("model.bpx"));
      auto kernel =
          readGraph((*file)->metadata().variants[0].executables[0].blob.bytes);
      return kernel.ok() && kernel->ops.size() == 1 &&
             kernel->ops[0].name == op;
    };
    EXPECT_TRUE(hasOp()) << op;
    toy.opVersions.pop_back();
    toy.maxOps = 100;
    EXPECT_FALSE(hasOp()) << op;
    toy.maxOps = 2;
    toy.opVersions.clear();
  }
}

TEST_F(CompileTest, ComputesInAWiderFloatWhatTheTargetOnlyHolds) {
  toy.storedOnly = 1u << BP_DTYPE_F16;
  toy.maxOps = 3;
  Status status = run(chain(1, DType::F16));
  ASSERT_TRUE(status.ok()) << status.message();
  auto file = ArtifactFile::open(path("model.bpx"));
  ASSERT_TRUE(file.ok()) << file.message();
  EXPECT_EQ(opsOf(**file), "cast:f32 neg:f32 cast:f16");
}

TEST_F(CompileTest, RefusesToComputeInADtypeThatHasNoWiderOne) {
  toy.storedOnly = 1u << BP_DTYPE_F64 | 1u << BP_DTYPE_I8;
  for (DType type : {DType::F64, DType::I8}) {
    Graph graph;
    ValueId x = graph.addInput("x", {type, {Dim(4)}});
    graph.addOutput((*graph.add("neg", {x}))[0], "y");
    Status status = run(graph);
    EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
    EXPECT_NE(
        status.message().find("does not compute in " + std::string(name(type))),
        std::string::npos)
        << status.message();
  }
}

TEST_F(CompileTest, RefusesADtypeThatTheTargetLacks) {
  Status status = run(chain(1, DType::F64));
  EXPECT_EQ(status.code(), BP_STATUS_UNIMPLEMENTED);
  EXPECT_NE(status.message().find("f64"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("model.bpx")));
}

/// How many fused products x86 code has: vfmadd and its kin, VEX-encoded.
int fusedProducts(std::span<const uint8_t> code) {
  int count = 0;
  for (size_t i = 0; i + 4 <= code.size(); ++i) {
    bool map = code[i] == 0xC4 && (code[i + 1] & 0x1F) == 2;
    bool prefix = (code[i + 2] & 3) == 1;
    uint8_t opcode = code[i + 3];
    count += map && prefix && opcode >= 0x96 && opcode <= 0xBF &&
             (opcode & 0xF) >= 6;
  }
  return count;
}

TEST_F(CompileTest, FusesProductsWhereTheTargetContracts) {
  for (const char *rows : {"many", "one"})
    for (uint32_t flags : {BP_NUMERICS_CONTRACT, 0u}) {
      toy.emitter = "llvm-elf";
      toy.declaredDot = flags;
      Status status = run(product(rows == std::string("one") ? 1 : 64));
      ASSERT_TRUE(status.ok()) << status.message();
      auto file = ArtifactFile::open(path("model.bpx"));
      ASSERT_TRUE(file.ok()) << file.message();
      const VariantInfo &variant = (*file)->metadata().variants[0];
      ASSERT_EQ(variant.executables.size(), 1u);
      EXPECT_EQ(fusedProducts(variant.executables[0].blob.bytes) > 0,
                flags != 0)
          << rows << " rows";
    }
}

} // namespace
