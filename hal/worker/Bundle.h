// SPDX-License-Identifier: Apache-2.0
//
// Bundle.h: work for a machine without a connection, and what came of it. Both
// files are messages as they travel between a tool and a worker (Frame.h):
//
//   bundle:  BUNDLE, then ARTIFACT, RUN (of the artifact before it) and CHECK
//            (of up to two before it) in any number, after a RUN an ANSWER when
//            its result is known, END
//   results: BUNDLE, HELLO, an ANSWER for each RUN and CHECK, in their order,
//            END
//
// Files are hostile: sizes, checksums, order and numbers are checked.
#ifndef BACKPLANE_WORKER_BUNDLE_H
#define BACKPLANE_WORKER_BUNDLE_H

#include "Channel.h"
#include "Messages.h"
#include "sdk/support/AtomicFile.h"

#include <map>
#include <memory>

namespace backplane::worker {

/// Writes a bundle or its results; the file appears when it is complete.
class BundleWriter {
public:
  static Result<BundleWriter> create(const std::string &path,
                                     const BundleMessage &head);

  Status put(FrameType type, Payload payload);
  Status artifact(const ArtifactMessage &message);
  /// Counted in END.
  Status run(const RunMessage &message);
  Status answer(const AnswerMessage &message);
  /// The last frame, then the file. Nothing can be written afterwards.
  Status finish();

private:
  explicit BundleWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  uint64_t frames_ = 0;
};

/// Reads either file from its begin to its end.
class BundleReader {
public:
  /// Fails on what is no bundle.
  static Result<BundleReader> open(const std::string &path);
  BundleReader(BundleReader &&) noexcept;
  BundleReader &operator=(BundleReader &&) = delete;
  ~BundleReader();

  const BundleMessage &head() const { return head_; }
  /// The next message; none after the last one, when the file proved to be
  /// whole. Each failure names the file.
  Result<std::optional<Frame>> next();

private:
  BundleReader(std::string path, int fd);
  Result<std::optional<Frame>> read();

  std::string path_;
  int fd_;
  std::unique_ptr<Channel> channel_;
  BundleMessage head_;
  uint64_t frames_ = 0;
  bool ended_ = false;
};

/// Makes a bundle of what a recording worker wrote down.
Status packRecording(const std::string &recording, const BundleMessage &head,
                     const std::string &path);

/// Hash of a file that is a whole bundle, and what it asks.
struct BundleFacts {
  std::string hash;
  BundleMessage head;
  /// Hash of the payload of each RUN and CHECK, in order.
  std::vector<std::string> runs;
  std::map<std::string, AnswerMessage> known; ///< by the same hash
};
Result<BundleFacts> readBundle(const std::string &path);

struct BundleResults {
  Hello hello;                                  ///< of the worker that ran it
  std::map<std::string, AnswerMessage> answers; ///< by the hash of the run
};
/// Results that belong to this bundle and answer each of its runs once. What
/// was changed, is missing or doubled is refused.
Result<BundleResults> readResults(const std::string &path,
                                  const BundleFacts &bundle);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_BUNDLE_H
