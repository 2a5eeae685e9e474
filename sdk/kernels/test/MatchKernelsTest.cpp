// SPDX-License-Identifier: Apache-2.0
//
// Where a kernel is found in a model, and which are called.
#include "sdk/kernels/test/MatchKernelsTest.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;

namespace {

TEST_F(MatchKernelsTest, OneOp) {
  add("matmul version 1", matmul);
  KernelReport report = match(R"(
    symbol batch
    %w = input f32[64, 32]
    %x = input f32[2 * batch, 64]
    %y = matmul(%x, %w)
    %z = relu(%y)
    output %z)");
  EXPECT_EQ(report.used, Lines{"kernel acme.matmul computes matmul (%y)"});
  EXPECT_TRUE(report.nearMisses.empty());
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kernel, kernels_[0].get());
  EXPECT_EQ(found[0].symbols,
            (std::map<std::string, Dim>{
                {"m", Dim(2) * Dim::symbol("batch")}, {"n", 32}, {"k", 64}}));
  EXPECT_EQ(found[0].bindings, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(others_, 1u);
}

TEST_F(MatchKernelsTest, AttentionOfEachDTypeWithAndWithoutBias) {
  add(attentionHead, attention);
  for (std::string type : {"f32", "f16"})
    for (bool bias : {true, false}) {
      std::string body = "%v = input " + type + "[2, 9, 64]\n%k = input " +
                         type + "[2, 9, 64]\n%q = input " + type +
                         "[2, 7, 64]\n";
      if (bias)
        body += "%bias = input " + type + "[64]\n";
      body += "%kt = transpose(%k) {permutation = [0, 2, 1]}\n"
              "%s = matmul(%q, %kt)\n%p = softmax(%s) {axis = 2}\n"
              "%o = matmul(%p, %v)\n";
      if (bias)
        body += "%all = broadcast(%bias) {dims = [2, 7, 64], axes = [2]}\n"
                "%y = add(%all, %o)\n";
      KernelReport report = match(body + (bias ? "output %y" : "output %o"));
      EXPECT_EQ(report.used.size(), 1u) << type << bias;
      auto found = dispatches();
      ASSERT_EQ(found.size(), 1u) << type << bias;
      EXPECT_EQ(others_, 0u);
      EXPECT_EQ(found[0].kernel->text.graphs[found[0].graph].choice,
                "T = " + type + (bias ? ", with bias" : ", without bias"));
      EXPECT_EQ(found[0].symbols,
                (std::map<std::string, Dim>{
                    {"b", 2}, {"d", 64}, {"m", 7}, {"n", 9}}));
      func::FuncOp dispatch;
      for (auto function : model_->getOps<func::FuncOp>())
        if (function->hasAttr(kernelAttr))
          dispatch = function;
      const std::vector<int32_t> &bindings = found[0].bindings;
      ASSERT_EQ(bindings.size(), 5u);
      auto dims = [&](int32_t binding) {
        return dimsOf(dispatch.getArgumentTypes()[size_t(binding)]);
      };
      EXPECT_EQ(dims(bindings[0])[1], Dim(7));
      EXPECT_NE(bindings[1], bindings[2]);
      EXPECT_EQ(bindings[3] >= 0, bias);
      EXPECT_EQ(size_t(bindings[4]), dispatch.getNumArguments());
    }
}

TEST_F(MatchKernelsTest, DecomposedCompositesAndCommutedOperands) {
  add("linear version 1", linear);
  KernelReport report = match(R"(
    symbol rows
    %x = input f32[rows, 8]
    %w = input f32[8, 16]
    %b = input f32[16]
    %p = matmul(%x, %w)
    %all = broadcast(%b) {dims = [rows, 16], axes = [1]}
    %s = add(%all, %p)
    %y = gelu(%s)
    output %y)");
  EXPECT_EQ(report.used.size(), 1u);
  EXPECT_EQ(dispatches().size(), 1u);
  EXPECT_EQ(others_, 0u);
}

TEST_F(MatchKernelsTest, AConstantOfOneNumberIsAScalarInput) {
  add("scaled version 1", R"(
    symbol m, n
    %x = input f32[m, n]
    %y = input f32[m, n]
    %s = input f32[]
    %p = mul(%x, %y)
    %all = broadcast(%s) {dims = [m, n], axes = []}
    %z = sub(%p, %all)
    output %z)");
  const std::string model = R"(
    symbol rows
    %a = input f32[rows, 8]
    %b = input f32[rows, 8]
    %half = constant() {value = 0.5, dtype = f32, dims = [rows, 8]}
    %p = mul(%a, %b)
    %y = sub(%p, %half)
    %q = mul(%y, %b)
    %z = sub(%q, %half)
    %u = max(%z, %half)
    output %u)";
  EXPECT_EQ(match(model).used.size(), 2u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 2u);
  for (const KernelMatch &one : found)
    EXPECT_EQ(one.bindings, (std::vector<int32_t>{1, 2, 0, 3}));
  EXPECT_EQ(others_, 2u); // the scalar, and what uses the whole constant
}

TEST_F(MatchKernelsTest, ConstantsOfModelsWithoutAMatchStay) {
  const std::string model = R"(
    %a = input f32[4]
    %half = constant() {value = 0.5, dtype = f32, dims = [4]}
    %y = sub(%a, %half)
    output %y)";
  auto text = [&] {
    EXPECT_TRUE(match(model).used.empty());
    std::string text;
    llvm::raw_string_ostream out(text);
    model_->print(out);
    return text;
  };
  const std::string before = text();
  add("scaled version 1", "symbol n\n%x = input f32[n]\n%s = input f32[]\n"
                          "%all = broadcast(%s) {dims = [n], axes = []}\n"
                          "%y = add(%x, %all)\noutput %y");
  EXPECT_EQ(text(), before);
}

TEST_F(MatchKernelsTest, SeveralAxesForTheFirst) {
  add("linear version 1 where m mod 4 == 0", linear);
  auto model = [](const std::string &axis, const std::string &bias) {
    return "symbol batch\n%x = input f32[batch, 16, 8]\n"
           "%w = input f32[8, 16]\n%b = input f32[" +
           bias +
           "]\n%p = matmul(%x, %w)\n%all = broadcast(%b) {dims = [batch, 16, "
           "16], axes = [" +
           axis + "]}\n%s = add(%all, %p)\n%y = gelu(%s)\noutput %y";
  };
  EXPECT_EQ(match(model("2", "16")).used.size(), 1u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbols.at("m"), Dim(16) * Dim::symbol("batch"));
  EXPECT_EQ(found[0].symbols.at("n"), Dim(16));
  EXPECT_EQ(found[0].bindings.size(), 4u);
  // A bias for each row is another graph.
  EXPECT_TRUE(match(model("1", "16")).used.empty());
}

TEST_F(MatchKernelsTest, ManyMatchesShareConstants) {
  add("linear version 1", linear);
  std::string body = "symbol rows\n%w = input f32[8, 8]\n%b = input f32[8]\n"
                     "%y0 = input f32[rows, 8]\n"
                     "%all = broadcast(%b) {dims = [rows, 8], axes = [1]}\n";
  for (int i = 0; i < 20; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += "%p" + n + " = matmul(%y" + n + ", %w)\n%s" + n + " = add(%p" + n +
            ", %all)\n%y" + next + " = gelu(%s" + n + ")\n";
  }
  EXPECT_EQ(match(body + "output %y20").used.size(), 20u);
  auto found = dispatches();
  EXPECT_EQ(found.size(), 20u);
  EXPECT_EQ(others_, 0u);
  for (const KernelMatch &match : found)
    EXPECT_EQ(match.bindings.size(), 4u);
}

TEST_F(MatchKernelsTest, ASizeThatIsAnExpression) {
  add("join version 1", R"(
    symbol m, n
    %x = input f32[m]
    %y = input f32[n]
    %j = concat(%x, %y) {axis = 0}
    %z = exp(%j)
    output %z)");
  KernelReport report = match(R"(
    symbol s
    %x = input f32[s]
    %y = input f32[2 * s + 1]
    %j = concat(%x, %y) {axis = 0}
    %z = exp(%j)
    output %z)");
  EXPECT_EQ(report.used.size(), 1u);
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbols.at("n"), Dim(2) * Dim::symbol("s") + Dim(1));
}

TEST_F(MatchKernelsTest, OneValueForTwoInputs) {
  add("square version 1",
      "symbol n\n%x = input f32[n]\n%y = input f32[n]\n%z = mul(%x, %y)\n"
      "output %z");
  match("%x = input f32[4]\n%z = mul(%x, %x)\noutput %z");
  auto found = dispatches();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bindings, (std::vector<int32_t>{0, 0, 1}));
}

TEST_F(MatchKernelsTest, OnlyOpsOfTheDevice) {
  add("exp version 1", "symbol n\n%x = input f32[n]\n%a = exp(%x)\noutput %a");
  match("%x = input f32[64]\n%a = exp(%x)\n%b = exp(%a)\noutput %b");
  for (Operation &op : model_->lookupSymbol<func::FuncOp>("main").front())
    op.removeAttr(kernelAttr);
  auto main = model_->lookupSymbol<func::FuncOp>("main");
  (*main.getOps<ExpOp>().begin())
      ->setAttr(deviceAttr, Builder(&context_).getI64IntegerAttr(1));
  EXPECT_EQ(matchKernels(*model_, 0, patterns_).used,
            Lines{"kernel acme.exp computes exp (%b)"});
  EXPECT_EQ(matchKernels(*model_, 1, patterns_).used,
            Lines{"kernel acme.exp computes exp (%a)"});
}

} // namespace
