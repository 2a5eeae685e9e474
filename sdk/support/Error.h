// SPDX-License-Identifier: Apache-2.0
//
// Error.h: what stands behind the opaque bp_error_t of abi.h on the host's
// side, and how a Status gets into one. Only host code includes it; plug-ins
// fill errors through bp_host_t.error_set.
#ifndef BACKPLANE_SUPPORT_ERROR_H
#define BACKPLANE_SUPPORT_ERROR_H

#include "backplane/cpp/Result.h"

/// Owned by whoever calls; a callee only fills it.
struct bp_error_t {
  bp_status_t code = BP_STATUS_OK;
  std::string message;
};

namespace backplane {

/// Stores the failure in `error`, which may be null, and returns its code. A
/// success leaves `error` alone.
inline bp_status_t setError(bp_error_t *error, const Status &status) {
  if (error && !status.ok()) {
    error->code = status.code();
    error->message = status.message();
  }
  return status.code();
}

/// The failure that a callee reported by `code` and maybe `error`.
inline Status takeError(bp_status_t code, const bp_error_t &error) {
  if (code == BP_STATUS_OK)
    return {};
  return Status(code,
                error.message.empty() ? "no reason was given" : error.message);
}

} // namespace backplane

#endif // BACKPLANE_SUPPORT_ERROR_H
