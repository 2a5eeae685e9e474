// SPDX-License-Identifier: Apache-2.0
//
// WireScan.h: walks the fields of a protobuf message without parsing it.
//
// A model file is mostly the raw bytes of its weights. The scan finds them, so
// that they stay in the mapped file and only the rest goes through protobuf.
#ifndef BACKPLANE_IMPORT_WIRESCAN_H
#define BACKPLANE_IMPORT_WIRESCAN_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace backplane::frontend {

/// One field of a message: `whole` with its tag, `payload` without.
struct WireField {
  uint32_t number = 0;
  bool isBytes = false; ///< length-delimited; else payload is unspecified
  std::span<const uint8_t> whole;
  std::span<const uint8_t> payload;
};

/// Reads the fields of a message in order. Never reads outside of its bytes.
class WireReader {
public:
  explicit WireReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  /// The next field; false at the end or at the first malformed field.
  bool next(WireField &field);
  /// Whether the reading stopped at a malformed field.
  bool failed() const { return failed_; }

private:
  bool varint(uint64_t &value);
  bool skip(uint32_t wireType, WireField &field);

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  bool failed_ = false;
};

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_WIRESCAN_H
