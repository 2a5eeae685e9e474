// SPDX-License-Identifier: Apache-2.0
//
// Recordings.cpp: the optional table "backplane.command_buffer".
#include "Groups.h"
#include "Work.h"

namespace backplane::checks {
namespace {

/// Two buffers, and work that changes both with every run.
struct Stage {
  explicit Stage(Trial &trial)
      : fixture(trial), queue(fixture), a(fixture, 8192), b(fixture, 8192) {
    a.fill(1);
    b.fill(2);
    work.copy(a, 3, b, 700, 5000).barrier().copy(b, 0, a, 64, 3000).barrier();
    work.fill(b, 100, 40, 0x99, 1);
  }
  void finish(Done &done) {
    if (fixture.good())
      fixture.take(done.wait(fixture), "completion");
  }
  void expect() {
    a.expect("the first buffer");
    b.expect("the second buffer");
  }
  Fixture fixture;
  Queue queue;
  Buffer a, b;
  Commands work;
};

void replay(Trial &trial, bool slots, int times) {
  Stage s(trial);
  Recorded recorded(s.fixture, s.work, slots);
  for (int i = 0; i < times && s.fixture.good(); ++i) {
    recorded.run(s.queue);
    s.work.apply();
  }
  s.expect();
}

void replayUnwaited(Trial &trial, bool slots, size_t times) {
  Stage s(trial);
  Recorded recorded(s.fixture, s.work, slots);
  std::vector<Done> dones(times);
  for (Done &done : dones) {
    recorded.start(s.queue, done);
    s.work.apply();
  }
  for (Done &done : dones)
    s.finish(done);
  s.expect();
}

void onTwoQueues(Trial &trial, bool slots) {
  Stage s(trial);
  Queue other(s.fixture, BP_QUEUE_TRANSFER);
  Recorded recorded(s.fixture, s.work, slots);
  for (int i = 0; i < 6; ++i) {
    recorded.run(i % 2 ? other : s.queue);
    s.work.apply();
  }
  s.expect();
}

void mixedWithDirect(Trial &trial, bool slots) {
  Stage s(trial);
  Recorded recorded(s.fixture, s.work, slots);
  for (uint32_t i = 0; i < 5; ++i) {
    recorded.run(s.queue);
    s.work.apply();
    s.queue.run(Commands().fill(s.a, 10 + i, 500, i, 1));
  }
  s.expect();
}

/// A recording keeps nothing of another one.
void twoRecordings(Trial &trial) {
  Stage s(trial);
  Commands second;
  second.fill(s.a, 0, 4000, 0x1234, 2).barrier().copy(s.a, 1, s.b, 4000, 4001);
  Recorded one(s.fixture, s.work, false), two(s.fixture, second, true);
  for (int i = 0; i < 4; ++i) {
    one.run(s.queue);
    s.work.apply();
    two.run(s.queue);
    second.apply();
  }
  s.expect();
}

void recordedNotRun(Trial &trial) {
  Stage s(trial);
  {
    Recorded recorded(s.fixture, s.work, false);
  }
  s.expect();
}

void recordedOften(Trial &trial) {
  Stage s(trial);
  for (int i = 0; i < 300 && s.fixture.good(); ++i) {
    Recorded recorded(s.fixture, s.work, i % 2);
    recorded.run(s.queue);
    s.work.apply();
  }
  s.expect();
}

/// The same recording with other buffers in its slots.
void otherTables(Trial &trial) {
  Stage s(trial);
  Buffer c(s.fixture, 8192), d(s.fixture, 8192);
  c.fill(3);
  d.fill(4);
  Recorded recorded(s.fixture, Commands().copy(s.a, 0, s.b, 0, 1000), true);
  Buffer *pairs[][2] = {{&s.a, &s.b}, {&c, &d}, {&d, &s.a}, {&s.b, &c}};
  for (auto [from, to] : pairs) {
    bp_binding_t table[] = {{from->handle(), 0, 8192, 0, 0},
                            {to->handle(), 0, 8192, 0, 0}};
    Done done;
    recorded.start(s.queue, table, done);
    s.finish(done);
    Commands().copy(*from, 0, *to, 0, 1000).apply();
  }
  s.expect();
  c.expect("the third buffer");
  d.expect("the fourth buffer");
}

/// The offset of a slot is added to that of the binding.
void tableOffsets(Trial &trial) {
  Stage s(trial);
  Commands commands;
  commands.copy(s.a, 5, s.b, 9, 300).barrier().fill(s.b, 3, 2, 0x6C, 1);
  Recorded recorded(s.fixture, commands, true);
  if (!s.fixture.good())
    return;
  uint64_t step = s.fixture.info().binding_alignment;
  for (uint64_t i = 0; i < 6 && s.fixture.good(); ++i) {
    uint64_t from = i * step, to = (6 - i) * step;
    bp_binding_t table[] = {{s.a.handle(), from, 8192 - from, 0, 0},
                            {s.b.handle(), to, 8192 - to, 0, 0}};
    Done done;
    recorded.start(s.queue, table, done);
    s.finish(done);
    Commands()
        .copy(s.a, from + 5, s.b, to + 9, 300)
        .fill(s.b, to + 3, 2, 0x6C, 1)
        .apply();
  }
  s.expect();
}

/// Entries beyond those that are used are not looked at.
void largerTable(Trial &trial) {
  Stage s(trial);
  Recorded recorded(s.fixture, Commands().copy(s.a, 0, s.b, 0, 100), true);
  bp_binding_t table[4] = {{s.a.handle(), 0, 8192, 0, 0},
                           {s.b.handle(), 0, 8192, 0, 0}};
  Done done;
  recorded.start(s.queue, table, done);
  s.finish(done);
  Commands().copy(s.a, 0, s.b, 0, 100).apply();
  s.expect();
}

} // namespace

void addRecordings(Checks &all) {
  Group group(all, "L1/record",
              "A command buffer does the same each time it runs, with the "
              "buffers and offsets that its table has then.",
              {"offset", "workspace"});
  for (bool slots : {false, true}) {
    std::string suffix = slots ? "-with-slots" : "";
    for (int times : {1, 2, 50})
      group.add("replay-" + std::to_string(times) + suffix,
                times == 2 ? Depth::Smoke : Depth::Standard, replay, slots,
                times);
    group.add("replay-20-not-waited" + suffix, replayUnwaited, slots, 20);
    group.add("on-two-queues" + suffix, onTwoQueues, slots);
    group.add("mixed-with-direct" + suffix, mixedWithDirect, slots);
  }
  group.add("two-recordings", twoRecordings);
  group.add("not-run", recordedNotRun);
  group.add("300-times", recordedOften);
  group.add("other-tables", Depth::Smoke, otherTables);
  group.add("table-offsets", Depth::Smoke, tableOffsets);
  group.add("larger-table", largerTable);
}

} // namespace backplane::checks
