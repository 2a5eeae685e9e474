// SPDX-License-Identifier: Apache-2.0
#include "Bundle.h"
#include "sdk/support/FileCopy.h"
#include "sdk/support/Hash.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <set>
#include <unistd.h>

namespace backplane::worker {
namespace {

constexpr uint64_t maxRuns = 1 << 20;

/// Hash of what a frame carries.
std::string payloadHash(const Frame &frame) { return hashBytes(frame.payload); }

} // namespace

Result<BundleWriter> BundleWriter::create(const std::string &path,
                                          const BundleMessage &head) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  BundleWriter writer(std::move(*file));
  if (Status s = writer.put(FrameType::Bundle, encode(head)); !s.ok())
    return s;
  return writer;
}

Status BundleWriter::put(FrameType type, Payload payload) {
  Frame frame{type, ++frames_, std::move(payload)};
  return eachFrame(
      frame, [&](const FrameHeader &header, std::span<const uint8_t> piece) {
        Status status = file_.write(header.data(), header.size());
        return status.ok() ? file_.write(piece.data(), piece.size()) : status;
      });
}

Status BundleWriter::artifact(const ArtifactMessage &message) {
  return put(FrameType::Artifact, encode(message));
}

Status BundleWriter::run(const RunMessage &message) {
  return put(FrameType::Run, encode(message));
}

Status BundleWriter::answer(const AnswerMessage &message) {
  return put(FrameType::Answer, encode(message));
}

Status BundleWriter::finish() {
  uint64_t before = frames_;
  Status status = put(FrameType::End, encode(EndMessage{before}));
  return status.ok() ? file_.commit() : status;
}

BundleReader::BundleReader(std::string path, int fd)
    : path_(std::move(path)), fd_(fd),
      channel_(std::make_unique<Channel>(fd, -1)) {}

BundleReader::BundleReader(BundleReader &&other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)),
      channel_(std::move(other.channel_)), head_(std::move(other.head_)),
      frames_(other.frames_), ended_(other.ended_) {}

BundleReader::~BundleReader() {
  if (fd_ >= 0)
    close(fd_);
}

Result<BundleReader> BundleReader::open(const std::string &path) {
  // A pipe must not be waited for.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return notFound("cannot open '" + path + "': " + strerror(errno));
  BundleReader reader(path, fd);
  if (Result<uint64_t> size = regularFileSize(fd); !size)
    return Status(size.code(), "'" + path + "' " + size.message());
  Result<std::optional<Frame>> first = reader.read();
  if (!first)
    return first.status();
  if (!*first || (*first)->type != FrameType::Bundle)
    return dataLoss("'" + path + "' is not a bundle");
  if (Status s = decode((*first)->payload, reader.head_); !s.ok())
    return s.within("'" + path + "'");
  return reader;
}

Result<std::optional<Frame>> BundleReader::read() {
  Result<std::optional<Frame>> frame = channel_->receive();
  if (!frame)
    return Status(BP_STATUS_DATA_LOSS, "'" + path_ +
                                           "' is damaged or no "
                                           "bundle: " +
                                           frame.message());
  if (*frame && (*frame)->request != ++frames_)
    return dataLoss("'" + path_ + "' is damaged: a part is missing or doubled");
  return frame;
}

Result<std::optional<Frame>> BundleReader::next() {
  if (ended_)
    return std::optional<Frame>();
  Result<std::optional<Frame>> frame = read();
  if (!frame)
    return frame;
  if (!*frame)
    return dataLoss("'" + path_ + "' is not whole: its end is missing");
  if ((*frame)->type != FrameType::End)
    return frame;
  EndMessage end;
  Status status = decode((*frame)->payload, end);
  Result<std::optional<Frame>> more = read();
  if (!status.ok() || end.frames + 1 != frames_ || !more || *more)
    return dataLoss("'" + path_ + "' is damaged at its end");
  ended_ = true;
  return std::optional<Frame>();
}

Status packRecording(const std::string &recording, const BundleMessage &head,
                     const std::string &path) {
  int fd = ::open(recording.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return notFound("cannot open '" + recording + "': " + strerror(errno));
  Channel channel(fd, -1);
  Result<BundleWriter> writer = BundleWriter::create(path, head);
  Status status = writer.status();
  while (status.ok()) {
    Result<std::optional<Frame>> frame = channel.receive();
    status = frame.status();
    if (frame && !*frame)
      break;
    if (frame)
      status = writer->put((*frame)->type, std::move((*frame)->payload));
  }
  close(fd);
  return status.ok() ? writer->finish() : status;
}

namespace {

/// Gives each message to `take` until one is refused.
Status forEachFrame(BundleReader &reader,
                    const std::function<Status(const Frame &)> &take) {
  while (true) {
    Result<std::optional<Frame>> frame = reader.next();
    if (!frame || !*frame)
      return frame.status();
    if (Status s = take(**frame); !s.ok())
      return s;
  }
}

Status addRun(BundleFacts &facts, std::set<std::string> &seen,
              const Frame &frame) {
  facts.runs.push_back(payloadHash(frame));
  if (facts.runs.size() > maxRuns || !seen.insert(facts.runs.back()).second)
    return dataLoss("has a run twice, or over a million");
  return {};
}

Status addKnown(BundleFacts &facts, const Frame &frame) {
  AnswerMessage answer;
  Status status = decode(frame.payload, answer);
  if (!status.ok() || facts.runs.empty() || answer.run != facts.runs.back())
    return dataLoss("has an answer to no run");
  facts.known[answer.run] = std::move(answer);
  return {};
}

/// What the worker answered to a run of the bundle.
Status addAnswer(BundleResults &results, const BundleFacts &bundle, size_t run,
                 const Frame &frame) {
  if (frame.type != FrameType::Answer)
    return dataLoss("no answer");
  AnswerMessage answer;
  if (Status s = decode(frame.payload, answer); !s.ok())
    return s;
  if (run >= bundle.runs.size() || answer.run != bundle.runs[run])
    return dataLoss("an answer to another run");
  results.answers[answer.run] = std::move(answer);
  return {};
}

} // namespace

Result<BundleFacts> readBundle(const std::string &path) {
  Result<BundleReader> reader = BundleReader::open(path);
  if (!reader)
    return reader.status();
  BundleFacts facts;
  facts.head = reader->head();
  std::set<std::string> seen;
  Status status = forEachFrame(*reader, [&](const Frame &frame) -> Status {
    Status fits;
    if (frame.type == FrameType::Run || frame.type == FrameType::Check)
      fits = addRun(facts, seen, frame);
    else if (frame.type == FrameType::Answer)
      fits = addKnown(facts, frame);
    else if (frame.type != FrameType::Artifact)
      fits = dataLoss("has parts that no bundle has");
    return fits.ok() ? fits : dataLoss("'" + path + "' " + fits.message());
  });
  if (!status.ok())
    return status;
  Result<std::string> hash = sha256OfFile(path);
  if (!hash)
    return hash.status();
  facts.hash = std::move(*hash);
  return facts;
}

Result<BundleResults> readResults(const std::string &path,
                                  const BundleFacts &bundle) {
  Result<BundleReader> reader = BundleReader::open(path);
  if (!reader)
    return reader.status();
  if (reader->head().bundle != bundle.hash)
    return invalidArgument("'" + path +
                           "' does not hold the results of this bundle");
  BundleResults results;
  size_t frames = 0, answered = 0;
  Status status = forEachFrame(*reader, [&](const Frame &frame) -> Status {
    Status fits;
    if (frames++)
      fits = addAnswer(results, bundle, answered++, frame);
    else
      fits = frame.type == FrameType::Hello
                 ? decode(frame.payload, results.hello)
                 : dataLoss("no greeting");
    return fits.within("'" + path + "' is not the results of a bundle");
  });
  if (!status.ok())
    return status;
  if (answered != bundle.runs.size())
    return dataLoss("'" + path + "' answers " + std::to_string(answered) +
                    " of " + std::to_string(bundle.runs.size()) + " runs");
  return results;
}

} // namespace backplane::worker
