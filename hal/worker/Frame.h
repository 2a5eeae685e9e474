// SPDX-License-Identifier: Apache-2.0
//
// Frame.h: what travels between a tool and its workers: frames over a pipe.
//
//   magic "BPWK" u32 | version u16 | type u16 | request id u64 |
//   payload bytes u64 | XXH3-64 of the header up to here and the payload u64
//
// Little-endian. Both ends take any bytes: a size is checked before memory is
// taken for it, and nothing of a frame is used before its checksum holds.
#ifndef BACKPLANE_WORKER_FRAME_H
#define BACKPLANE_WORKER_FRAME_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace backplane::worker {

inline constexpr uint16_t protocolVersion = 2;
inline constexpr size_t frameHeaderBytes = 32;
/// More than any case needs; a frame beyond it is damaged.
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
};

struct Frame {
  FrameType type = FrameType::Error;
  uint64_t request = 0; ///< an answer has the number of its request
  std::vector<uint8_t> payload;
};

/// The bytes of a frame.
std::vector<uint8_t> encodeFrame(const Frame &frame);

/// Cuts a stream of bytes into frames. After a failure the stream is lost.
class FrameParser {
public:
  explicit FrameParser(uint64_t limit = maxPayloadBytes) : limit_(limit) {}
  void push(std::span<const uint8_t> bytes);
  /// The next whole frame, or none yet. Fails on a wrong magic, version, type,
  /// size or checksum.
  Result<std::optional<Frame>> next();
  /// Whether part of a frame is waiting for the rest.
  bool partial() const { return !buffer_.empty(); }

private:
  uint64_t limit_;
  std::vector<uint8_t> buffer_;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_FRAME_H
