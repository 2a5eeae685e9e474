// SPDX-License-Identifier: Apache-2.0
//
// Registered kernels through the whole compiler, with code of the CPU beside
// them.
#include "sdk/kernels/RegisteredKernel.h"
#include "sdk/compiler/test/Library.h"
#include "sdk/graph/GraphTable.h"
#include "sdk/package/Artifact.h"
#include "sdk/support/TemporaryFolder.h"

#include <filesystem>

using namespace backplane;

namespace {

uint64_t dtypes = 1u << BP_DTYPE_F32; ///< of toys

bp_status_t targets(void *, const bp_target_sink_t *sink, bp_error_t *) {
  bp_target_t target = {BP_HEADER(bp_target_t)};
  target.name = toC("toy");
  target.driver = toC("toy");
  target.format = toC("elf");
  target.storage_dtypes = dtypes;
  target.compute_dtypes = dtypes;
  target.fusion = BP_FUSE_ELEMENTWISE | BP_FUSE_EPILOGUE;
  target.emitter = toC("llvm-elf");
  target.triple = toC("x86_64-unknown-linux-gnu");
  target.cpu = toC("x86-64-v3");
  target.vector_bits = 256;
  return sink->put(sink->context, &target);
}

bp_status_t stages(void *, bp_string_t, const bp_stage_sink_t *sink,
                   bp_error_t *) {
  for (auto [stage, text] : cpuStages)
    if (bp_status_t s = sink->put(sink->context, toC(stage), toC(text)))
      return s;
  return BP_STATUS_OK;
}

// What the plug-in leaves to the core.
bp_status_t claim(void *, bp_string_t, const bp_graph_t *,
                  const bp_graph_table_t *, bp_claim_t *, bp_error_t *) {
  return BP_STATUS_UNIMPLEMENTED;
}
bp_status_t compile(void *, const bp_compile_request_t *,
                    const bp_compiled_sink_t *, bp_error_t *) {
  return BP_STATUS_UNIMPLEMENTED;
}

bp_status_t noPasses(void *, bp_string_t, const bp_graph_pass_sink_t *,
                     bp_error_t *) {
  return BP_STATUS_UNIMPLEMENTED;
}

const bp_compiler_table_t toyTable = {BP_HEADER(bp_compiler_table_t),
                                      targets,
                                      claim,
                                      stages,
                                      compile,
                                      nullptr,
                                      noPasses,
                                      nullptr};

/// The texts that are registered: native kernels of one work-group, or all of
/// this IR.
std::vector<std::string> texts;
std::string ir;

bp_status_t describe(void *, const bp_kernel_sink_t *sink, bp_error_t *) {
  for (const std::string &text : texts) {
    auto read = parseKernelText(text);
    EXPECT_TRUE(read) << read.message();
    std::vector<uint8_t> access(read->inputCount, BP_ACCESS_READ);
    access.resize(read->bindings.size(), BP_ACCESS_WRITE);
    bp_entry_t entry = {BP_HEADER(bp_entry_t)};
    entry.name = toC("run");
    entry.binding_access = access.data();
    entry.binding_count = uint32_t(access.size());
    bp_compiled_t body = {BP_HEADER(bp_compiled_t)};
    body.entry = &entry;
    for (bp_string_t &size : body.grid)
      size = toC("1");
    bp_kernel_t kernel = {BP_HEADER(bp_kernel_t)};
    kernel.text = toC(text);
    kernel.target = toC("t*");
    kernel.body = ir.empty() ? &body : nullptr;
    kernel.ir = toC(ir);
    if (bp_status_t s = sink->put(sink->context, &kernel))
      return s;
  }
  return BP_STATUS_OK;
}

const bp_kernels_table_t kernelsTable = {BP_HEADER(bp_kernels_table_t),
                                         describe, nullptr};

class RegisteredKernelTest : public testing::Test {
protected:
  void SetUp() override {
    entry_ = compilerEntry();
    ASSERT_TRUE(entry_);
    services_.plugins.push_back({"toy", "1.0.0", "hash", &toyTable, nullptr});
    services_.kernelSets.push_back(
        {"acme", "1.0.0", "hash", &kernelsTable, nullptr, nullptr});
    services_.graphTable = graphTable();
    texts.clear();
    ir.clear();
  }

  /// The variant of a model that is written as a kernel is.
  VariantInfo compile(const std::string &body) {
    auto model = parseKernelText("kernel model version 1 {" + body + "}");
    EXPECT_TRUE(model) << model.message();
    CompileRequest request;
    request.model.graph = model->graphs.at(0).graph;
    request.targets = {"toy"};
    request.outputPath = folder_ / "model.bpx";
    request.dumpDir = folder_ / "dumps";
    std::string message;
    EXPECT_EQ(entry_(&request, &services_, &message), BP_STATUS_OK) << message;
    auto file = ArtifactFile::open(folder_ / "model.bpx");
    EXPECT_TRUE(file.ok()) << file.message();
    return (*file)->metadata().variants.at(0);
  }
  bool wroteDump(std::string_view stage) {
    for (const auto &file :
         std::filesystem::directory_iterator(folder_ / "dumps"))
      if (file.path().filename().string().substr(3) ==
          std::string(stage) + ".mlir")
        return true;
    return false;
  }

private:
  CompileServices services_;
  decltype(&bp_compile_model_internal) entry_ = nullptr;
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

constexpr const char *attention = R"(kernel attention version 2 where d <= 64 {
  symbol b, m, n, d
  %q = input f32[b, m, d]
  %k = input f32[b, n, d]
  %v = input f32[b, n, d]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %p = softmax(%s) {axis = 2}
  %o = matmul(%p, %v)
  output %o
})";

constexpr const char *model = R"(
  symbol b, m
  %q = input f32[b, m, 32]
  %k = input f32[b, m, 32]
  %v = input f32[b, m, 32]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %p = softmax(%s) {axis = 2}
  %o = matmul(%p, %v)
  %y = gelu(%o)
  output %y)";

size_t countOf(const std::vector<std::string> &lines, std::string_view part) {
  size_t count = 0;
  for (const std::string &line : lines)
    count += line.find(part) != std::string::npos;
  return count;
}

TEST_F(RegisteredKernelTest, TakesItsOpsInOneDispatch) {
  texts = {attention};
  VariantInfo variant = compile(model);
  EXPECT_EQ(countOf(variant.report, "kernel acme.attention computes matmul"),
            1u);
  EXPECT_EQ(countOf(variant.report, "generated code runs instead"), 0u);
  EXPECT_TRUE(wroteDump("kernels"));
  bool native = false;
  for (const ExecutableInfo &executable : variant.executables)
    native |= executable.format == "native";
  EXPECT_TRUE(native);
}

/// Heads are an axis of their own: b of the text is the product of both.
TEST_F(RegisteredKernelTest, TakesSeveralAxesForTheFirst) {
  texts = {attention};
  VariantInfo variant = compile(R"(
  symbol b, m
  %q = input f32[b, 4, m, 32]
  %k = input f32[b, 4, m, 32]
  %v = input f32[b, 4, m, 32]
  %kt = transpose(%k) {permutation = [0, 1, 3, 2]}
  %s = matmul(%q, %kt)
  %p = softmax(%s) {axis = 3}
  %o = matmul(%p, %v)
  output %o)");
  EXPECT_EQ(countOf(variant.report, "kernel acme.attention computes matmul"),
            1u);
  EXPECT_EQ(countOf(variant.report, "generated code runs instead"), 0u);
}

/// A mean divides by a size, which the model has as a number.
TEST_F(RegisteredKernelTest, TakesMeansOverSizesThatAreNumbers) {
  texts = {R"(kernel norm version 1 {
  symbol m, n
  %x = input f32[m, n]
  %g = input f32[n]
  %b = input f32[n]
  %y = layer_norm(%x, %g, %b) {axis = 1}
  output %y
})"};
  for (const char *size : {"48", "n"}) {
    std::string n = size;
    // One that varies is computed with.
    dtypes = 1u << BP_DTYPE_F32 | (n == "n" ? 1u << BP_DTYPE_I64 : 0);
    VariantInfo variant = compile(
        "symbol b, s, n\n%x = input f32[b, s, " + n + "]\n%g = input f32[" + n +
        "]\n%b = input f32[" + n +
        "]\n%i = input f32[n, 7]\n%y = layer_norm(%x, %g, %b) {axis = 2}\n"
        "%r = reduce(%i) {axes = [1], kind = \"max\"}\noutput %y, %r");
    EXPECT_EQ(countOf(variant.report, "kernel acme.norm computes"), 1u) << size;
  }
  dtypes = 1u << BP_DTYPE_F32;
}

TEST_F(RegisteredKernelTest, TellsWhatNearlyMatches) {
  texts = {attention};
  std::string wide = model;
  for (size_t at; (at = wide.find("32]")) != std::string::npos;)
    wide.replace(at, 3, "96]");
  VariantInfo variant = compile(wide);
  EXPECT_EQ(countOf(variant.report, "kernel acme.attention computes"), 0u);
  EXPECT_EQ(countOf(variant.report, "the condition d <= 64 is not proved for "
                                    "b = b, d = 96, m = m, n = m"),
            1u);
}

constexpr const char *productText = R"(kernel product version 1 {
  symbol m, n
  %a = input f32[m, n]
  %b = input f32[m, n]
  %p = mul(%a, %b)
  %y = exp(%p)
  output %y
})";

/// Its sizes are those of `shape`, of what stands in its body.
std::string productIr(const std::string &shape, const std::string &body) {
  const std::string tensor = "tensor<" + shape + "xf32>";
  return "#id = affine_map<(i, j) -> (i, j)>\nfunc.func @product(%a: " +
         tensor + ", %b: " + tensor + ", %y: " + tensor +
         ", %m: index, %n: index) -> " + tensor +
         " {\n%r = linalg.generic {indexing_maps = [#id, #id, #id], "
         "iterator_types = [\"parallel\", \"parallel\"]} ins(%a, %b : " +
         tensor + ", " + tensor + ") outs(%y : " + tensor +
         ") {\n^bb0(%x: f32, %w: f32, %o: f32):\n" + body +
         "\nlinalg.yield %e : f32\n} -> " + tensor + "\nreturn %r : " + tensor +
         "\n}\n";
}
constexpr const char *product =
    "%p = arith.mulf %x, %w : f32\n%e = math.exp %p : f32";
constexpr const char *productModel = R"(
  symbol b
  %a = input f32[b, 3, 8]
  %b = input f32[b, 3, 8]
  %p = mul(%a, %b)
  %y = exp(%p)
  output %y)";

TEST_F(RegisteredKernelTest, TakesIrInThePlaceOfItsOps) {
  texts = {productText};
  ir = productIr("?x?", product);
  VariantInfo variant = compile(productModel);
  EXPECT_EQ(countOf(variant.report, "kernel acme.product computes mul"), 1u);
  EXPECT_EQ(countOf(variant.report, "not used"), 0u);
  ASSERT_EQ(variant.executables.size(), 1u);
  EXPECT_NE(variant.executables[0].format, "native");
  // The cache knows it from other IR, and from generated code.
  auto nameOf = [](const VariantInfo &made) {
    return made.executables.at(0).entries.at(0).name;
  };
  ir = productIr("?x?", "%e = arith.addf %x, %w : f32");
  EXPECT_NE(nameOf(compile(productModel)), nameOf(variant));
  texts.clear();
  EXPECT_NE(nameOf(compile(productModel)), nameOf(variant));
}

TEST_F(RegisteredKernelTest, LeavesOutIrThatCannotBeUsed) {
  texts = {productText};
  const std::pair<std::string, const char *> wrong[] = {
      {"func.func @product() { return", "expected"},
      {"func.func @product() { return }", "it has 0 arguments, the text asks "
                                          "for 5: 2 inputs, 1 outputs, 2 "},
      {"func.func @other() { return }", "the IR has no function product"},
      {productIr("?x4", product),
       "it has 'tensor<?x4xf32>' where the model has"},
      {productIr("?x?", "%e = arith.mulf %x : f32"), "expected"},
      {productIr("?x?", "%p = arith.mulf %x, %w : f32\n%e = func.call "
                        "@other(%p) : (f32) -> f32") +
           "func.func private @other(f32) -> f32",
       "IR of a kernel has no func.call"},
  };
  for (const auto &[text, message] : wrong) {
    ir = text;
    VariantInfo variant = compile(productModel);
    EXPECT_EQ(countOf(variant.report, message), 1u) << text;
    EXPECT_EQ(countOf(variant.report, "not used"), 1u) << text;
    EXPECT_EQ(variant.executables.size(), 1u) << text;
  }
}

TEST_F(RegisteredKernelTest, LeavesModelsWithoutKernelsAsTheyAre) {
  VariantInfo variant = compile(model);
  EXPECT_FALSE(wroteDump("kernels"));
  EXPECT_EQ(countOf(variant.report, "kernel "), 0u);
}

} // namespace
