// SPDX-License-Identifier: Apache-2.0
//
// Selection.h: which variant of an artifact a device runs, and why the others
// are not taken.
#ifndef BACKPLANE_RUNTIME_SELECTION_H
#define BACKPLANE_RUNTIME_SELECTION_H

#include "hal/core/DeviceInfo.h"
#include "sdk/package/Artifact.h"

namespace backplane::rt {

/// Why something compiled for `driver`, `format` and `features` cannot run on a
/// device of `deviceDriver`; empty when it can.
std::string misfit(std::string_view driver, std::string_view format,
                   const std::vector<std::string_view> &features,
                   std::string_view deviceDriver, const DeviceInfo &device);

struct Choice {
  uint32_t variant = 0;
  /// One line: the choice, then why each other variant was not taken.
  std::string reason;
};

/// The variant with the highest rank of those that fit; at equal ranks the
/// first. A failure names what each variant lacks.
Result<Choice> chooseVariant(const fb::Artifact &artifact,
                             std::string_view driver, std::string_view uri,
                             const DeviceInfo &device);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SELECTION_H
