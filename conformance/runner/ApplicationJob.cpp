// SPDX-License-Identifier: Apache-2.0
#include "ApplicationJob.h"

#include "conformance/cases/Data.h"
#include "sdk/support/Hash.h"

#include <algorithm>
#include <thread>

namespace backplane::conformance {

using worker::BatchMessage;
using worker::Frame;
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

/// What is around a process that was started elsewhere by somebody else.
worker::SurroundMessage elsewhere() {
  worker::SurroundMessage message;
  message.variables = {"TZ=Pacific/Chatham",     "LANG=de_DE.UTF-8",
                       "LC_NUMERIC=de_DE.UTF-8", "HOME=/",
                       "OMP_NUM_THREADS=3",      "USER=nobody"};
  message.directory = "/";
  message.locale = "C.UTF-8";
  message.mask = 0077;
  message.files = 256;
  return message;
}

/// The same case with other data of the same sizes.
Case withData(const Case &testCase, uint64_t number) {
  Case other = testCase;
  if (number != 0)
    other.seed = randomBits(testCase.seed, number);
  return other;
}

} // namespace

std::string ApplicationJob::missingFor(Circumstance circumstance) const {
  bool needsApplication = circumstance == Circumstance::Application ||
                          circumstance == Circumstance::Surroundings;
  return needsApplication && options_.program.empty()
             ? "no application can be started where the worker is"
             : "";
}

void ApplicationJob::end() {
  application_.reset();
  worker_.reset();
}

Status ApplicationJob::start(const Course &course) {
  if (isRunning() && circumstance_ == course.circumstance)
    return {};
  end();
  Status status =
      options_.program.empty() ? startWorker(course) : startApplication(course);
  if (!status.ok())
    return status;
  circumstance_ = course.circumstance;
  runs_ = 0;
  since_ = std::chrono::steady_clock::now();
  return course.circumstance == Circumstance::Surroundings
             ? surround(elsewhere())
             : Status();
}

Status ApplicationJob::startApplication(const Course &course) {
  ApplicationOptions options = options_;
  if (course.threads)
    options.begin.threads = course.threads;
  options.seed = randomBits(options.seed,
                            uint64_t(course.circumstance) * 1000 + started_++);
  auto application = Application::start(options);
  if (!application)
    return application.status();
  if (Status s = rules_.check((*application)->process().hello()); !s.ok())
    return s;
  application_ = std::move(*application);
  return {};
}

Status ApplicationJob::startWorker(const Course &course) {
  std::vector<std::string> command = command_;
  if (course.threads) {
    command.emplace_back("--threads");
    command.push_back(std::to_string(course.threads));
  }
  auto worker = worker::Process::start(command, options_.timeout);
  if (!worker)
    return worker.status();
  if (Status s = rules_.check((*worker)->hello()); !s.ok())
    return s;
  worker_ = std::move(*worker);
  return {};
}

/// A process that fails to answer is ended.
Result<Frame> ApplicationJob::ask(FrameType type, std::vector<uint8_t> payload,
                                  FrameType wanted) {
  if (!isRunning())
    return Status(BP_STATUS_ABORTED, "the process has ended");
  worker::Process &process = worker_ ? *worker_ : application_->process();
  Status status = process.send(type, std::move(payload), options_.timeout);
  Result<Frame> answer =
      status.ok() ? process.receive(options_.timeout) : Result<Frame>(status);
  if (!answer)
    end();
  else if (answer->type != wanted)
    return worker::errorOf(*answer);
  return answer;
}

Status ApplicationJob::surround(const worker::SurroundMessage &message) {
  return ask(FrameType::Surround, worker::encode(message), FrameType::Ready)
      .status();
}

Result<worker::CompiledMessage> ApplicationJob::compile(const Unit &unit) {
  if (worker_)
    return rules_.compile(unit);
  auto answer =
      ask(FrameType::Compile, worker::encode(compileMessage(unit, true)),
          FrameType::Compiled);
  if (!answer)
    return answer.status().within("the unit did not compile");
  worker::CompiledMessage compiled;
  if (Status s = worker::decode(answer->payload, compiled); !s.ok())
    return s;
  return compiled;
}

Result<ApplicationJob::Loaded> ApplicationJob::load(const Unit &unit) {
  auto compiled = compile(unit);
  if (!compiled)
    return compiled.status();
  auto loaded = load(unit, std::move(*compiled));
  // What a compiler made, its device has to take.
  if (!loaded && loaded.status().code() == BP_STATUS_UNIMPLEMENTED)
    return internalError(loaded.message());
  return loaded;
}

Result<ApplicationJob::Loaded>
ApplicationJob::load(const Unit &unit, worker::CompiledMessage compiled) {
  Loaded loaded{hashBytes(compiled.artifact), {}, compiled.milliseconds};
  auto ready = ask(FrameType::Artifact,
                   worker::encode(worker::ArtifactMessage{
                       loaded.artifact, std::move(compiled.artifact)}),
                   FrameType::Ready);
  if (!ready)
    return ready.status();
  Status status = open(loaded, courseOf(unit.circumstance).sessions);
  if (!status.ok())
    return status;
  return loaded;
}

Status ApplicationJob::open(Loaded &loaded, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    auto answer = ask(FrameType::Open,
                      worker::encode(worker::OpenMessage{loaded.artifact}),
                      FrameType::Opened);
    if (!answer)
      return answer.status();
    worker::OpenedMessage opened;
    if (Status s = worker::decode(answer->payload, opened); !s.ok())
      return s;
    loaded.sessions.push_back(opened.session);
  }
  return {};
}

Status ApplicationJob::close(Loaded &loaded, size_t index) {
  worker::SessionMessage message{loaded.sessions[index]};
  loaded.sessions.erase(loaded.sessions.begin() + std::ptrdiff_t(index));
  return ask(FrameType::Close, worker::encode(message), FrameType::Ready)
      .status();
}

void ApplicationJob::charge(const Status &status, Record &record) {
  record.status = chargeOf(status.code(), !isRunning());
  record.reason = status.message();
}

void ApplicationJob::chargeLoad(const Status &status, Record &record) {
  charge(status, record);
  record.status = chargeOfCompile(status.code(), !isRunning());
}

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
