// SPDX-License-Identifier: Apache-2.0
#include "WireScan.h"

namespace backplane::frontend {

bool WireReader::varint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position_ >= bytes_.size())
      return false;
    uint8_t byte = bytes_[position_++];
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

/// Moves behind the content of a field. Groups are not used by ONNX and count
/// as malformed.
bool WireReader::skip(uint32_t wireType, WireField &field) {
  uint64_t size = 0;
  size_t left = bytes_.size() - position_;
  switch (wireType) {
  case 0:
    return varint(size);
  case 1:
    size = 8;
    break;
  case 5:
    size = 4;
    break;
  case 2:
    if (!varint(size))
      return false;
    left = bytes_.size() - position_;
    field.isBytes = true;
    break;
  default:
    return false;
  }
  if (size > left)
    return false;
  field.payload = bytes_.subspan(position_, static_cast<size_t>(size));
  position_ += static_cast<size_t>(size);
  return true;
}

bool WireReader::next(WireField &field) {
  if (failed_ || position_ >= bytes_.size())
    return false;
  size_t start = position_;
  uint64_t tag = 0;
  field = WireField();
  if (!varint(tag) || (tag >> 3) == 0 || (tag >> 3) > UINT32_MAX ||
      !skip(static_cast<uint32_t>(tag & 7), field)) {
    failed_ = true;
    return false;
  }
  field.number = static_cast<uint32_t>(tag >> 3);
  field.whole = bytes_.subspan(start, position_ - start);
  return true;
}

} // namespace backplane::frontend
