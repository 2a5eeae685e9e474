// SPDX-License-Identifier: Apache-2.0
//
// Transfers.cpp: fills, copies and their order, in every way in which commands
// reach a driver.
#include "Groups.h"
#include "Work.h"

namespace backplane::checks {
namespace {

struct Fill {
  uint64_t offset, length;
  uint32_t width;
};

void fill(Trial &trial, How how, Fill fill) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer buffer(fixture, 2048);
  buffer.fill(1);
  queue.run(
      Commands().fill(buffer, fill.offset, fill.length, 0x89ABCDEF, fill.width),
      how);
  buffer.expect("a fill");
}

void fillPattern(Trial &trial, uint32_t pattern, uint32_t width) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer buffer(fixture, 333 * 4);
  buffer.fill(1);
  queue.run(Commands().fill(buffer, 4, 300 * 4, pattern, width));
  buffer.expect("a fill");
}

/// Larger than what a driver may do in one piece.
void fillLarge(Trial &trial, How how, uint32_t width) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer buffer(fixture, (5 << 20) + 64);
  buffer.fill(1);
  queue.run(Commands().fill(buffer, 4, (5 << 20) + 8, 0x01020304, width), how);
  buffer.expect("a large fill");
}

struct Copy {
  uint64_t from, to, length;
};

void copy(Trial &trial, How how, Copy copy) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 4096), b(fixture, 5000);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, copy.from, b, copy.to, copy.length), how);
  a.expect("the source of a copy");
  b.expect("the target of a copy");
}

/// Within one buffer; the ranges do not overlap but may touch.
void copyWithin(Trial &trial, How how, Copy copy) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 4096);
  a.fill(1);
  queue.run(Commands().copy(a, copy.from, a, copy.to, copy.length), how);
  a.expect("a copy within a buffer");
}

void copyLarge(Trial &trial, How how) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, (6 << 20) + 13), b(fixture, (6 << 20) + 13);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 3, b, 11, 6 << 20), how);
  b.expect("a large copy");
}

void copySpaces(Trial &trial, uint32_t from, uint32_t to) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 3000, from), b(fixture, 3000, to);
  a.fill(1);
  b.fill(2);
  queue.run(Commands().copy(a, 100, b, 200, 2500));
  b.expect("a copy between memory spaces");
}

void addFills(Checks &all) {
  Group group(all, "L1/fill",
              "A fill repeats the low bytes of its pattern over its range and "
              "touches nothing else.",
              {"offset", "tail"});
  static constexpr Fill fills[] = {
      {0, 2048, 1}, {1, 1, 1},     {3, 701, 1},  {2047, 1, 1}, {100, 0, 1},
      {0, 2048, 2}, {2, 2, 2},     {6, 1002, 2}, {2046, 2, 2}, {0, 2048, 4},
      {4, 4, 4},    {12, 1004, 4}, {2044, 4, 4}, {8, 0, 4},
  };
  for (How how : allWays)
    for (Fill one : fills)
      group.add(std::string(name(how)) + "/width-" + std::to_string(one.width) +
                    "-bytes-" + std::to_string(one.length) + "-at-" +
                    std::to_string(one.offset),
                one.length > 1000 && one.offset > 0 ? Depth::Smoke
                                                    : Depth::Standard,
                fill, how, one);
  for (uint32_t width : {1, 2, 4}) {
    for (uint32_t pattern : {0u, 0xFFFFFFFFu, 0x80u, 0x12345678u})
      group.add("pattern-" + std::to_string(pattern) + "-width-" +
                    std::to_string(width),
                fillPattern, pattern, width);
    for (How how : {How::Execute, How::Slots})
      group.add("large-" + std::string(name(how)) + "-width-" +
                    std::to_string(width),
                fillLarge, how, width);
  }
}

void addCopies(Checks &all) {
  Group group(all, "L1/copy",
              "A copy moves its range from offset to offset and touches "
              "nothing else.",
              {"offset", "tail"});
  static constexpr Copy copies[] = {
      {0, 0, 4096}, {1, 0, 4095},    {0, 1, 4096},    {1, 64, 1},
      {64, 1, 63},  {64, 128, 256},  {4095, 4999, 1}, {4096, 5000, 0},
      {0, 0, 0},    {17, 904, 4079}, {5, 5, 3000},
  };
  static constexpr Copy within[] = {
      {0, 2048, 2048}, {2048, 0, 2048}, {1, 100, 99}, {4000, 3, 96}};
  auto nameOf = [](How how, const char *what, Copy one) {
    return std::string(name(how)) + "/" + what + std::to_string(one.length) +
           "-from-" + std::to_string(one.from) + "-to-" +
           std::to_string(one.to);
  };
  for (How how : allWays) {
    for (Copy one : copies)
      group.add(nameOf(how, "bytes-", one),
                one.from == 17 || one.length == 63 ? Depth::Smoke
                                                   : Depth::Standard,
                copy, how, one);
    for (Copy one : within)
      group.add(nameOf(how, "within-", one), copyWithin, how, one);
    group.add(std::string(name(how)) + "/large", copyLarge, how);
  }
  for (uint32_t from : {BP_SPACE_DEVICE, BP_SPACE_STAGING})
    for (uint32_t to : {BP_SPACE_DEVICE, BP_SPACE_STAGING})
      group.add("space-" + std::to_string(from) + "-to-" + std::to_string(to),
                copySpaces, from, to);
}

// ---- Order ----

/// Commands that depend on each other, with barriers where hal.h asks for
/// them.
using Script = void (*)(Commands &commands, Buffer &a, Buffer &b);

void ordered(Trial &trial, How how, Script script) {
  Fixture fixture(trial);
  Queue queue(fixture);
  Buffer a(fixture, 1 << 16), b(fixture, 1 << 16);
  a.fill(1);
  b.fill(2);
  for (int i = 0; i < 5 && fixture.good(); ++i) {
    Commands commands;
    script(commands, a, b);
    queue.run(commands, how);
  }
  a.expect("the first buffer");
  b.expect("the second buffer");
}

struct NamedScript {
  const char *name;
  Script script;
};

constexpr NamedScript scripts[] = {
    {"empty", [](Commands &, Buffer &, Buffer &) {}},
    {"barriers-only",
     [](Commands &c, Buffer &, Buffer &) { c.barrier().barrier().barrier(); }},
    {"barriers-around",
     [](Commands &c, Buffer &a, Buffer &) {
       c.barrier().barrier().fill(a, 0, 999, 1, 1).barrier().barrier();
     }},
    {"read-after-write",
     [](Commands &c, Buffer &a, Buffer &b) {
       c.fill(a, 0, 65536, 0x5A5A1234, 4).barrier().copy(a, 0, b, 0, 65536);
     }},
    {"write-after-read",
     [](Commands &c, Buffer &a, Buffer &b) {
       c.copy(a, 0, b, 0, 65536).barrier().fill(a, 0, 65536, 0x77, 1);
     }},
    {"write-after-write",
     [](Commands &c, Buffer &a, Buffer &b) {
       c.fill(a, 0, 65536, 1, 1).barrier().fill(a, 100, 50000, 2, 1);
       c.barrier().copy(b, 0, a, 200, 40000);
     }},
    {"independent",
     [](Commands &c, Buffer &a, Buffer &b) {
       for (uint32_t i = 0; i < 64; ++i)
         c.fill(i % 2 ? a : b, i * 1024, 1024, i, 1);
     }},
    {"back-and-forth",
     [](Commands &c, Buffer &a, Buffer &b) {
       for (uint64_t i = 0; i < 16; ++i) {
         c.copy(a, i, b, 2 * i + 1, 30000).barrier();
         c.copy(b, i, a, 3 * i + 2, 30000).barrier();
       }
     }},
    {"thousand",
     [](Commands &c, Buffer &a, Buffer &b) {
       for (uint32_t i = 0; i < 500; ++i) {
         c.fill(a, i * 4, 400, i, 4).barrier();
         c.copy(a, i * 2, b, i * 8, 64).barrier();
       }
     }},
    {"adjacent",
     [](Commands &c, Buffer &a, Buffer &b) {
       for (uint32_t i = 0; i < 100; ++i)
         c.fill(a, i * 3, 3, i, 1).copy(b, i * 5, a, 1000 + i * 5, 5);
     }},
};

} // namespace

void addTransfers(Checks &all) {
  addFills(all);
  addCopies(all);
  Group group(all, "L1/order",
              "Commands after a barrier see what those before it wrote, and "
              "those between two barriers may overlap.",
              {"race"});
  for (How how : allWays)
    for (NamedScript script : scripts)
      group.add(std::string(name(how)) + "/" + script.name,
                how == How::Execute ? Depth::Smoke : Depth::Standard, ordered,
                how, script.script);
}

} // namespace backplane::checks
