// SPDX-License-Identifier: Apache-2.0
//
// Signatures and programs, which are refused where they are wrong.
#include "Artifacts.h"

using namespace backplane;
using namespace backplane::sample;

namespace {

TEST_F(Artifacts, RefusesABadSignature) {
  EXPECT_EQ(refusalOf([](auto &) {}), "written");
  EXPECT_EQ(refusalOf([](auto &a) { a.inputs[0]->dtype = 99; }),
            "input 0: it has unknown dtype 99");
  EXPECT_EQ(refusalOf([](auto &a) { a.inputs[0]->exprs.clear(); }),
            "input 0: it has size -1 at axis 0");
  EXPECT_EQ(refusalOf([](auto &a) { a.outputs[0]->exprs[1] = "m"; }),
            "output 0: expression 'm' uses symbol 'm', which no input axis "
            "gives");
  EXPECT_EQ(refusalOf([](auto &a) { a.symbols[0]->divisor = 0; }),
            "symbol 'n' has an empty range");
  EXPECT_EQ(refusalOf([](auto &a) { a.symbols[0]->name = "n+1"; }),
            "symbol name 'n+1' is not an identifier");
  EXPECT_NE(refusalOf([](auto &a) { a.checks[0]->rhs = "2*("; }), "written");
  EXPECT_EQ(refusalOf([](auto &a) { a.variables[0]->initial = 7; }),
            "variable 0 has no initial value of its size");
  EXPECT_EQ(refusalOf([](auto &a) { a.variants.clear(); }),
            "it holds no variant");
}

/// Moves the transients of the control commands along with these.
void shiftControl(fb::ArtifactT &a, int by) {
  auto &slots = a.variants[0]->program->slots;
  for (size_t i = 8; i < slots.size(); ++i)
    slots[i]->first = slots[i]->last += uint32_t(by);
}

TEST_F(Artifacts, RefusesABadProgram) {
  auto in = [&](const auto &change) { return refusalIn(change); };
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).executable = 4; }),
            "program: command 0: it names executable 4, of 1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).entry = 1; }),
            "program: command 0: it names entry 1, of 1");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).grid.pop_back(); }),
            "program: command 0: its grid has 2 sizes, not 3");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).constants.pop_back(); }),
            "program: command 0: it gives 1 constants and 4 bindings, entry "
            "'entry' takes 2 and 4");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[0]->slot = 99; }),
            "program: command 0: binding 0: it names slot 99, of 11");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[1]->slot = 0; }),
            "program: command 0: binding 1: it writes to a slot of kind Input");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).bindings[2]->length = "201"; }),
            "program: command 0: binding 2: it names 201 bytes at 0 of a slot "
            "of 200");
  EXPECT_EQ(in([](auto &a) { firstDispatch(a).constants[1] = "0-1"; }),
            "program: command 0: constant is -1");
  EXPECT_EQ(in([](auto &a) { program(a).slots[7]->reuse = -1; }),
            "program: slots 6 and 7 overlap while both are in use");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->last = 3; }),
            "program: slots 6 and 7 overlap while both are in use");
  EXPECT_EQ(in([](auto &a) { program(a).slots[5]->last = 3; }),
            "program: command 4 uses slot 5, which lives from command 0 to 3");
  EXPECT_EQ(in([](auto &a) {
              // Reads what the next command writes over, with no barrier.
              auto &commands = program(a).commands;
              commands.insert(commands.begin() + 2, copy(6, 3));
              commands[2]->body.AsCopy()->source->length = "16";
              shiftControl(a, 1);
              program(a).slots[5]->last = 5;
              program(a).slots[6]->last = program(a).slots[7]->first = 3;
            }),
            "program: slot 7: it reuses slot 6, which another command between "
            "the same barriers uses");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->offset = 32; }),
            "program: slot 6: it lies at 32 with 200 bytes, the arena has 256");
  EXPECT_EQ(in([](auto &a) { program(a).slots[6]->last = 9; }),
            "program: slot 6: it is used from command 0 to 9, of 9");
  EXPECT_EQ(in([](auto &a) { program(a).slots[2]->index = 2; }),
            "program: slot 2: it names Weight 2, of 2");
  EXPECT_EQ(in([](auto &a) { program(a).slots[4]->index = 1; }),
            "program: slot 4: the init program writes no constant 1");
  EXPECT_EQ(in([](auto &a) { program(a).slots[3]->bytes = "17"; }),
            "program: slot 3: it has 17 bytes, what it names 16");
  EXPECT_EQ(in([](auto &a) {
              program(a).commands.erase(program(a).commands.begin() + 4);
              shiftControl(a, -1);
              program(a).slots[5]->last = 3;
              program(a).slots[7]->last = 3;
            }),
            "no command writes output 0");
  EXPECT_EQ(in([](auto &a) {
              a.variants[0]->init->slots[0]->kind = fb::SlotKind::Variable;
            }),
            "init program: slot 0: an init program cannot use it");
  EXPECT_EQ(in([](auto &a) { a.variants[0]->executables[0]->format = "x"; }),
            "executable 0 has format 'x', its variant 'elf-x86_64'");
  EXPECT_EQ(in([](auto &a) {
              a.variants[0]->executables[0]->entries[0]->access[0] = 4;
            }),
            "executable 0: entry 'entry' has unknown access 4");
}

TEST_F(Artifacts, PlacesOfSymbolicSizesFitTheGreatestOnes) {
  // 32*n bytes, n from 1 to 64: at most 2048, used in all commands.
  auto place = [](fb::ArtifactT &a, int64_t offset, int64_t arena) {
    fb::ProgramT &program = *a.variants[0]->program;
    program.slots[5]->offset = offset;
    program.arena_bytes = arena;
  };
  EXPECT_EQ(refusalOf([&](auto &a) { place(a, 256, 256 + 2048); }), "written");
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 256, 256 + 2047);
            }).find("slot 5: it lies at 256 with 2048 bytes, the arena has"),
            std::string::npos);
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 192, 256 + 2048);
            }).find("slots 5 and 6 overlap while both are in use"),
            std::string::npos);
  EXPECT_NE(refusalOf([&](auto &a) {
              place(a, 256, 1 << 20);
              a.symbols[0]->maximum = INT64_MAX;
            }).find("it has a place, but no limited size or no arena"),
            std::string::npos);
}

} // namespace
