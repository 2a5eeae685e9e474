// SPDX-License-Identifier: Apache-2.0
//
// Programs with control flow through the C API on the host driver, without any
// compiler: which region runs, what loops carry and stack, and what they name
// when they fail.
#include "Models.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace backplane;
using namespace backplane::sample;
using namespace backplane::test;

namespace {

std::unique_ptr<fb::CommandT> command(fb::ControlT control) {
  auto result = std::make_unique<fb::CommandT>();
  result->body.Set(std::move(control));
  return result;
}

/// A region with inputs of these sizes; its outputs follow them as slots.
fb::RegionT &addRegion(fb::VariantT &variant, std::vector<std::string> inputs,
                       std::vector<std::string> outputs) {
  auto region = std::make_unique<fb::RegionT>();
  region->program = std::make_unique<fb::ProgramT>();
  for (uint32_t i = 0; i < inputs.size(); ++i)
    region->program->slots.push_back(slot(fb::SlotKind::Input, i));
  for (uint32_t i = 0; i < outputs.size(); ++i)
    region->program->slots.push_back(slot(fb::SlotKind::Output, i));
  region->inputs = std::move(inputs);
  region->outputs = std::move(outputs);
  variant.regions.push_back(std::move(region));
  return *variant.regions.back();
}

/// y = p ? x + 1 : (x + 2) + 3, x: f32[n]
void choice(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  draft.addSymbol("n", 0, 1000);
  a.inputs.push_back(tensor("p", DType::Bool, {}));
  a.inputs.push_back(tensor("x", DType::F32, {"n"}));
  a.outputs.push_back(tensor("y", DType::F32, {"n"}));
  fb::VariantT &variant = draft.addVariant("toy", 1);
  fb::RegionT &yes = addRegion(variant, {"4*n"}, {"4*n"});
  yes.program->commands.push_back(dispatch(0, {"n", "1", "1"}, {"1"}, {0, 1}));
  fb::RegionT &no = addRegion(variant, {"4*n"}, {"4*n"});
  no.program->slots.push_back(transient("4*n", 0, 2));
  no.program->commands.push_back(dispatch(0, {"n", "1", "1"}, {"2"}, {0, 2}));
  no.program->commands.push_back(barrier());
  no.program->commands.push_back(dispatch(0, {"n", "1", "1"}, {"3"}, {2, 1}));
  fb::ProgramT &p = *variant.program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Input, 1));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  fb::ControlT control;
  control.kind = fb::ControlKind::If;
  control.operands = {0, 1};
  control.results = {2};
  control.regions = {0, 1};
  control.op = "If node '/choice'";
  p.commands.push_back(command(std::move(control)));
}

/// Carries x: f32[w] over k iterations, adding the iteration's number, and
/// stacks what each gives.
void sums(Draft &draft) {
  fb::ArtifactT &a = draft.artifact;
  draft.addSymbol("w", 0, 1000);
  draft.addSymbol("k", 0, 5000);
  a.inputs.push_back(tensor("x", DType::F32, {"w"}));
  a.inputs.push_back(tensor("count", DType::Bool, {"k"}));
  a.outputs.push_back(tensor("last", DType::F32, {"w"}));
  a.outputs.push_back(tensor("all", DType::F32, {"k", "w"}));
  fb::VariantT &variant = draft.addVariant("toy", 1);
  fb::RegionT &body = addRegion(variant, {"4*w"}, {"4*w", "4*w"});
  body.iteration = "i";
  auto &commands = body.program->commands;
  commands.push_back(dispatch(0, {"w", "1", "1"}, {"i"}, {0, 1}));
  commands.push_back(barrier());
  commands.push_back(copy(1, 2));
  fb::ProgramT &p = *variant.program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 1));
  fb::ControlT control;
  control.kind = fb::ControlKind::While;
  control.operands = {0};
  control.results = {1, 2};
  control.regions = {0};
  control.carried = 1;
  control.limit = "k";
  control.op = "Loop node '/sums'";
  p.commands.push_back(command(std::move(control)));
}

/// Adds 1 to x while flags[i] holds; with `stacked`, stacks what is carried
/// for 3 iterations.
void search(Draft &draft, bool stacked) {
  fb::ArtifactT &a = draft.artifact;
  a.inputs.push_back(tensor("x", DType::F32, {"2"}));
  a.inputs.push_back(tensor("flags", DType::Bool, {"8"}));
  a.outputs.push_back(tensor("y", DType::F32, {"2"}));
  if (stacked)
    a.outputs.push_back(tensor("all", DType::F32, {"3", "2"}));
  fb::VariantT &variant = draft.addVariant("toy", 1);
  std::vector<std::string> outputs = {"1", "8"};
  if (stacked)
    outputs.push_back("8");
  fb::RegionT &body = addRegion(variant, {"8", "8"}, outputs);
  body.iteration = "i";
  auto &commands = body.program->commands;
  commands.push_back(dispatch(0, {"2", "1", "1"}, {"1"}, {0, 3}));
  commands.push_back(copy(1, 2));
  commands.back()->body.AsCopy()->source = binding(1, "i + 1", "1");
  commands.push_back(barrier());
  if (stacked)
    commands.push_back(copy(3, 4));
  fb::ProgramT &p = *variant.program;
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Input, 1));
  p.slots.push_back(transient("1", 0, 2));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.commands.push_back(copy(1, 2));
  p.commands.back()->body.AsCopy()->source = binding(1, "", "1");
  p.commands.push_back(barrier());
  fb::ControlT control;
  control.kind = fb::ControlKind::While;
  control.operands = {2, 0, 1};
  control.results = {3};
  control.regions = {0};
  control.conditional = true;
  control.carried = 1;
  control.op = "Loop node '/search'";
  if (stacked) {
    p.slots.push_back(slot(fb::SlotKind::Output, 1));
    control.results.push_back(4);
    control.limit = "3";
  }
  p.commands.push_back(command(std::move(control)));
}

/// A bool tensor.
struct Flags {
  std::vector<int64_t> dims;
  std::vector<uint8_t> values;
  bp_tensor_t c() {
    return {values.data(), dims.data(), values.size(), BP_DTYPE_BOOL,
            uint32_t(dims.size())};
  }
};

class Control : public testing::Test {
protected:
  void open(const std::function<void(Draft &)> &make) {
    Draft draft;
    make(draft);
    auto artifact = test::open(context_, draft, folder_ / "model.bpx");
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    auto session = createSession(artifact_, options);
    ASSERT_TRUE(session.ok()) << session.message();
    session_ = std::move(*session);
  }

  Folder folder_;
  Context context_ = hostContext();
  Artifact artifact_;
  Session session_;
};

TEST_F(Control, EntersTheRegionThatAPredicateChooses) {
  open(choice);
  for (int64_t n : {5, 0, 40, 5})
    for (uint8_t taken : {1, 0, 1}) {
      Flags p{{}, {taken}};
      Floats x({n}), y({n}, -1);
      std::iota(x.values.begin(), x.values.end(), 0.f);
      Status status = runSession(session_, {p.c(), x.c()}, {y.c()});
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t i = 0; i < y.values.size(); ++i)
        ASSERT_EQ(y.values[i], float(i) + (taken ? 1 : 5));
    }
}

TEST_F(Control, CountsIterationsAndStacksTheirResults) {
  open(sums);
  // Parts of 16 floats are aligned, those of 3 are not; 2000 iterations are
  // more than plans are kept.
  for (auto [w, k] : {std::pair(3, 4),
                      {16, 5},
                      {3, 1},
                      {0, 3},
                      {16, 0},
                      {1, 2000},
                      {16, 5}}) {
    Floats x({w}, 100), last({w}, -1), all({k, w}, -1);
    Flags count{{k}, std::vector<uint8_t>(size_t(k))};
    Status status =
        runSession(session_, {x.c(), count.c()}, {last.c(), all.c()});
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < w; ++j)
        ASSERT_EQ(all.values[size_t(i * w + j)], float(100 + i * (i + 1) / 2));
    for (float value : last.values)
      ASSERT_EQ(value, float(100 + k * (k - 1) / 2));
  }
}

TEST_F(Control, GoesOnWhileAPredicateHolds) {
  open([](Draft &draft) { search(draft, false); });
  for (int64_t length = 0; length < 7; ++length) {
    Floats x({2}, 10), y({2}, -1);
    Flags flags{{8}, std::vector<uint8_t>(8)};
    std::fill_n(flags.values.begin(), length, 1);
    Status status = runSession(session_, {x.c(), flags.c()}, {y.c()});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y.values, std::vector<float>(2, float(10 + length)));
  }
}

TEST_F(Control, NamesTheLoopThatLeavesItsCaptures) {
  open([](Draft &draft) { search(draft, false); });
  Floats x({2}, 10), y({2});
  Flags flags{{8}, std::vector<uint8_t>(8, 1)};
  Status status = runSession(session_, {x.c(), flags.c()}, {y.c()});
  EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_NE(status.message().find("Loop node '/search': iteration 7"),
            std::string::npos)
      << status.message();
  // The session still works.
  flags.values.assign(8, 0);
  status = runSession(session_, {x.c(), flags.c()}, {y.c()});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Control, StacksExactlyWhatThereIsRoomFor) {
  open([](Draft &draft) { search(draft, true); });
  Floats x({2}, 10), y({2}, -1), all({3, 2}, -1);
  auto run = [&](int64_t length) {
    Flags flags{{8}, std::vector<uint8_t>(8)};
    std::fill_n(flags.values.begin(), length, 1);
    return runSession(session_, {x.c(), flags.c()}, {y.c(), all.c()});
  };
  Status status = run(3);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(all.values, (std::vector<float>{11, 11, 12, 12, 13, 13}));
  EXPECT_EQ(y.values[1], 13);
  EXPECT_EQ(run(2).message().find("Loop node '/search': it ends after 2"), 0u)
      << run(2).message();
  EXPECT_EQ(run(4).message().find("Loop node '/search': it goes on after 3"),
            0u)
      << run(4).message();
}

TEST_F(Control, AsksTheChecksOfTheRegionsThatRun) {
  open([](Draft &draft) {
    choice(draft);
    auto check = std::make_unique<fb::CheckT>();
    check->lhs = "n";
    check->rhs = "4";
    check->message = "Reshape node '/half' needs four rows";
    draft.artifact.variants[0]->regions[0]->checks.push_back(std::move(check));
  });
  Flags p{{}, {0}};
  Floats x({3}), y({3});
  EXPECT_TRUE(runSession(session_, {p.c(), x.c()}, {y.c()}).ok());
  p.values = {1};
  Status status = runSession(session_, {p.c(), x.c()}, {y.c()});
  EXPECT_EQ(status.message(),
            "If node '/choice': Reshape node '/half' needs four rows: expected "
            "n == 4, found 3 and 4");
}

TEST_F(Control, RefusesOperandsOfAnotherSizeThanTheRegions) {
  open([](Draft &draft) {
    choice(draft);
    for (auto &region : draft.artifact.variants[0]->regions)
      region->inputs = {"8*n"};
  });
  Flags p{{}, {1}};
  Floats x({3}), y({3});
  Status status = runSession(session_, {p.c(), x.c()}, {y.c()});
  EXPECT_EQ(status.message(), "If node '/choice': operand 0 has 12 bytes, its "
                              "region says 24");
}

} // namespace
