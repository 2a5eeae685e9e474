// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/Schedule.h"
#include "sdk/schedule/Placement.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

class ScheduleTest : public testing::Test {
protected:
  /// `inPlace` is what each kernel says of itself, as far as given.
  Schedule run(const std::string &body, const std::string &attributes = "",
               const std::vector<std::vector<uint32_t>> &inPlace = {}) {
    bp::loadGraphDialects(context_);
    std::string text = "module attributes {" + attributes + "} {\n" + body +
                       R"(
  func.func @neg(%x: tensor<64xf32>) -> tensor<64xf32>
      attributes {bp.dispatch, bp.symbols = []} {
    %0 = bp.neg %x : (tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
})";
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_);
    auto result = schedule(*module_, weights);
    EXPECT_TRUE(result.ok()) << result.message();
    for (size_t i = 0; i < inPlace.size(); ++i)
      result->dispatches[i].kernel.inPlace = inPlace[i];
    Status status = finishSchedule(*module_, *result);
    EXPECT_TRUE(status.ok()) << status.message();
    return std::move(*result);
  }
  /// "DBC": dispatch, barrier, copy.
  static std::string commands(const Program &program) {
    std::string text;
    for (const program::Command &command : program.commands)
      text += "DCFB?"[command.index()];
    return text;
  }
  static std::string kinds(const Program &program) {
    std::string text;
    for (const Slot &slot : program.slots)
      text += name(slot.kind)[0];
    return text;
  }

  std::vector<std::string> weights;

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(ScheduleTest, PutsBarriersBetweenDependentCommandsOnly) {
  Schedule s = run(R"(func.func @main(%x: tensor<64xf32>) ->
      (tensor<64xf32>, tensor<64xf32>) {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %2 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    return %1, %2 : tensor<64xf32>, tensor<64xf32>
  })");
  EXPECT_EQ(commands(s.program), "DDBD");
  EXPECT_EQ(kinds(s.program), "ITOO");
  EXPECT_EQ(s.program.arenaBytes(0), 256);
  EXPECT_EQ(s.program.slots[1].first, 0u);
  EXPECT_EQ(s.program.slots[1].last, 3u);
  EXPECT_EQ(std::get<program::Dispatch>(s.program.commands[3]).name, "neg");
}

TEST_F(ScheduleTest, ReshapeIsAnAlias) {
  Schedule s = run(R"(func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = bp.reshape %x {dims = #bp.dims<["64"]>} : (tensor<8x8xf32>) -> tensor<64xf32>
    %1 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    %2 = bp.reshape %1 {dims = #bp.dims<["8", "8"]>} : (tensor<64xf32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  })");
  EXPECT_EQ(commands(s.program), "D");
  EXPECT_EQ(kinds(s.program), "IO");
}

TEST_F(ScheduleTest, CopiesOutputsThatHaveAnotherPlace) {
  Schedule s = run(R"(func.func @main(%x: tensor<64xf32>) ->
      (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    return %0, %0, %x : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  })");
  EXPECT_EQ(commands(s.program), "DBCC");
}

TEST_F(ScheduleTest, WhatDependsOnWeightsAloneRunsInInit) {
  Schedule s = run(R"(func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["64"]>} : () -> tensor<64xf32>
    %0 = call @neg(%w) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  })");
  EXPECT_EQ(commands(s.init), "DBD");
  EXPECT_EQ(kinds(s.init), "WCC");
  EXPECT_EQ(commands(s.program), "C");
  EXPECT_EQ(kinds(s.program), "CO");
  EXPECT_EQ(s.program.slots[0].index, s.init.slots[2].index);
  EXPECT_EQ(weights.size(), 1u);
}

TEST_F(ScheduleTest, SwapsVariablesThroughTransients) {
  Schedule s = run(R"(func.func @main() {
    %a = bp.variable_read {variable = "a", dtype = f32, dims = #bp.dims<["64"]>} : () -> tensor<64xf32>
    %b = bp.variable_read {variable = "b", dtype = f32, dims = #bp.dims<["64"]>} : () -> tensor<64xf32>
    bp.variable_write %b {variable = "a"} : (tensor<64xf32>) -> ()
    bp.variable_write %a {variable = "b"} : (tensor<64xf32>) -> ()
    return
  })",
                   R"(bp.variables = [
    {name = "a", type = tensor<64xf32>, initial = ""},
    {name = "b", type = tensor<64xf32>, initial = ""}])");
  EXPECT_EQ(commands(s.program), "CCBCC");
  EXPECT_EQ(kinds(s.program), "VVTT");
}

/// Twice a dispatch over n elements.
const char *const symbolic =
    R"(func.func @main(%x: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>> {
    %0 = call @any(%x) : (tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
    %1 = call @any(%0) : (tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
    return %1 : tensor<?xf32, #bp.dims<["n"]>>
  }
  func.func @any(%x: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>> attributes {bp.dispatch, bp.symbols = ["n"]} {
    %0 = bp.neg %x : (tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
    return %0 : tensor<?xf32, #bp.dims<["n"]>>
  })";

/// The attributes of a module with the symbol n.
std::string upTo(std::string maximum) {
  return "bp.symbols = [{name = \"n\", minimum = 1 : i64, maximum = " +
         maximum + " : i64, divisor = 1 : i64}]";
}

TEST_F(ScheduleTest, LeavesUnboundedSizesToTheRuntime) {
  Schedule s = run(symbolic, upTo("9223372036854775807"));
  EXPECT_EQ(s.program.arenaBytes(0), -1);
  EXPECT_EQ(s.program.slots[1].bytes->str(), "4*n");
  EXPECT_EQ(s.program.slots[1].offset, -1);
  const auto *dispatch = std::get_if<program::Dispatch>(&s.program.commands[0]);
  EXPECT_EQ(dispatch->constants, std::vector<Dim>{Dim::symbol("n")});
  ASSERT_EQ(s.report.size(), 1u);
  EXPECT_EQ(s.report[0], "memory: planned for the shapes of each call, as a "
                         "transient of 4*n bytes has no greatest size");
}

TEST_F(ScheduleTest, PlansBoundedSizesAtTheirGreatest) {
  Schedule s = run(symbolic, upTo("1000"));
  EXPECT_EQ(s.program.arenaBytes(0), 4032);
  EXPECT_EQ(s.program.slots[1].bytes->str(), "4*n");
  EXPECT_EQ(s.program.slots[1].offset, 0);
  ASSERT_EQ(s.report.size(), 1u);
  EXPECT_EQ(s.report[0], "memory: 1 transients in an arena of 4032 bytes, at "
                         "the greatest sizes of the symbols");
}

TEST_F(ScheduleTest, LeavesGreatSizesToTheRuntime) {
  for (const char *maximum : {"1000000000", "4000000000000000000"}) {
    Schedule s = run(symbolic, upTo(maximum));
    EXPECT_EQ(s.program.arenaBytes(0), -1);
    EXPECT_EQ(s.program.slots[1].offset, -1);
    ASSERT_EQ(s.report.size(), 1u);
  }
}

/// neg three times: input, two transients, output.
const char *const chain =
    R"(func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    %2 = call @neg(%1) : (tensor<64xf32>) -> tensor<64xf32>
    return %2 : tensor<64xf32>
  })";

TEST_F(ScheduleTest, AResultTakesThePlaceOfADyingOperand) {
  Schedule s = run(chain, "", {{0}, {0}, {0}});
  ASSERT_EQ(kinds(s.program), "ITTO");
  EXPECT_EQ(s.program.slots[1].reuse, -1);
  EXPECT_EQ(s.program.slots[2].reuse, 1);
  EXPECT_EQ(s.program.slots[1].offset, s.program.slots[2].offset);
  EXPECT_EQ(s.program.arenaBytes(0), 256);
  ASSERT_EQ(s.report.size(), 2u);
  EXPECT_NE(s.report[0].find("takes the place of operand 0, 256 bytes"),
            std::string::npos);
}

TEST_F(ScheduleTest, AKernelThatDoesNotSayItIsInPlaceGetsItsOwnMemory) {
  Schedule s = run(chain);
  EXPECT_EQ(s.program.slots[2].reuse, -1);
  EXPECT_EQ(s.program.arenaBytes(0), 512);
  ASSERT_EQ(s.report.size(), 1u);
  EXPECT_EQ(s.report[0], "memory: 2 transients in an arena of 512 bytes");
}

TEST_F(ScheduleTest, AnOperandThatIsNeededLaterKeepsItsPlace) {
  Schedule s = run(R"(func.func @main(%x: tensor<64xf32>) ->
      (tensor<64xf32>, tensor<64xf32>) {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    %2 = call @neg(%1) : (tensor<64xf32>) -> tensor<64xf32>
    %3 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    return %2, %3 : tensor<64xf32>, tensor<64xf32>
  })",
                   "", {{0}, {0}, {0}, {0}});
  for (const auto &slot : s.program.slots)
    EXPECT_EQ(slot.reuse, -1);
}

TEST_F(ScheduleTest, AnOperandThatMayBeReadAtTheSameTimeKeepsItsPlace) {
  // Both read the first result between the same barriers.
  Schedule s = run(R"(func.func @main(%x: tensor<64xf32>) ->
      (tensor<64xf32>, tensor<64xf32>) {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    %2 = call @neg(%0) : (tensor<64xf32>) -> tensor<64xf32>
    %3 = call @neg(%1) : (tensor<64xf32>) -> tensor<64xf32>
    %4 = call @neg(%2) : (tensor<64xf32>) -> tensor<64xf32>
    return %3, %4 : tensor<64xf32>, tensor<64xf32>
  })",
                   "", {{0}, {0}, {0}, {0}, {0}});
  EXPECT_EQ(commands(s.program), "DBDDBDD");
  for (const auto &slot : s.program.slots)
    EXPECT_EQ(slot.reuse, -1);
}

TEST_F(ScheduleTest, EveryBindingOfTheOperandMustBeInPlace) {
  const char *body = R"(func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
    %0 = call @neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
    %1 = call @two(%0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %2 = call @neg(%1) : (tensor<64xf32>) -> tensor<64xf32>
    return %2 : tensor<64xf32>
  }
  func.func @two(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {bp.dispatch, bp.symbols = []} {
    %0 = bp.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  })";
  EXPECT_EQ(run(body, "", {{}, {0}, {}}).program.slots[2].reuse, -1);
  EXPECT_EQ(run(body, "", {{}, {0, 1}, {}}).program.slots[2].reuse, 1);
}

} // namespace
