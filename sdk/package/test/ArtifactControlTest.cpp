// SPDX-License-Identifier: Apache-2.0
//
// Decisions, loops and sizes that data decide.
#include "Artifacts.h"

using namespace backplane;
using namespace backplane::sample;

namespace {

TEST_F(Artifacts, RefusesBadControl) {
  auto in = [&](const auto &change) { return refusalIn(change); };
  auto choice = [](fb::ArtifactT &a) -> fb::ControlT & {
    return *program(a).commands[7]->body.AsControl();
  };
  auto loop = [](fb::ArtifactT &a) -> fb::ControlT & {
    return *program(a).commands[8]->body.AsControl();
  };
  auto regions = [](fb::ArtifactT &a) -> auto & {
    return a.variants[0]->regions;
  };
  EXPECT_EQ(in([&](auto &a) { choice(a).kind = fb::ControlKind(9); }),
            "program: command 7: it is a control of unknown kind 9");
  EXPECT_EQ(in([&](auto &a) { choice(a).regions.pop_back(); }),
            "program: command 7: an If needs two regions and a condition");
  EXPECT_EQ(in([&](auto &a) { choice(a).regions[1] = 2; }),
            "program: command 7: it names region 2, of 2 that may stand here");
  EXPECT_EQ(in([&](auto &a) { choice(a).condition = ""; }),
            "program: command 7: region 0 takes 1 values and gives 1, 0 and 1 "
            "are needed");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 0; }),
            "program: command 7: slot 0 is a result and something else");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 70; }),
            "program: command 7: it names slot 70, of 11");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 4; }),
            "program: command 7: it writes to a slot of kind Constant");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 3; }),
            "program: command 7: a result is a variable");
  EXPECT_EQ(in([&](auto &a) { choice(a).results[0] = 9; }),
            "program: command 7 uses slot 9, which lives from command 8 to 8");
  EXPECT_EQ(in([&](auto &a) { loop(a).limit = ""; }),
            "program: command 8: a While without a predicate, or with stacked "
            "results, needs a limit");
  EXPECT_EQ(in([&](auto &a) { loop(a).limit = "0-1"; }),
            "program: command 8: limit is -1");
  EXPECT_EQ(in([&](auto &a) { loop(a).carried = 2; }),
            "program: command 8: a While needs one region and what it carries");
  EXPECT_EQ(in([&](auto &a) { regions(a)[1]->iteration = "n"; }),
            "region 1 counts in 'n', which is no name of its own");
  EXPECT_EQ(in([&](auto &a) { regions(a)[1]->program.reset(); }),
            "region 1: it has no program");
  EXPECT_EQ(in([&](auto &a) { regions(a)[0]->program->commands.clear(); }),
            "region 0: no command writes output 0");
  EXPECT_EQ(in([&](auto &a) { regions(a)[0]->program->slots[0]->index = 1; }),
            "region 0: slot 0: it names Input 1, of 1");
  EXPECT_EQ(in([&](auto &a) {
              // A region that runs itself.
              auto &inner = *regions(a)[0]->program;
              inner.commands.push_back(std::make_unique<fb::CommandT>());
              fb::ControlT control = choice(a);
              control.results = {1};
              inner.commands.back()->body.Set(std::move(control));
            }),
            "region 0: command 1: it names region 0, of 0 that may stand here");
  EXPECT_EQ(in([&](auto &a) {
              auto &init = *a.variants[0]->init;
              init.commands.push_back(std::make_unique<fb::CommandT>());
              init.commands.back()->body.Set(fb::ControlT(choice(a)));
            }),
            "init program: command 3: an init program makes no decisions");
}

TEST_F(Artifacts, KeepsReads) {
  sample::addRead(artifact_);
  auto file = reopened();
  ASSERT_TRUE(file);
  const VariantInfo &variant = file->metadata().variants[0];
  EXPECT_EQ(variant.requirements, std::vector<std::string>{"dims.read"});
  const auto &read = std::get<program::Read>(variant.program.commands[10]);
  EXPECT_EQ(read.slot, 11u);
  EXPECT_EQ(read.symbol, "k");
  EXPECT_EQ(read.bound.str(), "n");
  EXPECT_EQ(read.op, "NonZero node /z");
}

TEST_F(Artifacts, RefusesBadReads) {
  auto in = [&](const auto &change) { return refusalIn(change, addRead); };
  auto read = [](fb::ArtifactT &a) -> fb::ReadT & {
    return *program(a).commands[10]->body.AsRead();
  };
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 14; }),
            "program: command 10: it names slot 14, of 14");
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 3; }),
            "program: command 10: it reads a slot of 16 bytes, not of 8");
  EXPECT_EQ(in([&](auto &a) { read(a).slot = 12; }),
            "program: command 10: it reads a slot of no fixed number of bytes, "
            "not of 8");
  EXPECT_EQ(in([&](auto &a) { read(a).symbol = "j"; }),
            "a command reads 'j', which is no symbol of the artifact");
  EXPECT_EQ(in([&](auto &a) { read(a).symbol = "n"; }),
            "a command reads 'n', which an input axis gives");
  EXPECT_EQ(in([&](auto &a) { read(a).bound = "k"; }),
            "program: command 10: bound: expression 'k' uses symbol 'k', which "
            "no earlier command reads");
  EXPECT_EQ(in([&](auto &a) { read(a).bound = "0-1"; }),
            "program: command 10: bound is -1");
  EXPECT_EQ(in([&](auto &a) {
              auto &commands = program(a).commands;
              commands[11] = std::make_unique<fb::CommandT>();
              commands[11]->body.Set(fb::ReadT(read(a)));
              program(a).slots[11]->last = 11;
              program(a).slots[12]->first = 13;
            }),
            "program: command 11: it reads 'k', which has a value");
  EXPECT_EQ(in([&](auto &a) { program(a).commands[10] = sample::barrier(); }),
            "output 1: expression 'k' uses symbol 'k', which no input axis "
            "gives");
  EXPECT_EQ(in([&](auto &a) {
              program(a).commands[9]->body.AsFill()->target->length = "k";
            }),
            "program: command 9: target: range: expression 'k' uses symbol "
            "'k', which no earlier command reads");
  EXPECT_EQ(in([&](auto &a) { a.inputs[0]->exprs[0] = "k*2"; }),
            "input 0: expression '2*k' uses symbol 'k', which no input axis "
            "gives");
  EXPECT_EQ(in([&](auto &a) {
              auto &init = *a.variants[0]->init;
              init.commands.push_back(std::make_unique<fb::CommandT>());
              init.commands.back()->body.Set(fb::ReadT(read(a)));
            }),
            "init program: command 3: only the program of a variant reads "
            "symbols");
}

} // namespace
