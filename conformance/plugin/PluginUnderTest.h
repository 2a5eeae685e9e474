// SPDX-License-Identifier: Apache-2.0
//
// PluginUnderTest.h: the plug-in that checks look at.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_PLUGINUNDERTEST_H
#define BACKPLANE_CONFORMANCE_PLUGIN_PLUGINUNDERTEST_H

#include "backplane/backplane.h"
#include "backplane/cpp/Result.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace backplane::checks {

struct PluginUnderTest {
  std::string uri;     ///< of the device, as asked for
  std::string name;    ///< of the plug-in, as its manifest has it
  std::string library; ///< of the driver, canonical path
  std::string device;  ///< id, empty: the first usable device
  std::vector<std::pair<std::string, std::string>> options; ///< of the URI
  /// Bytes of the compiled model of a check that needs one.
  std::span<const uint8_t> artifact;
  /// The same model, compiled by another process; empty when it was not.
  std::span<const uint8_t> again;
  /// Longer than any work of a check takes, shorter than the runner's.
  std::chrono::milliseconds timeout{15000};
};

/// Finds the driver of a device where the loader would find it, without
/// loading it. `context` says where that is.
Result<PluginUnderTest>
findPluginUnderTest(const std::string &uri,
                    const bp_context_options_t &context);

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_PLUGINUNDERTEST_H
