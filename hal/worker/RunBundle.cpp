// SPDX-License-Identifier: Apache-2.0
//
// RunBundle.cpp: `bp-worker run`: runs a bundle in a process apart
// and writes what came of it; also the workers that stand at the two ends of
// a bundle of cases: one that writes down what it is asked, and one that gives
// the answers that were written down.
#include "Bundle.h"
#include "Loop.h"
#include "Process.h"
#include "hal/core/LinkedPlugins.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/Hash.h"

#include <cstdio>
#include <fstream>
#include <set>

namespace backplane::worker {
namespace {

struct BundleOptions {
  int (*serveChecks)(const WorkerOptions &) = nullptr;
  std::string bundle, results;
  WorkerOptions worker;
  unsigned timeoutSeconds = 600;
};

/// The worker that does the work; another one when it was lost. Each check has
/// one of its own.
class Hand {
public:
  explicit Hand(BundleOptions options) : options_(std::move(options)) {}

  Result<Hello> hello() {
    Status status = start();
    return status.ok() ? Result<Hello>(process_->hello())
                       : Result<Hello>(status);
  }
  void take(Payload artifact) {
    before_ = std::move(artifact_);
    artifact_ = std::move(artifact);
    sent_ = false;
  }
  /// The answer to a run or check, whatever happens.
  AnswerMessage answer(const Frame &request) {
    bool isCheck = request.type == FrameType::Check;
    AnswerMessage message{hashBytes(request.payload), 0, {}};
    if (isCheck && !linkedPlugins().empty())
      return notSupported(std::move(message));
    if (isCheck)
      process_.reset();
    Result<Frame> answer =
        isCheck ? check(request.payload) : ask(request.payload);
    if (answer) {
      message.type = uint32_t(answer->type);
      message.payload = std::move(answer->payload);
    } else {
      process_.reset();
      message.type = uint32_t(FrameType::Error);
      message.payload = encode(ErrorMessage{answer.code(), answer.message()});
    }
    if (isCheck)
      process_.reset();
    return message;
  }

private:
  static AnswerMessage notSupported(AnswerMessage message) {
    constexpr uint32_t outcome = 2;
    message.type = uint32_t(FrameType::Checked);
    message.payload = encode(CheckedMessage{
        outcome, "this worker is static: it has no plug-in files to check", 0});
    return message;
  }
  Process::Milliseconds timeout() const {
    return std::chrono::seconds(options_.timeoutSeconds);
  }
  Status start(int (*body)(const WorkerOptions &) = serveRuns) {
    if (process_)
      return {};
    auto process =
        Process::fork([&] { return body(options_.worker); }, timeout());
    if (!process)
      return process.status();
    process_ = std::move(*process);
    sent_ = false;
    return {};
  }
  Result<Frame> ask(FrameType type, Payload payload) {
    Status status = process_->send(type, std::move(payload), timeout());
    return status.ok() ? process_->receive(timeout()) : Result<Frame>(status);
  }
  Result<Frame> ask(const Payload &run) {
    if (Status s = start(); !s.ok())
      return s;
    if (!sent_) {
      Result<Frame> ready = ask(FrameType::Artifact, artifact_);
      if (!ready || ready->type != FrameType::Ready)
        return ready;
      sent_ = true;
    }
    return ask(FrameType::Run, run);
  }
  Result<Frame> check(const Payload &check) {
    if (Status s = start(options_.serveChecks); !s.ok())
      return s;
    for (const Payload *artifact : {&before_, &artifact_}) {
      if (artifact->empty())
        continue;
      Result<Frame> ready = ask(FrameType::Artifact, *artifact);
      if (!ready || ready->type != FrameType::Ready)
        return ready;
    }
    return ask(FrameType::Check, check);
  }

  BundleOptions options_;
  std::unique_ptr<Process> process_;
  Payload artifact_; ///< the latest of the bundle
  Payload before_;   ///< the one before it
  bool sent_ = false;
};

Status runAll(const BundleOptions &options, size_t &runs, size_t &errors) {
  if (isSameFile(options.bundle, options.results))
    return invalidArgument("output '" + options.results +
                           "' is the bundle itself; name another file");
  if (Status s = checkOutput(options.results); !s.ok())
    return s;
  Result<BundleFacts> facts = readBundle(options.bundle);
  if (!facts)
    return facts.status();
  Result<BundleReader> reader = BundleReader::open(options.bundle);
  if (!reader)
    return reader.status();
  BundleOptions own = options;
  if (own.worker.device.empty())
    own.worker.device = facts->head.device;
  Hand hand(std::move(own));
  Result<Hello> hello = hand.hello();
  if (!hello)
    return hello.status();
  BundleMessage head = facts->head;
  head.bundle = facts->hash;
  Result<BundleWriter> writer = BundleWriter::create(options.results, head);
  if (!writer)
    return writer.status();
  Status status = writer->put(FrameType::Hello, encode(*hello));
  while (status.ok()) {
    Result<std::optional<Frame>> frame = reader->next();
    if (!frame)
      return frame.status();
    if (!*frame)
      return writer->finish();
    if ((*frame)->type == FrameType::Artifact)
      hand.take(std::move((*frame)->payload));
    if ((*frame)->type != FrameType::Run && (*frame)->type != FrameType::Check)
      continue;
    AnswerMessage answer = hand.answer(**frame);
    ++runs;
    errors += answer.type == uint32_t(FrameType::Error);
    status = writer->answer(answer);
  }
  return status;
}

} // namespace

int runBundle(int argc, char **argv,
              int (*serveChecks)(const WorkerOptions &options)) {
  CLI::App app("bp-worker run: runs a bundle of bp bundle and writes results "
               "for bp bundle judge.");
  app.name("bp-worker run");
  BundleOptions options;
  options.serveChecks = serveChecks;
  options.worker.device.clear();
  app.add_option("bundle", options.bundle, "the .bpb of bp bundle")->required();
  app.add_option("-o,--output", options.results, "file to write")->required();
  app.add_option("--device", options.worker.device,
                 "device URI; default: what the bundle names");
  app.add_option("--threads", options.worker.threads,
                 "workers of the pool; 0: one per core")
      ->check(command::whole(0, 1024));
  app.add_option("--timeout", options.timeoutSeconds,
                 "seconds that one run may take")
      ->check(command::whole(1, 86400))
      ->capture_default_str();
  if (auto code = command::parse(app, argc, argv))
    return *code;
  size_t runs = 0, errors = 0;
  if (Status s = runAll(options, runs, errors); !s.ok()) {
    std::fprintf(stderr, "bp-worker: %s\n",
                 readableMessage(s.message()).c_str());
    return 1;
  }
  std::printf("%s: %zu runs, %zu of them failed\n", options.results.c_str(),
              runs, errors);
  return 0;
}

namespace {

/// What a recording worker wrote down already.
class Seen {
public:
  /// A run or check is written once, an artifact unless it was the latest.
  bool isNew(const Frame &frame) {
    std::string hash = hashBytes(frame.payload);
    if (frame.type != FrameType::Artifact)
      return asked_.insert(hash).second;
    return std::exchange(artifact_, hash) != hash;
  }

private:
  std::set<std::string> asked_;
  std::string artifact_;
};

/// An answer with which the tool goes on asking.
void pretend(const Frame &request, Frame &answer) {
  answer.type = FrameType::Ready;
  if (request.type == FrameType::Run) {
    answer.type = FrameType::Result;
    answer.payload = encode(ResultMessage());
  } else if (request.type == FrameType::Check) {
    answer.type = FrameType::Checked;
    answer.payload = encode(CheckedMessage());
  }
}

} // namespace

int serveRecording(const std::string &path) {
  return serve({}, [&](Hello &greeting) -> Result<Handler> {
    greeting.version = view(bp_version());
    auto file =
        std::make_shared<std::ofstream>(path, std::ios::binary | std::ios::app);
    auto seen = std::make_shared<Seen>();
    return Handler([=](const Frame &request, Frame &answer) -> Status {
      pretend(request, answer);
      if (!seen->isNew(request))
        return {};
      Status status = eachFrame(request, [&](const FrameHeader &header,
                                             std::span<const uint8_t> piece) {
        file->write(reinterpret_cast<const char *>(header.data()),
                    std::streamsize(header.size()));
        file->write(reinterpret_cast<const char *>(piece.data()),
                    std::streamsize(piece.size()));
        return Status();
      });
      file->flush();
      return *file ? status
                   : Status(BP_STATUS_UNAVAILABLE, "cannot write " + path);
    });
  });
}

int serveReplay(const std::string &bundle, const std::string &results) {
  return serve({}, [&](Hello &greeting) -> Result<Handler> {
    Result<BundleFacts> facts = readBundle(bundle);
    if (!facts)
      return facts.status();
    Result<BundleResults> told = readResults(results, *facts);
    if (!told)
      return told.status();
    greeting = told->hello;
    auto shared = std::make_shared<BundleResults>(std::move(*told));
    return Handler([shared](const Frame &request, Frame &answer) -> Status {
      answer.type = FrameType::Ready;
      if (request.type != FrameType::Run && request.type != FrameType::Check)
        return {};
      auto found = shared->answers.find(hashBytes(request.payload));
      if (found == shared->answers.end())
        return notFound("the bundle has no such run; it was made by another "
                        "release or for other cases");
      answer.type = FrameType(found->second.type);
      answer.payload = found->second.payload;
      return {};
    });
  });
}

} // namespace backplane::worker
