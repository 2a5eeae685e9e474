// SPDX-License-Identifier: Apache-2.0
#include "Frame.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

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
  XXH64_hash_t seed = XXH3_64bits(&header, offsetof(Header, checksum));
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

Status checkHeader(const Header &header, uint64_t limit) {
  if (header.magic != magic)
    return dataLoss("the stream of a worker is damaged: no frame starts here");
  if (header.version != protocolVersion)
    return Status(
        BP_STATUS_UNIMPLEMENTED,
        "the worker speaks protocol version " + std::to_string(header.version) +
            ", this build speaks version " + std::to_string(protocolVersion) +
            "; use the worker of the same release");
  if (header.type < uint16_t(FrameType::Hello) ||
      header.type > uint16_t(FrameType::Checked))
    return dataLoss("a frame has the unknown type " +
                    std::to_string(header.type));
  if (header.bytes > limit)
    return dataLoss("a frame has " + std::to_string(header.bytes) +
                    " bytes, the limit is " + std::to_string(limit));
  return {};
}

} // namespace

std::vector<uint8_t> encodeFrame(const Frame &frame) {
  Header header = {magic,         protocolVersion,      uint16_t(frame.type),
                   frame.request, frame.payload.size(), 0};
  header.checksum = checksum(header, frame.payload);
  std::vector<uint8_t> bytes(sizeof(header) + frame.payload.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!frame.payload.empty())
    std::memcpy(bytes.data() + sizeof(header), frame.payload.data(),
                frame.payload.size());
  return bytes;
}

void FrameParser::push(std::span<const uint8_t> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameParser::next() {
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
    return dataLoss("a frame of a worker has a wrong checksum");
  Frame frame{
      FrameType(header.type), header.request, {payload.begin(), payload.end()}};
  buffer_.erase(buffer_.begin(),
                buffer_.begin() + long(sizeof(header) + payload.size()));
  return std::optional<Frame>(std::move(frame));
}

} // namespace backplane::worker
