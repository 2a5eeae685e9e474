// SPDX-License-Identifier: Apache-2.0
#include "hal/core/CommandRanges.h"
#include "hal/core/Device.h"

namespace backplane {

/// Of two ranges of one buffer.
static bool overlaps(uint64_t a, uint64_t b, uint64_t length) {
  return a < b + length && b < a + length;
}

Status checkRange(const Device &device, const Buffer &buffer, uint64_t offset,
                  uint64_t length) {
  if (&buffer.device() != &device)
    return invalidArgument("its buffer belongs to device " +
                           buffer.device().uri() + ", not to " + device.uri());
  if (offset > buffer.size() || length > buffer.size() - offset)
    return Status(BP_STATUS_OUT_OF_RANGE, text(length) + " bytes at offset " +
                                              text(offset) +
                                              " lie outside of a buffer of " +
                                              text(buffer.size()) + " bytes");
  return {};
}

Status checkAlignment(const Device &device, uint64_t offset) {
  const uint64_t alignment = device.info().c().binding_alignment;
  return offset % alignment
             ? invalidArgument("offset " + text(offset) +
                               " is not a multiple of " + text(alignment))
             : Status();
}

bool sameRange(const bp_binding_t &a, const bp_binding_t &b) {
  return a.buffer == b.buffer && (a.buffer || a.slot == b.slot) &&
         overlaps(a.offset, b.offset, a.length);
}

} // namespace backplane
