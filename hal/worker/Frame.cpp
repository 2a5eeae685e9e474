// SPDX-License-Identifier: Apache-2.0
#include "Frame.h"

#include "sdk/support/Hash.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace backplane::worker {
namespace {

constexpr uint32_t magic = 0x4B575042; // "BPWK"

struct Header {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint64_t request;
  uint64_t bytes;
  uint64_t checksum;
};
static_assert(sizeof(Header) == frameHeaderBytes);

uint64_t checksum(const Header &header, std::span<const uint8_t> payload) {
  return hash64(payload, hash64({reinterpret_cast<const uint8_t *>(&header),
                                 offsetof(Header, checksum)}));
}

Status noFrame() {
  return dataLoss("the stream of a worker is damaged: no frame starts here");
}

Status checkHeader(const Header &header, uint64_t limit) {
  if (header.magic != magic)
    return noFrame();
  if (header.version != protocolVersion)
    return Status(
        BP_STATUS_UNIMPLEMENTED,
        "the worker speaks protocol version " + std::to_string(header.version) +
            ", this build speaks version " + std::to_string(protocolVersion) +
            "; use the worker of the same release");
  if (header.type < uint16_t(FrameType::Hello) ||
      header.type > uint16_t(lastFrameType))
    return dataLoss("a frame has the unknown type " +
                    std::to_string(header.type));
  if (header.bytes > limit)
    return dataLoss("a frame has " + std::to_string(header.bytes) +
                    " bytes, the limit is " + std::to_string(limit));
  return {};
}

} // namespace

static FrameHeader headerOf(FrameType type, uint64_t request,
                            std::span<const uint8_t> payload) {
  Header header = {magic,   protocolVersion, uint16_t(type),
                   request, payload.size(),  0};
  header.checksum = checksum(header, payload);
  FrameHeader bytes;
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::vector<uint8_t> encodeFrame(const Frame &frame) {
  FrameHeader header = headerOf(frame.type, frame.request, frame.payload);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  return bytes;
}

Status
eachFrame(const Frame &message,
          const std::function<Status(const FrameHeader &header,
                                     std::span<const uint8_t> payload)> &put) {
  std::span<const uint8_t> rest(message.payload);
  while (true) {
    bool last = rest.size() <= maxFrameBytes;
    std::span<const uint8_t> piece = last ? rest : rest.first(maxFrameBytes);
    FrameType type = last ? message.type : FrameType::Part;
    Status status = put(headerOf(type, message.request, piece), piece);
    if (!status.ok() || last)
      return status;
    rest = rest.subspan(piece.size());
  }
}

Result<std::optional<Frame>> Assembler::add(Frame frame) {
  if (partial() && frame.request != request_)
    return dataLoss("frames of two messages of a worker are mixed");
  if (frame.payload.size() > limit_ - pieces_.size())
    return dataLoss("a message of a worker has more than " +
                    std::to_string(limit_) + " bytes");
  bool last = frame.type != FrameType::Part;
  if (last && pieces_.empty())
    return std::optional<Frame>(std::move(frame));
  if (!last && frame.payload.empty())
    return dataLoss("a piece of a message of a worker is empty");
  request_ = frame.request;
  pieces_.insert(pieces_.end(), frame.payload.begin(), frame.payload.end());
  if (!last)
    return std::optional<Frame>();
  frame.payload = std::exchange(pieces_, {});
  return std::optional<Frame>(std::move(frame));
}

void FrameParser::push(std::span<const uint8_t> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameParser::next() {
  // What is no frame need not be waited for.
  if (!buffer_.empty() &&
      std::memcmp(buffer_.data(), magicText,
                  std::min(buffer_.size(), sizeof(magic))) != 0)
    return noFrame();
  if (buffer_.size() < sizeof(Header))
    return std::optional<Frame>();
  Header header;
  std::memcpy(&header, buffer_.data(), sizeof(header));
  if (Status s = checkHeader(header, limit_); !s.ok())
    return s;
  if (buffer_.size() - sizeof(header) < header.bytes)
    return std::optional<Frame>();
  std::span<const uint8_t> payload(buffer_.data() + sizeof(header),
                                   size_t(header.bytes));
  if (checksum(header, payload) != header.checksum)
    return dataLoss("a frame was damaged on its way: its checksum is wrong");
  Frame frame{
      FrameType(header.type), header.request, {payload.begin(), payload.end()}};
  buffer_.erase(buffer_.begin(),
                buffer_.begin() + long(sizeof(header) + payload.size()));
  return std::optional<Frame>(std::move(frame));
}

} // namespace backplane::worker
