// SPDX-License-Identifier: Apache-2.0
//
// ApplicationJob.cpp: the process of a unit, and what it loads.
#include "ApplicationJob.h"

#include "conformance/cases/Data.h"
#include "sdk/support/Hash.h"

namespace backplane::conformance {

using worker::Frame;
using worker::FrameType;

namespace {

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
  message.threads = 64;
  message.processors = 1;
  message.memory = uint64_t(1) << 28;
  return message;
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

} // namespace backplane::conformance
