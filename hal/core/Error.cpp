// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Error.h"

#include <iterator>

namespace backplane {

std::string statusName(bp_status_t code) {
  static constexpr const char *names[] = {"OK",
                                          "CANCELLED",
                                          "UNKNOWN",
                                          "INVALID_ARGUMENT",
                                          "DEADLINE_EXCEEDED",
                                          "NOT_FOUND",
                                          "ALREADY_EXISTS",
                                          "PERMISSION_DENIED",
                                          "RESOURCE_EXHAUSTED",
                                          "FAILED_PRECONDITION",
                                          "ABORTED",
                                          "OUT_OF_RANGE",
                                          "UNIMPLEMENTED",
                                          "INTERNAL",
                                          "UNAVAILABLE",
                                          "DATA_LOSS"};
  if (code < 0 || size_t(code) >= std::size(names))
    return "status " + std::to_string(code);
  return names[code];
}

Status pluginFailure(std::string_view what, bp_status_t code,
                     std::string_view message) {
  constexpr size_t maxBytes = 4096;
  std::string text = std::string(what) + ": ";
  if (message.empty())
    text += "failed with " + statusName(code) + " and gave no reason";
  else
    text += message.substr(0, maxBytes);
  bool known = code > BP_STATUS_OK && code <= BP_STATUS_DATA_LOSS;
  return Status(known ? code : BP_STATUS_UNKNOWN, std::move(text));
}

} // namespace backplane
