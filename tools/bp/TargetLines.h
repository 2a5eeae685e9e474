// SPDX-License-Identifier: Apache-2.0
//
// TargetLines.h: the targets that compile for the driver of a device, as
// `bp devices` prints them.
#ifndef BACKPLANE_TOOLS_BP_TARGETLINES_H
#define BACKPLANE_TOOLS_BP_TARGETLINES_H

#include "Common.h"

#include <string>
#include <vector>

namespace backplane {

struct TargetLine {
  std::string name, plugin, toolchain;
  std::string misfit;  ///< why the device cannot run it; empty: it can
  bool chosen = false; ///< when none is named

  /// "x86-64-v4: plug-in x86, taken when none is named"
  std::string text() const;
  std::string json() const;
};

/// Those of the device with this URI, which is opened for it.
Result<std::vector<TargetLine>> targetLines(const Context &context,
                                            const std::string &uri);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_TARGETLINES_H
