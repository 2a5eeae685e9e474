// SPDX-License-Identifier: Apache-2.0
#include "sdk/optimize/Passes.h"

#include "sdk/dialect/Graph.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <ctime>

using namespace mlir;

namespace {

double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// %x, then more of it behind again and again.
std::string growing(unsigned concats) {
  std::string text = "func.func @main(%x: tensor<1xf32>) -> tensor<" +
                     std::to_string(concats + 1) + "xf32> {\n",
              last = "%x";
  auto type = [](unsigned size) {
    return "tensor<" + std::to_string(size) + "xf32>";
  };
  for (unsigned i = 1; i <= concats; ++i) {
    std::string next = "%v" + std::to_string(i);
    text += next + " = bp.concat " + last + ", %x {axis = 0 : i64} : (" +
            type(i) + ", tensor<1xf32>) -> " + type(i + 1) + "\n";
    last = next;
  }
  return text + "return " + last + " : " + type(concats + 1) + "\n}\n";
}

/// The time of the processor that the pass takes, the least of three runs.
double simplifySeconds(unsigned concats) {
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    MLIRContext context;
    bp::loadGraphDialects(context);
    auto module = parseSourceString<ModuleOp>(growing(concats), &context);
    EXPECT_TRUE(module);
    PassManager manager(&context);
    manager.addPass(bp::createSimplifyPass());
    double start = processorSeconds();
    EXPECT_TRUE(succeeded(manager.run(*module)));
    least = std::min(least, processorSeconds() - start);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    EXPECT_EQ(main.front().getOperations().size(), 2u); // with the return
    EXPECT_EQ(main.front().front().getNumOperands(), concats + 1);
  }
  return least;
}

// The work, not the time, is what is asked: a square would be 16 times as much.
TEST(Simplify, MergesNestsOfConcatsInProportion) {
  double few = simplifySeconds(1000), more = simplifySeconds(4000);
  EXPECT_LT(more, 9 * few);
}

} // namespace
