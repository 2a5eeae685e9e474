// SPDX-License-Identifier: Apache-2.0
//
// Frame.h: what travels between a tool and its workers: frames over a pipe.
//
//   magic "BPWK" u32 | version u16 | type u16 | request id u64 |
//   payload bytes u64 | XXH3-64 of the header up to here and the payload u64
//
// Little-endian. Both ends take any bytes: a size is checked before memory is
// taken for it, and nothing of a frame is used before its checksum holds. A
// message that is larger than a frame may be travels as PART frames with the
// pieces of its payload, and then the frame of its type with the last piece;
// all carry the same request id.
#ifndef BACKPLANE_WORKER_FRAME_H
#define BACKPLANE_WORKER_FRAME_H

#include "backplane/cpp/Result.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace backplane::worker {

inline constexpr char magicText[] = "BPWK"; ///< what each frame begins with
inline constexpr uint16_t protocolVersion = 8;
inline constexpr size_t frameHeaderBytes = 32;
/// What a frame carries at most; one that says more is damaged.
inline constexpr uint64_t maxFrameBytes = uint64_t(4) << 20;
/// What a message carries at most, over all its frames.
inline constexpr uint64_t maxPayloadBytes = uint64_t(8) << 30;

enum class FrameType : uint16_t {
  Hello = 1, ///< worker to tool, first frame: who it is
  Artifact,  ///< tool to worker: bytes of an artifact, once
  Ready,     ///< answer: the artifact is loaded
  Run,       ///< tool to worker: inputs of one call
  Result,    ///< answer: its outputs
  Compile,   ///< tool to compile worker: a graph
  Compiled,  ///< answer: its artifact
  Error,     ///< answer to any request
  Check,     ///< tool to worker: a check of the plug-in, by id
  Checked,   ///< answer: what it came to
  Part,      ///< a piece of the payload of the frame that follows
  Offer,     ///< tool to worker: hash of an artifact; READY when it is there
  Need,      ///< answer: send the artifact
  Open,      ///< tool to worker: a session of an artifact
  Opened,    ///< answer: its number
  Reset,     ///< tool to worker: a session's variables to their start; READY
  Close,     ///< tool to worker: a session is not needed any more; READY
  Bundle,    ///< first frame of a bundle or of its results
  Answer,    ///< of results: what one run of the bundle came to
  End,       ///< last frame of a bundle or of its results
  Job,       ///< tool to compile worker: a model to compile into a file; READY
  Begin,     ///< tool to application, first frame: what it is to open
  Surround,  ///< tool to application: its surroundings change; READY
  Batch,     ///< tool to worker: calls, many times or at once
  Batched,   ///< answer: their outputs
};
inline constexpr FrameType lastFrameType = FrameType::Batched;

struct Frame {
  FrameType type = FrameType::Error;
  uint64_t request = 0; ///< an answer has the number of its request
  std::vector<uint8_t> payload;
};

/// The bytes of a frame, whose payload is within maxFrameBytes.
std::vector<uint8_t> encodeFrame(const Frame &frame);

using FrameHeader = std::array<uint8_t, frameHeaderBytes>;
/// Cuts a message into frames and gives header and payload of each to `put`;
/// stops at its first failure.
Status
eachFrame(const Frame &message,
          const std::function<Status(const FrameHeader &header,
                                     std::span<const uint8_t> payload)> &put);

/// Cuts a stream of bytes into frames. After a failure the stream is lost.
class FrameParser {
public:
  explicit FrameParser(uint64_t limit = maxFrameBytes) : limit_(limit) {}
  void push(std::span<const uint8_t> bytes);
  /// The next whole frame, or none yet. Fails on a wrong magic, version, type,
  /// size or checksum.
  Result<std::optional<Frame>> next();
  /// Whether part of a frame is waiting for the rest.
  bool partial() const { return !buffer_.empty(); }
  /// What came in and is no frame yet, or none at all.
  std::span<const uint8_t> rest() const { return buffer_; }

private:
  uint64_t limit_;
  std::vector<uint8_t> buffer_;
};

/// Puts messages together again. After a failure the stream is lost.
class Assembler {
public:
  explicit Assembler(uint64_t limit = maxPayloadBytes) : limit_(limit) {}
  /// The message that this frame completes, or none yet. Fails when pieces of
  /// two messages are mixed or a message grows beyond the limit.
  Result<std::optional<Frame>> add(Frame frame);
  /// Whether pieces wait for the rest of their message.
  bool partial() const { return !pieces_.empty(); }

private:
  uint64_t limit_, request_ = 0;
  std::vector<uint8_t> pieces_;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_FRAME_H
