// SPDX-License-Identifier: Apache-2.0
//
// CommandRanges.h: what a range of memory may be, in a command and in a table
// of slots.
#ifndef BACKPLANE_CORE_COMMANDRANGES_H
#define BACKPLANE_CORE_COMMANDRANGES_H

#include "backplane/cpp/Result.h"
#include "hal/core/Buffer.h"

namespace backplane {

class Device;

/// A number in a message.
inline std::string text(uint64_t number) { return std::to_string(number); }

/// Whether a range lies in a buffer of this device.
Status checkRange(const Device &device, const Buffer &buffer, uint64_t offset,
                  uint64_t length);
/// The same for an offset alone: whether the device can bind it.
Status checkAlignment(const Device &device, uint64_t offset);
/// Whether two ranges of equal length touch; ranges of different slots are
/// compared when the table is known.
bool sameRange(const bp_binding_t &a, const bp_binding_t &b);

} // namespace backplane

#endif // BACKPLANE_CORE_COMMANDRANGES_H
