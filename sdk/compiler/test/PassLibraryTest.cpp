// SPDX-License-Identifier: Apache-2.0
//
// Libraries of C++ passes: which are taken, and what the passes of one may do.
#include "sdk/compiler/PassLibraries.h"

#include "backplane/mlir/Build.h"
#include "sdk/support/TemporaryFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace mlir;
using namespace backplane;

namespace {

constexpr const char *toyNames[] = {
    "toy-note",    "toy-note-function", "toy-crash",      "toy-fail",
    "toy-operand", "toy-user",          "toy-undeclared", "toy-invalid"};

CompilerPlugin pluginOf(const std::string &library) {
  CompilerPlugin plugin;
  plugin.name = "toy";
  plugin.passes.path = library;
  plugin.passes.llvm = LLVM_VERSION_STRING;
  for (const char *name : toyNames)
    plugin.passes.passes.push_back({name, "lower", "a toy"});
  return plugin;
}

struct PassLibraryTest : testing::Test {
  /// What is refused is known by its path, so each test has its own.
  std::string copyOf(const char *library) {
    std::string path = folder.path() + "/lib.so";
    std::filesystem::copy_file(library, path);
    return path;
  }
  void expectRefusal(const CompilerPlugin &plugin, const std::string &why) {
    Status status = loadPasses(plugin);
    EXPECT_EQ(status.code(), BP_STATUS_FAILED_PRECONDITION);
    EXPECT_EQ(status.message(), "library of passes lib.so: " + why);
    EXPECT_EQ(loadPasses(plugin).message(), status.message());
  }

  TemporaryFolder folder;
};

TEST_F(PassLibraryTest, RefusesAnotherLlvmBeforeItIsMapped) {
  CompilerPlugin plugin = pluginOf(folder.path() + "/lib.so"); // is not there
  plugin.passes.llvm = "21.1.0";
  expectRefusal(plugin, "its manifest says that it is built with LLVM 21.1.0, "
                        "this compiler with " LLVM_VERSION_STRING
                        "; build it again with that");
}

TEST_F(PassLibraryTest, RefusesAnotherBuild) {
  std::string build = mlirBuild;
  const std::string rtti = "rtti=on";
  build.replace(build.find(rtti), rtti.size(), "rtti=off");
  setenv("BP_TEST_BUILD", build.c_str(), 1);
  expectRefusal(pluginOf(copyOf(BP_UNFIT_PASSES)),
                std::string("is built with rtti=off, this compiler with ") +
                    mlirBuild + "; build it again with those");
}

TEST_F(PassLibraryTest, RefusesWhatSeesAnotherMlir) {
  setenv("BP_TEST_BUILD", mlirBuild, 1);
  expectRefusal(pluginOf(copyOf(BP_UNFIT_PASSES)),
                "has a copy of MLIR in it, or sees other classes; link "
                "libMLIR.so and libLLVM.so, no archive of LLVM");
}

TEST_F(PassLibraryTest, RefusesALibraryOfSomethingElse) {
  expectRefusal(pluginOf(copyOf(BP_OTHER_LIBRARY)),
                "exports no bp_mlir_build_v0; include backplane/mlir/Passes.h "
                "and define bp_mlir_passes_v0");
}

TEST_F(PassLibraryTest, RefusesWhatTheManifestDoesNotDeclare) {
  CompilerPlugin plugin = pluginOf(copyOf(BP_TOY_PASSES));
  plugin.passes.passes.erase(plugin.passes.passes.begin());
  expectRefusal(plugin, "puts pass 'toy-note', which its manifest does not "
                        "declare, or twice");
}

TEST_F(PassLibraryTest, RefusesWhatTheManifestDeclaresForNoStage) {
  CompilerPlugin plugin = pluginOf(copyOf(BP_TOY_PASSES));
  plugin.passes.passes[0].stage = "fusion";
  expectRefusal(plugin, "declares pass 'toy-note' for 'fusion', which is no "
                        "stage that takes pipelines; see "
                        "docs/reference/stages.md");
}

/// A module through a pipeline, and what it said.
struct Ran {
  std::string errors;
  OwningOpRef<ModuleOp> module;
};

struct ToyPasses : testing::Test {
  ToyPasses() {
    context.loadDialect<func::FuncDialect, arith::ArithDialect,
                        math::MathDialect>();
  }

  Ran run(const char *pipeline) {
    static const CompilerPlugin toy = pluginOf(BP_TOY_PASSES);
    Status loaded = loadPasses(toy);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    Ran ran;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      ran.errors += (ran.errors.empty() ? "" : "; ") + diagnostic.str();
      return success();
    });
    ran.module = parseSourceString<ModuleOp>(
        "func.func @main(%a: f32) -> f32 {\n"
        "  %0 = arith.addf %a, %a : f32\n  return %0 : f32\n}\n",
        &context);
    PassManager manager(&context);
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager)));
    bool good = succeeded(manager.run(*ran.module));
    EXPECT_EQ(good, ran.errors.empty()) << ran.errors;
    return ran;
  }
  void expectFault(const char *pipeline, const std::string &fault) {
    Ran ran = run(pipeline);
    EXPECT_NE(ran.errors.find(fault), std::string::npos)
        << ran.errors << "\n  does not say: " << fault;
    // It may be in a state in which it cannot be freed.
    ran.module.release();
  }

  MLIRContext context;
};

TEST_F(ToyPasses, RunWithOptionsAndOnFunctions) {
  Ran ran = run("toy-note{factor=3},func.func(toy-note-function)");
  EXPECT_EQ(ran.errors, "");
  Operation *main = ran.module->lookupSymbol("main");
  auto factor = main->getAttrOfType<IntegerAttr>("factor");
  ASSERT_TRUE(factor);
  EXPECT_EQ(factor.getInt(), 3);
  EXPECT_TRUE(main->hasAttr("seen"));
}

TEST_F(ToyPasses, AreToldByNameWhenTheyFail) {
  expectFault("toy-fail", "no sums; toy: pass 'toy-fail' failed");
}

TEST_F(ToyPasses, LeaveNothingDangling) {
  expectFault("toy-operand", "toy: pass 'toy-operand' leaves arith.addf with "
                             "an operand that is not in the IR");
  expectFault("toy-user", "toy: pass 'toy-user' leaves a value of func.func to "
                          "arith.negf, which is not in the IR");
}

TEST_F(ToyPasses, DeclareTheirDialects) {
  expectFault("toy-undeclared",
              "toy: pass 'toy-undeclared' makes ops of dialect 'math', which "
              "it does not declare in getDependentDialects");
}

TEST_F(ToyPasses, LeaveValidIr) {
  expectFault("toy-invalid",
              "toy: pass 'toy-invalid' leaves IR that is not valid");
}

/// In a process of its own: no pass runs after it.
TEST_F(ToyPasses, EndAloneWhenTheyCrash) {
  auto crash = [&] {
    expectFault("toy-crash", "toy: pass 'toy-crash' ended with signal 11");
    expectFault("toy-note", "toy: pass 'toy-note' does not run: one before it "
                            "ended with signal 11");
    expectFault("toy-note", "toy: pass 'toy-crash' ended with signal 11");
    _exit(HasFailure());
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(0), "");
}

} // namespace
