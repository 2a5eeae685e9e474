// SPDX-License-Identifier: Apache-2.0
//
// Timelines.cpp: the optional table "backplane.semaphore".
#include "Groups.h"
#include "Work.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace backplane::checks {
namespace {

using Clock = std::chrono::steady_clock;

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void initialValue(Trial &trial, uint64_t value) {
  Fixture fixture(trial);
  Timeline timeline(fixture, value);
  timeline.expectValue(value);
  timeline.expectReached(value);
}

void signalUp(Trial &trial, uint64_t from, uint64_t step) {
  Fixture fixture(trial);
  Timeline timeline(fixture, from);
  for (uint64_t i = 1; i <= 10 && fixture.good(); ++i) {
    fixture.take(timeline.signal(from + i * step), "semaphore_signal");
    timeline.expectValue(from + i * step);
    timeline.expectReached(from + i * step);
    timeline.expectReached(from + 1);
  }
}

/// Values only grow: a lower signal is refused or does nothing.
void signalDown(Trial &trial, uint64_t value) {
  Fixture fixture(trial);
  Timeline timeline(fixture, 10);
  if (!fixture.good())
    return;
  (void)timeline.signal(value);
  timeline.expectValue(10);
  fixture.take(timeline.signal(11), "semaphore_signal");
  timeline.expectValue(11);
}

/// A wait for a value that does not come ends in time, and not before.
void timeout(Trial &trial, int milliseconds) {
  Fixture fixture(trial);
  Timeline timeline(fixture, 1);
  if (!fixture.good())
    return;
  auto start = Clock::now();
  Status status = timeline.wait(2, uint64_t(milliseconds) * 1000000);
  auto took = Clock::now() - start;
  trial.expect(status.code() == BP_STATUS_DEADLINE_EXCEEDED,
               "a wait that times out gives status " +
                   std::to_string(status.code()) + ", not DEADLINE_EXCEEDED");
  trial.expect(took >= std::chrono::milliseconds(milliseconds),
               "a wait timed out too early");
  trial.expect(took < std::chrono::milliseconds(milliseconds + 5000),
               "a wait timed out seconds too late");
  timeline.expectValue(1);
}

/// The host signals while others wait.
void waiters(Trial &trial, unsigned count, uint64_t timeoutNs) {
  Fixture fixture(trial);
  Timeline timeline(fixture, 0);
  if (!fixture.good())
    return;
  std::atomic<uint64_t> signalled = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      uint64_t value = t % 4 + 1;
      if (fixture.take(timeline.wait(value, timeoutNs), "semaphore_wait"))
        trial.expect(signalled >= value, "a wait for value " +
                                             std::to_string(value) +
                                             " ended before it was signalled");
    });
  for (uint64_t value = 1; value <= 4; ++value) {
    pause(3);
    signalled = value;
    fixture.take(timeline.signal(value), "semaphore_signal");
  }
  for (std::thread &thread : threads)
    thread.join();
}

/// Values are jumped over: who waits for a lower one goes on.
void jump(Trial &trial) {
  Fixture fixture(trial);
  Timeline timeline(fixture, 0);
  if (!fixture.good())
    return;
  std::thread waiter([&] { timeline.expectReached(5); });
  pause(3);
  fixture.take(timeline.signal(UINT64_MAX - 1), "semaphore_signal");
  waiter.join();
  timeline.expectValue(UINT64_MAX - 1);
}

// ---- Submissions ----

/// Everything that submissions need.
struct Stage {
  explicit Stage(Trial &trial) : fixture(trial) {
    a.fill(1);
    b.fill(2);
  }
  bool good() const { return fixture.good(); }
  void signal(const Timeline &timeline, uint64_t value) {
    if (good())
      fixture.take(timeline.signal(value), "semaphore_signal");
  }
  /// Complains when the work is not done yet but should be, or the other way
  /// round.
  void expectPending(Buffer &buffer, const Bytes &before, const char *what) {
    pause(15);
    Bytes now = buffer.read(0, buffer.size());
    if (good())
      fixture.trial().expect(now == before, what);
  }
  Fixture fixture;
  Queue queue{fixture}, other{fixture};
  Buffer a{fixture, 4096}, b{fixture, 4096};
};

bp_timepoint_t at(const Timeline &timeline, uint64_t value) {
  return {timeline.handle(), value};
}

void submitSignals(Trial &trial) {
  Stage s(trial);
  Timeline one(s.fixture, 0), two(s.fixture, 41);
  bp_timepoint_t signals[] = {at(one, 3), at(two, 42)};
  s.queue.submit({}, signals, Commands().copy(s.a, 0, s.b, 10, 4000));
  one.expectReached(3);
  two.expectReached(42);
  s.b.expect("a copy whose signals were waited for");
  one.expectValue(3);
  two.expectValue(42);
}

void submitNothing(Trial &trial) {
  Stage s(trial);
  Timeline one(s.fixture, 0);
  bp_timepoint_t signal = at(one, 1);
  s.queue.submit({}, {&signal, 1}, Commands());
  one.expectReached(1);
}

/// Work waits for a value that the host signals later.
void hostReleases(Trial &trial) {
  Stage s(trial);
  Timeline gate(s.fixture, 0), end(s.fixture, 0);
  Bytes before = s.b.model;
  bp_timepoint_t wait = at(gate, 7), signal = at(end, 1);
  s.queue.submit({&wait, 1}, {&signal, 1},
                 Commands().copy(s.a, 0, s.b, 0, 4096));
  s.expectPending(s.b, before, "work ran before its wait was reached");
  end.expectValue(0);
  s.signal(gate, 6);
  s.expectPending(s.b, before, "work ran although a lower value was reached");
  s.signal(gate, 7);
  end.expectReached(1);
  s.b.expect("a copy that waited");
}

void reachedAlready(Trial &trial) {
  Stage s(trial);
  Timeline gate(s.fixture, 9), end(s.fixture, 0);
  bp_timepoint_t wait = at(gate, 7), signal = at(end, 1);
  s.queue.submit({&wait, 1}, {&signal, 1},
                 Commands().copy(s.a, 0, s.b, 0, 4096));
  end.expectReached(1);
  s.b.expect("a copy whose wait was reached before");
}

/// All waits count, in whatever order they are reached.
void waitsForAll(Trial &trial, bool firstFirst) {
  Stage s(trial);
  Timeline one(s.fixture, 0), two(s.fixture, 0), end(s.fixture, 0);
  Bytes before = s.b.model;
  bp_timepoint_t waits[] = {at(one, 1), at(two, 1)}, signal = at(end, 1);
  s.queue.submit(waits, {&signal, 1}, Commands().copy(s.a, 0, s.b, 0, 4096));
  s.signal(firstFirst ? one : two, 1);
  s.expectPending(s.b, before,
                  "work ran when one of its two waits was reached");
  s.signal(firstFirst ? two : one, 1);
  end.expectReached(1);
  s.b.expect("a copy that waited for two");
}

/// What was submitted later to the same queue does not overtake.
void noOvertaking(Trial &trial) {
  Stage s(trial);
  Timeline gate(s.fixture, 0), end(s.fixture, 0);
  Bytes before = s.b.model;
  bp_timepoint_t wait = at(gate, 1), signal = at(end, 1);
  s.queue.submit({&wait, 1}, {}, Commands().copy(s.a, 0, s.b, 0, 4096));
  s.queue.submit({}, {&signal, 1}, Commands().fill(s.b, 0, 100, 5, 1));
  s.expectPending(s.b, before, "later work of a queue overtook what waits");
  s.signal(gate, 1);
  end.expectReached(1);
  s.b.expect("work of one queue in order");
}

/// One queue waits for the other, which must not be held up.
void acrossQueues(Trial &trial) {
  Stage s(trial);
  Timeline made(s.fixture, 0), end(s.fixture, 0);
  bp_timepoint_t first = at(made, 1), last = at(end, 1);
  // In the order in which they run, so that the model is right.
  Commands make, use;
  make.fill(s.a, 0, 4096, 0xC0FFEE, 4);
  use.copy(s.a, 0, s.b, 0, 4096);
  make.apply();
  s.queue.submit({&first, 1}, {&last, 1}, use);
  s.other.submit({}, {&first, 1}, make);
  end.expectReached(1);
  s.a.expect("what the second queue made");
  s.b.expect("what the first queue took");
}

void pingPong(Trial &trial, uint64_t rounds) {
  Stage s(trial);
  Timeline turn(s.fixture, 0);
  for (uint64_t i = 0; i < rounds && s.good(); ++i) {
    bp_timepoint_t wait = at(turn, i), signal = at(turn, i + 1);
    Commands commands;
    if (i % 2)
      commands.copy(s.b, i % 50, s.a, i % 70, 4000);
    else
      commands.copy(s.a, i % 30, s.b, i % 90, 4000);
    (i % 2 ? s.queue : s.other).submit({&wait, 1}, {&signal, 1}, commands);
  }
  turn.expectReached(rounds);
  s.a.expect("the first buffer");
  s.b.expect("the second buffer");
}

/// The whole chain is there before its first link is released.
void chain(Trial &trial, uint64_t length) {
  Stage s(trial);
  Timeline turn(s.fixture, 0);
  for (uint64_t i = 1; i <= length && s.good(); ++i) {
    bp_timepoint_t wait = at(turn, i), signal = at(turn, i + 1);
    s.queue.submit({&wait, 1}, {&signal, 1},
                   Commands()
                       .copy(s.a, 0, s.b, i % 64, 2000)
                       .barrier()
                       .copy(s.b, 1, s.a, i % 32, 3000));
  }
  turn.expectValue(0);
  s.signal(turn, 1);
  turn.expectReached(length + 1);
  s.a.expect("the first buffer");
  s.b.expect("the second buffer");
}

/// queue_execute comes after what was submitted before.
void executeAfterSubmit(Trial &trial) {
  Stage s(trial);
  Timeline gate(s.fixture, 0);
  bp_timepoint_t wait = at(gate, 1);
  s.queue.submit({&wait, 1}, {}, Commands().copy(s.a, 0, s.b, 0, 4096));
  std::thread release([&] {
    pause(10);
    s.signal(gate, 1);
  });
  s.queue.run(Commands().fill(s.b, 50, 60, 0x31, 1));
  release.join();
  s.b.expect("a fill after a submitted copy");
}

void hostWaitsWhileOthersSignal(Trial &trial) {
  Stage s(trial);
  Timeline end(s.fixture, 0);
  std::thread waiter([&] {
    end.expectReached(20);
    s.b.expect("memory after the last signal");
  });
  Commands commands;
  for (uint64_t i = 1; i <= 20 && s.good(); ++i) {
    bp_timepoint_t signal = at(end, i);
    s.queue.submit({}, {&signal, 1}, Commands().fill(s.a, i, 1, 7, 1));
    pause(1);
  }
  waiter.join();
  s.a.expect("memory that 20 submissions wrote");
}

/// Submissions from several threads, each to a queue of its own.
void submitInThreads(Trial &trial) {
  Fixture fixture(trial);
  std::vector<std::thread> threads;
  std::mutex making; // calls on one device are serialised by the caller
  for (uint64_t t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      std::unique_lock lock(making);
      Queue queue(fixture);
      Buffer a(fixture, 2000), b(fixture, 2000);
      Timeline end(fixture, 0);
      lock.unlock();
      a.fill(t);
      b.fill(t + 1);
      for (uint64_t i = 1; i <= 50 && fixture.good(); ++i) {
        bp_timepoint_t wait = at(end, i - 1), signal = at(end, i);
        queue.submit({&wait, 1}, {&signal, 1},
                     Commands()
                         .copy(a, i, b, 2 * i, 1500)
                         .barrier()
                         .copy(b, 0, a, i, 100));
      }
      end.expectReached(50);
      a.expect("memory of one of several threads");
      b.expect("memory of one of several threads");
      lock.lock();
    });
  for (std::thread &thread : threads)
    thread.join();
}

void madeOften(Trial &trial) {
  Fixture fixture(trial);
  Queue queue(fixture);
  for (uint64_t i = 0; i < 500 && trial.ok(); ++i) {
    Timeline timeline(fixture, i);
    bp_timepoint_t signal = at(timeline, i + 1);
    queue.submit({}, {&signal, 1}, Commands());
    timeline.expectReached(i + 1);
  }
}

void addSubmissions(Checks &all) {
  Group group(all, "L1/submit",
              "A submission starts when all of its waits are reached, in the "
              "order of its queue, and signals when its work is done.",
              {"fence", "race"});
  group.add("signals", Depth::Smoke, submitSignals);
  group.add("nothing", submitNothing);
  group.add("host-releases", Depth::Smoke, hostReleases);
  group.add("reached-already", reachedAlready);
  group.add("waits-for-all-first-first", waitsForAll, true);
  group.add("waits-for-all-second-first", waitsForAll, false);
  group.add("no-overtaking", Depth::Smoke, noOvertaking);
  group.add("across-queues", Depth::Smoke, acrossQueues);
  for (uint64_t rounds : {2, 20, 300})
    group.add("ping-pong-" + std::to_string(rounds), pingPong, rounds);
  for (uint64_t length : {2, 20, 300})
    group.add("chain-of-" + std::to_string(length), chain, length);
  group.add("execute-comes-after", executeAfterSubmit);
  group.add("host-waits-meanwhile", hostWaitsWhileOthersSignal);
  group.add("in-6-threads", submitInThreads);
  group.add("timelines-made-500-times", madeOften);
}

} // namespace

void addTimelines(Checks &all) {
  Group group(all, "L1/timeline",
              "A timeline keeps its value, only grows, and lets everybody go "
              "on who waits for what is reached.");
  for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(1) << 32,
                         uint64_t(1) << 63, UINT64_MAX - 1})
    group.add("starts-at-" + std::to_string(value), initialValue, value);
  group.add("signal-by-1", Depth::Smoke, signalUp, 0, 1);
  group.add("signal-by-2^32", signalUp, 3, uint64_t(1) << 32);
  for (uint64_t value : {0, 1, 9, 10})
    group.add("signal-" + std::to_string(value) + "-at-10", signalDown, value);
  for (int milliseconds : {0, 1, 20, 100})
    group.add("timeout-" + std::to_string(milliseconds) + "-ms",
              milliseconds == 1 ? Depth::Smoke : Depth::Standard, timeout,
              milliseconds);
  for (unsigned count : {1, 2, 8, 24}) {
    group.add(std::to_string(count) + "-waiters", waiters, count, 15000000000u);
    group.add(std::to_string(count) + "-waiters-without-end", waiters, count,
              UINT64_MAX);
  }
  group.add("jump", jump);
  addSubmissions(all);
}

} // namespace backplane::checks
