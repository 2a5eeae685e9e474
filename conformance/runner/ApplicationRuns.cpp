// SPDX-License-Identifier: Apache-2.0
//
// ApplicationRuns.cpp: the calls of a case, as its circumstance has them, and
// what becomes of their results.
#include "ApplicationJob.h"

#include "conformance/cases/Data.h"

#include <algorithm>
#include <thread>

namespace backplane::conformance {

using worker::BatchMessage;
using worker::FrameType;

namespace {

/// Runs of the process, and of one executable, before a case of ManyRuns.
constexpr uint64_t manyRuns = 20000, manyOfOne = 2500;
/// Rounds of one request, which must end within the time for one case.
constexpr uint32_t maxRounds = 100;
/// Between two runs of a process that grows old.
constexpr std::chrono::seconds pause{4};

uint32_t modeOf(Circumstance circumstance) {
  return circumstance == Circumstance::Overlap   ? BatchMessage::Overlap
         : circumstance == Circumstance::Threads ? BatchMessage::Threads
                                                 : BatchMessage::InTurn;
}

/// The same case with other data of the same sizes.
Case withData(const Case &testCase, uint64_t number) {
  Case other = testCase;
  if (number != 0)
    other.seed = randomBits(testCase.seed, number);
  return other;
}

} // namespace

std::vector<ApplicationJob::Call> ApplicationJob::callsOf(const Unit &unit,
                                                          const Case &testCase,
                                                          const Loaded &loaded,
                                                          unsigned count,
                                                          uint64_t salt) const {
  std::vector<Call> calls;
  for (unsigned i = 0; i < count; ++i) {
    Case one = withData(testCase, salt + i);
    std::vector<Tensor> inputs = rules_.inputsOf(unit, one);
    calls.push_back({std::move(one), std::move(inputs),
                     loaded.sessions[i % loaded.sessions.size()]});
  }
  return calls;
}

Result<worker::BatchedMessage>
ApplicationJob::batch(const std::vector<Call> &calls, const Loaded &loaded,
                      uint32_t rounds, uint64_t spareMemory) {
  BatchMessage message;
  message.spareMemory = spareMemory;
  message.mode = modeOf(circumstance_);
  message.rounds = rounds;
  for (const Call &call : calls) {
    worker::RunMessage run{loaded.artifact, toWire(call.inputs)};
    run.floatFill = run.otherFill = staleByte;
    run.session = call.session;
    message.runs.push_back(std::move(run));
  }
  auto answer =
      ask(FrameType::Batch, worker::encode(message), FrameType::Batched);
  if (!answer)
    return answer.status();
  worker::BatchedMessage batched;
  if (Status s = worker::decode(answer->payload, batched); !s.ok())
    return s;
  if (batched.results.size() != calls.size() ||
      batched.oddRun >= std::max<size_t>(calls.size(), 1))
    return dataLoss("the application answered another batch");
  runs_ += uint64_t(rounds) * calls.size();
  return batched;
}

/// The record keeps the worst of all calls that it is for; false once it is
/// bad.
bool ApplicationJob::judge(const Unit &unit, const Call &call,
                           const Answer &answer, Record &record) const {
  Record one = record;
  one.reason.clear();
  rules_.judge(unit, call.testCase, call.inputs, answer, one);
  one.tested.runs = runs_;
  one.tested.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - since_)
          .count();
  if (isGood(one.status) && isGood(record.status) && record.elements &&
      one.limitUsed <= record.limitUsed) {
    record.tested = one.tested;
    return true;
  }
  record = std::move(one);
  return isGood(record.status);
}

/// Runs calls and judges all their results; false when one is bad.
bool ApplicationJob::runCalls(const Unit &unit, const Loaded &loaded,
                              const std::vector<Call> &calls, uint32_t rounds,
                              Record &record, uint64_t spareMemory) {
  auto batched = batch(calls, loaded, rounds, spareMemory);
  if (!batched) {
    charge(batched.status(), record);
    return false;
  }
  auto answerOf = [](worker::ResultMessage &result) {
    Answer answer;
    answer.result = std::move(result);
    return answer;
  };
  for (size_t i = 0; i < calls.size(); ++i)
    if (!judge(unit, calls[i], answerOf(batched->results[i]), record)) {
      record.reason = "run " + std::to_string(i + 1) + ": " + record.reason;
      return false;
    }
  if (batched->odd.empty())
    return true;
  std::string where = "round " + std::to_string(batched->oddRound + 1) +
                      " gave other results than the first: ";
  bool isRight =
      judge(unit, calls[batched->oddRun], answerOf(batched->odd[0]), record);
  if (isRight && !rules_.isDeterministic(unit))
    return true;
  if (isRight)
    record.status = CaseStatus::Flaky;
  record.reason = where + record.reason;
  return false;
}

/// The same few calls until the process has done very many, and then others.
bool ApplicationJob::runOften(const Unit &unit, const Case &testCase,
                              const Loaded &loaded, Record &record) {
  const unsigned count = courseOf(unit.circumstance).calls;
  std::vector<Call> calls = callsOf(unit, testCase, loaded, count, 0);
  const uint64_t until = std::max(manyRuns, runs_ + manyOfOne);
  while (runs_ < until)
    if (!runCalls(unit, loaded, calls, maxRounds, record)) {
      record.reason += " (after " + std::to_string(runs_) + " runs)";
      return false;
    }
  return runCalls(unit, loaded, callsOf(unit, testCase, loaded, count, count),
                  1, record);
}

/// A run that gets no memory may fail; one that does not fail is right, and so
/// is the next one when memory is back.
bool ApplicationJob::runWithLittle(const Unit &unit, const Case &testCase,
                                   const Loaded &loaded, Record &record) {
  unsigned number = 0;
  for (uint64_t spare : {1 << 12, 1 << 17, 1 << 20, 0}) {
    bool isRight =
        runCalls(unit, loaded, callsOf(unit, testCase, loaded, 1, number++), 1,
                 record, spare);
    bool isRefused = record.status == CaseStatus::ResourceError && spare != 0;
    if (!isRight && !isRefused)
      return false;
  }
  return true;
}

bool ApplicationJob::replaceSession(Loaded &loaded, Record &record) {
  Status status = close(loaded, 1);
  if (status.ok())
    status = open(loaded, 1);
  if (!status.ok())
    charge(status, record);
  return status.ok();
}

void ApplicationJob::runCase(const Unit &unit, const Case &testCase,
                             Loaded &loaded, Record &record) {
  const Course &course = courseOf(unit.circumstance);
  auto run = [&](uint64_t salt) {
    return runCalls(unit, loaded,
                    callsOf(unit, testCase, loaded, course.calls, salt),
                    course.rounds, record);
  };
  switch (unit.circumstance) {
  case Circumstance::ManyRuns:
    (void)runOften(unit, testCase, loaded, record);
    break;
  case Circumstance::LittleMemory:
    (void)runWithLittle(unit, testCase, loaded, record);
    break;
  case Circumstance::Sessions:
    (void)(run(0) && replaceSession(loaded, record) && run(course.calls));
    break;
  default:
    (void)run(0);
  }
}

Status ApplicationJob::run(const Unit &unit, std::vector<Record> &records) {
  const Course &course = courseOf(unit.circumstance);
  if (Status s = start(course); !s.ok())
    return s;
  auto loaded = load(unit);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!loaded) {
      chargeLoad(loaded.status(), records[i]);
      continue;
    }
    records[i].compileMs = i == 0 ? loaded->compileMs : 0;
    runCase(unit, unit.cases[i], *loaded, records[i]);
    if (isRunning() || i + 1 == records.size())
      continue;
    if (Status s = start(course); !s.ok())
      return s;
    loaded = load(unit);
  }
  while (loaded && isRunning() && !loaded->sessions.empty())
    if (!close(*loaded, 0).ok())
      break;
  return {};
}

// ---- a long time ----

void ApplicationJob::runAged(const Unit &unit, Loaded &loaded,
                             std::vector<Record> &records, uint64_t salt) {
  const unsigned count = courseOf(unit.circumstance).calls;
  for (size_t i = 0; i < records.size(); ++i)
    if (salt == 0 || isGood(records[i].status))
      (void)runCalls(unit, loaded,
                     callsOf(unit, unit.cases[i], loaded, count, salt), 1,
                     records[i]);
}

Status ApplicationJob::runLong(const std::vector<Unit> &units,
                               std::chrono::seconds age,
                               std::vector<std::vector<Record>> &records) {
  if (units.empty())
    return {};
  if (Status s = start(courseOf(Circumstance::LongUptime)); !s.ok())
    return s;
  auto end = since_ + age;
  std::vector<Result<Loaded>> loaded;
  for (size_t i = 0; i < units.size(); ++i) {
    loaded.push_back(load(units[i]));
    if (loaded[i])
      runAged(units[i], *loaded[i], records[i], 0);
    else
      for (Record &record : records[i])
        chargeLoad(loaded[i].status(), record);
  }
  uint64_t salt = 1000;
  for (size_t i = 0; std::chrono::steady_clock::now() < end; ++i) {
    std::this_thread::sleep_until(
        std::min(end, std::chrono::steady_clock::now() + pause));
    size_t unit = randomBits(options_.seed, i) % units.size();
    if (loaded[unit])
      runAged(units[unit], *loaded[unit], records[unit], salt += 10);
  }
  for (size_t i = 0; i < units.size(); ++i)
    if (loaded[i])
      runAged(units[i], *loaded[i], records[i], salt += 10);
  return {};
}

} // namespace backplane::conformance
